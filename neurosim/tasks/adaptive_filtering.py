"""Adaptive filtering: estimate a signal under noise whose statistics change without notice."""

from math import isfinite

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from neurosim.kernels import check_dt

from .constants import constant, integer, pair
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys


class AdaptiveFiltering(Task):
    """The input is a noisy observation y of a signal x, which is the target at every step.

        x+ = a x + (1 - a) b + sigma sqrt(1 - a^2) eps,  a = 1 - 1 / tau;  y = x + sigma_b eps'

    In each context the signal has a time constant tau, a mean b and an observation noise sigma_b
    of its own, drawn uniformly, and starts from its stationary distribution, N(b, sigma^2). A
    context lasts `min_context` steps, and after those ends with probability `1 / mean_wait` at
    every step. The best answer is a Kalman filter that knows the context; the network has to find
    it out.

    - `dt`: one step, the unit of time of this task.
    - `length`: number of steps; 5000 as published.
    - `min_context`, `mean_wait`: in steps.
    - `tau_range`: of the time constant, in steps, at least 1. `mean_range`: of b.
        `observation_std_range`: of sigma_b.
    - `process_std`: sigma.

    Entries of `info`, all `(batch, time)`: `time_constant`, `mean` and `observation_std`, the
    context of each step; `onsets`, true at the first step of a context.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), Second-order forward-mode optimization
    of recurrent neural networks for neuroscience, NeurIPS 37, section 4.2.
    """

    dt: float = constant(1.0, float)
    length: int = constant(5000, integer("length"))
    min_context: int = constant(100, integer("min_context"))
    mean_wait: float = constant(100.0, float)
    tau_range: tuple[float, float] = constant((1.0, 10.0), pair("tau_range"))
    mean_range: tuple[float, float] = constant((-3.0, 3.0), pair("mean_range"))
    observation_std_range: tuple[float, float] = constant((0.1, 3.0), pair("observation_std_range"))
    process_std: float = constant(1.0, float)

    def __check_init__(self):
        check_dt(self.dt)
        for name in ("length", "min_context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1 step, got {getattr(self, name)}.")
        if not (isfinite(self.mean_wait) and self.mean_wait >= 1):
            raise ValueError(f"mean_wait must be finite and at least 1, got {self.mean_wait}.")
        if not (isfinite(self.process_std) and self.process_std >= 0):
            raise ValueError(
                f"process_std must be finite and not negative, got {self.process_std}."
            )
        ranges = {"tau_range": 1.0, "mean_range": -np.inf, "observation_std_range": 0.0}
        for name, least in ranges.items():
            low, high = getattr(self, name)
            if not (isfinite(low) and isfinite(high) and least <= low <= high):
                raise ValueError(
                    f"{name} must be two finite numbers in order, the first at least {least:g}, "
                    f"got {(low, high)}."
                )

    @property
    def n_inputs(self) -> int:
        """One: the observation."""
        return 1

    @property
    def n_outputs(self) -> int:
        """One: the estimate of the signal."""
        return 1

    @property
    def n_steps(self) -> int:
        """`length`."""
        return self.length

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: contexts, signals and observations.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        dtype, t = jnp.result_type(float), jnp.arange(self.length)

        def last(age: Array, ends: Array) -> tuple[Array, Array]:
            begins = ends & (age >= self.min_context)
            return jnp.where(begins, 1, age + 1), begins

        def follow(x: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
            onset, a, b, noise = now
            spread = jnp.where(onset, self.process_std, self.process_std * jnp.sqrt(1 - a * a))
            x = jnp.where(onset, b, a * x + (1 - a) * b) + spread * noise
            return x, x

        def draw(key: Array) -> tuple[Array, ...]:
            switch_key, signal_key, observation_key, *context_keys = jax.random.split(key, 6)
            chance = jax.random.uniform(switch_key, (self.length,))
            ends = (chance < 1 / self.mean_wait).at[0].set(True)
            _, onsets = jax.lax.scan(last, jnp.asarray(self.min_context), ends)
            # Drawn at every step, and held from the step at which the context began.
            began = jax.lax.cummax(jnp.where(onsets, t, 0))
            ranges = (self.tau_range, self.mean_range, self.observation_std_range)
            tau, b, std = (
                jax.random.uniform(k, (self.length,), dtype, low, high)[began]
                for k, (low, high) in zip(context_keys, ranges)
            )
            noise = jax.random.normal(signal_key, (self.length,), dtype)
            _, x = jax.lax.scan(follow, jnp.zeros((), dtype), (onsets, 1 - 1 / tau, b, noise))
            y = x + std * jax.random.normal(observation_key, (self.length,), dtype)
            return y, x, tau, b, std, onsets

        y, x, tau, b, std, onsets = jax.vmap(draw)(trial_keys(key, batch_size))
        info = {"time_constant": tau, "mean": b, "observation_std": std, "onsets": onsets}
        return Trials(y[..., None], x[..., None], jnp.ones_like(x)[..., None], info)
