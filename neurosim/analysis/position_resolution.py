"""How well a population can tell where the animal is: Fisher information and its bound."""

from typing import Any, Literal

import numpy as np

from ..kernels.rate_noise import position_information
from .activity import refuse_masked
from .known_arrays import read_known


def position_fisher_information(
    rates: Any,
    jacobian: Any,
    *,
    noise: Literal["constant", "poisson"],
    level: float | int,
) -> np.ndarray:
    """Fisher information about position in the response at each position.

        I = sum_i J_i J_i^T / sigma^2                                 constant noise
        I = sum_i (1 / (phi f_i) + 1 / (2 f_i^2)) J_i J_i^T           Poisson-like noise

    **Arguments:**

    - `rates`: `(..., cell)` f in Hz.
    - `jacobian`: `(..., cell, dim)` J in Hz per m.
    - `noise`, `level`: `"constant"` and sigma, or `"poisson"` and phi, in Hz.

    **Returns:** `(..., dim, dim)` per m^2.

    **Raises:** `ValueError` for other shapes, values that are not finite, rates that are not
    positive with Poisson-like noise, a level that is not positive, or another noise.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 15-17.
    """
    f, J = read_known("position_fisher_information", rates=rates, jacobian=jacobian)
    return np.asarray(position_information(f, J, noise=noise, level=float(level)))


def cramer_rao_bound(
    information: Any, *, reduction: Literal["mean", "median", "harmonic", "none"] = "mean"
) -> np.ndarray:
    """The least mean squared error of position, the trace of the inverse information.

    Infinite where the information is singular. Where fields leave gaps the mean over positions is
    that of the worst of them; the median and the harmonic mean are not.

    **Arguments:**

    - `information`: `(..., dim, dim)`.
    - `reduction`: over all positions (and maps), or `"none"`.

    **Returns:** in m^2, a number, or `(...)` for `"none"`.

    **Raises:** `ValueError` for another shape, matrices that are not symmetric and positive
    semi-definite, or another reduction.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eq. 17.
    """
    if reduction not in ("mean", "median", "harmonic", "none"):
        raise ValueError(
            f"reduction must be 'mean', 'median', 'harmonic' or 'none', got {reduction!r}."
        )
    (I,) = read_known("cramer_rao_bound", information=information)
    if I.ndim < 2 or I.shape[-1] != I.shape[-2] or I.size == 0:
        raise ValueError(f"information must be (..., dim, dim), got shape {I.shape}.")
    values = np.linalg.eigvalsh(I)
    tolerance = 1e-12 * np.abs(values).max(axis=-1, keepdims=True)
    symmetric = np.allclose(I, np.swapaxes(I, -1, -2), rtol=1e-9, atol=0)
    if not symmetric or (values < -tolerance).any():
        raise ValueError("information must be symmetric and positive semi-definite.")
    singular = values <= np.where(I.shape[-1] == 1, 0.0, tolerance)
    with np.errstate(over="ignore"):
        inverse = np.where(singular, np.inf, 1 / np.where(singular, 1.0, values))
        error = inverse.sum(axis=-1)
        if reduction == "none":
            return np.asarray(error)
        if reduction == "mean":
            return np.asarray(error.mean())
    if reduction == "harmonic":
        rate = (1 / error).mean()
        return np.asarray(1 / rate if rate > 0 else np.inf)
    # By hand: a mean of two infinite middle values must not be NaN.
    ranked = np.sort(error, axis=None)
    n = len(ranked)
    low, high = ranked[(n - 1) // 2], ranked[n // 2]
    return np.asarray(low if low == high else low / 2 + high / 2)


def context_position_tradeoff(log_contexts: Any, log_error: Any, weight: float | int) -> np.ndarray:
    """The cost that weighs contexts against resolution of position.

        L = -weight log_contexts + (1 - weight) log_error

    With ln M it jumps from narrow to wide fields as the weight grows; with ln P2 it moves over
    gradually.

    **Arguments:**

    - `log_contexts`: ln M, or ln P2, for example for each width.
    - `log_error`: logarithm of `cramer_rao_bound`, alike.
    - `weight`: lambda, from 0 to 1.

    **Returns:** of the shape of the two; `inf` where the error is infinite and counts.

    **Raises:** `ValueError` for a weight out of range, NaN, or an infinite number of contexts.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 18-19.
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"weight must be from 0 to 1, got {weight}.")
    refuse_masked(log_contexts, "log_contexts")
    refuse_masked(log_error, "log_error")
    contexts, error = np.asarray(log_contexts, np.float64), np.asarray(log_error, np.float64)
    if np.isnan(contexts).any() or np.isnan(error).any() or (contexts == np.inf).any():
        raise ValueError("log_contexts must be finite or -inf, and log_error must not be NaN.")
    if (error == -np.inf).any():
        raise ValueError("log_error must not be -inf: no bound on an error is 0.")
    # A part with weight 0 does not count, even where it is infinite.
    gain = weight * contexts if weight > 0 else np.zeros_like(contexts)
    cost = (1 - weight) * error if weight < 1 else np.zeros_like(error)
    return np.asarray(cost - gain)


def optimal_width(widths: Any, log_contexts: Any, log_error: Any, weight: float | int) -> float:
    """The width of fields, of those tried, at which `context_position_tradeoff` costs least.

    **Arguments:** `widths`, `(width,)`; the others as there, `(width,)`.

    **Returns:** a width; the narrowest of several alike.

    **Raises:** `ValueError` as there, for other shapes, or where no cost is finite.
    """
    (w,) = read_known("optimal_width", widths=widths)
    cost = context_position_tradeoff(log_contexts, log_error, weight)
    if w.ndim != 1 or not len(w) or cost.shape != w.shape:
        raise ValueError(f"widths must be (width,), as costs {cost.shape}; got shape {w.shape}.")
    if not (cost < np.inf).any():
        raise ValueError("the cost is infinite at every width.")
    best = w[cost == cost.min()]
    return float(best.min())
