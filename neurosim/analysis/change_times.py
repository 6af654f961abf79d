"""When a trace changes after an event, and whether that time scales with an interval."""

from typing import Any, NamedTuple

import jax
import numpy as np

from ..kernels import check_dt
from .activity import as_floating, in_range
from .estimator import refuse_traced
from .event_alignment import TracesLike, read_events, read_traces


class IntervalScaling(NamedTuple):
    """A line through event times against intervals; see `interval_scaling`."""

    slope: float
    intercept: float
    r: float
    slope_error: float
    n_used: int


def half_change_times(
    X: TracesLike,
    *,
    direction: str = "either",
    after: Any = 0,
    threshold: float | int = 0.1,
    dt: float | int = 1,
) -> np.ndarray | jax.Array:
    """When each trace first comes half way from its value at an event to its later extreme.

    Between samples the trace is taken to be a straight line, so times are finer than a step.

    **Arguments:**

    - `X`: `(trials, time)`, `(trials, time, channel)`, or a list with one `(time_i,)` or
      `(time_i, channel)` for each trial.
    - `direction`: `"rise"` to the largest later value, `"fall"` to the smallest, or `"either"`,
      whichever is farther from the value at the event (the rise if both are as far).
    - `after`: `(trials,)`, the step of the event in each trial, or one for all; NaN where there is
      none.
    - `threshold`: in the units of `X`. A trace whose extreme is no farther than this from its value
      at the event has not changed. The default is a tenth of the range of a sigmoid gain.
    - `dt`: length of a step; the default counts steps.

    **Returns:** times from the event, `(trials,)` or `(trials, channel)` as `X`. NaN where the
    trace does not change, or there is no event. JAX for JAX, differentiable where there is a time.

    **Raises:** `ValueError` for another layout, values of `X` that are not finite, an event that is
    no step of its trial, another direction, a negative threshold or a `dt` that is not positive.
    """
    if direction not in ("rise", "fall", "either"):
        raise ValueError(f"direction must be 'rise', 'fall' or 'either', got {direction!r}.")
    if not 0 <= threshold < float("inf"):
        raise ValueError(f"threshold must be finite and not negative, got {threshold}.")
    dt = check_dt(dt)
    traces = read_traces(X)
    event, present, xp = read_events(after, traces, "after")
    values, at = xp.asarray(traces.values), event[:, None, None]
    time = np.arange(values.shape[1])[None, :, None]
    later = (time > at) & (time < traces.lengths[:, None, None]) & present[:, None, None]

    change = xp.where(later, values - xp.take_along_axis(values, at, axis=1), 0)
    up, down = xp.max(change, axis=1), -xp.min(change, axis=1)
    if direction == "either":
        rises = up >= down
    else:
        rises = xp.full(up.shape, direction == "rise")
    extent = xp.where(rises, up, down)
    change = change * xp.where(rises, 1, -1)[:, None]

    half = extent / 2
    first = xp.argmax(later & (change >= half[:, None]), axis=1)
    high = xp.take_along_axis(change, first[:, None], axis=1)[:, 0]
    low = xp.take_along_axis(change, xp.maximum(first - 1, 0)[:, None], axis=1)[:, 0]
    found = extent > threshold
    step = (half - low) / xp.where(found, high - low, 1)
    times = xp.where(found, (first - 1 - at[..., 0] + step) * dt, xp.nan)
    return times if traces.has_channels else times[:, 0]


def interval_scaling(times: Any, intervals: Any) -> IntervalScaling:
    """How the time of an event depends on the interval that a trial asks for.

    A slope near 1 is that of an event which scales with the interval, as the end of a ramp does; a
    slope near 0 that of one locked to its cue.

    ```python
    go, intervals = trials.info["go_step"], trials.info["interval_steps"]
    times = half_change_times(gains, direction="fall", after=go)  # (trials, gain)
    scaling = [interval_scaling(t, intervals) for t in times.T]
    ```

    **Arguments:**

    - `times`: `(trials,)`, for instance from `half_change_times`. Trials whose time is NaN, in
      which nothing happened, are left out; `n_used` says how many were not.
    - `intervals`: `(trials,)`, in the same unit.

    **Returns:** `IntervalScaling`, of the least-squares line, in float64:

    - `slope`, `intercept`.
    - `r`: correlation of times and intervals; 0 where all times are equal.
    - `slope_error`: standard error of the slope, for residuals that are independent, normal and of
      one variance.
    - `n_used`: trials with a time.

    **Raises:** `ValueError` for shapes that differ, values that are infinite, intervals that are
    NaN, fewer than three trials with a time, or one interval in all of them; `TypeError` under
    `jit`, `grad` or `vmap`.
    """
    refuse_traced((times, intervals), "interval_scaling")
    t, interval = np.asarray(as_floating(times, "times")), as_floating(intervals, "intervals")
    interval = np.asarray(interval)
    if t.ndim != 1 or t.shape != interval.shape:
        raise ValueError(
            f"times and intervals must both be (trials,), got {t.shape} and {interval.shape}."
        )
    if not np.isfinite(interval).all() or np.isinf(t).any():
        raise ValueError("intervals must be finite, and times finite or NaN.")
    used = np.isfinite(t)
    y, x = t[used].astype(np.float64), interval[used].astype(np.float64)
    n = len(y)
    if n < 3:
        raise ValueError(f"at least three trials with a time are needed, got {n} of {len(t)}.")
    if (x == x[0]).all():
        raise ValueError(f"the {n} trials with a time all have the interval {x[0]:g}.")
    varies = bool((y != y[0]).any())
    # Over their scales, so that sums of squares are in range.
    (x, x_scale), (y, y_scale) = in_range(x, np), in_range(y, np)
    dx, dy = x - x.mean(), y - y.mean()
    slope = dx @ dy / (dx @ dx)
    residual = dy - slope * dx
    error = np.sqrt(residual @ residual / (n - 2) / (dx @ dx))
    r = dx @ dy / np.sqrt(dx @ dx) / np.sqrt(dy @ dy) if varies else 0.0
    with np.errstate(over="ignore"):  # a slope of more than the largest number is infinite
        return IntervalScaling(
            slope=float(slope * y_scale / x_scale),
            intercept=float((y.mean() - slope * x.mean()) * y_scale),
            r=float(np.clip(r, -1, 1)),
            slope_error=float(error * y_scale / x_scale),
            n_used=n,
        )
