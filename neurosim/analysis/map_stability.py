"""Whether a cell's map is the same in two parts of a session."""

from typing import Any, NamedTuple

import numpy as np

from .io.epochs import read_epochs
from .known_bin_correlation import paired_known_correlations
from .rate_maps import RateMaps, maps_of_path, read_session
from .tracked_path import TrackedPath


class MapStability(NamedTuple):
    """Maps of two parts of a session, and how alike they are; see `map_stability`."""

    correlation: np.ndarray
    first: RateMaps
    second: RateMaps


def map_stability(
    spike_times: Any,
    times: Any,
    positions: Any,
    *,
    split: str = "halves",
    block: Any = 60.0,
    sigma: Any = 0.0,
    min_occupancy: Any = 0.0,
    epochs: Any = None,
    **path: Any,
) -> MapStability:
    """Correlation over bins between the maps of two parts of a session, for each cell.

    - `split="halves"`: the first and the second half of the time that counts. Low where a map
        drifts, or the animal tires.
    - `split="odd_even"`: blocks of `block` s of that time, in turns. Drift is in both parts.
    - `split="epochs"`: the `epochs`, laps for instance, in turns.

    **Arguments:** whatever `rate_maps` takes, and the three above.

    **Returns:** `MapStability`: `correlation`, `(cell,)`, Pearson's, over the bins that were
    visited in both; NaN for a map that does not vary, or fewer than three such bins. `first` and
    `second`, the `RateMaps`, with the same edges.

    **Raises:** `ValueError` as `rate_maps`, for another split, a block that is not positive or
    leaves one part empty, or fewer than two epochs.
    """
    spikes, track = read_session(spike_times, times, positions, epochs=epochs, **path)
    if split == "halves":
        total = float(track.elapsed[-1])
        cut = _cut(track, np.array([total / 2]))
        part = (cut.elapsed[:-1] + cut.durations / 2 > total / 2).astype(int)
    elif split == "odd_even":
        if not 0 < block < np.inf:
            raise ValueError(f"block must be positive and finite, got {block}.")
        total = float(track.elapsed[-1])
        cut = _cut(track, np.arange(float(block), total, float(block)))
        part = ((cut.elapsed[:-1] + cut.durations / 2) / float(block)).astype(int) % 2
    elif split == "epochs":
        if epochs is None:
            raise ValueError("split='epochs' needs epochs, such as laps.")
        read = read_epochs(epochs)
        order = np.argsort(read.starts)
        if (read.stops[order][:-1] > read.starts[order][1:]).any():
            raise ValueError("epochs overlap: a moment of two of them has no one part.")
        cut = track
        part = (np.searchsorted(read.starts[order], track.starts, side="right") - 1) % 2
    else:
        raise ValueError(f"split must be 'halves', 'odd_even' or 'epochs', got {split!r}.")
    if len(np.unique(part)) < 2:
        raise ValueError(f"one part has no time: {track.durations.sum():.6g} s count in all.")
    parts = []
    for which in (0, 1):
        half = cut.only(part == which)
        parts.append(
            maps_of_path(
                half, spikes, half.pieces_at(spikes.times), sigma=sigma, min_occupancy=min_occupancy
            )
        )
    a, b = (maps.rates.reshape(len(maps.rates), -1) for maps in parts)
    return MapStability(paired_known_correlations(a, b), *parts)


def _cut(track: TrackedPath, at: np.ndarray) -> TrackedPath:
    """The path with its pieces cut after each of the times `at`, counted in time that counts."""
    elapsed = track.elapsed
    piece = np.clip(np.searchsorted(elapsed, at, side="right") - 1, 0, len(track.starts) - 1)
    moments = track.starts[piece] + (at - elapsed[piece])
    inside = (moments > track.starts[piece]) & (moments < track.stops[piece])
    starts = np.concatenate([track.starts, moments[inside]])
    order = np.argsort(starts, kind="stable")
    stops = np.sort(np.concatenate([track.stops, moments[inside]]))
    places = np.concatenate([track.places, track.places[piece[inside]]])[order]
    return TrackedPath(track.bins, starts[order], stops, places, track.clock)
