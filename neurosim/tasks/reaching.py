"""Delayed reaches of an arm: hold, prepare, go, once or twice."""

from functools import partial
from math import isfinite
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import check_dt, steps_in
from ..kernels.two_joint_arm import reachable
from .constants import constant, integer, pair
from .reaching_targets import central_spot, draw_target, share_within_reach, target_position
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys

# A draw lands within reach 87 times in 100 with the published ranges; ranges that hardly touch the
# reach of the arm would be drawn from for ever.
_SMALLEST_SHARE = 0.01


class _Plan(NamedTuple):
    """Steps of idling and preparation, `(batch,)`; angle and radius of each reach."""

    idle: Array
    preparation: Array
    angle: Array
    radius: Array


class Reaching(Task):
    """Keep the hand of a two-joint arm in place, prepare, and reach for a target when told to.

    The hand starts at the central spot. After a time of idling the target is shown, after one of
    preparation it vanishes with the hold cue, and the hand has `movement` to get there and stay.
    With two reaches both targets are shown, and vanish, together; the second go comes `between`
    after the first. Times are in seconds, places in m from the shoulder.

    - `n_reaches`: 1 or 2; see `double`.
    - `duration`: of a trial.
    - `idle`, `preparation`: shortest and longest, both included, drawn uniformly on the grid.
    - `movement`: from a go to the time from which the hand is to be at rest in the target.
    - `between`: from the first go to the second. The first target is asked for from `movement` to
        `between` after its go.
    - `angles`: range of the targets' direction from the central spot, in degrees.
    - `radii`: range of their distance from it. Direction and distance are drawn uniformly, again
        and again until the target is within reach of the arm.
    - `hold_weight`, `target_weight`: of the loss before the first go and at the targets. The mask
        is this weight times `scale / n_steps`; the published loss is the squared error summed with
        the mask and averaged over trials.
    - `noise_channels`: number of further input channels with multiplicative noise, one for each
        unit of a `ReachingNetwork` that is `noisy`.
    - `noise`: amplitude sigma. A channel holds `xi - 1` at each step, where
        `xi = max(0, 1 + sigma (2 u - 1))` and u ~ U(0, 1). Published is 0.2 sqrt(tau / dt), which
        is 0.632 for the tau of 0.02 s. It does not follow `dt` by itself.
    - `rounding`: `"refuse"` times that are not whole steps, or take the `"nearest"`.

    Input channels: a hold cue for each reach, 1 before its go and 0 after; x and y of each target,
    the central spot during idling and 0 from the first go on; noise. Output channels: x and y of
    the hand and its velocity, wanted at the target and 0.

    Entries of `info`: `targets`, `(batch, reach, 2)`; their `angle` in radians and `radius`, and
    `go_step` and `go_time`, `(batch, reach)`; `target_time`, when the targets were shown.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), NeurIPS, section 4.4. There one target
    in eight is out of reach.
    """

    dt: float = constant(0.002, float)
    n_reaches: int = constant(1, integer("n_reaches"))
    duration: float = constant(2.0, float)
    idle: tuple[float, float] = constant((0.1, 0.5), pair("idle"))
    preparation: tuple[float, float] = constant((0.2, 0.8), pair("preparation"))
    movement: float = constant(0.6, float)
    between: float = constant(0.7, float)
    angles: tuple[float, float] = constant((-36.0, 216.0), pair("angles"))
    radii: tuple[float, float] = constant((0.2, 0.5), pair("radii"))
    hold_weight: float = constant(1.0, float)
    target_weight: float = constant(4.0, float)
    scale: float = constant(10.0, float)
    noise_channels: int = constant(0, integer("noise_channels"))
    noise: float = constant(0.2 * 10**0.5, float)
    rounding: Literal["refuse", "nearest"] = constant("refuse")

    @classmethod
    def double(cls, **fields: Any) -> "Reaching":
        """Two reaches in a row: preparation of 0.2 to 0.6 s, the second go 0.7 s after the first.

        The trials of 2.5 s are our choice: the last reach is over 0.1 s before their end at the
        latest, as it is with single ones.

        **Arguments:** any field of the class, in place of these.
        """
        return cls(**({"n_reaches": 2, "duration": 2.5, "preparation": (0.2, 0.6)} | fields))

    def __check_init__(self):
        check_dt(self.dt)
        if self.rounding not in ("refuse", "nearest"):
            raise ValueError(f"rounding must be 'refuse' or 'nearest', got {self.rounding!r}.")
        if self.n_reaches not in (1, 2):
            raise ValueError(f"n_reaches must be 1 or 2, got {self.n_reaches}.")
        if self.noise_channels < 0:
            raise ValueError(f"noise_channels must not be negative, got {self.noise_channels}.")
        for name in ("hold_weight", "target_weight", "scale", "noise"):
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be finite and not negative, got {value}.")
        for name in ("idle", "preparation", "angles", "radii"):
            low, high = getattr(self, name)
            if not (isfinite(low) and isfinite(high) and low <= high):
                raise ValueError(f"{name} must go from low to high, got {(low, high)}.")
        if self.radii[0] < 0:
            raise ValueError(f"radii must not be negative, got {self.radii}.")
        if self.n_reaches == 2 and not self._steps(self.between, "between") > self._movement:
            raise ValueError(
                f"between must be longer than movement, {self.movement:g}, got {self.between:g}."
            )
        last = sum(self._span(name)[1] for name in ("idle", "preparation"))
        last += self._movement + (self.n_reaches - 1) * self._steps(self.between, "between")
        if not self.n_steps > last:
            raise ValueError(
                f"duration {self.duration:g} is too short: the last reach can take until "
                f"{last * self.dt:g}."
            )
        share = share_within_reach(self.angles, self.radii)
        if share < _SMALLEST_SHARE:
            raise ValueError(
                f"angles {self.angles} and radii {self.radii} leave {100 * share:.2g} % of the "
                f"targets within reach: at least {100 * _SMALLEST_SHARE:g} % are needed."
            )

    @property
    def n_inputs(self) -> int:
        """A hold cue and two coordinates for each reach, and the channels of noise."""
        return 3 * self.n_reaches + self.noise_channels

    @property
    def n_outputs(self) -> int:
        """Four: position and velocity of the hand."""
        return 4

    @property
    def n_steps(self) -> int:
        """Number of time steps in every trial."""
        return self._steps(self.duration, "duration")

    @property
    def centre(self) -> Float[Array, " 2"]:
        """The central spot, where the hand starts."""
        return central_spot()

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: times of idling and preparation, and targets within reach.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    def centre_out(
        self,
        angles: Any = None,
        *,
        radius: float | int = 0.3,
        idle: float | int = 0.3,
        preparation: float | int = 0.5,
        key: PRNGKeyArray | None = None,
    ) -> Trials:
        """One trial for each direction of the targets, all with the same times.

        **Arguments:**

        - `angles`: directions in degrees, `(trial,)`, or `(trial, reach)` for double reaches; by
            default 24 over the range of the task.
        - `radius`: the distance of all targets from the central spot.
        - `idle`, `preparation`: the times of all trials.
        - `key`: of the noise; without one its channels are silent.

        **Returns:** the trials.

        **Raises:** `ValueError` for a target out of reach, or times that do not fit the trial.
        """
        given = np.linspace(*self.angles, 24) if angles is None else angles
        angle = np.deg2rad(np.asarray(given, float))
        if angle.ndim == 1:
            angle = angle[:, None]
        if angle.ndim != 2 or angle.shape[0] == 0 or angle.shape[1] not in (1, self.n_reaches):
            raise ValueError(
                f"angles must be (trial,) or (trial, {self.n_reaches}), got {np.shape(given)}."
            )
        angle = np.broadcast_to(angle, (len(angle), self.n_reaches))
        beyond = ~np.asarray(reachable(target_position(jnp.asarray(angle), radius)))
        if np.any(beyond):
            raise ValueError(
                f"radius {radius:g} puts {beyond.sum()} targets out of reach, the first at "
                f"{np.rad2deg(angle[beyond][0]):g} degrees."
            )
        steps = [self._steps(idle, "idle"), self._steps(preparation, "preparation")]
        after = self._movement + (self.n_reaches - 1) * self._steps(self.between, "between")
        if not sum(steps) + after < self.n_steps:
            raise ValueError(
                f"idle {idle:g} and preparation {preparation:g} leave no time for the reaches in "
                f"a trial of {self.duration:g}."
            )
        idles, preparations = (jnp.full(len(angle), n) for n in steps)
        plan = _Plan(idles, preparations, jnp.asarray(angle), jnp.full(angle.shape, float(radius)))
        return self._render(plan, None if key is None else trial_keys(key, len(angle)))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        # With a key of its own, noise leaves the trials as they are without it.
        keys = jax.vmap(jax.random.split)(trial_keys(key, batch_size))
        spans = jnp.array([self._span("idle"), self._span("preparation")])
        target = partial(draw_target, angles=self.angles, radii=self.radii)

        def draw(key):
            time_key, target_key = jax.random.split(key)
            idle, preparation = jax.random.randint(time_key, (2,), spans[:, 0], spans[:, 1] + 1)
            reach_keys = jax.random.split(target_key, self.n_reaches)
            angle, radius = jax.vmap(target)(reach_keys)
            return _Plan(idle, preparation, angle, radius)

        return self._render(jax.vmap(draw)(keys[:, 0]), keys[:, 1])

    def _render(self, plan: _Plan, noise_keys: Array | None) -> Trials:
        dtype = jnp.result_type(float)
        t = jnp.arange(self.n_steps)[:, None]
        between = self._steps(self.between, "between")
        first = plan.idle + plan.preparation
        go = first[:, None] + between * jnp.arange(self.n_reaches)
        targets = target_position(plan.angle, plan.radius)
        batch, n_reaches = go.shape

        def over_time(values):
            """A value of each trial, as it meets the steps of the trial."""
            return values[:, None, None]

        flat = targets.reshape(batch, 1, 2 * n_reaches)
        shown = jnp.where(t < over_time(plan.idle), jnp.tile(self.centre, n_reaches), flat)
        shown = jnp.where(t < over_time(first), shown, 0)
        hold = (t < go[:, None]).astype(dtype)
        inputs = [hold, shown.astype(dtype)]
        if self.noise_channels:
            inputs.append(self._noise(noise_keys, batch).astype(dtype))

        wanted, weight = self.centre, self.hold_weight * (t < over_time(first))
        for reach in range(n_reaches):
            begun = t >= over_time(go[:, reach])
            asked = t >= over_time(go[:, reach] + self._movement)
            if reach + 1 < n_reaches:
                asked = asked & (t < over_time(go[:, reach + 1]))
            wanted = jnp.where(begun, targets[:, None, reach], wanted)
            weight = weight + self.target_weight * asked
        at_rest = jnp.zeros((batch, self.n_steps, 2), dtype)
        wanted = jnp.concatenate([wanted.astype(dtype), at_rest], axis=-1)
        mask = jnp.broadcast_to(self.scale / self.n_steps * weight, wanted.shape).astype(dtype)
        info = {
            "targets": targets,
            "angle": plan.angle,
            "radius": plan.radius,
            "go_step": go,
            "go_time": go * self.dt,
            "target_time": plan.idle * self.dt,
        }
        return Trials(jnp.concatenate(inputs, axis=-1), wanted, mask, info)

    def _noise(self, keys: Array | None, batch: int) -> Array:
        shape = (self.n_steps, self.noise_channels)
        if keys is None or self.noise == 0:
            return jnp.zeros((batch, *shape))
        u = jax.vmap(lambda key: jax.random.uniform(key, shape))(keys)
        return jnp.maximum(self.noise * (2 * u - 1), -1)

    @property
    def _movement(self) -> int:
        return self._steps(self.movement, "movement")

    def _span(self, name: str) -> tuple[int, int]:
        low, high = getattr(self, name)
        return self._steps(low, name), self._steps(high, name)

    def _steps(self, duration: Any, name: str) -> int:
        return steps_in(duration, self.dt, rounding=self.rounding, name=name)
