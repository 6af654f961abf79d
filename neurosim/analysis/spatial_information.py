"""How much a spike tells of position, and how concentrated and smooth a rate map is."""

import math
from typing import Any, NamedTuple

import numpy as np

from .activity import as_floating
from .known_bin_correlation import paired_known_correlations
from .map_stack import MapStack, read_maps
from .rate_maps import RateMaps
from .spatial_bins import read_wrap


class SpatialInformation(NamedTuple):
    """Information about position; see `spatial_information`. Floats for a single map."""

    bits_per_spike: Any
    bits_per_second: Any


def spatial_information(
    maps: Any,
    occupancy: Any = None,
    *,
    mean_rate: Any = None,
    correct_bias: bool = False,
    n_spikes: Any = None,
) -> SpatialInformation:
    """Information of a cell's rate about position, after Skaggs.

        I = sum_x p(x) (r(x) / r) log2(r(x) / r)   bits/spike,    r = sum_x p(x) r(x)

    with 0 log 0 = 0, and r I bits/s. p is the share of time in a bin, over the bins that are valid
    in the map of that cell. A rate that is the same everywhere has 0, one that is confined to a
    share a of the time log2(1 / a).

    **Limited data has information too much**: in K bins without smoothing, n spikes of a cell that
    knows nothing of position have (K - 1) / (2 n ln 2) bits/spike. `correct_bias` subtracts that;
    smoothing lessens it, so correct maps without. `spatial_information_test` compares with shuffles
    of the same maps, smoothed or not.

    **Arguments:**

    - `maps`: `RateMaps`, `(cell, *bins)` in Hz, or one map `(*bins,)`; NaN where unvisited.
    - `occupancy`: `(*bins,)`, in s, or shares; 0 or NaN where unvisited. `RateMaps` have theirs.
    - `mean_rate`: `(cell,)` or a number, r in its place: the rate of the whole epoch, for instance.
    - `correct_bias`: whether to subtract the bias; the result may be negative.
    - `n_spikes`: `(cell,)` or a number, for the bias; by default the counts of `RateMaps`, or r
        times the occupancy, then in s; both in valid bins.

    **Returns:** `SpatialInformation`: `bits_per_spike` and `bits_per_second`, `(cell,)`. NaN for a
    cell without spikes or valid bins.

    **Raises:** `ValueError` for shapes that do not fit, negative or infinite values, or maps or an
    occupancy without any valid bin.

    **Reference:** Skaggs, McNaughton, Gothard & Markus (1993), An information-theoretic approach to
    deciphering the hippocampal code, NIPS 5; Panzeri & Treves (1996), Network 7, 87-107, for the
    bias.
    """
    stack = read_maps(maps, occupancy, needs_occupancy=True)
    p, rates = stack.shares(), stack.flat()
    mean = np.sum(p * rates, axis=1)
    if mean_rate is not None:
        given = _for_each_cell(mean_rate, len(mean), "mean_rate")
        mean = np.where(np.isnan(mean), np.nan, given)
    bits = information_per_spike(p, rates, mean)
    if correct_bias:
        if n_spikes is not None:
            n = _for_each_cell(n_spikes, len(mean), "n_spikes")
        elif isinstance(maps, RateMaps):
            n = np.where(p > 0, maps.counts.reshape(p.shape), 0).sum(axis=1)
        else:
            seconds = 0 if stack.occupancy is None else stack.occupancy.ravel()
            n = mean * np.where(p > 0, seconds, 0).sum(axis=1)
        n_bins = np.sum(p > 0, axis=1)
        bits = bits - (n_bins - 1) / (2 * math.log(2) * np.where(n > 0, n, np.nan))
    elif n_spikes is not None:
        raise ValueError("n_spikes goes with correct_bias=True.")
    return SpatialInformation(stack.result(bits), stack.result(bits * mean))


def information_per_spike(p: np.ndarray, rates: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Bits/spike `(cell,)` from shares of time and rates, `(cell, bin)`; NaN for a mean of 0."""
    fires = mean > 0
    ratio = rates / np.where(fires, mean, 1)[:, None]
    log = np.log2(ratio, where=ratio > 0, out=np.zeros_like(ratio))
    return np.where(fires, np.sum(p * ratio * log, axis=1), np.nan)


def sparsity(maps: Any, occupancy: Any = None) -> Any:
    """Share of the time in which a cell fires: (sum p r)^2 / sum p r^2, from 0 to 1.

    A rate that is confined to a share a of the time has a; one that is the same everywhere 1. Small
    values are sparse, whatever the name says.

    **Arguments** and **Raises** are those of `spatial_information`.

    **Returns:** `(cell,)`, or a float for a single map; NaN for a cell without spikes.

    **Reference:** Skaggs, McNaughton, Wilson & Barnes (1996), Hippocampus 6, 149-172; Treves &
    Rolls (1991), Network 2, 371-397.
    """
    stack = read_maps(maps, occupancy, needs_occupancy=True)
    p, rates = stack.shares(), stack.flat()
    mean, square = np.sum(p * rates, axis=1), np.sum(p * rates**2, axis=1)
    return stack.result(np.where(square > 0, mean**2 / np.where(square > 0, square, 1), np.nan))


def selectivity(maps: Any, occupancy: Any = None) -> Any:
    """Peak rate over mean rate of a cell, the mean over time.

    **Arguments** and **Raises** are those of `spatial_information`.

    **Returns:** `(cell,)`, or a float for a single map; NaN for a cell without spikes.

    **Reference:** Skaggs, McNaughton, Wilson & Barnes (1996), Hippocampus 6, 149-172.
    """
    stack = read_maps(maps, occupancy, needs_occupancy=True)
    rates = stack.flat()
    mean = np.sum(stack.shares() * rates, axis=1)
    return stack.result(np.where(mean > 0, rates.max(axis=1) / np.where(mean > 0, mean, 1), np.nan))


def spatial_coherence(
    maps: Any, *, wrap: Any = None, fisher_z: bool = False, d: int | None = None
) -> Any:
    """Correlation of the rate in a bin with the mean rate of its neighbours.

    Neighbours are the 8 about a bin, 2 on a track, as far as they are valid: at walls and next to
    unvisited bins the mean is over those that there are, not over zeros. Maps are not to be
    smoothed, so of `RateMaps` the counts over the occupancy are taken.

    **Arguments:**

    - `maps`: `RateMaps`, `(cell, *bins)`, or one map; NaN where unvisited.
    - `wrap`: whether the ends of a dimension meet; that of `RateMaps` by default.
    - `fisher_z`: whether to return the inverse hyperbolic tangent of the correlation.
    - `d`: number of dimensions of space; by default a map of two axes is `(cell, bins)`.

    **Returns:** `(cell,)`, or a float for a single map; NaN for a map that does not vary, or with
    fewer than three bins that have a neighbour.

    **Raises:** `ValueError` for shapes that do not fit, or negative or infinite rates.

    **Reference:** Muller & Kubie (1989), Journal of Neuroscience 9, 4101-4110.
    """
    if isinstance(maps, RateMaps):
        wrap = maps.wrap if wrap is None else wrap
        maps, d = maps.raw_rates, maps.occupancy.ndim
    stack = read_maps(maps, d=d)
    mean = _neighbour_means(stack, read_wrap(wrap, stack.rates.ndim - 1))
    r = paired_known_correlations(stack.rates.reshape(mean.shape), mean)
    return stack.result(np.arctanh(r) if fisher_z else r)


def _neighbour_means(stack: MapStack, wrap: tuple[bool, ...]) -> np.ndarray:
    """Mean over the valid neighbours of each bin, `(cell, bin)`; NaN without any."""
    known = np.isfinite(stack.rates)
    total, n = np.where(known, stack.rates, 0), known.astype(float)
    here = total, n
    for axis, round_the_end in enumerate(wrap, start=1):
        total, n = (_sum_of_three(x, axis, round_the_end) for x in (total, n))
    total, n = (np.reshape(x - y, (len(known), -1)) for x, y in zip((total, n), here))
    return np.where(n > 0, total / np.where(n > 0, n, 1), np.nan)


def _sum_of_three(x: np.ndarray, axis: int, round_the_end: bool) -> np.ndarray:
    widths = [(0, 0)] * x.ndim
    widths[axis] = (1, 1)
    padded = np.pad(x, widths, mode="wrap" if round_the_end else "constant")
    size = x.shape[axis]
    return sum(
        (np.take(padded, np.arange(i, i + size), axis=axis) for i in range(3)), np.zeros_like(x)
    )


def _for_each_cell(value: Any, n_cells: int, name: str) -> np.ndarray:
    values = np.asarray(as_floating(value, name), np.float64)
    if values.shape not in ((), (n_cells,)) or not (values >= 0).all():
        raise ValueError(
            f"{name} must be a number or (cell,), {n_cells} values, not negative; got shape "
            f"{values.shape}."
        )
    return np.broadcast_to(values, (n_cells,))
