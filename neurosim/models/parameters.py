"""Checks and scales that the recurrent models share."""

from typing import Any, Literal

import jax
import jax.core
import numpy as np

RecurrentScale = Literal["unit", "1/N", "1/sqrt(N)"] | float | int
Orthonormal = Literal["positive", "lapack"] | None


def as_recurrent_scale(rec_scale: Any) -> Any:
    """A number as a Python float, so that it can be compared as part of a program; a name as it is.

    **Raises:** `ValueError` for a traced number.
    """
    if isinstance(rec_scale, jax.core.Tracer):
        raise ValueError("rec_scale must be known when traced: scale the weights instead.")
    number = isinstance(rec_scale, (int, float, np.generic, np.ndarray, jax.Array))
    return float(rec_scale) if number and np.ndim(rec_scale) == 0 else rec_scale


def check_sizes(**sizes: Any) -> None:
    """Refuse numbers of units, channels and the like below 1."""
    for name, size in sizes.items():
        if not (isinstance(size, (int, np.integer)) and size >= 1):
            raise ValueError(f"{name} must be a whole number from 1 on, got {size!r}.")


def check_rank(rank: int, n_units: int) -> None:
    """Refuse a rank that the number of units cannot hold."""
    check_sizes(rank=rank)
    if rank > n_units:
        raise ValueError(f"rank must not exceed the number of units, got {rank} > {n_units}.")


def check_time_constant(**taus: Any) -> None:
    """Refuse time constants that are not positive; traced ones pass."""
    for name, tau in taus.items():
        if not isinstance(tau, jax.core.Tracer) and not np.all(np.asarray(tau) > 0):
            raise ValueError(f"{name} must be positive, got {tau}.")


def check_stable(dt: Any, **taus: Any) -> None:
    """Refuse a step at which the leak alone would make the recursion unstable."""
    for name, tau in taus.items():
        if isinstance(dt, jax.core.Tracer) or isinstance(tau, jax.core.Tracer):
            continue
        if not np.all(dt < 2 * np.asarray(tau)):
            raise ValueError(
                f"dt = {dt} is not below 2 {name} = {2 * np.min(np.asarray(tau)):g}: "
                "the recursion would be unstable by its leak alone."
            )


def check_orthonormal(orthonormal_left: Any, left: Any) -> None:
    """Refuse an unknown sign convention, and a left factor that has no QR derivative."""
    if orthonormal_left not in (None, "positive", "lapack"):
        raise ValueError(
            f"orthonormal_left must be None, 'positive' or 'lapack', got {orthonormal_left!r}."
        )
    if orthonormal_left is None or not isinstance(left, (jax.Array, np.ndarray)):
        return
    if isinstance(left, jax.core.Tracer):
        return
    matrix = np.asarray(left)
    rank = np.linalg.matrix_rank(matrix)
    if matrix.ndim == 2 and rank < matrix.shape[1]:
        raise ValueError(
            f"L has dependent columns (rank {rank} of {matrix.shape[1]}), which cannot be made "
            "orthonormal."
        )
