"""How probable it is that the noise of two contexts overlaps, in the log domain."""

import warnings
from typing import Any, Literal

import numpy as np

from ..kernels.rate_noise import separability_thresholds
from .known_arrays import read_known

#: Fewest samples below the threshold for which a tail by density or by counting is trusted.
_ENOUGH = 10


def separability_threshold(
    n_cells: int,
    *,
    noise: Literal["constant", "poisson"],
    level: float | int,
    q: float | int = 2.0,
) -> float:
    """The distance of the nearest pair above which two contexts are separable.

        2 sigma (sqrt N + q) for constant noise,    phi (sqrt N + q)^2 for Poisson-like noise

    **Arguments:**

    - `n_cells`: N.
    - `noise`, `level`: `"constant"` and sigma in Hz, or `"poisson"` and phi in Hz.
    - `q`: how many standard deviations of the length of the noise, about, are held apart.

    **Returns:** in Hz, to compare with `kernels.min_distance`.

    **Raises:** `ValueError` for another noise, no cells, or a negative level or q.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 2 and 7.
    """
    return float(separability_thresholds(n_cells, noise=noise, level=level, q=q))


def log_overlap_probability(
    distances: Any,
    threshold: float | int,
    *,
    method: Literal["gaussian", "kde", "empirical"] = "gaussian",
) -> float:
    """ln(1 - P2): log probability that two random contexts are not separable.

    `"gaussian"` extrapolates with the mean and standard deviation of the distances. `"kde"` is the
    tail of a Gaussian kernel density whose bandwidth has the best likelihood in five-fold
    cross-validation, and `"empirical"` the fraction at or below the threshold: both warn where
    fewer than ten samples are. For very weak noise see `large_deviation_rate`.

    **Arguments:**

    - `distances`: `(pair,)`, smallest distances between pairs of contexts.
    - `threshold`: see `separability_threshold`.

    **Returns:** the log probability in float64, `-inf` for none.

    **Raises:** `ValueError` for fewer than two distances, ones that do not vary (unless
    `"empirical"`), that are negative or not finite, or another method.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, appendices A.2 and A.7.
    """
    from scipy.special import log_ndtr, logsumexp

    if method not in ("gaussian", "kde", "empirical"):
        raise ValueError(f"method must be 'gaussian', 'kde' or 'empirical', got {method!r}.")
    (d,) = read_known("log_overlap_probability", distances=distances)
    if d.ndim != 1 or len(d) < 2 or (d < 0).any():
        raise ValueError(
            f"distances must be at least two numbers that are not negative, got shape {d.shape}"
            f"{f' and {d.min()}' if d.size else ''}."
        )
    if np.isnan(threshold):
        raise ValueError("threshold must not be NaN.")
    below = int((d <= threshold).sum())
    if method != "empirical" and not d.std(ddof=1) > 0:
        raise ValueError(f"the {len(d)} distances are all {d[0]}, which gives no distribution.")
    if method == "gaussian":
        return float(log_ndtr((threshold - d.mean()) / d.std(ddof=1)))
    if below < _ENOUGH:
        warnings.warn(
            f"{below} of {len(d)} distances lie below the threshold: the tail is not known by "
            f"method={method!r}.",
            stacklevel=2,
        )
    if method == "empirical":
        return float(np.log(below / len(d))) if below else -np.inf
    width = _bandwidth(d)
    return float(logsumexp(log_ndtr((threshold - d) / width)) - np.log(len(d)))


def _bandwidth(d: np.ndarray) -> float:
    from scipy.special import logsumexp

    # Every fifth of the sorted distances, so that the folds are alike whatever the order given.
    d = np.sort(d)
    fold = np.arange(len(d)) % min(5, len(d))
    widths = d.std(ddof=1) * np.geomspace(0.05, 1.0, 15)
    scores = np.zeros(len(widths))
    for k in range(min(5, len(d))):
        gaps = (d[fold == k, None] - d[fold != k]) ** 2
        for w, width in enumerate(widths):
            log_p = logsumexp(-gaps / (2 * width**2), axis=1) - np.log(width * gaps.shape[1])
            scores[w] += log_p.sum()
    return float(widths[int(np.argmax(scores))])
