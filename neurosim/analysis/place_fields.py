"""Place fields: connected bins of high rate in a map."""

import dataclasses
from typing import Any

import numpy as np
import scipy.ndimage

from .connected_bins import connected
from .map_stack import MapStack, read_maps
from .rate_maps import RateMaps
from .spatial_bins import SpatialBins, bins_of_maps


@dataclasses.dataclass(frozen=True)
class PlaceField:
    """One field of one cell; see `detect_place_fields`.

    - `cell`: place of the cell in the maps; `label`: number of the field in the labels, from 1 on.
    - `peak_rate`, `mean_rate`: highest and mean rate within, in Hz.
    - `peak`: `(d,)`, centre of the bin with the highest rate.
    - `centroid`: `(d,)`, mean position weighted by rate.
    - `size`: length or area, in the unit of the edges.
    - `n_bins`: number of bins.
    - `in_out_ratio`: mean rate within over mean rate in the valid bins outside of all fields of the
      cell; infinite where the cell is silent there, NaN where there are no such bins.
    """

    cell: int
    label: int
    peak_rate: float
    mean_rate: float
    peak: tuple[float, ...]
    centroid: tuple[float, ...]
    size: float
    n_bins: int
    in_out_ratio: float


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PlaceFields:
    """The fields of all cells; see `detect_place_fields`.

    - `labels`: the shape of the maps; 0 outside of fields, and 1, 2, ... in those of each cell, in
      order of their peak rates.
    - `fields`: `PlaceField` of all cells, in order of cells and labels.
    """

    labels: np.ndarray
    fields: tuple[PlaceField, ...]

    def of(self, cell: int) -> tuple[PlaceField, ...]:
        """The fields of one cell, highest peak first."""
        return tuple(field for field in self.fields if field.cell == cell)

    def __len__(self) -> int:
        return len(self.fields)

    def __repr__(self) -> str:
        cells = len({field.cell for field in self.fields})
        return f"PlaceFields({len(self.fields)} fields of {cells} cells)"


def detect_place_fields(
    maps: Any,
    *,
    edges: Any = None,
    bin_size: Any = None,
    threshold: Any = 0.2,
    relative_to: str = "map",
    min_peak: Any = 1.0,
    min_size: Any = 0.0,
    max_mean_rate: Any = 10.0,
    connectivity: int = 1,
    wrap: Any = None,
    occupancy: Any = None,
    d: int | None = None,
) -> PlaceFields:
    """Connected bins with a rate above a share of the peak.

    - `relative_to="map"`: above `threshold` times the highest rate of the cell.
    - `relative_to="field"`: above `threshold` times the highest rate of the field itself. A local
        maximum has a field if the bins above that share of its own rate, connected to it, hold no
        higher one. This finds small fields far from large ones.

    NaN is never within a field, nor does one go through it. A region that takes in every visited
    bin is no field: maps that are constant, silent or empty have none.

    **Arguments:**

    - `maps`: `RateMaps`, `(cell, *bins)` in Hz, or one map; NaN where unvisited. Smoothed maps, as
        a rule.
    - `edges`: `(bins + 1,)`, or a sequence of such, or `bin_size`, a number or one for each
        dimension, with the map from 0 on; by default those of `RateMaps`, or bins of width 1.
    - `threshold`: share of the peak, from 0 up to 1.
    - `min_peak`: least peak rate of a field, in Hz.
    - `min_size`: least length or area of a field.
    - `max_mean_rate`: cells above it, in Hz, have no fields: they are likely interneurons.
    - `connectivity`: 1 for bins that share a side, 2 for a corner too.
    - `wrap`: whether the ends of a dimension meet; that of `RateMaps` by default.
    - `occupancy`: `(*bins,)`, weights of the mean rates; that of `RateMaps`, or even, by default.
    - `d`: number of dimensions of space; by default a map of two axes is `(cell, bins)`.

    **Returns:** `PlaceFields`. Labels have no axis of cells for a single map.

    **Raises:** `ValueError` for another kind, a threshold or connectivity out of range, or maps and
    edges that do not fit, or are negative or infinite.
    """
    _check(threshold, relative_to, connectivity, min_peak, min_size)
    if isinstance(maps, RateMaps):
        edges = maps.edges if edges is None and bin_size is None else edges
        wrap = maps.wrap if wrap is None else wrap
        d = maps.occupancy.ndim
    # Where nothing was visited there is no field; that is an answer, not an error.
    stack = read_maps(maps, occupancy, d=d, may_be_unvisited=True)
    shape = stack.rates.shape[1:]
    bins = _bins(edges, bin_size, shape, wrap)
    connectivity = min(connectivity, len(shape))
    mean = np.sum(stack.shares() * stack.flat(), axis=1)
    rates = np.where(np.isfinite(stack.rates), stack.rates, -np.inf)
    rates[~(mean <= max_mean_rate)] = -np.inf
    find = _above_share_of_map if relative_to == "map" else _above_share_of_field
    labels = find(rates, float(threshold), float(min_peak), connectivity, bins.wrap)
    labels, fields = _describe(stack, labels, bins, float(min_peak), float(min_size))
    return PlaceFields(labels[0] if stack.single else labels, fields)


def _check(
    threshold: Any, relative_to: str, connectivity: int, min_peak: Any, min_size: Any
) -> None:
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold must be from 0 up to 1, got {threshold}.")
    if relative_to not in ("map", "field"):
        raise ValueError(f"relative_to must be 'map' or 'field', got {relative_to!r}.")
    if connectivity not in (1, 2):
        raise ValueError(f"connectivity must be 1 or 2, got {connectivity}.")
    if not min_peak >= 0 or not min_size >= 0:
        raise ValueError(f"min_peak and min_size must be 0 or more, got {min_peak}, {min_size}.")


def _bins(edges: Any, bin_size: Any, shape: tuple[int, ...], wrap: Any) -> SpatialBins:
    if edges is not None and bin_size is not None:
        raise ValueError("give edges or bin_size, not both.")
    if edges is None:
        widths = np.broadcast_to(np.asarray(1.0 if bin_size is None else bin_size), (len(shape),))
        if not (widths > 0).all():
            raise ValueError(f"bin_size must be positive, got {bin_size}.")
        edges = [width * np.arange(n + 1.0) for n, width in zip(shape, widths)]
    return bins_of_maps(edges, wrap, shape)


def _above_share_of_map(
    rates: np.ndarray, threshold: float, min_peak: float, connectivity: int, wrap: tuple[bool, ...]
) -> np.ndarray:
    top = rates.reshape(len(rates), -1).max(axis=1).reshape(-1, *[1] * (rates.ndim - 1))
    high = (rates > threshold * np.maximum(top, 0)) & (top >= min_peak) & (top > 0)
    return connected(high, connectivity, wrap)


def _above_share_of_field(
    rates: np.ndarray, threshold: float, min_peak: float, connectivity: int, wrap: tuple[bool, ...]
) -> np.ndarray:
    # The box of neighbours is separable, and ends of dimensions meet each in its own way.
    highest = rates
    for axis, round_the_end in enumerate(wrap, start=1):
        mode = "wrap" if round_the_end else "nearest"
        highest = scipy.ndimage.maximum_filter1d(highest, 3, axis=axis, mode=mode)
    seeds = (rates >= highest) & (rates > 0) & (rates >= min_peak)
    labels = np.zeros(rates.shape, np.int64)
    n_cells, taken = len(rates), 0
    column = (-1, *[1] * (rates.ndim - 1))
    while True:
        left = np.where(seeds, rates, -np.inf).reshape(n_cells, -1)
        seed = left.argmax(axis=1)
        top = left[np.arange(n_cells), seed]
        active = np.flatnonzero(np.isfinite(top))
        if len(active) == 0:
            return labels
        level, own_rates = (threshold * top[active]).reshape(column), rates[active]
        regions = connected(own_rates > level, connectivity, wrap)
        own = regions.reshape(len(active), -1)[np.arange(len(active)), seed[active]]
        region = regions == own.reshape(column)
        # A region with a higher rate belongs to the flank of another peak.
        highest_within = np.where(region, own_rates, -np.inf).reshape(len(active), -1).max(axis=1)
        is_field = (highest_within <= top[active]).reshape(column)
        number = taken + 1 + np.arange(len(active)).reshape(column)
        labels[active] = np.where(region & is_field, number, labels[active])
        taken += len(active)
        # Lower seeds within it have regions that take it in.
        seeds[active] &= ~region


def _describe(
    stack: MapStack, labels: np.ndarray, bins: SpatialBins, min_peak: float, min_size: float
) -> tuple[np.ndarray, tuple[PlaceField, ...]]:
    """Regions that are fields, numbered by peak within their cell, and what they are like."""
    flat = labels.reshape(len(labels), -1)
    rates, known = stack.flat(), np.isfinite(stack.rates).reshape(flat.shape)
    cell, place = np.nonzero(flat)
    names, region = np.unique(flat[cell, place], return_inverse=True)
    if len(names) == 0:
        return np.zeros_like(labels), ()
    n = len(names)
    rate, area = rates[cell, place], bins.sizes.ravel()[place]
    # The first bin of each region in order of falling rate is its peak.
    order = np.lexsort((place, -rate, region))
    peak = order[np.searchsorted(region[order], np.arange(n))]
    owner, size = cell[peak], np.bincount(region, area, n)
    n_bins = np.bincount(region, minlength=n)
    kept = (rate[peak] >= min_peak) & (size >= min_size) & (n_bins < known.sum(axis=1)[owner])
    ranks = np.lexsort((-rate[peak], owner))
    ranks = ranks[kept[ranks]]
    start = np.searchsorted(owner[ranks], owner[ranks])
    number = np.zeros(n, np.int64)
    number[ranks] = np.arange(len(ranks)) - start + 1
    final = np.zeros_like(flat)
    final[cell, place] = number[region]
    weight = np.ones(flat.shape[1]) if stack.occupancy is None else stack.occupancy.ravel()
    w = weight[place]
    mean = np.bincount(region, w * rate, n) / np.bincount(region, w, n)
    out = known & (final == 0)
    time_out = out @ weight
    rate_out = np.where(out, rates, 0) @ weight / np.where(time_out > 0, time_out, 1)
    at = np.unravel_index(place, bins.shape)
    peaks, centroids = [], []
    for axis, centre in enumerate(bins.centres):
        x = centre[at[axis]]
        from_peak = x - x[peak][region]
        if bins.wrap[axis]:
            period = bins.periods[axis]
            from_peak = np.mod(from_peak + period / 2, period) - period / 2
        mass = rate * area
        middle = x[peak] + np.bincount(region, mass * from_peak, n) / np.bincount(region, mass, n)
        if bins.wrap[axis]:
            origin = bins.edges[axis][0]
            middle = origin + np.mod(middle - origin, bins.periods[axis])
        peaks.append(x[peak])
        centroids.append(middle)
    with np.errstate(divide="ignore"):
        ratio = np.where(time_out[owner] > 0, mean / rate_out[owner], np.nan)
    fields = tuple(
        PlaceField(
            cell=int(owner[i]),
            label=int(number[i]),
            peak_rate=float(rate[peak[i]]),
            mean_rate=float(mean[i]),
            peak=tuple(float(x[i]) for x in peaks),
            centroid=tuple(float(x[i]) for x in centroids),
            size=float(size[i]),
            n_bins=int(n_bins[i]),
            in_out_ratio=float(ratio[i]),
        )
        for i in ranks
    )
    return final.reshape(labels.shape), fields
