"""How a change of a population falls off with distance from a place, or does not."""

from typing import Any, NamedTuple

import numpy as np

from .activity import as_floating
from .change_map import change_map
from .planar_maps import read_bin_sizes
from .rate_maps import RateMaps


class ChangeProfile(NamedTuple):
    """Change by distance from a place; see `change_profile`.

    - `edges`: `(ring + 1,)`, distances that bound the rings.
    - `profile`: `(ring,)`, mean change of the population vector in each; NaN in rings without bins.
    - `counts`: `(ring,)`, bins in each.
    - `near`, `far`: mean change over the bins that are near, and far.
    - `globality`: far over near: 0 for a local change, 1 for one that is the same everywhere.
    - `magnitude`: `(*bins,)`, length of the change of the population vector.
    """

    edges: np.ndarray
    profile: np.ndarray
    counts: np.ndarray
    near: float
    far: float
    globality: float
    magnitude: np.ndarray


def change_profile(
    before: Any,
    after: Any,
    *,
    center: Any,
    bin_size: Any = None,
    near: Any = 0.1,
    far: Any = 0.4,
    edges: Any = None,
) -> ChangeProfile:
    """Change of the activity of the same cells, against distance from a place.

    For instance from a reward, before and after it was placed: whether a local cause had a local
    effect. What also changes without it is no effect: compare with a control, or give its maps as
    `before`.

    **Arguments:**

    - `before`, `after`: `RateMaps` or `(cell, *bins)`, of the same cells and bins, one or two axes
        of bins; bins that are NaN for any cell at either time are left out.
    - `center`: the place, `(2,)`, or a number on a line; for arrays from the corner of the first
        bin.
    - `bin_size`: width of bins, or one for each axis; that of `RateMaps` by default.
    - `near`, `far`: bins nearer than the one and farther than the other are compared; in the unit
        of `bin_size`. The defaults are for an arena of side 1.
    - `edges`: `(ring + 1,)`, increasing; by default multiples of `near` as far as bins go.

    **Returns:** `ChangeProfile`; `globality` is NaN where nothing changes near the place.

    **Raises:** `ValueError` as `change_map`, for a center, bin size or edges that do not fit, or no
    known bin that is near, or far.

    **Reference:** Acosta, Dinc, Redman, Madhav, Klindt & Miolane (2024), Global distortions from
    local rewards, NeurIPS 37, Section 4.3.
    """
    magnitude = change_map(before, after).magnitude
    distance = _distances(before, magnitude.shape, center, bin_size)
    if not 0 < near <= far < np.inf:
        raise ValueError(f"near must be positive and no more than far, got {near} and {far}.")
    known = np.isfinite(magnitude)
    d, change = distance[known], magnitude[known]
    if not (d < near).any() or not (d > far).any():
        raise ValueError(
            f"there must be known bins nearer to center than {near} and farther than {far}: their "
            f"distances go from {d.min():.3g} to {d.max():.3g}."
        )
    inside, outside = float(change[d < near].mean()), float(change[d > far].mean())
    if edges is None:
        bounds = near * np.arange(int(np.ceil(d.max() / near * (1 - 1e-9))) + 1)
    else:
        bounds = np.asarray(as_floating(edges, "edges"), np.float64)
        if bounds.ndim != 1 or len(bounds) < 2 or not (np.diff(bounds) > 0).all():
            raise ValueError(f"edges must be two or more, increasing; got {edges}.")
    counts = np.histogram(d, bounds)[0]
    totals = np.histogram(d, bounds, weights=change)[0]
    profile = np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
    globality = outside / inside if inside > 0 else float("nan")
    return ChangeProfile(bounds, profile, counts, inside, outside, globality, magnitude)


def _distances(maps: Any, bins: tuple[int, ...], center: Any, bin_size: Any) -> np.ndarray:
    """Distance of the centre of each bin from a place, `(*bins,)`."""
    place = np.atleast_1d(np.asarray(as_floating(center, "center"), np.float64))
    if place.shape != (len(bins),) or not np.isfinite(place).all():
        raise ValueError(f"center must be {len(bins)} finite number(s), got {center}.")
    if isinstance(maps, RateMaps) and bin_size is None:
        centres = maps.centres
    elif bin_size is None:
        raise ValueError("bin_size is needed, or RateMaps, which have theirs.")
    else:
        sizes = read_bin_sizes(bin_size)
        centres = tuple((np.arange(n) + 0.5) * size for n, size in zip(bins, sizes))
    away = np.meshgrid(*[x - c for x, c in zip(centres, place)], indexing="ij")
    return np.sqrt(np.sum(np.square(away), axis=0))
