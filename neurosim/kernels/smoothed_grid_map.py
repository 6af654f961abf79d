"""Ideal grid cells after Gaussian smoothing: diffused fields, and bands as their limit."""

from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from .ideal_grid import grid_wave_vectors, ideal_grid_map


def wave_attenuation(wave_vectors: Any, *, covariance: Any) -> jax.Array | np.ndarray:
    """What is left of plane waves after Gaussian smoothing, exp(-k^T S k / 2).

    For smoothing alike in all directions by w, and a grid of one spacing, that is
    exp(-8 pi^2 w^2 / (3 spacing^2)) for all three waves.

    **Arguments:**

    - `wave_vectors`: `(wave, 2)`, in radians per length, as of `grid_wave_vectors`.
    - `covariance`: S, `(2, 2)`, symmetric, no eigenvalue below 0; or a number, the variance w^2
        in all directions.

    **Returns:** `(wave,)`; JAX where either is.

    **Raises:** `ValueError` for another shape, or what is no covariance.
    """
    xp = jnp if any(isinstance(v, jax.Array) for v in (wave_vectors, covariance)) else np
    k, S = xp.asarray(wave_vectors, float), xp.asarray(covariance, float)
    if k.ndim != 2 or k.shape[1] != 2:
        raise ValueError(f"wave_vectors must be (wave, 2), got shape {k.shape}.")
    if S.shape not in ((), (2, 2)):
        raise ValueError(f"covariance must be a number or (2, 2), got shape {S.shape}.")
    S = S * xp.eye(2) if S.ndim == 0 else S
    if not isinstance(S, jax.core.Tracer):
        values = np.asarray(S, np.float64)
        scale = np.abs(values).max()
        if not np.isfinite(scale) or np.abs(values - values.T).max() > 1e-6 * scale:
            raise ValueError(f"covariance must be finite and symmetric, got {values.tolist()}.")
        if np.linalg.eigvalsh(values)[0] < -1e-6 * scale:
            raise ValueError(f"covariance must have no negative eigenvalue, got {values.tolist()}.")
    return xp.exp(-xp.sum((k @ S) * k, axis=-1) / 2)


def smoothed_grid_map(
    positions: Any,
    *,
    spacing: Any,
    covariance: Any,
    orientation: Any = 0.0,
    phase: Any = (0.0, 0.0),
) -> jax.Array | np.ndarray:
    """Firing of an ideal hexagonal grid cell after Gaussian smoothing in an endless arena.

        r(x) = 1/3 + 2/9 sum_i F_i cos(k_i . (x - phase)),   F_i = exp(-k_i^T S k_i / 2)

    Smoothing alike in all directions shrinks the manifold of a module by F and leaves it a torus.
    Smoothing along one direction only, ever wider, leaves bands where that is orthogonal to one
    of the k_i, which is along a line of the lattice: the torus becomes a circle. Along any other
    direction all waves fade, and it becomes a point. Maps of recordings are smoothed by
    `neurosim.analysis.smooth_maps`, which knows of walls.

    ```python
    diffused = smoothed_grid_map(x, spacing=0.3, covariance=0.05**2)  # by 5 cm in all directions
    ```

    **Arguments:**

    - `positions`, `spacing`, `orientation`, `phase`: see `ideal_grid_map`.
    - `covariance`: S, see `wave_attenuation`.

    **Returns:** `(...)`, or `(cell, ...)` for phases `(cell, 2)`; NumPy float64, or JAX where
    anything given is.

    **Raises:** `ValueError` as `ideal_grid_map` and `wave_attenuation`.

    **Reference:** Acosta, Dinc, Redman, Madhav, Klindt & Miolane (2024), Global distortions from
    local rewards, NeurIPS 37, Section 3 and Appendix S2.
    """
    k = grid_wave_vectors(spacing=spacing, orientation=orientation)
    F = wave_attenuation(k, covariance=covariance)
    rates = 1 / 3
    for wave, left in zip(k, F):
        # Each wave is a band, whose rate goes from 0 to 1.
        band = ideal_grid_map(
            positions, spacing=spacing * 3**0.5 / 2, orientation=_direction(wave), phase=phase,
            lattice="band",
        )  # fmt: skip
        rates = rates + 2 / 9 * left * (2 * band - 1)
    return rates  # pyright: ignore[reportReturnType]


def _direction(k: Any) -> Any:
    xp = jnp if isinstance(k, jax.Array) else np
    return xp.arctan2(k[1], k[0])
