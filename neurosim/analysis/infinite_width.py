"""Contexts told apart by which cells are active, where fields are far wider than the room."""

from typing import NamedTuple

import numpy as np

from .separability import separability_threshold


class InfiniteWidth(NamedTuple):
    """What contexts of very wide fields have in constant noise; see `infinite_width`."""

    differ: float
    mu: float
    lam: float
    critical_sigma: float


def infinite_width(active_fraction: float | int, *, rate: float | int = 29.9) -> InfiniteWidth:
    """Moments of the distance between random binary words, active or silent for each cell.

    The squared distance is `rate`^2 times the number of cells that differ, which is binomial with
    p = 2 theta (1 - theta).

    **Arguments:**

    - `active_fraction`: theta.
    - `rate`: of an active cell above baseline, in Hz.

    **Returns:** `InfiniteWidth`: p; mu = rate sqrt p; lam = rate sqrt(1 - p) / 2; and the sigma
    from which on no two contexts are separable, mu / 2.

    **Raises:** `ValueError` for a fraction that is not between 0 and 1, or a rate that is not
    positive.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, appendix A.4.1.
    """
    theta, f = _read(active_fraction, rate)
    p = 2 * theta * (1 - theta)
    mu = f * p**0.5
    return InfiniteWidth(p, mu, f * (1 - p) ** 0.5 / 2, mu / 2)


def infinite_width_log_overlap(
    active_fraction: float | int,
    n_cells: int,
    sigma: float | int,
    *,
    q: float | int = 0.0,
    rate: float | int = 29.9,
) -> float:
    """ln(1 - P2) by the binomial distribution itself, summed as logarithms.

    Two words are separable where more than 4 sigma^2 (sqrt N + q)^2 / rate^2 cells differ.

    **Arguments** as `infinite_width`, and N, sigma in Hz, and `q` of `separability_threshold`.

    **Raises:** `ValueError` as there, for no cells, or a negative sigma or q.
    """
    from scipy.special import gammaln, logsumexp

    theta, f = _read(active_fraction, rate)
    _check_sigma(sigma, q)
    n = int(n_cells)
    most = (separability_threshold(n, noise="constant", level=sigma, q=q) / f) ** 2
    k = np.arange(min(int(np.floor(most)), n) + 1.0)
    p = 2 * theta * (1 - theta)
    log_p = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    log_p += k * np.log(p) + (n - k) * np.log1p(-p)
    return min(float(np.asarray(logsumexp(log_p))), 0.0)


def infinite_width_exponent(
    active_fraction: float | int, sigma: float | int, *, rate: float | int = 29.9
) -> float:
    """The exact exponent gamma of the capacity, half a Kullback-Leibler divergence.

        gamma = KL(Bernoulli(4 sigma^2 / rate^2) || Bernoulli(p)) / 2

    0 where the noise is too strong. **Arguments** and **Raises** as `infinite_width_log_overlap`.
    """
    from scipy.special import rel_entr

    theta, f = _read(active_fraction, rate)
    _check_sigma(sigma, 0.0)
    p, t = 2 * theta * (1 - theta), 4 * float(sigma) ** 2 / f**2
    if t >= p:
        return 0.0
    return float(np.sum(rel_entr([t, 1 - t], [p, 1 - p]))) / 2


def _read(theta: float | int, rate: float | int) -> tuple[float, float]:
    if not 0 < theta < 1:
        raise ValueError(f"active_fraction must be between 0 and 1, got {theta}.")
    if not 0 < rate < np.inf:
        raise ValueError(f"rate must be positive and finite, got {rate}.")
    return float(theta), float(rate)


def _check_sigma(sigma: float | int, q: float | int) -> None:
    if not (0 <= sigma < np.inf and 0 <= q < np.inf):
        raise ValueError(f"sigma and q must be finite and not negative, got {sigma} and {q}.")
