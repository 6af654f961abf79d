"""The arrays of cognitive trials, from their events and stimuli."""

from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .multitask_encoding import RING_BACKGROUND, encode_angle
from .multitask_stimuli import Stimuli
from .multitask_timing import EVENTS, Events
from .task import Trials


class Channels(NamedTuple):
    """How trials are written down.

    - `encoding`, `n_ring`: of angles.
    - `n_modalities`, `n_contexts`: how many there are.
    - `fixation_target`: the fixation output while it is due.
    """

    encoding: Literal["sincos", "ring"]
    n_ring: int
    n_modalities: int
    n_contexts: int
    fixation_target: float


class MaskWeights(NamedTuple):
    """What counts in the loss; times are in steps.

    - `skip`: from the start of a trial, `grace`: from the go cue; neither counts.
    - `response`: the weight after that; before the go cue it is 1.
    - `fixation`: the factor of the fixation output.
    """

    skip: int
    grace: int
    response: float
    fixation: float


def render_trials(
    events: Events,
    stimuli: Stimuli,
    context: Int[Array, " batch"],
    fixation_stays: Bool[Array, " batch"],
    *,
    n_steps: int,
    channels: Channels,
    weights: MaskWeights,
    noise: Float[Array, "batch time input"] | None,
) -> Trials:
    """Trials on a grid of steps, without `info`.

    **Arguments:**

    - `events`, `stimuli`: of every trial.
    - `context`: the context channel that is on.
    - `fixation_stays`: whether the fixation input stays on to the end.
    - `n_steps`: of the grid.
    - `channels`, `weights`: how inputs and targets, and the mask, are made.
    - `noise`: added to every input channel until the trial ends.

    **Returns:** the trials. After its end a trial is zero in every array.
    """
    dtype = stimuli.theta.dtype
    batch = context.shape[0]
    t = jnp.arange(n_steps)
    since = t[:, None] >= events.steps[:, None, :]
    stim1_on, stim1_off, stim2_on, stim2_off, go, end = jnp.moveaxis(since, -1, 0)
    running, waiting = ~end, ~go
    code = encode_angle(stimuli.theta, encoding=channels.encoding, n_ring=channels.n_ring)
    width = code.shape[-1]

    # Fixation, context and stimuli are each on or off over time, and the same while they are on.
    n_sensory = channels.n_modalities * width
    n_inputs = 1 + n_sensory + channels.n_contexts
    channel = jnp.arange(n_inputs)
    strength = stimuli.strength[:, :, : channels.n_modalities, None]
    shown = (strength * code[:, :, None, :]).reshape(batch, 2, n_sensory)
    shown = jnp.pad(shown, ((0, 0), (0, 0), (1, channels.n_contexts)))
    patterns = [
        (jnp.where(fixation_stays[:, None], running, waiting), (channel == 0)[None]),
        (running, channel == (1 + n_sensory + context)[:, None]),
        (running & stim1_on & ~stim1_off, shown[:, 0]),
        (running & stim2_on & ~stim2_off, shown[:, 1]),
    ]
    inputs = jnp.zeros((batch, n_steps, n_inputs), dtype)
    for on, pattern in patterns:
        inputs = inputs + jnp.where(on[:, :, None], pattern[:, None, :], 0)
    if noise is not None:
        inputs = inputs + jnp.where(running[:, :, None], noise, 0)

    response = encode_angle(stimuli.angle, encoding=channels.encoding, n_ring=channels.n_ring)
    background = RING_BACKGROUND if channels.encoding == "ring" else 0.0
    fixating = running & (waiting | ~stimuli.respond[:, None])
    holding = jnp.concatenate(
        [jnp.full((1,), channels.fixation_target, dtype), jnp.full((width,), background, dtype)]
    )
    answering = background + jnp.pad(response, ((0, 0), (1, 0)))
    targets = jnp.where(fixating[:, :, None], holding, answering[:, None, :])
    targets = jnp.where(running[:, :, None], targets, 0).astype(dtype)

    asked = waiting & (t >= weights.skip)
    late = running & (t >= events.steps[:, EVENTS.index("go"), None] + weights.grace)
    weight = jnp.where(late, weights.response, jnp.where(asked, 1.0, 0.0))
    factor = jnp.ones(1 + width).at[0].set(weights.fixation)
    mask = (weight[:, :, None] * factor).astype(dtype)
    return Trials(inputs, targets, mask, {})


def describe(events: Events, stimuli: Stimuli, *, dt: float) -> dict[str, Any]:
    """The entries of `info` that say when the events came and what was shown."""
    info: dict[str, Any] = {}
    for n, event in enumerate(EVENTS):
        info[f"{event}_step"] = events.steps[:, n]
        info[f"{event}_time"] = events.times[:, n] * dt
    for n in (0, 1):
        info[f"theta{n + 1}"] = stimuli.theta[:, n]
        info[f"strength{n + 1}"] = stimuli.compared[:, n]
        for modality in (0, 1):
            info[f"strength{n + 1}_mod{modality + 1}"] = stimuli.strength[:, n, modality]
        info[f"category{n + 1}"] = stimuli.category[:, n]
    return info | {
        "match": stimuli.match,
        "respond": stimuli.respond,
        "response_angle": stimuli.angle,
    }
