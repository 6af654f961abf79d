"""The arrays of Measure-Wait-Go trials, from when their cues come."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike

from .task import Trials


class Schedule(NamedTuple):
    """What tells trials apart; every entry is `(batch,)`.

    - `onset`, `interval`, `delay`: in steps.
    - `context`: the height of the tonic channel.
    - `no_go`, `blank`: whether the go cue, or every cue, is left out.
    """

    onset: Array
    interval: Array
    delay: Array
    context: Array
    no_go: Array
    blank: Array


def render_trials(
    schedule: Schedule,
    *,
    n_steps: int,
    dt: float,
    pulse_steps: int,
    amplitude: float,
    ramp: tuple[float, float],
    has_context: bool,
    mask_pad: int | None,
    longest: ArrayLike,
) -> Trials:
    """Trials on a grid of steps.

    **Arguments:**

    - `schedule`: of every trial.
    - `n_steps`, `dt`: the grid.
    - `pulse_steps`, `amplitude`: of a cue.
    - `ramp`: the output before and after the ramp.
    - `has_context`: whether there is a tonic channel.
    - `mask_pad`: steps that count before the go cue and after the ramp; `None` counts all.
    - `longest`: steps of the longest ramp that could come.

    **Returns:** the trials; see `MeasureWaitGo` for `info`.
    """
    dtype = jnp.result_type(float)
    onset, interval, delay, context, no_go, blank = schedule
    wait = onset + interval
    go = wait + delay
    catch = no_go | blank
    t = jnp.arange(n_steps)

    since_cue = t[:, None] - jnp.stack([onset, wait, go], axis=-1)[:, None, :]
    shown = jnp.stack([~blank, ~blank, ~catch], axis=-1)[:, None, :]
    pulse = shown & (since_cue >= 0) & (since_cue < pulse_steps)
    inputs = jnp.where(pulse, amplitude, 0.0).astype(dtype)
    if has_context:
        tonic = jnp.broadcast_to(context[:, None, None], (*inputs.shape[:2], 1))
        inputs = jnp.concatenate([inputs, tonic.astype(dtype)], axis=-1)

    since_go = (t - go[:, None])[..., None]
    start, end = ramp
    progress = jnp.clip(since_go.astype(dtype) / interval[:, None, None], 0, 1)
    targets = start + (end - start) * jnp.where(catch[:, None, None], 0, progress)

    counted = jnp.ones_like(since_go, dtype=bool)
    if mask_pad is not None:
        near = (since_go >= -mask_pad) & (since_go < longest + mask_pad)
        counted = near | catch[:, None, None]

    info: dict[str, Any] = {
        "measure_step": onset,
        "wait_step": wait,
        "go_step": go,
        "interval_steps": interval,
        "measure_time": onset.astype(dtype) * dt,
        "wait_time": wait.astype(dtype) * dt,
        "go_time": go.astype(dtype) * dt,
        "interval": interval.astype(dtype) * dt,
        "delay": delay.astype(dtype) * dt,
        "pulse_width": jnp.full(onset.shape, pulse_steps * dt, dtype),
        "catch": catch,
        "blank": blank,
    }
    if has_context:
        info["context"] = context.astype(dtype)
    return Trials(inputs, targets.astype(dtype), counted.astype(dtype), info)
