"""How fast the probability that contexts overlap falls with the number of cells."""

from typing import Any

import numpy as np

from .known_arrays import read_known


def soft_overlap_rate(squared_differences: Any, sigma: float | int, weights: Any = None) -> float:
    """Rate per cell at which confusion of two contexts falls under maximum likelihood.

        E_soft = -ln E exp(-Y / (8 sigma^2)),    Y = (f_A - f_B)^2 of one cell

    The Bhattacharyya bound, averaged over random maps: contexts may overlap and still be told
    apart almost always. For M of N cells the probability of confusion is at most M exp(-N E_soft).

    **Arguments:**

    - `squared_differences`: `(cell,)` Y at the worst pair of positions, in Hz^2.
    - `sigma`: of constant noise, in Hz.
    - `weights`: `(cell,)` probabilities; by default all are alike.

    **Returns:** nats per cell.

    **Raises:** `ValueError` for differences or weights that are negative or not finite, or a sigma
    that is not positive.
    """
    y, w = _read_differences(squared_differences, weights)
    if not (np.isfinite(sigma) and sigma > 0):
        raise ValueError(f"sigma must be positive and finite, got {sigma}.")
    return float(-_log_mean(-y / (8 * float(sigma) ** 2), w))


def large_deviation_rate(
    squared_differences: Any, threshold: float | int, weights: Any = None
) -> float:
    """Rate per cell at which the probability of overlap falls, without a Gaussian tail.

        I(t) = sup_{h >= 0} [-h t - ln E exp(-h Y)],    1 - P2 ~ exp(-N I(t))

    with Y the squared difference of rates of one cell at the worst pair of positions, and t = 4
    sigma^2 for constant noise. The capacity grows as exp(N I / 2): half of this is its exponent.
    The Gaussian one is larger in weak noise.

    **Arguments:**

    - `squared_differences`: `(cell,)` Y, in Hz^2.
    - `threshold`: t, in Hz^2.
    - `weights`: `(cell,)` probabilities; by default all are alike.

    **Returns:** nats per cell; 0 for a threshold at or above the mean, infinite below all values.

    **Raises:** `ValueError` for differences, weights or a threshold that are negative or not
    finite.

    **Reference:** Cramer's theorem, for instance Dembo & Zeitouni (2010), Large Deviations
    Techniques and Applications, section 2.2.
    """
    y, w = _read_differences(squared_differences, weights)
    t = float(threshold)
    if not (np.isfinite(t) and t >= 0):
        raise ValueError(f"threshold must be finite and not negative, got {threshold}.")
    if t >= (w * y).sum():
        return 0.0
    least = y[w > 0].min()
    if t <= least:
        return float(-np.log(w[y == least].sum())) if t == least else np.inf

    def slope(log_h: float) -> float:
        z = -np.exp(log_h) * (y - least)
        tilted = w * np.exp(z)
        return float((tilted * y).sum() / tilted.sum() - t)

    from scipy.optimize import brentq

    low = high = -np.log((w * y).sum())
    while slope(low) < 0:
        low -= 5
    while slope(high) > 0:
        high += 5
    root: Any = brentq(slope, low, high, xtol=1e-13) if high > low else low
    h = np.exp(root)
    return float(-h * t - _log_mean(-h * y, w))


def _read_differences(values: Any, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values and weights that sum to 1."""
    y, w = read_known("the rate", "weights", squared_differences=values, weights=weights)
    w = np.ones_like(y) if w is None else w
    if y.ndim != 1 or y.shape != w.shape or not len(y):
        raise ValueError(
            f"squared_differences must be (cell,), and weights alike, got shapes {y.shape} and "
            f"{w.shape}."
        )
    if (y < 0).any() or (w < 0).any() or not w.sum() > 0:
        raise ValueError("squared_differences and weights must not be negative, nor all weights 0.")
    return y, w / w.sum()


def _log_mean(z: np.ndarray, w: np.ndarray) -> float:
    from scipy.special import logsumexp

    value: Any = logsumexp(z, b=w)
    return float(value)
