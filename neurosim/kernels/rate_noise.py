"""Noise of firing rates: its variance, what it leaves of position, how far it keeps contexts."""

from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np


def rate_noise_variance(rates: Any, *, noise: str, level: Any) -> Any:
    """Variance of the noise of each cell: sigma^2, or phi f.

    **Arguments:**

    - `rates`: `(..., cell)` f in Hz.
    - `noise`, `level`: `"constant"` and sigma, or `"poisson"` and phi, in Hz.

    **Returns:** `(..., cell)`, in Hz^2, of the kind of `rates`.

    **Raises:** `ValueError` for another noise, or a level that is negative or not finite.
    """
    check_rate_noise(noise, level)
    xp = _module_of(rates, level)
    f = xp.asarray(rates, float)
    return level * f if noise == "poisson" else xp.zeros_like(f) + level**2


def position_information(rates: Any, jacobian: Any, *, noise: str, level: Any) -> Any:
    """Fisher information about position of responses with Gaussian noise.

        I = sum_i J_i J_i^T / sigma^2                                 constant noise
        I = sum_i (1 / (phi f_i) + 1 / (2 f_i^2)) J_i J_i^T           Poisson-like noise

    Costs positions x cells x dim^2.

    **Arguments:**

    - `rates`: `(..., cell)` f in Hz, positive for Poisson-like noise.
    - `jacobian`: `(..., cell, dim)` J in Hz per m.
    - `noise`, `level`: as `rate_noise_variance`; the level positive.

    **Returns:** `(..., dim, dim)` per m^2; NumPy, or JAX where an argument is.

    **Raises:** `ValueError` for shapes that do not fit, another noise, a level that is not
    positive, or rates that are known and not positive with Poisson-like noise.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 15-16.
    """
    check_rate_noise(noise, level)
    if not isinstance(level, jax.core.Tracer) and not np.asarray(level) > 0:
        raise ValueError(f"level must be positive, got {level}.")
    xp = _module_of(rates, jacobian, level)
    f, J = xp.asarray(rates, float), xp.asarray(jacobian, float)
    if f.ndim == 0 or J.ndim != f.ndim + 1 or J.shape[:-1] != f.shape:
        raise ValueError(
            f"jacobian must be (..., cell, dim) for rates (..., cell), got shapes {J.shape} and "
            f"{f.shape}."
        )
    if noise == "constant":
        return xp.einsum("...id,...ie->...de", J, J) / level**2
    # In NumPy, since a comparison within someone's `jit` would be traced.
    if not isinstance(f, jax.core.Tracer) and not (np.asarray(f) > 0).all():
        least = np.asarray(f).min()
        raise ValueError(f"rates must be positive with Poisson-like noise, got {least}.")
    weights = 1 / (level * f) + 1 / (2 * f**2)
    return xp.einsum("...id,...ie->...de", weights[..., None] * J, J)


def separability_thresholds(n_cells: Any, *, noise: str, level: Any, q: Any) -> Any:
    """The distance of the nearest pair above which two contexts of N cells are separable.

        2 sigma (sqrt N + q) for constant noise,    phi (sqrt N + q)^2 for Poisson-like noise

    **Arguments:**

    - `n_cells`: N, of any shape.
    - `noise`, `level`: as `rate_noise_variance`.
    - `q`: how many standard deviations of the length of the noise, about, are held apart.

    **Returns:** in Hz, of the shape of `n_cells`; float64, or JAX where the level is.

    **Raises:** `ValueError` for another noise, no cells, or a negative level or q.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 2 and 7.
    """
    check_rate_noise(noise, level)
    n = np.asarray(n_cells, np.float64)
    if not (n >= 1).all():
        raise ValueError(f"n_cells must be at least 1, got {n_cells}.")
    if not q >= 0:
        raise ValueError(f"q must not be negative, got {q}.")
    radius = np.sqrt(n) + float(q)
    return _module_of(level).asarray(
        2 * level * radius if noise == "constant" else level * radius**2
    )


def check_rate_noise(noise: str, level: Any) -> None:
    """Refuse an unknown noise, or a level that is negative or not finite; traced ones pass.

    **Raises:** `ValueError`.
    """
    if noise not in ("constant", "poisson"):
        raise ValueError(f"noise must be 'constant' or 'poisson', got {noise!r}.")
    if isinstance(level, jax.core.Tracer):
        return
    known = np.asarray(level)
    if not (np.isfinite(known) and known >= 0):
        raise ValueError(f"level must be finite and not negative, got {level}.")


def _module_of(*arrays: Any) -> Any:
    return jnp if any(isinstance(x, jax.Array) for x in arrays) else np
