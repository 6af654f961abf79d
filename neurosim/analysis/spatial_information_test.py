"""Whether a cell knows of position: its information against shifts of its spikes in time."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .rate_maps import RateMaps, count_spikes, maps_of_path, read_session, smoothed_rates
from .resampling import as_generator
from .spatial_information import information_per_spike


class SpatialInformationTest(NamedTuple):
    """Information of cells, and what it is by chance; see `spatial_information_test`."""

    bits_per_spike: np.ndarray
    p_value: np.ndarray
    z_score: np.ndarray
    null: np.ndarray
    maps: RateMaps


def spatial_information_test(
    spike_times: Any,
    times: Any,
    positions: Any,
    *,
    n_shuffles: int | np.integer = 200,
    min_shift: Any = 20.0,
    random_state: Any = 0,
    sigma: Any = 0.0,
    min_occupancy: Any = 0.0,
    **path: Any,
) -> SpatialInformationTest:
    """Spatial information against that of the same spikes shifted in time, round the end.

    Each cell is shifted by an amount of its own, along the time that counts: gaps, slow stretches
    and time outside of epochs are cut out before the shift, so that every shuffle has the same
    spikes, intervals between them and occupancy. Maps of shuffles are smoothed as those of the
    data, so the bias of limited data is in both.

    **Arguments:**

    - `spike_times`, `times`, `positions`, and whatever else `rate_maps` takes.
    - `n_shuffles`: number of shifts of each cell.
    - `min_shift`: least shift, either way, in s; beyond the time over which position is correlated
        with itself.
    - `random_state`: seed or generator. Each cell has a stream of its own, so that its p value does
        not depend on which other cells there are after it.

    **Returns:** `SpatialInformationTest`:

    - `bits_per_spike`: `(cell,)`, of the data, not corrected for bias.
    - `p_value`: `(cell,)`, (1 + shuffles with at least as much) / (1 + n_shuffles).
    - `z_score`: `(cell,)`, distance from the mean of the shuffles in their standard deviations.
    - `null`: `(shuffle, cell)`.
    - `maps`: `RateMaps` of the data.

    All but the maps are NaN for a cell without spikes that count.

    **Raises:** `ValueError` as `rate_maps`; for a shift that is more than half of the time that
    counts, or no shuffles.

    **Reference:** Markus, Barnes, McNaughton, Gladden & Skaggs (1994), Hippocampus 4, 410-421;
    Langston et al. (2010), Science 328, 1576-1580, for shifts in time.
    """
    n = whole_number(n_shuffles, "n_shuffles", least=1)
    rng = as_generator(random_state)
    spikes, track = read_session(spike_times, times, positions, **path)
    pieces = track.pieces_at(spikes.times)
    maps = maps_of_path(track, spikes, pieces, sigma=sigma, min_occupancy=min_occupancy)
    elapsed = track.elapsed
    total = float(elapsed[-1])
    if not 0 <= min_shift < total / 2:
        raise ValueError(
            f"min_shift must be from 0 to half of the time that counts, {total:.6g} s; got "
            f"{min_shift}."
        )
    inside = pieces >= 0
    cells, pieces = spikes.cells[inside], pieces[inside]
    # On a clock that stands still where time does not count.
    moment = elapsed[pieces] + np.minimum(
        spikes.times[inside] - track.starts[pieces], track.durations[pieces]
    )
    n_cells = len(maps.rates)
    streams = rng.spawn(n_cells)
    shifts = np.stack([r.uniform(min_shift, total - min_shift, n) for r in streams])
    null = np.empty((n, n_cells))
    for k in range(n):
        shifted = moment + shifts[cells, k]
        shifted -= np.where(shifted >= total, total, 0)
        counts = count_spikes(track, cells, track.pieces_after(shifted), n_cells)
        rates = smoothed_rates(
            counts, maps.occupancy, maps.bins, sigma=sigma, min_occupancy=min_occupancy
        )
        null[k] = _information(rates, maps.occupancy)
    observed = _information(maps.rates, maps.occupancy)
    fires = np.isfinite(observed)
    above = np.sum(null >= observed * (1 - 1e-12), axis=0)
    spread = np.std(null, axis=0)
    z = (observed - null.mean(axis=0)) / np.where(spread > 0, spread, np.nan)
    return SpatialInformationTest(
        observed, np.where(fires, (1 + above) / (1 + n), np.nan), z, null, maps
    )


def _information(rates: np.ndarray, occupancy: np.ndarray) -> np.ndarray:
    flat = rates.reshape(len(rates), -1)
    # Unvisited bins are the same in all maps.
    valid = np.isfinite(flat[0])
    p = occupancy.ravel()[valid] / occupancy.ravel()[valid].sum()
    r = flat[:, valid]
    return information_per_spike(p[None], r, r @ p)
