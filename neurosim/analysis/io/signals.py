"""Continuous signals, such as fluorescence or position, cut into trials."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..activity import as_floating
from ..trial_arrays import refuse_traced
from .epochs import Epochs, choose_epochs
from .missing_values import apply_policy


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SignalTrials:
    """A signal in trials; see `cut_signal`. Times are in s.

    - `values`: `(trial, time, unit)`, float64, in the unit of the signal; 0 where the mask is
      false.
    - `mask`: `(trial, time)`, true where there is a sample.
    - `times`: `(trial, time)`, of each sample on the clock of the signal; going on at the usual
      step where there is none.
    - `unit_ids`: `(unit,)`.
    - `labels`: what is known of each trial, arrays `(trial,)` by name.
    - `unit_info`: what is known of each unit, arrays `(unit,)` by name.
    """

    values: np.ndarray
    mask: np.ndarray
    times: np.ndarray
    unit_ids: np.ndarray
    labels: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    unit_info: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)

    @property
    def lengths(self) -> np.ndarray:
        """Number of samples of each trial, `(trial,)`."""
        return self.mask.sum(axis=1)

    def __repr__(self) -> str:
        trials, time, units = self.values.shape
        lengths = self.lengths
        return (
            f"SignalTrials({trials} trials of {lengths.min()} to {lengths.max()} samples, in "
            f"{time}; {units} units)"
        )


def cut_signal(
    signal: Any,
    times: Any,
    *,
    epochs: Any = None,
    events: Any = None,
    window: Any = None,
    nan_policy: str = "raise",
) -> SignalTrials:
    """Cut a sampled signal into trials: epochs, or windows about events.

    Epochs are half-open as bins are: a sample exactly at the end belongs to what comes after. Trial
    by trial, sample 0 is the first at or after the start. The clock may jitter, but where it leaves
    samples out, what comes after the gap stays in its place, and the gap counts as missing.

    **Arguments:**

    - `signal`: `(time, unit)`, or `(time,)` for one.
    - `times`: `(time,)`, in s, increasing.
    - `epochs`: `(epoch, 2)`, start and stop of each trial in s, or what `read_epochs` takes beside
        that. Their labels go into the result.
    - `events`: `(trial,)`, in place of `epochs`, with `window`: start and stop in s from the event.
    - `nan_policy`: what is done about NaN and missing samples, see `complete_trials`.

    **Returns:** `SignalTrials`, with values `(trial, time, unit)`.

    **Raises:** `ValueError` for shapes that do not fit, times that do not increase, an epoch
    without a sample, two samples less than half a step apart, or missing values under `"raise"`.
    """
    values, clock = read_signal(signal, times)
    trials = choose_epochs(epochs, events, window)
    slack = trials.rounding()
    first = np.searchsorted(clock, trials.starts - slack, side="left")
    last = np.searchsorted(clock, trials.stops - slack, side="left")
    return cut_samples(values, clock, first, last, trials, nan_policy=nan_policy)


def read_signal(signal: Any, times: Any) -> tuple[np.ndarray, np.ndarray]:
    """Check a signal and its clock: `(time, unit)` and `(time,)`, float64; NaN may be left."""
    refuse_traced((signal, times), "signal")
    values = np.asarray(as_floating(signal, "signal"), np.float64)
    clock = np.asarray(as_floating(times, "times"), np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or clock.shape != values.shape[:1] or values.size == 0:
        raise ValueError(
            "signal must be (time, unit) or (time,), not empty, and times (time,); got "
            f"{np.shape(signal)} and {clock.shape}."
        )
    back = np.flatnonzero(~(np.diff(clock) > 0))
    if len(back) > 0 or not np.isfinite(clock).all():
        i = int(back[0]) if len(back) > 0 else 0
        raise ValueError(
            f"times must increase: sample {i} is at {clock[i]:.9g}, sample {i + 1} at "
            f"{clock[min(i + 1, len(clock) - 1)]:.9g}."
        )
    return values, clock


def cut_samples(
    values: np.ndarray,
    clock: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    trials: Epochs,
    *,
    nan_policy: str,
) -> SignalTrials:
    """Samples `first` to `last` of each trial, one beside the other on the grid of the clock."""
    empty = np.flatnonzero(first >= last)
    if len(empty) > 0:
        i = int(empty[0])
        raise ValueError(
            f"epoch {i}, from {trials.starts[i]:.9g} to {trials.stops[i]:.9g}, has no sample; so "
            f"have {len(empty)} of {len(first)}. The signal goes from {clock[0]:.9g} to "
            f"{clock[-1]:.9g}."
        )
    step = float(np.median(np.diff(clock))) if len(clock) > 1 else 0.0
    grids = [_grid(clock[a:b], step) for a, b in zip(first, last, strict=True)]
    longest = max(int(grid[-1]) + 1 for grid in grids)
    cut = np.full((len(grids), longest, values.shape[1]), np.nan)
    times = np.full((len(grids), longest), np.nan)
    in_trial = np.zeros((len(grids), longest), bool)
    for i, (grid, a, b) in enumerate(zip(grids, first, last, strict=True)):
        cut[i, grid], times[i, grid], in_trial[i, : grid[-1] + 1] = values[a:b], clock[a:b], True
        behind = np.maximum.accumulate(np.where(np.isnan(times[i]), 0, np.arange(longest)))
        times[i] = times[i, behind] + (np.arange(longest) - behind) * step
    complete = apply_policy(cut, in_trial, nan_policy)
    return SignalTrials(
        values=complete.X,
        mask=complete.mask,
        times=times[complete.kept_trials],
        unit_ids=complete.kept_units,
        labels={name: column[complete.kept_trials] for name, column in trials.labels.items()},
    )


def _grid(clock: np.ndarray, step: float) -> np.ndarray:
    """The place of each sample, in steps: each is rounded by itself, so jitter does not add up."""
    steps = np.rint(np.diff(clock) / step).astype(np.int64) if len(clock) > 1 else np.zeros(0, int)
    close = np.flatnonzero(steps == 0)
    if len(close) > 0:
        i = int(close[0])
        raise ValueError(
            f"samples at {clock[i]:.9g} and {clock[i + 1]:.9g} are less than half a step of "
            f"{step:g} apart: leave one of them out, or bring the signal to regular samples first."
        )
    return np.concatenate([[0], np.cumsum(steps)])
