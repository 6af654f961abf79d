"""How the number of contexts grows with cells: moments of the nearest distance, and exponents."""

from typing import Any, Literal, NamedTuple

import numpy as np

from ..kernels.rate_noise import check_rate_noise, separability_thresholds
from .known_arrays import read_known


class DistanceMoments(NamedTuple):
    """Moments that large populations share; see `distance_moments`."""

    mu: float
    lam: float


def distance_moments(
    distances: Any, n_cells: int, *, noise: Literal["constant", "poisson"]
) -> DistanceMoments:
    """Mean and deviation of the distance of nearest pairs, for one cell.

        mu = mean / sqrt N,  lam = SD             constant noise
        mu = mean / N,       lam = SD / sqrt N    Poisson-like noise

    They hardly depend on the number of cells from about 1000 on.

    **Arguments:**

    - `distances`: `(pair,)`, one smallest distance for each pair of contexts.
    - `n_cells`: N.

    **Returns:** `DistanceMoments`, in Hz.

    **Raises:** `ValueError` for fewer than two distances, one that is negative or not finite, or
    no cells.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, appendix A.2.
    """
    check_rate_noise(noise, 0.0)
    (d,) = read_known("distance_moments", distances=distances)
    if d.ndim != 1 or len(d) < 2 or (d < 0).any():
        raise ValueError(f"distances must be two or more, none negative; got shape {d.shape}.")
    if not n_cells >= 1:
        raise ValueError(f"n_cells must be at least 1, got {n_cells}.")
    of_mean, of_deviation = _scales(n_cells, noise)
    return DistanceMoments(float(d.mean() / of_mean), float(d.std(ddof=1) / of_deviation))


def capacity_exponent(
    mu: Any, lam: Any, *, noise: Literal["constant", "poisson"], level: float | int
) -> np.ndarray:
    """gamma, in M ~ N^(1/4) exp(gamma N), by the Gaussian approximation.

        ((mu - 2 sigma) / (2 lam))^2,    ((mu - phi) / (2 lam))^2

    0 where the noise is too strong for any two contexts. In weak noise it is too large: half of
    `large_deviation_rate` is exact.

    **Arguments:**

    - `mu`, `lam`: `DistanceMoments`, numbers or arrays.
    - `noise`, `level`: `"constant"` and sigma, or `"poisson"` and phi, in Hz.

    **Returns:** nats per cell.

    **Raises:** `ValueError` for moments that are not finite, a deviation that is not positive, or
    another noise.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 14 and 74.
    """
    mu, lam = _read_moments(mu, lam)
    # What one cell adds to the threshold of many.
    margin = mu - separability_thresholds(1, noise=noise, level=level, q=0.0)
    return np.asarray((np.maximum(margin, 0) / (2 * lam)) ** 2)


def gaussian_log_overlap(
    mu: Any,
    lam: Any,
    n_cells: Any,
    *,
    noise: Literal["constant", "poisson"],
    level: float | int,
    q: float | int = 2.0,
) -> np.ndarray:
    """ln(1 - P2) for N cells with the moments of one.

    **Arguments** as `capacity_exponent`, with the numbers of cells and `q` of
    `separability_threshold`.

    **Raises:** `ValueError` as there.
    """
    from scipy.special import log_ndtr

    mu, lam = _read_moments(mu, lam)
    threshold = separability_thresholds(n_cells, noise=noise, level=level, q=q)
    of_mean, of_deviation = _scales(n_cells, noise)
    return np.asarray(log_ndtr((threshold - mu * of_mean) / (lam * of_deviation)))


def asymptotic_log_capacity(
    mu: Any,
    lam: Any,
    n_cells: Any,
    *,
    noise: Literal["constant", "poisson"],
    level: float | int,
    confidence: float | int = 0.95,
) -> np.ndarray:
    """ln M for many cells and q = 0, by the tail of the Gaussian.

        M ~ 2 (sqrt(pi) ln(1 / P_M) u)^(1/2) exp(u^2 / 2),    u^2 = 2 gamma N

    **Arguments** as `capacity_exponent` and `log_context_capacity`.

    **Returns:** ln M; `-inf` where the exponent is 0.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
    gamma = capacity_exponent(mu, lam, noise=noise, level=level)
    u = np.sqrt(2 * gamma * np.asarray(n_cells, np.float64))
    with np.errstate(divide="ignore"):
        half = np.log(-np.sqrt(np.pi) * np.log(confidence) * u) / 2
        return np.asarray(np.log(2) + half + u**2 / 2)


def _scales(n_cells: Any, noise: str) -> tuple[Any, Any]:
    """Mean and deviation of the distance for N cells, over those for one."""
    root = np.sqrt(np.asarray(n_cells, np.float64))
    return (root, 1.0) if noise == "constant" else (root**2, root)


def _read_moments(mu: Any, lam: Any) -> tuple[np.ndarray, np.ndarray]:
    mu, lam = read_known("capacity_exponent", mu=mu, lam=lam)
    if not (lam > 0).all():
        raise ValueError(f"lam must be positive, got {lam}.")
    return mu, lam
