"""Correlations of maps over the bins that both know."""

import numpy as np

#: Two bins are always perfectly correlated, one way or the other.
_FEWEST = 3


def known_correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pearson correlation of each row of `a` with each of `b` over the columns known in both.

    **Arguments:** `(cell, bin)` both, NaN where unknown.

    **Returns:** `(cell of a, cell of b)`, NaN where they share fewer than three columns, or either
    does not vary over these.
    """
    (x, m), (y, k) = centred_over_ranges(a), centred_over_ranges(b)
    n = m @ k.T
    count = np.maximum(n, 1)
    sum_x, sum_y = x @ k.T, m @ y.T
    spread_x, spread_y = x**2 @ k.T - sum_x**2 / count, m @ (y**2).T - sum_y**2 / count
    varies = (np.minimum(spread_x, spread_y) > 1e-12 * count) & (n >= _FEWEST)
    r = (x @ y.T - sum_x * sum_y / count) / np.sqrt(np.where(varies, spread_x * spread_y, 1))
    return np.where(varies, np.clip(r, -1, 1), np.nan)


def paired_known_correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same of each row of `a` with that row of `b`, `(cell,)`."""
    known = np.isfinite(a) & np.isfinite(b)
    n = known.sum(axis=1)
    varies, centred = n >= _FEWEST, []
    for values in (a, b):
        x = np.where(known, values, 0)
        size = np.abs(x).max(axis=1)
        # Over the largest, so that sums of squares do not overflow.
        x = x / np.where(size > 0, size, 1)[:, None]
        x = np.where(known, x - (x.sum(axis=1) / np.maximum(n, 1))[:, None], 0)
        # What is left of a constant is rounding.
        varies &= np.abs(x).max(axis=1) > 1e-12
        centred.append(x)
    x, y = centred
    norm = np.sqrt(np.sum(x**2, axis=1) * np.sum(y**2, axis=1))
    r = np.sum(x * y, axis=1) / np.where(varies, norm, 1)
    return np.where(varies, np.clip(r, -1, 1), np.nan)


def value_ranges(maps: np.ndarray) -> np.ndarray:
    """Largest less smallest value that is known of each map, `(cell, 1, ...)`; infinite for none.

    A constant over its range is then exactly 0.
    """
    axes, known = tuple(range(1, maps.ndim)), np.isfinite(maps)
    low = np.where(known, maps, np.inf).min(axis=axes, keepdims=True)
    high = np.where(known, maps, -np.inf).max(axis=axes, keepdims=True)
    return np.where(high > low, high - low, np.inf)


def centred_over_ranges(maps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Maps `(cell, *bins)` about their means over their ranges, 0 where unknown; what is known."""
    axes, known = tuple(range(1, maps.ndim)), np.isfinite(maps)
    n = np.maximum(known.sum(axis=axes, keepdims=True), 1)
    # Over the range first: sums of large values, or their squares, may overflow.
    scaled = np.where(known, maps, 0) / value_ranges(maps)
    scaled = np.where(known, scaled - scaled.sum(axis=axes, keepdims=True) / n, 0)
    return scaled, known.astype(float)
