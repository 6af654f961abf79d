"""Derivatives of maps by position, next to walls and unvisited bins too."""

import numpy as np

from .planar_maps import PlanarMaps


def map_gradients(stack: PlanarMaps, sizes: np.ndarray, accuracy: int) -> np.ndarray:
    """Derivatives of maps along both axes, `(cell, bins, bins, 2)`.

    By differences of the bins on both sides where these are known, of order `accuracy` (2 or 4), or
    of order 2 where too few are for 4; by bins on one side next to a wall or an unvisited bin; NaN
    in unvisited bins, and in those that have no neighbour.
    """
    slopes = [_slopes(np.moveaxis(stack.values, axis, -1), sizes[axis - 1], accuracy)
              for axis in (1, 2)]  # fmt: skip
    return np.stack([np.moveaxis(slopes[0], -1, 1), slopes[1]], axis=-1)


def _slopes(values: np.ndarray, h: float, accuracy: int) -> np.ndarray:
    n = values.shape[-1]
    padded = np.pad(values, [(0, 0), (0, 0), (2, 2)], constant_values=np.nan)
    left2, left, right, right2 = (padded[..., i : i + n] for i in (0, 1, 3, 4))
    # Best first; each is NaN where a bin it needs is.
    ways = [
        (right - left) / (2 * h),
        (-3 * values + 4 * right - right2) / (2 * h),
        (3 * values - 4 * left + left2) / (2 * h),
        (right - values) / h,
        (values - left) / h,
    ]
    if accuracy == 4:
        ways.insert(0, (8 * (right - left) - (right2 - left2)) / (12 * h))
    slopes = ways[0]
    for way in ways[1:]:
        slopes = np.where(np.isfinite(slopes), slopes, way)
    return np.where(np.isfinite(values), slopes, np.nan)
