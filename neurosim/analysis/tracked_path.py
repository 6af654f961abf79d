"""The path of a tracked animal cut where it crosses edges of bins: time in bins, spikes in bins.

Between two samples the animal is taken to go straight, at an even speed. Each piece of the path
lies in one bin, so the time in a bin and the spikes fired there come from the same pieces: no spike
falls where no time was spent, and both pass through the same filters.
"""

import dataclasses
from typing import Any

import numpy as np

from .activity import as_floating
from .io.epochs import read_epochs
from .running_speed import displacements, read_path
from .spatial_bins import SpatialBins, spatial_bins

#: A gap is a step longer than this many median steps, unless told otherwise.
_LONG_STEP = 10
#: Times that share a slot with more than so many others are looked up by bisection.
_CROWDED = 16


@dataclasses.dataclass(frozen=True, eq=False)
class TrackedPath:
    """Pieces of a path in order of time, each within one bin; see `tracked_path`.

    - `bins`: the `SpatialBins`.
    - `starts`, `stops`: `(piece,)`, in s.
    - `places`: `(piece,)`, the bin of each piece as a place in the flattened map.
    - `clock`: the first and last time that was tracked.
    """

    bins: SpatialBins
    starts: np.ndarray
    stops: np.ndarray
    places: np.ndarray
    clock: tuple[float, float]

    @property
    def durations(self) -> np.ndarray:
        """Time of each piece, `(piece,)`, in s."""
        return self.stops - self.starts

    @property
    def occupancy(self) -> np.ndarray:
        """Time spent in each bin, `(*bins,)`, in s."""
        shape = self.bins.shape
        seconds = np.bincount(self.places, self.durations, minlength=int(np.prod(shape)))
        return seconds.reshape(shape)

    @property
    def elapsed(self) -> np.ndarray:
        """Time that counts up to the start of each piece, and in all, `(piece + 1,)`, in s."""
        return np.concatenate([[0.0], np.cumsum(self.durations)])

    def pieces_at(self, times: np.ndarray) -> np.ndarray:
        """The piece of the path at each time, `(time,)`; -1 for times that do not count."""
        piece = _last_at_or_before(self.starts, times)
        inside = (piece >= 0) & (times < self.stops[piece])
        # The path ends with its last sample, where a spike is still on it.
        at_end = (times == self.clock[1]) & (piece == len(self.starts) - 1)
        at_end &= self.stops[-1] == self.clock[1]
        return np.where(inside | at_end, piece, -1)

    def pieces_after(self, elapsed: np.ndarray) -> np.ndarray:
        """The piece of the path after so much of the time that counts, `(time,)`."""
        piece = _last_at_or_before(self.elapsed[:-1], elapsed)
        return np.clip(piece, 0, len(self.starts) - 1)

    def only(self, kept: np.ndarray) -> "TrackedPath":
        """The pieces that are `kept`, `(piece,)` booleans."""
        return dataclasses.replace(
            self,
            starts=self.starts[kept],
            stops=self.stops[kept],
            places=self.places[kept],
        )


def tracked_path(
    times: Any,
    positions: Any,
    *,
    edges: Any = None,
    bin_size: Any = None,
    extent: Any = None,
    wrap: Any = False,
    min_speed: Any = None,
    speed: Any = None,
    max_gap: Any = None,
    epochs: Any = None,
) -> TrackedPath:
    """Cut the path of an animal at the edges of bins, and leave out what does not count.

    **Arguments** are those of `rate_maps`.

    **Raises:** `ValueError` for what `rate_maps` refuses of them.
    """
    clock, x = read_path(times, positions)
    bins = spatial_bins(x, edges=edges, bin_size=bin_size, extent=extent, wrap=wrap)
    steps = displacements(x, bins.wrap, bins.periods)
    dt = np.diff(clock)
    counts = np.isfinite(steps).all(axis=1)
    lost = int((~counts).sum())
    counts &= dt <= _longest_step(max_gap, dt)
    gaps = len(dt) - lost - int(counts.sum())
    counts &= _fast_enough(min_speed, speed, steps, dt)
    slow = len(dt) - lost - gaps - int(counts.sum())
    read = None if epochs is None else read_epochs(epochs)
    ends = np.zeros(0) if read is None else np.concatenate([read.starts, read.stops])
    start, stop, interval = _pieces(clock, x, steps, bins, counts, ends)
    middle = (start + stop) / 2
    if read is not None:
        # Epochs may overlap: inside are moments that more have begun than ended before.
        begun = np.searchsorted(np.sort(read.starts), middle, side="right")
        ended = np.searchsorted(np.sort(read.stops), middle, side="right")
        inside = np.flatnonzero(begun > ended)
        start, stop, interval = start[inside], stop[inside], interval[inside]
        middle = middle[inside]
    if len(start) == 0:
        raise ValueError(
            f"no time is left: of {len(dt)} steps {lost} lack a position, {gaps} are longer than "
            f"max_gap, {slow} are slower than min_speed, and the rest lie outside of epochs."
        )
    share = (middle - clock[interval]) / dt[interval]
    where = x[interval] + share[:, None] * steps[interval]
    _refuse_outside(where, interval, bins)
    return TrackedPath(bins, start, stop, bins.indices(where), (float(clock[0]), float(clock[-1])))


def _longest_step(max_gap: Any, dt: np.ndarray) -> float:
    if max_gap is None:
        return _LONG_STEP * float(np.median(dt))
    if not max_gap > 0:
        raise ValueError(f"max_gap must be positive, got {max_gap}.")
    return float(max_gap)


def _fast_enough(min_speed: Any, speed: Any, steps: np.ndarray, dt: np.ndarray) -> np.ndarray:
    if min_speed is None:
        if speed is not None:
            raise ValueError("speed goes with min_speed.")
        return np.ones(len(dt), bool)
    if not 0 <= min_speed < np.inf:
        raise ValueError(f"min_speed must be finite and not negative, got {min_speed}.")
    if speed is None:
        return np.sqrt(np.sum(steps**2, axis=1)) / dt >= min_speed
    given = np.asarray(
        as_floating(speed.values if hasattr(speed, "t") else speed, "speed"), np.float64
    )
    if given.shape != (len(dt) + 1,) or (given < 0).any():
        raise ValueError(
            f"speed must be (sample,), {len(dt) + 1} values that are not negative; got "
            f"{given.shape}."
        )
    return (given[1:] + given[:-1]) / 2 >= min_speed


def _pieces(
    clock: np.ndarray,
    x: np.ndarray,
    steps: np.ndarray,
    bins: SpatialBins,
    counts: np.ndarray,
    ends: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts and stops of pieces of the steps that count, and the step that each is part of."""
    cuts = [clock]
    which = np.flatnonzero(counts)
    for axis, edge in enumerate(bins.edges):
        lines = edge
        if bins.wrap[axis]:
            # A step that wraps goes beyond an end; positions themselves may be turns away.
            period, origin = bins.periods[axis], edge[0]
            shifted = origin + np.mod(x[:-1, axis] - origin, period)
            lines = np.concatenate([edge[:-1] - period, edge[:-1], edge + period])
        else:
            shifted = x[:-1, axis]
        a, way = shifted[which], steps[which, axis]
        low = np.searchsorted(lines, np.minimum(a, a + way), side="right")
        high = np.searchsorted(lines, np.maximum(a, a + way), side="left")
        n = np.maximum(high - low, 0)
        of = np.repeat(np.arange(len(which)), n)
        rank = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        share = (lines[low[of] + rank] - a[of]) / way[of]
        begin = clock[which[of]]
        cuts.append(begin + share * (clock[which[of] + 1] - begin))
    cuts.append(ends[(ends > clock[0]) & (ends < clock[-1])])
    at = np.sort(np.concatenate(cuts)) if sum(map(len, cuts)) > len(clock) else clock
    start, stop = at[:-1], at[1:]
    interval = np.clip(_last_at_or_before(clock, start), 0, len(clock) - 2)
    kept = (stop > start) & counts[interval]
    return start[kept], stop[kept], interval[kept]


def _refuse_outside(where: np.ndarray, interval: np.ndarray, bins: SpatialBins) -> None:
    for axis, edge in enumerate(bins.edges):
        x = where[:, axis]
        out = np.flatnonzero(bins.outside(x, axis))
        if len(out) > 0:
            first = int(interval[out[0]])
            n = len(np.unique(interval[out]))
            raise ValueError(
                f"positions lie outside of the bins on axis {axis}, which go from {edge[0]:g} to "
                f"{edge[-1]:g}: {n} step(s), the first ({x[out[0]]:g}) after sample {first}. Widen "
                "the extent, or set positions to NaN that are not to count."
            )


def _last_at_or_before(ordered: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The last place in `ordered` with a value at or before each time; -1 where there is none."""
    if len(times) < len(ordered) or not ordered[-1] > ordered[0]:
        return np.searchsorted(ordered, times, side="right") - 1
    # Times are even enough for a table, as a rule: what lies in earlier slots of it is earlier for
    # sure, and few values share a slot. Several times faster than bisection for many spikes.
    n_slots = 4 * len(ordered)
    scale = n_slots / (ordered[-1] - ordered[0])

    def slots(values: np.ndarray) -> np.ndarray:
        return np.clip((values - ordered[0]) * scale, 0, n_slots - 1).astype(np.int32)

    in_slot = np.bincount(slots(ordered), minlength=n_slots)
    place = (np.cumsum(in_slot) - in_slot - 1)[slots(times)]
    after = np.append(ordered, np.inf)
    later = after[place + 1] <= times
    place += later
    rest = np.flatnonzero(later)
    for _ in range(_CROWDED):
        rest = rest[after[place[rest] + 1] <= times[rest]]
        if len(rest) == 0:
            return place
        place[rest] += 1
    place[rest] = np.searchsorted(ordered, times[rest], side="right") - 1
    return place
