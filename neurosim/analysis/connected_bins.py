"""Regions of bins that touch, across the ends of a dimension that wraps too."""

from typing import Any

import numpy as np
import scipy.ndimage


def connected(high: np.ndarray, connectivity: int, wrap: tuple[bool, ...]) -> np.ndarray:
    """Numbers of the connected regions of each map, `(cell, *bins)`, 0 outside; from 1 on over all.

    `high` is `(cell, *bins)`, booleans.
    """
    within = scipy.ndimage.generate_binary_structure(high.ndim - 1, connectivity)
    # All maps at once: bins of one map touch none of another.
    structure = np.zeros((3, *within.shape), bool)
    structure[1] = within
    found: Any = scipy.ndimage.label(high, structure=structure)
    labels = np.asarray(found[0], np.int64)
    for axis, round_the_end in enumerate(wrap, start=1):
        if round_the_end:
            labels = _joined(labels, axis, connectivity, wrap)
    return labels


def _joined(labels: np.ndarray, axis: int, connectivity: int, wrap: tuple[bool, ...]) -> np.ndarray:
    """Labels with regions that meet across the ends of an axis made one."""
    first, last = np.take(labels, 0, axis=axis), np.take(labels, -1, axis=axis)
    pairs = [(first, last)]
    if labels.ndim == 3 and connectivity == 2:
        other = wrap[2 - axis]
        for shift in (-1, 1):
            moved = np.roll(last, shift, axis=1)
            if not other:
                moved[:, 0 if shift == 1 else -1] = 0
            pairs.append((first, moved))
    low, high = (np.concatenate([pair[i].ravel() for pair in pairs]) for i in range(2))
    meet = (low > 0) & (high > 0)
    parent = np.arange(labels.max() + 1)
    while True:
        least = np.minimum(parent[low[meet]], parent[high[meet]])
        before = parent.copy()
        for side in (low[meet], high[meet]):
            np.minimum.at(parent, side, least)
        parent = parent[parent]
        if (parent == before).all():
            return parent[labels]
