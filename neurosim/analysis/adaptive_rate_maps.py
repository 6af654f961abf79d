"""Rate maps with as much smoothing in each bin as its data need: adaptive binning."""

from typing import Any

import numpy as np

from .rate_maps import RateMaps, maps_of_path, read_session
from .running_speed import sample_times
from .tracked_path import TrackedPath


def adaptive_rate_maps(
    spike_times: Any,
    times: Any,
    positions: Any,
    *,
    alpha: Any = 1e6,
    sampling_rate: Any = None,
    max_radius: Any = None,
    min_occupancy: Any = 0.0,
    **path: Any,
) -> RateMaps:
    """Rates over a disc about each bin, which grows until it holds enough spikes and time.

    The radius r, in bins, is the least for which

        N_spikes >= alpha / (N_samples^2 r^2)

    with the spikes and the samples of position within the disc; the rate is their ratio times the
    sampling rate. Bins that were not visited are NaN. The result trades resolution against noise
    bin by bin, and each cell has its own radii: it is for the information of single cells, not for
    decoding from many.

    **Arguments:**

    - `spike_times`, `times`, `positions`, and whatever else `rate_maps` takes, without `sigma`.
    - `alpha`: the larger, the smoother.
    - `sampling_rate`: of positions, in Hz; by default 1 over the median step. `alpha` goes with it:
        N_samples is time times this rate.
    - `max_radius`: in bins; a disc that has grown to it is taken as it is. By default as far as the
        map goes.

    **Returns:** `RateMaps`.

    **Raises:** `ValueError` as `rate_maps`, or for an `alpha`, rate or radius that is not positive.

    **Reference:** Skaggs, McNaughton, Wilson & Barnes (1996), Hippocampus 6, 149-172.
    """
    spikes, track = read_session(spike_times, times, positions, **path)
    maps = maps_of_path(
        track, spikes, track.pieces_at(spikes.times), sigma=0.0, min_occupancy=min_occupancy
    )
    rate = _sampling_rate(sampling_rate, times)
    if not 0 < alpha < np.inf:
        raise ValueError(f"alpha must be positive and finite, got {alpha}.")
    shape = maps.occupancy.shape
    farthest = [n // 2 if w else n - 1 for n, w in zip(shape, track.bins.wrap)]
    largest = int(np.ceil(np.hypot(*farthest))) if len(shape) == 2 else farthest[0]
    if max_radius is not None:
        if not max_radius >= 1:
            raise ValueError(f"max_radius must be at least 1 bin, got {max_radius}.")
        largest = min(largest, int(max_radius))
    n_spikes, seconds = _grown_discs(maps, track, max(largest, 1), rate, float(alpha))
    visited = np.isfinite(maps.rates)
    rates = np.where(visited, n_spikes / np.where(seconds > 0, seconds, 1), np.nan)
    return RateMaps(
        rates, maps.occupancy, maps.counts, maps.edges, maps.wrap, maps.unit_ids, maps.n_left_out
    )


def _sampling_rate(sampling_rate: Any, times: Any) -> float:
    if sampling_rate is None:
        return 1 / float(np.median(np.diff(sample_times(times))))
    if not 0 < sampling_rate < np.inf:
        raise ValueError(f"sampling_rate must be positive and finite, got {sampling_rate}.")
    return float(sampling_rate)


def _grown_discs(
    maps: RateMaps, track: TrackedPath, largest: int, rate: float, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Spikes and seconds in the disc that each bin of each cell ends with, `(cell, *bins)`."""
    # A track is a map of one row; occupancy is the last of the stack.
    both = np.concatenate([maps.counts, maps.occupancy[None]]).astype(float)
    wrap = track.bins.wrap
    if both.ndim == 2:
        both, wrap = both[:, None], (False, *wrap)
    sums = _RowSums(both, largest, wrap)
    n_spikes, seconds = np.zeros_like(both[:-1]), np.zeros_like(both[:-1])
    met = np.zeros(both[:-1].shape, bool)
    for radius in range(1, largest + 1):
        disc = sums.disc(radius)
        samples = disc[-1] * rate
        enough = disc[:-1] * (samples * radius) ** 2 >= alpha
        # The last disc is taken by whatever is still growing.
        new = ~met & (enough | (radius == largest))
        n_spikes = np.where(new, disc[:-1], n_spikes)
        seconds = np.where(new, disc[-1], seconds)
        met |= new
        if met.all():
            break
    shape = maps.counts.shape
    return n_spikes.reshape(shape), seconds.reshape(shape)


class _RowSums:
    """Sums over discs from sums along rows, of which each row of a disc is one difference."""

    def __init__(self, values: np.ndarray, largest: int, wrap: tuple[bool, ...]):
        self.shape, self.pad = values.shape, largest
        # Round a circle a disc that meets itself counts each bin once, the opposite one too.
        self.reach = [
            ((n - 1) // 2, n // 2) if w else (n - 1, n - 1) for n, w in zip(values.shape[1:], wrap)
        ]
        padded = values
        for axis, round_the_end in enumerate(wrap, start=1):
            size = values.shape[axis]
            if round_the_end:
                places = np.arange(-largest, size + largest) % size
                padded = np.take(padded, places, axis=axis)
            else:
                widths = [(0, 0)] * 3
                widths[axis] = (largest, largest)
                padded = np.pad(padded, widths)
        self.along = np.pad(np.cumsum(padded, axis=2), [(0, 0), (0, 0), (1, 0)])

    def disc(self, radius: int) -> np.ndarray:
        """Sums over the bins within `radius` of each, `(map, bins, bins)`."""
        _, n_rows, n_columns = self.shape
        total = np.zeros(self.shape)
        (up, down), (left, right) = self.reach
        for row in range(-min(radius, up), min(radius, down) + 1):
            half = int(np.sqrt(radius**2 - row**2))
            band = self.along[:, self.pad + row : self.pad + row + n_rows]
            first, end = self.pad - min(half, left), self.pad + min(half, right) + 1
            total += band[:, :, end : end + n_columns] - band[:, :, first : first + n_columns]
        return total
