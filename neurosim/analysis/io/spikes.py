"""Spike times counted in bins."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...kernels import check_dt, time_grid
from .epochs import Epochs, choose_epochs
from .spike_times import SpikeTrains, read_spike_trains


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SpikeCounts:
    """Spike counts of trials; see `bin_spikes`. Times are in s.

    - `counts`: `(trial, time, unit)`, integers; 0 where there is no bin.
    - `mask`: `(trial, time)`, true where the trial has a bin.
    - `edges`: `(time + 1,)`, of the bins, from the origin of each trial.
    - `origins`: `(trial,)`, the event of each trial, or the start of its epoch.
    - `bin`: the width of a bin.
    - `unit_ids`: `(unit,)`.
    - `remainders`: `(trial,)`, the time left at the end of each epoch, too short for a bin.
    - `n_in_remainder`: `(trial, unit)`, spikes in that time, which are not counted.
    - `n_at_end`: `(trial, unit)`, spikes exactly at the end of the epoch, which are not counted.
    - `labels`: what is known of each trial, arrays `(trial,)` by name.
    - `unit_info`: what is known of each unit, arrays `(unit,)` by name.
    """

    counts: np.ndarray
    mask: np.ndarray
    edges: np.ndarray
    origins: np.ndarray
    bin: float
    unit_ids: np.ndarray
    remainders: np.ndarray
    n_in_remainder: np.ndarray
    n_at_end: np.ndarray
    labels: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    unit_info: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)

    @property
    def rates(self) -> np.ndarray:
        """Counts over the width of a bin, `(trial, time, unit)`, in spikes per s."""
        return self.counts / self.bin

    @property
    def times(self) -> np.ndarray:
        """The centre of each bin, `(time,)`, in s from the origin of each trial."""
        return (self.edges[:-1] + self.edges[1:]) / 2

    def __repr__(self) -> str:
        trials, time, units = self.counts.shape
        lost = int(self.n_in_remainder.sum()), int(self.n_at_end.sum())
        return (
            f"SpikeCounts({trials} trials, {time} bins of {self.bin:g} s, {units} units; "
            f"{int(self.counts.sum())} spikes; not counted: {lost[0]} after the last whole bin, "
            f"{lost[1]} exactly at an end)"
        )


def bin_spikes(
    spike_times: Any,
    *,
    bin: float | int,
    epochs: Any = None,
    events: Any = None,
    window: Any = None,
) -> SpikeCounts:
    """Count spikes in bins of one width, from the start of each epoch or about each event.

    Bins are half-open, [a, b): a spike on the edge between two bins counts in the later one. Each
    trial has bins of its own, so none spans the gap between two epochs. What is left of an epoch
    after its last whole bin is dropped; spikes there, and a spike exactly at the end of an epoch,
    are not counted, and the result says how many they were.

    Spikes and edges are compared as the numbers that they stand for: a spike closer to an edge than
    the rounding of the two (or than 1e-9 of a bin) is on it. So samples k / 30000 s fall one each
    into bins of 1 / 30000 s, however late in a recording.

    ```python
    counts = bin_spikes([unit_a, unit_b], events=cues, window=(-0.2, 1.0), bin=0.05)
    counts.counts.shape, counts.edges  # (trials, 24, 2), from -0.2 to 1.0
    ```

    **Arguments:**

    - `spike_times`: in s, sorted: an array for one unit, a list of arrays, or a mapping from unit
        to array; pynapple and neo objects will do.
    - `bin`: the width of a bin in s. Any other unit of time will do, if all times are in it.
    - `epochs`: `(epoch, 2)`, start and stop of each trial in s, or what `read_epochs` takes beside
        that: a table, an `IntervalSet`, a neo `Epoch`. Their labels go into the result.
    - `events`: `(trial,)`, in place of `epochs`, with `window`: start and stop in s from the event.

    **Returns:** `SpikeCounts`, with counts `(trial, time, unit)`.

    **Raises:** `ValueError` for spike times that are not finite or not sorted, epochs or windows
    without order, an epoch shorter than a bin, or a bin finer than the precision of the times.
    """
    width = check_dt(bin)
    trains = read_spike_trains(spike_times)
    trials = choose_epochs(epochs, events, window)
    slack = trials.rounding() + 1e-9 * width
    n_bins, remainders = _whole_bins(trials, width, slack)
    uncertain = slack + trains.resolution * np.maximum(abs(trials.starts), abs(trials.stops))
    _check_precision(uncertain, width, trains)
    longest = int(n_bins.max())
    shape = (len(n_bins), longest, len(trains.times))
    counts = np.zeros(math.prod(shape), np.int64)
    n_in_remainder, n_at_end = np.zeros((2, shape[0], shape[2]), np.int64)
    for unit, times in enumerate(trains.times):
        spikes = _place(times, trials, width, n_bins, uncertain)
        place = spikes.trial * longest + spikes.bin
        # Only bins with a spike are touched: most have none.
        np.add.at(counts, place[spikes.inside] * shape[2] + unit, 1)
        for report, which in ((n_in_remainder, spikes.late), (n_at_end, spikes.at_end)):
            report[:, unit] = np.bincount(spikes.trial[which], minlength=shape[0])
    return SpikeCounts(
        counts=counts.reshape(shape),
        mask=np.arange(longest) < n_bins[:, None],
        edges=time_grid(longest, width, t0=trials.offset),
        origins=trials.origins,
        bin=width,
        unit_ids=trains.unit_ids,
        remainders=remainders,
        n_in_remainder=n_in_remainder,
        n_at_end=n_at_end,
        labels=trials.labels,
    )


def _whole_bins(trials: Epochs, width: float, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    span = trials.stops - trials.starts
    n_bins = np.floor((span + slack) / width).astype(np.int64)
    short = np.flatnonzero(n_bins == 0)
    if len(short) > 0:
        i = int(short[0])
        raise ValueError(
            f"epoch {i}, from {trials.starts[i]:.9g} to {trials.stops[i]:.9g}, is shorter than a "
            f"bin of {width:g}; so are {len(short)} of {len(span)}. Leave them out, or take "
            "shorter bins."
        )
    left = span - n_bins * width
    return n_bins, np.where(left > slack, left, 0.0)


def _check_precision(uncertain: np.ndarray, width: float, trains: SpikeTrains) -> None:
    worst = float(uncertain.max())
    if worst > width / 4:
        kind = "float64" if trains.resolution <= np.finfo(np.float64).eps else "single precision"
        raise ValueError(
            f"a bin of {width:g} is finer than the times: in {kind} they are only known to "
            f"{worst:.2g} this far from 0. Keep spike times in float64, or take wider bins."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class _Placed:
    trial: np.ndarray
    bin: np.ndarray
    inside: np.ndarray
    late: np.ndarray
    at_end: np.ndarray


def _place(
    times: np.ndarray, trials: Epochs, width: float, n_bins: np.ndarray, slack: np.ndarray
) -> _Placed:
    """Trial and bin of every spike of a unit in an epoch; a spike may be in several epochs."""
    first = np.searchsorted(times, trials.starts - slack, side="left")
    last = np.searchsorted(times, trials.stops + slack, side="right")
    n_spikes = last - first
    trial = np.repeat(np.arange(len(first)), n_spikes)
    # The spikes first..last of each trial, one trial after the other.
    behind = np.repeat(np.cumsum(n_spikes) - n_spikes, n_spikes)
    t = times[np.repeat(first, n_spikes) + np.arange(len(trial)) - behind]
    start, tolerance = trials.starts[trial], slack[trial]
    ratio = (t - start) / width
    nearest = np.rint(ratio)
    on_edge = np.abs(t - (start + nearest * width)) <= tolerance
    which = np.where(on_edge, nearest, np.floor(ratio)).astype(np.int64)
    inside = which < n_bins[trial]
    at_end = ~inside & (np.abs(t - trials.stops[trial]) <= tolerance)
    return _Placed(trial, which, inside, ~inside & ~at_end, at_end)
