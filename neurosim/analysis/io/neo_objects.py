"""Recordings from neo, whose quantities carry their units."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .epochs import read_epochs
from .signals import SignalTrials, cut_samples, cut_signal
from .spike_times import as_ids, seconds
from .spikes import SpikeCounts, bin_spikes


def from_neo(
    source: Any,
    epochs: Any = None,
    *,
    bin: float | int | None = None,
    nan_policy: str = "raise",
) -> SpikeCounts | SignalTrials:
    """Arrays `(trial, time, unit)` from neo objects, with times in s whatever their unit.

    - A `SpikeTrain`, a list of them, or a `Segment`: units of one recording; trials are `epochs`,
        or all of it is one trial.
    - A `Block`, or a list of segments: each is a trial, counted from its start; all have the same
        units, in one order.
    - An `AnalogSignal` or `IrregularlySampledSignal`: trials are `epochs`, or all of it is one.
    - A list of such signals with the same channels: each is one trial.

    **Arguments:**

    - `source`: see above.
    - `epochs`: a neo `Epoch`, or what else `read_epochs` takes, for one recording.
    - `bin`: width of a bin in s, for spikes.
    - `nan_policy`: what is done about NaN in signals, see `complete_trials`.

    **Returns:** `SpikeCounts` for spikes, `SignalTrials` for signals, in the unit of the signal.
    `unit_ids` are the names of the trains or channels where all have one, else 0, 1, ...;
    annotations that all segments of a block have become `labels`.

    **Raises:** `ValueError` for another object, spikes without a bin, trains that were recorded
    over different times without epochs, or segments that differ in their units.
    """
    if hasattr(source, "segments"):
        return _from_segments(list(source.segments), epochs, bin)
    if hasattr(source, "spiketrains"):
        return _from_trains(list(source.spiketrains), epochs, bin)
    items = [source] if hasattr(source, "rescale") else source
    if not (isinstance(items, Sequence) or hasattr(items, "__iter__")):
        raise ValueError(
            "source must be a SpikeTrain, Segment, Block or AnalogSignal of neo, or a list of "
            f"trains or signals; got {type(source).__name__}."
        )
    items = list(items)
    if len(items) > 0 and all(hasattr(item, "spiketrains") for item in items):
        return _from_segments(items, epochs, bin)
    if len(items) == 0 or not all(hasattr(item, "rescale") for item in items):
        raise ValueError("source must be neo objects, at least one, which know their units.")
    if all(np.ndim(item) == 1 and hasattr(item, "t_stop") for item in items):
        return _from_trains(items, epochs, bin)
    if not all(np.ndim(item) == 2 and hasattr(item, "times") for item in items):
        raise ValueError("source must be spike trains, or signals (time, channel), not both.")
    if bin is not None:
        raise ValueError("a signal is sampled already: bin is for spike times.")
    return _from_signals(items, epochs, nan_policy)


def _needs_bin(bin: float | int | None) -> float | int:
    if bin is None:
        raise ValueError("these are spike times: pass bin, the width of a bin in s.")
    return bin


def _from_trains(trains: list[Any], epochs: Any, bin: float | int | None) -> SpikeCounts:
    width = _needs_bin(bin)
    if len(trains) == 0:
        raise ValueError("source has no spike trains.")
    if epochs is None:
        spans = {_span(train) for train in trains}
        if len(spans) > 1:
            raise ValueError(
                f"the trains were recorded over different times, {sorted(spans)} s: pass epochs."
            )
        epochs = [spans.pop()]
    counts = bin_spikes(trains, bin=width, epochs=epochs)
    return dataclasses.replace(counts, unit_ids=_names(trains))


def _from_segments(segments: list[Any], epochs: Any, bin: float | int | None) -> SpikeCounts:
    width = _needs_bin(bin)
    if epochs is not None:
        raise ValueError("segments are trials themselves: they take no epochs.")
    if len(segments) == 0:
        raise ValueError("the block has no segments.")
    parts = [_from_trains(list(segment.spiketrains), None, width) for segment in segments]
    for i, part in enumerate(parts):
        if part.unit_ids.tolist() != parts[0].unit_ids.tolist():
            raise ValueError(
                f"segment {i} has units {part.unit_ids.tolist()}, segment 0 has "
                f"{parts[0].unit_ids.tolist()}: they must be the same, in one order."
            )
    longest = max(parts, key=lambda part: part.counts.shape[1])
    n = longest.counts.shape[1]

    def together(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts])

    def padded(name: str) -> np.ndarray:
        blocks = [getattr(part, name) for part in parts]
        widths = [((0, 0), (0, n - x.shape[1])) + ((0, 0),) * (x.ndim - 2) for x in blocks]
        return np.concatenate([np.pad(x, w) for x, w in zip(blocks, widths, strict=True)])

    return SpikeCounts(
        counts=padded("counts"),
        mask=padded("mask"),
        edges=longest.edges,
        origins=together("origins"),
        bin=longest.bin,
        unit_ids=longest.unit_ids,
        remainders=together("remainders"),
        n_in_remainder=together("n_in_remainder"),
        n_at_end=together("n_at_end"),
        labels=_annotations(segments),
    )


def _from_signals(signals: list[Any], epochs: Any, nan_policy: str) -> SignalTrials:
    if epochs is not None and len(signals) > 1:
        raise ValueError("a list of signals has one trial each: it takes no epochs.")
    units = {str(signal.units) for signal in signals}
    if len(units) > 1 or len({signal.shape[1] for signal in signals}) > 1:
        raise ValueError("signals must have the same channels, in one unit of measurement.")
    ids = _channel_names(signals[0])
    clocks = [np.asarray(seconds(signal.times), np.float64) for signal in signals]
    if epochs is not None:
        values = np.asarray(signals[0].magnitude)
        found = cut_signal(values, clocks[0], epochs=epochs, nan_policy=nan_policy)
    else:
        found = _one_trial_each(signals, clocks, nan_policy)
    return dataclasses.replace(found, unit_ids=ids[found.unit_ids])


def _one_trial_each(signals: list[Any], clocks: list[np.ndarray], policy: str) -> SignalTrials:
    for i, clock in enumerate(clocks):
        if len(clock) == 0 or not (np.diff(clock) > 0).all():
            raise ValueError(f"the times of signal {i} must increase, and be at least one.")
    ends = np.cumsum([len(clock) for clock in clocks])
    starts = np.concatenate([[0], ends[:-1]])
    spans = [(clock[0], np.nextafter(clock[-1], np.inf)) for clock in clocks]
    values = np.concatenate([np.asarray(signal.magnitude, np.float64) for signal in signals])
    return cut_samples(
        values, np.concatenate(clocks), starts, ends, read_epochs(spans), nan_policy=policy
    )


def _span(train: Any) -> tuple[float, float]:
    return float(seconds(train.t_start)), float(seconds(train.t_stop))


def _names(items: list[Any]) -> np.ndarray:
    names = [getattr(item, "name", None) for item in items]
    distinct = len(set(names)) == len(names) and all(name not in (None, "") for name in names)
    return as_ids(names if distinct else list(range(len(names))))


def _channel_names(signal: Any) -> np.ndarray:
    names = getattr(signal, "array_annotations", {}).get("channel_names")
    n = signal.shape[1]
    return np.arange(n) if names is None or len(names) != n else np.asarray(names)


def _annotations(segments: list[Any]) -> dict[str, np.ndarray]:
    shared = set.intersection(*(set(segment.annotations) for segment in segments))
    columns = {name: [segment.annotations[name] for segment in segments] for name in shared}
    return {
        name: np.asarray(values)
        for name, values in sorted(columns.items())
        if all(np.ndim(value) == 0 for value in values)
    }
