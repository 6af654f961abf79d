"""What describes a low-rank network, as arrays from anywhere, read and checked.

    tau dx/dt = -x + g L diag(s) R^T phi(x) + B u,   y = C x + d

N units, K components, U input channels, O outputs. L and R are `(N, K)`, B `(N, U)`, C `(O, N)`;
s are the gains, one for each component or one for all, and g is a factor on the recurrent term.
The analyses of this room name them alike.
"""

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .activity import AnyArray, as_floating, is_traced

#: Real numbers, as NumPy, JAX or nested lists; `read_arrays` refuses what is none.
Numbers: TypeAlias = Any


def read_arrays(*optional: str, **values: Any) -> tuple[Any, list[Any]]:
    """The namespace to compute in, JAX's if any value is JAX's, and the values in it.

    NumPy values are float64, JAX values float32 or better. `None` stays `None` where the name is
    among those that are `optional`, and a Python number takes on the precision of the arrays.

    **Raises:** `ValueError` for values that are missing, no real numbers, masked or not finite; the
    last only where they are known, so not under `jit`.
    """
    for name, value in values.items():
        if value is None and name not in optional:
            raise ValueError(f"{name} is needed, got None.")
    read = {k: as_floating(v, k) for k, v in values.items() if v is not None}
    in_jax = [a for a in read.values() if isinstance(a, jax.Array)]
    xp = jnp if in_jax else np
    dtype = jnp.result_type(*in_jax) if in_jax else np.float64
    arrays: list[Any] = []
    for name, value in values.items():
        if value is None:
            arrays.append(None)
            continue
        array = read[name]
        if not is_traced(array):
            known = np.asarray(array)
            bad = np.argwhere(~np.isfinite(known))
            if len(bad) > 0:
                place = tuple(int(i) for i in bad[0])
                raise ValueError(
                    f"{name} must be finite: {len(bad)} value(s) are not, the first "
                    f"({known[place]}) at index {place} of shape {known.shape}."
                )
        if isinstance(value, (int, float)):
            array = xp.asarray(array, dtype=dtype)
        arrays.append(xp.asarray(array))
    return xp, arrays


def check_factors(L: AnyArray, R: AnyArray) -> tuple[int, int]:
    """The number of units and the rank of `L` and `R`; `ValueError` where they do not fit."""
    if L.ndim != 2 or L.shape != R.shape or 0 in L.shape:
        raise ValueError(
            f"L and R must both be (units, rank) and not empty, got {L.shape} and {R.shape}."
        )
    n_units, rank = L.shape
    if rank > n_units:
        raise ValueError(
            f"the rank must not exceed the number of units: L of shape {L.shape} has {rank} "
            f"columns for {n_units} units. Is it transposed?"
        )
    return n_units, rank


def check_matrix(matrix: AnyArray, name: str, *, layout: str, axis: int, n_units: int) -> None:
    """Refuse a matrix whose `axis`, in a layout given in words, is not that of the units."""
    if matrix.ndim != 2 or matrix.shape[axis] != n_units:
        raise ValueError(f"{name} must be {layout} with {n_units} units, got {matrix.shape}.")


def check_vector(array: AnyArray, name: str, *, axis_name: str, n: int) -> None:
    """Refuse an array that is not `(n,)`."""
    if array.shape != (n,):
        raise ValueError(f"{name} must be ({axis_name},) = ({n},), got {array.shape}.")


def check_gains(gains: AnyArray, rank: int, *, name: str = "gains") -> None:
    """Refuse gains that are neither one number nor `(..., rank)` or `(..., 1)`."""
    if 0 in gains.shape[:-1]:
        raise ValueError(f"{name} must not be empty, got shape {gains.shape}.")
    if gains.ndim > 0 and gains.shape[-1] not in (1, rank):
        raise ValueError(
            f"{name} must have one entry for each of {rank} component(s), or a single one for "
            f"all, along the last axis; got shape {gains.shape}."
        )


def check_times(*, dt: Any = None, **taus: Any) -> None:
    """Refuse time constants that are not positive, and steps that they make unstable."""
    for name, value in {"dt": dt, **taus}.items():
        if is_traced(value) or (value is None and name == "dt"):
            continue
        if isinstance(value, (str, type(None))) or np.ndim(value) != 0 or not 0 < value < np.inf:
            raise ValueError(f"{name} must be a positive, finite number, got {value}.")
    for name, tau in taus.items():
        if dt is None or is_traced(dt) or is_traced(tau):
            continue
        if not float(dt) < 2 * float(tau):
            raise ValueError(
                f"dt = {dt} is not below 2 {name} = {2 * float(tau):g}: the recursion would be "
                "unstable by its leak alone."
            )


def check_independent(columns: AnyArray, name: str) -> None:
    """Refuse a matrix `(units, rank)` whose columns are not linearly independent."""
    if is_traced(columns):
        return
    matrix = np.asarray(columns)
    rank = int(np.linalg.matrix_rank(matrix))
    if rank < matrix.shape[1]:
        raise ValueError(
            f"{name} has dependent columns (rank {rank} of {matrix.shape[1]}), so coordinates "
            "along them are not unique."
        )


def orthonormal_basis(columns: AnyArray, xp: Any) -> tuple[AnyArray, AnyArray]:
    """Q `(units, rank)` and T `(rank, rank)` of `columns = Q T`, the diagonal of T positive."""
    q, t = xp.linalg.qr(columns)
    sign = xp.where(xp.diagonal(t) < 0, -1, 1).astype(q.dtype)
    return q * sign, sign[:, None] * t


def sorted_eigenvalues(matrices: AnyArray, xp: Any) -> Any:
    """Complex eigenvalues of `(..., n, n)`, the largest real part first."""
    values = xp.linalg.eigvals(matrices)
    # NumPy returns real numbers where all happen to be real.
    values = values.astype(xp.result_type(values.dtype, xp.complex64))
    order = xp.lexsort((values.imag, -values.real), axis=-1)
    return xp.take_along_axis(values, order, axis=-1)
