"""Correlations of maps over the bins that both know."""

from collections.abc import Callable

import numpy as np


def known_correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pearson correlation of each row of `a` with each of `b` over the columns known in both.

    **Arguments:** `(cell, bin)` both, NaN where unknown.

    **Returns:** `(cell of a, cell of b)`, NaN where either does not vary over two shared columns.
    """
    return _pearson(a, b, lambda x, y: x @ y.T)


def paired_known_correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same of each row of `a` with that row of `b`, `(cell,)`."""
    return _pearson(a, b, lambda x, y: np.sum(x * y, axis=1))


def _pearson(
    a: np.ndarray, b: np.ndarray, sums: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    x, m = _centred(a)
    y, k = _centred(b)
    n = sums(m, k)
    count = np.maximum(n, 1)
    sum_x, sum_y = sums(x, k), sums(m, y)
    spread_x, spread_y = sums(x**2, k) - sum_x**2 / count, sums(m, y**2) - sum_y**2 / count
    varies = (np.minimum(spread_x, spread_y) > 1e-12 * count) & (n >= 2)
    spread = np.where(varies, spread_x * spread_y, 1)
    r = (sums(x, y) - sum_x * sum_y / count) / np.sqrt(spread)
    return np.where(varies, np.clip(r, -1, 1), np.nan)


def _centred(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows over their ranges, and about means near those of what is shared; what is known."""
    known = np.isfinite(rows)
    low = np.where(known, rows, np.inf).min(axis=1, keepdims=True)
    high = np.where(known, rows, -np.inf).max(axis=1, keepdims=True)
    # A constant over an infinite range is exactly 0.
    scaled = np.where(known, rows, 0) / np.where(high > low, high - low, np.inf)
    n = np.maximum(known.sum(axis=1, keepdims=True), 1)
    centred = np.where(known, scaled - scaled.sum(axis=1, keepdims=True) / n, 0)
    return centred, known.astype(float)
