"""Trials cut out about an event of each, as gains and rates are aligned to a cue."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..kernels import whole_number
from .activity import AnyArray, as_floating, is_traced, read_activity

#: Traces over time: an array with trials first, or a list with one array for each trial.
TracesLike = AnyArray | Sequence[Any]


class AlignedTrials(NamedTuple):
    """Trials about their events; see `align_to_events`."""

    values: AnyArray
    offsets: np.ndarray


class Traces(NamedTuple):
    """Traces read into one array; see `read_traces`."""

    values: AnyArray
    lengths: np.ndarray
    has_channels: bool
    xp: Any


def align_to_events(
    X: TracesLike, events: Any, *, before: int | np.integer, after: int | np.integer
) -> AlignedTrials:
    """Cut a window about an event out of each trial.

    **NaN marks what was not observed**: samples of the window before the start or beyond the end
    of the trial, and all of a trial without an event. Average with `numpy.nanmean`, and count the
    trials behind each average with `numpy.isfinite(values).sum(axis=0)`; do not take derivatives
    through a mean that contains NaN.

    ```python
    aligned = align_to_events(gains, trials.info["go_step"], before=20, after=40)
    course = np.nanmean(aligned.values, axis=0)  # (61, gain)
    ```

    **Arguments:**

    - `X`: `(trials, time)`, `(trials, time, channel)`, or a list with one `(time_i,)` or
      `(time_i, channel)` for each trial.
    - `events`: `(trials,)`, the step of the event in each trial, a whole number from 0 on, NaN in
      a trial that has none; or one for all.
    - `before`, `after`: steps kept before and after the event.

    **Returns:** `AlignedTrials`:

    - `values`: `(trials, before + 1 + after)`, with a last axis of channels where `X` has one.
      NumPy float64 for NumPy, JAX for JAX.
    - `offsets`: `(before + 1 + after,)`, steps from the event, from `-before` to `after`.

    **Raises:** `ValueError` for another layout, values of `X` that are not finite, an event that
    is no whole number or lies outside of its trial (under tracing, where values are not known,
    the latter gives NaN), or a negative window.
    """
    n_before = whole_number(before, "before", least=0)
    n_after = whole_number(after, "after", least=0)
    traces = read_traces(X)
    event, present, xp = read_events(events, traces, "events")
    offsets = np.arange(-n_before, n_after + 1)
    steps = event[:, None] + offsets
    inside = present[:, None] & (steps >= 0) & (steps < traces.lengths[:, None])
    index = xp.clip(steps, 0, traces.values.shape[1] - 1)
    values = xp.take_along_axis(xp.asarray(traces.values), index[..., None], axis=1)
    values = xp.where(inside[..., None], values, xp.nan)
    return AlignedTrials(values if traces.has_channels else values[..., 0], offsets)


def read_traces(X: TracesLike, name: str = "X") -> Traces:
    """Check traces and read them into one array.

    **Returns:** `Traces`: `values`, `(trials, time, channel)`, 0 beyond the end of a shorter trial;
    `lengths`, `(trials,)`; whether `X` `has_channels`; and `xp`, the module to compute with.

    **Raises:** `ValueError` for another layout, no samples, or a value that is not finite, with its
    place.
    """
    layouts = (
        f"{name} must be (trials, time), (trials, time, channel), or a list with one array "
        "(time_i,) or (time_i, channel) for each trial"
    )
    if isinstance(X, np.ndarray) and X.dtype == object:
        X = list(X.ravel())  # what a cell array of MATLAB is loaded as
    if isinstance(X, (list, tuple)):
        trials = [as_floating(x, f"{name}[{i}]") for i, x in enumerate(X)]
        shapes = [trial.shape for trial in trials]
        if any(len(shape) not in (1, 2) or len(shape) != len(shapes[0]) for shape in shapes):
            raise ValueError(f"{layouts}; got a list of arrays of shapes {shapes}.")
        has_channels = len(shapes) > 0 and len(shapes[0]) == 2
        read = trials if has_channels else [trial[:, None] for trial in trials]
    else:
        array = as_floating(X, name)
        if array.ndim not in (2, 3):
            raise ValueError(f"{layouts}; got an array of shape {array.shape}.")
        has_channels = array.ndim == 3
        read = array if has_channels else array[..., None]
    activity = read_activity(read, name=name, axis_name="channel")
    xp, lengths = activity.xp, np.array(activity.lengths)
    longest = int(lengths.max())
    blocks = [
        xp.pad(block, ((0, longest - len(block)), (0, 0)))
        for block in activity.trials(activity.samples)
    ]
    return Traces(xp.stack(blocks), lengths, has_channels, xp)


def read_events(events: Any, traces: Traces, name: str) -> tuple[AnyArray, AnyArray, Any]:
    """The step of each trial's event, whether there is one, and the module to compute with.

    **Returns:** `(trials,)` whole numbers, 0 where there is no event; `(trials,)` booleans;
    `numpy`, or `jax.numpy` where the traces are JAX's or the events are traced.

    **Raises:** `ValueError` for a shape that does not fit, or a step that is none of the trial's.
    """
    steps = as_floating(events, name)
    n_trials = len(traces.lengths)
    if steps.shape not in ((), (n_trials,)):
        raise ValueError(
            f"{name} must hold one step for each of the {n_trials} trials, or one for all; got "
            f"shape {steps.shape}."
        )
    if is_traced(steps):
        xp, steps = jnp, jnp.broadcast_to(steps, (n_trials,))
    else:
        xp, steps = traces.xp, np.broadcast_to(np.asarray(steps), (n_trials,))
        _check_steps(steps, traces.lengths, name)
    present = ~xp.isnan(steps)
    return xp.where(present, steps, 0).astype(int), present, xp


def _check_steps(steps: np.ndarray, lengths: np.ndarray, name: str) -> None:
    there = (steps >= 0) & (steps < lengths) & (steps == np.round(steps))
    wrong = np.flatnonzero(~there & ~np.isnan(steps))
    if len(wrong) > 0:
        i = int(wrong[0])
        raise ValueError(
            f"{name} must hold a step of each trial, a whole number from 0 to its length - 1, or "
            f"NaN where there is no event; got {steps[i]:g} for trial {i}, of length {lengths[i]}."
        )
