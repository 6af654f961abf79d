"""Flip-flop: remember the sign of the last pulse on each of several channels."""

from math import isfinite
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from neurosim.kernels import check_dt, steps_in

from .constants import constant, integer
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys


class FlipFlop(Task):
    """Each output holds the sign of the latest pulse on its own input channel.

    In every channel, on its own, a pulse of random sign starts at each step with probability
    `pulse_prob`, unless the last one is still on or was too recent. The task is that of Sussillo &
    Barak. The default timings are a later benchmark's, that of second-order forward-mode training
    (SOFO): 200 steps, a pulse of 3 steps with probability 0.02, 11 steps of rest, a target one
    step late. That a step lasts 10 ms is our choice. Times are in the unit of `dt`.

    - `n_bits`: number of channels.
    - `duration`: of a trial.
    - `pulse_prob`: probability per step that a pulse starts in an idle channel; for pulses at a
        rate r take `1 - exp(-r dt)`. It does not follow `dt` by itself.
    - `amplitude`, `pulse_width`: of a pulse.
    - `refractory`: from the end of a pulse until the next may start.
    - `target_delay`: from the start of a pulse to the change of the target.
    - `initial`: `"zero"` has the target at 0 until the first pulse; `"pulse"` starts every channel
        with a pulse of random sign at step 0, so that the target is ±1 from its delay on.
    - `noise_std`: standard deviation of Gaussian noise on every input channel at every step.
    - `rounding`: `"refuse"` times that are not whole steps, or take the `"nearest"`. The realised
        ones are in `info`.

    Entries of `info`: `onsets`, `(batch, time, bit)`, the sign of each pulse at the step it
    starts and 0 elsewhere; `state`, like it, the sign held, without the target's delay; and
    `pulse_width`, `refractory` and `target_delay` as realised, one a trial.

    **Reference:** Sussillo & Barak (2013), Neural Computation 25.
    """

    dt: float = constant(10.0, float)
    n_bits: int = constant(3, integer("n_bits"))
    duration: float = constant(2000.0, float)
    pulse_prob: float = constant(0.02, float)
    amplitude: float = constant(1.0, float)
    pulse_width: float = constant(30.0, float)
    refractory: float = constant(110.0, float)
    target_delay: float = constant(10.0, float)
    initial: Literal["zero", "pulse"] = constant("zero")
    noise_std: float = constant(0.0, float)
    rounding: Literal["refuse", "nearest"] = constant("refuse")

    def __check_init__(self):
        check_dt(self.dt)
        if self.rounding not in ("refuse", "nearest"):
            raise ValueError(f"rounding must be 'refuse' or 'nearest', got {self.rounding!r}.")
        if self.n_bits < 1:
            raise ValueError(f"n_bits must be at least 1, got {self.n_bits}.")
        if not 0 <= self.pulse_prob <= 1:
            raise ValueError(f"pulse_prob must be in [0, 1], got {self.pulse_prob}.")
        if not isfinite(self.amplitude):
            raise ValueError(f"amplitude must be finite, got {self.amplitude}.")
        if not (isfinite(self.noise_std) and self.noise_std >= 0):
            raise ValueError(f"noise_std must be finite and not negative, got {self.noise_std}.")
        if self.initial not in ("zero", "pulse"):
            raise ValueError(f"initial must be 'zero' or 'pulse', got {self.initial!r}.")
        for name in ("duration", "pulse_width"):
            if self._steps(name) < 1:
                raise ValueError(f"{name} must be at least one step, got {getattr(self, name)}.")
        self._steps("refractory")
        if self._steps("target_delay") >= self.n_steps:
            raise ValueError(
                f"duration {self.duration:g} must exceed target_delay {self.target_delay:g}."
            )

    @property
    def n_inputs(self) -> int:
        """One for each bit."""
        return self.n_bits

    @property
    def n_outputs(self) -> int:
        """One for each bit."""
        return self.n_bits

    @property
    def n_steps(self) -> int:
        """Number of time steps in every trial."""
        return self._steps("duration")

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: when each channel pulses, and with which signs.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        dtype = jnp.result_type(float)
        width, refractory = self._steps("pulse_width"), self._steps("refractory")
        delay = self._steps("target_delay")
        shape = (self.n_steps, self.n_bits)

        def advance(blocked, chance):
            starts = (blocked == 0) & (chance < self.pulse_prob)
            blocked = jnp.where(starts, width + refractory - 1, jnp.maximum(blocked - 1, 0))
            return blocked, starts

        def draw(key):
            time_key, sign_key, noise_key = jax.random.split(key, 3)
            chance = jax.random.uniform(time_key, shape)
            if self.initial == "pulse":
                chance = chance.at[0].set(-1)
            _, starts = jax.lax.scan(advance, jnp.zeros(self.n_bits, dtype=int), chance)
            sign = jax.random.rademacher(sign_key, shape, dtype)
            noise = jnp.zeros(shape, dtype)
            if self.noise_std:
                noise = self.noise_std * jax.random.normal(noise_key, shape, dtype)
            return starts, sign, noise

        starts, sign, noise = jax.vmap(draw)(trial_keys(key, batch_size))
        t = jnp.arange(self.n_steps)[:, None]
        # The step at which the latest pulse of the channel began; -1 before the first.
        latest = jax.lax.cummax(jnp.where(starts, t, -1), axis=1)
        held = jnp.take_along_axis(sign, jnp.maximum(latest, 0), axis=1)
        state = jnp.where(latest >= 0, held, 0)
        inputs = jnp.where(t - latest < width, self.amplitude * state, 0) + noise
        targets = jnp.pad(state, ((0, 0), (delay, 0), (0, 0)))[:, : self.n_steps]
        info = {"onsets": jnp.where(starts, sign, 0), "state": state}
        realised = {"pulse_width": width, "refractory": refractory, "target_delay": delay}
        info |= {name: jnp.full(batch_size, n * self.dt, dtype) for name, n in realised.items()}
        return Trials(inputs, targets, jnp.ones_like(targets), info)

    def _steps(self, name: str) -> int:
        return steps_in(getattr(self, name), self.dt, rounding=self.rounding, name=name)
