"""Firing rate against position: spikes in each bin over the time spent there."""

import dataclasses
import warnings
from typing import Any, NamedTuple

import numpy as np

from .io.spike_times import read_spike_trains
from .map_smoothing import apply_weights, gaussian_weights
from .spatial_bins import SpatialBins
from .tracked_path import TrackedPath, tracked_path


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RateMaps:
    """Rates of cells by position; see `rate_maps`.

    - `rates`: `(cell, *bins)`, in Hz; NaN where unvisited.
    - `occupancy`: `(*bins,)`, time spent in each bin, in s, not smoothed.
    - `counts`: `(cell, *bins)`, spikes in each bin, not smoothed.
    - `edges`: for each dimension `(bins + 1,)`, in the unit of positions.
    - `wrap`: for each dimension, whether its ends meet.
    - `unit_ids`: `(cell,)`.
    - `n_left_out`: `(cell,)`, spikes that do not count: before or after the tracking, in its gaps,
      below the least speed, outside of the epochs.
    """

    rates: np.ndarray
    occupancy: np.ndarray
    counts: np.ndarray
    edges: tuple[np.ndarray, ...]
    wrap: tuple[bool, ...]
    unit_ids: np.ndarray
    n_left_out: np.ndarray

    @property
    def bins(self) -> SpatialBins:
        """The bins, with their centres, sizes and periods."""
        return SpatialBins(self.edges, self.wrap)

    @property
    def centres(self) -> tuple[np.ndarray, ...]:
        """Centre of each bin, `(bins,)` for each dimension."""
        return self.bins.centres

    @property
    def mean_rates(self) -> np.ndarray:
        """Spikes that count over the time that counts, `(cell,)`, in Hz."""
        n = self.counts.reshape(len(self.counts), -1).sum(axis=1)
        return n / self.occupancy.sum()

    @property
    def raw_rates(self) -> np.ndarray:
        """Counts over occupancy without smoothing, `(cell, *bins)`, in Hz; NaN as in `rates`."""
        visited = self.occupancy > 0
        rates = self.counts / np.where(visited, self.occupancy, 1)
        return np.where(visited & np.isfinite(self.rates), rates, np.nan)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.occupancy.shape))
        visited = np.mean(self.occupancy > 0)
        return (
            f"RateMaps({len(self.rates)} cells, {shape} bins, {visited:.0%} visited in "
            f"{self.occupancy.sum():.6g} s; {int(self.counts.sum())} spikes, "
            f"{int(self.n_left_out.sum())} left out)"
        )


class Spikes(NamedTuple):
    """Spikes of all cells one after another, the cell of each, and the names of cells."""

    times: np.ndarray
    cells: np.ndarray
    unit_ids: np.ndarray


def rate_maps(
    spike_times: Any,
    times: Any,
    positions: Any,
    *,
    edges: Any = None,
    bin_size: Any = None,
    extent: Any = None,
    sigma: Any = 0.0,
    min_occupancy: Any = 0.0,
    min_speed: Any = None,
    speed: Any = None,
    max_gap: Any = None,
    epochs: Any = None,
    wrap: Any = False,
) -> RateMaps:
    """Firing rate of each cell in each bin of space.

    Between two samples of position the animal goes straight, and its path is cut at the edges of
    bins: the time in a bin is exact, spikes take the position at their own time, and what is left
    out (lost tracking, gaps, slow stretches, time outside of epochs) is left out of both.

    With `sigma`, counts and occupancy are smoothed separately and then divided. Bins that were not
    visited are NaN, smoothed or not.

    ```python
    maps = rate_maps(spikes, t, xy, bin_size=0.025, extent=(0, 1), sigma=0.05, min_speed=0.03)
    maps.rates.shape, maps.occupancy.sum()  # (cells, 40, 40), the time that counts
    ```

    **Arguments:**

    - `spike_times`: in s, sorted: an array for one cell, a list of arrays, or a mapping from cell
        to array; pynapple and neo objects will do.
    - `times`: `(sample,)`, in s, increasing; a pynapple object, or a series of `from_nwb`, which
        then does for both.
    - `positions`: `(sample,)` or `(sample, 2)`, in any unit of length, or angles; NaN where the
        animal was lost. Of a map `(cell, bins, bins)`, the first axis of bins is that of the first
        coordinate.
    - `edges`: `(bins + 1,)`, or a sequence of such for each dimension; or
    - `bin_size`: the width of bins, or one for each dimension, over `extent`: `(low, high)` or a
        pair for each dimension, by default that of the positions.
    - `sigma`: standard deviation of Gaussian smoothing, in the unit of positions (not in bins).
    - `min_occupancy`: least time in s for a bin to count as visited.
    - `min_speed`: steps slower than this do not count, in the unit of positions per s. Speed is
        that between two samples, or the mean of `speed` at both, `(sample,)`, where it is given:
        positions in whole pixels need `running_speed` with smoothing.
    - `max_gap`: steps longer than this do not count, in s; by default ten median steps.
    - `epochs`: what counts, as `read_epochs` takes it; half-open. By default everything does.
    - `wrap`: whether the ends of a dimension meet, as on a circular track or for headings; for all
        dimensions or for each.

    **Returns:** `RateMaps`.

    **Raises:** `ValueError` for spike times that are not finite or not sorted, none of them within
    the time of the positions, times that do not increase, positions that are infinite or outside
    of the bins, bins as `spatial_bins` refuses them, or where no time is left. A cell without
    spikes has a rate of 0; spikes that coincide are counted, with a warning.
    """
    spikes, path = read_session(
        spike_times,
        times,
        positions,
        edges=edges,
        bin_size=bin_size,
        extent=extent,
        wrap=wrap,
        min_speed=min_speed,
        speed=speed,
        max_gap=max_gap,
        epochs=epochs,
    )
    return maps_of_path(
        path, spikes, path.pieces_at(spikes.times), sigma=sigma, min_occupancy=min_occupancy
    )


def read_session(
    spike_times: Any, times: Any, positions: Any, **path: Any
) -> tuple[Spikes, TrackedPath]:
    """Spikes of all cells, and the path cut at the edges of bins; arguments as `rate_maps`.

    **Raises:** `ValueError` for what `read_spike_trains` or `tracked_path` refuses, or where there
    are spikes, but none within the time of the positions. Warns of spikes that coincide.
    """
    spikes = _read_spikes(spike_times)
    track = tracked_path(times, positions, **path)
    first, last = track.clock
    inside = (spikes.times >= first) & (spikes.times <= last)
    if len(spikes.times) > 0 and not inside.any():
        raise ValueError(
            f"no spike falls within the time of the positions, {first:.9g} to {last:.9g} s; they "
            f"go from {spikes.times.min():.9g} to {spikes.times.max():.9g}. Are both on one clock, "
            "in s?"
        )
    return spikes, track


def _read_spikes(spike_times: Any) -> Spikes:
    trains = read_spike_trains(spike_times)
    n = np.array([len(train) for train in trains.times])
    times = np.concatenate(trains.times)
    cells = np.repeat(np.arange(len(n)), n)
    same = (np.diff(times) == 0) & (np.diff(cells) == 0)
    if same.any():
        first = int(np.argmax(same))
        warnings.warn(
            f"{int(same.sum())} spike(s) come at the time of another one of the same cell, the "
            f"first of unit {trains.unit_ids[cells[first]]} at {times[first]:.9g}; each counts.",
            stacklevel=4,
        )
    return Spikes(times, cells, trains.unit_ids)


def maps_of_path(
    path: TrackedPath, spikes: Spikes, pieces: np.ndarray, *, sigma: Any, min_occupancy: Any
) -> RateMaps:
    """Maps from the pieces of a path in which spikes fall, -1 for those that do not count."""
    n_cells = len(spikes.unit_ids)
    counts = count_spikes(path, spikes.cells, pieces, n_cells)
    left_out = np.bincount(spikes.cells[pieces < 0], minlength=n_cells)
    occupancy = path.occupancy
    rates = smoothed_rates(counts, occupancy, path.bins, sigma=sigma, min_occupancy=min_occupancy)
    return RateMaps(
        rates, occupancy, counts, path.bins.edges, path.bins.wrap, spikes.unit_ids, left_out
    )


def count_spikes(
    path: TrackedPath, cells: np.ndarray, pieces: np.ndarray, n_cells: int
) -> np.ndarray:
    """Spikes of each cell in each bin, `(cell, *bins)`."""
    n_bins = int(np.prod(path.bins.shape))
    inside = pieces >= 0
    flat = cells[inside] * n_bins + path.places[pieces[inside]]
    return np.bincount(flat, minlength=n_cells * n_bins).reshape(n_cells, *path.bins.shape)


def smoothed_rates(
    counts: np.ndarray, occupancy: np.ndarray, bins: SpatialBins, *, sigma: Any, min_occupancy: Any
) -> np.ndarray:
    """Counts over occupancy, both smoothed, NaN in bins with less than the least occupancy.

    **Raises:** `ValueError` for a sigma or a least occupancy that is negative or no number, or
    where every bin has less.
    """
    if not 0 <= min_occupancy < np.inf:
        raise ValueError(f"min_occupancy must be finite and not negative, got {min_occupancy}.")
    visited = (occupancy > 0) & (occupancy >= min_occupancy)
    if not visited.any():
        raise ValueError(
            f"no bin was visited for min_occupancy, {min_occupancy:g} s; the longest time in one "
            f"is {occupancy.max():.6g} s."
        )
    if np.ndim(sigma) != 0 or sigma is None or isinstance(sigma, str):
        raise ValueError(f"sigma must be a number, in the unit of positions; got {sigma!r}.")
    smoothing = float(sigma)
    widths = bins.widths("sigma") if smoothing != 0 else (1.0,) * len(bins.shape)
    weights = gaussian_weights(bins.shape, sigma=smoothing, widths=widths, wrap=bins.wrap)
    # The weights next to walls are the same for both, and so divide out.
    spent = apply_weights(occupancy, weights)
    fired = apply_weights(counts.astype(float), weights)
    return np.where(visited, fired / np.where(visited, spent, 1), np.nan)
