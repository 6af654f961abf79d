"""Gaussian smoothing of spatial maps, next to walls and unvisited bins too."""

from typing import Any

import numpy as np

from .activity import as_floating
from .spatial_bins import read_wrap

#: Where the Gaussian is cut off, in standard deviations.
_REACH = 5.0


def smooth_maps(maps: Any, *, sigma: Any, bin_size: Any = 1.0, wrap: Any = False, d: Any = None):
    """Maps averaged over neighbouring bins with Gaussian weights.

    Each bin is the mean of the valid bins about it, whose weights are made to sum to 1: a constant
    stays what it is, walls and NaN pull nothing down. NaN stays where it is. Rates are better
    smoothed by `rate_maps`, which smooths counts and occupancy, so that well-visited bins weigh
    more.

    **Arguments:**

    - `maps`: `(bins,)` or `(bins, bins)`; with a first axis of cells where `d` says so.
    - `sigma`: standard deviation of the Gaussian, in the unit of `bin_size`; 0 for none.
    - `bin_size`: the width of bins, or one for each dimension; by default `sigma` is in bins.
    - `wrap`: whether the ends of a dimension meet, for all dimensions or for each.
    - `d`: number of dimensions of space, 1 or 2; by default all axes of `maps`.

    **Returns:** the shape of `maps`, NumPy float64.

    **Raises:** `ValueError` for a sigma that is negative, or maps that are infinite.
    """
    values = np.asarray(as_floating(maps, "maps"), np.float64)
    dimensions = values.ndim if d is None else int(d)
    if dimensions not in (1, 2) or values.ndim not in (dimensions, dimensions + 1):
        raise ValueError(f"maps must be ([cell,] *bins), 1 or 2 axes of bins; got {values.shape}.")
    if np.isinf(values).any():
        raise ValueError("maps must be finite, or NaN where unvisited.")
    shape = values.shape[-dimensions:]
    widths = tuple(np.broadcast_to(np.asarray(bin_size, np.float64), (dimensions,)).tolist())
    weights = gaussian_weights(shape, sigma=sigma, widths=widths, wrap=read_wrap(wrap, dimensions))
    known = np.isfinite(values)
    total = apply_weights(np.where(known, values, 0), weights)
    share = apply_weights(known.astype(float), weights)
    return np.where(known, total / np.where(known, share, 1), np.nan)


def gaussian_weights(
    shape: tuple[int, ...], *, sigma: Any, widths: tuple[float, ...], wrap: tuple[bool, ...]
) -> list[np.ndarray] | None:
    """Gaussian weights between bins of each dimension, `(bins, bins)`; `None` for `sigma` 0.

    They are densities at the distances of centres, not integrals over bins, scaled to sum to 1 away
    from walls.

    **Raises:** `ValueError` for a sigma that is negative or not finite.
    """
    if not 0 <= sigma < np.inf:
        raise ValueError(f"sigma must be finite and not negative, got {sigma}.")
    if sigma == 0:
        return None
    weights = []
    for n, width, round_the_end in zip(shape, widths, wrap):
        reach = int(np.ceil(_REACH * sigma / width))
        lags = np.arange(-reach, reach + 1)
        kernel = np.exp(-0.5 * (lags * width / sigma) ** 2)
        kernel /= kernel.sum()
        lag = np.arange(n)[:, None] - np.arange(n)
        if round_the_end:
            # A Gaussian wider than the circle goes round it more than once.
            wound = np.bincount(lags % n, kernel, minlength=n)
            weights.append(wound[lag % n])
        else:
            near = np.abs(lag) <= reach
            weights.append(np.where(near, kernel[np.where(near, lag, 0) + reach], 0.0))
    return weights


def apply_weights(values: np.ndarray, weights: list[np.ndarray] | None) -> np.ndarray:
    """Sums of `values`, `(..., *bins)`, with weights along each of the last axes."""
    if weights is None:
        return values
    smoothed = values @ weights[-1]
    return weights[0] @ smoothed if len(weights) == 2 else smoothed
