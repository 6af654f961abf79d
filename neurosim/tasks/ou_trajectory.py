"""Paths with Ornstein-Uhlenbeck velocity in a box whose walls reflect."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import check_dt, steps_in, whole_number
from .constants import constant
from .path_trials import Cue, check_cue, n_path_inputs, n_path_outputs, path_trials
from .place_cell_code import PlaceCellCode
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys


def ou_trajectories(
    key: PRNGKeyArray,
    n_paths: int | np.integer,
    n_steps: int | np.integer,
    *,
    dt: float | int = 0.1,
    box: float | int = 1.0,
    speed: float | int = 0.5,
    coherence_time: float | int = 1.0,
) -> Float[Array, "path step 2"]:
    """Paths that start anywhere in a square box, with velocities from their stationary law.

        v+ = v - dt / tau v + speed sqrt(2 dt / tau) xi,    x+ = x + v dt

    The variance of each component of v is speed^2 / (1 - dt / (2 tau)). A wall turns a component
    of velocity round; such a path is the free one folded into the box, and is computed so. Can be
    jitted, with the numbers static.

    **Arguments:**

    - `key`: PRNG key; path i is the same among more paths.
    - `n_paths`, `n_steps`: how many, and how long.
    - `dt`: a time step, in s. `box`: side, in m.
    - `speed`: in m/s. `coherence_time`: tau, in s, above half a step.

    **Returns:** `(path, n_steps + 1, 2)`, positions from 0 to `box` in m.

    **Raises:** `ValueError` for numbers out of range.
    """
    count = whole_number(n_paths, "n_paths", least=1)
    length = whole_number(n_steps, "n_steps", least=1)
    dt = check_dt(dt)
    check_ou(dt, box, speed, coherence_time)
    return _draw(
        trial_keys(key, count), length, dt, float(box), float(speed), float(coherence_time)
    )


def check_ou(dt: float, box: Any, speed: Any, coherence_time: Any) -> None:
    """Refuse sizes and speeds out of range, and steps that the velocity does not survive."""
    for name, value in (("box", box), ("speed", speed)):
        if not 0 < value < float("inf"):
            raise ValueError(f"{name} must be positive and finite, got {value}.")
    if not dt / 2 < coherence_time < float("inf"):
        raise ValueError(
            f"coherence_time must be finite and above half a time step, {dt / 2:g}; got "
            f"{coherence_time}."
        )


@partial(jax.jit, static_argnums=1)
def _draw(keys, length, dt, box, speed, tau):
    a = dt / tau

    def one(key):
        k_place, k_first, k_noise = jax.random.split(key, 3)
        place = box * jax.random.uniform(k_place, (2,))
        first = speed / jnp.sqrt(1 - a / 2) * jax.random.normal(k_first, (2,))
        kicks = speed * jnp.sqrt(2 * a) * jax.random.normal(k_noise, (length, 2))

        def advance(v, kick):
            return v - a * v + kick, v

        _, v = jax.lax.scan(advance, first, kicks)
        free = place + jnp.concatenate([jnp.zeros((1, 2)), jnp.cumsum(v * dt, axis=0)])
        return box - jnp.abs(jnp.mod(free, 2 * box) - box)

    return jax.vmap(one)(keys)


class OUTrajectory(Task):
    """Paths of `ou_trajectories` as trials: velocity in, place out.

    Inputs are the velocities that lead from each position to the next, reflections at walls
    included; with `cue="place_cells"` there is a channel more for each place cell, with its
    activity at the start, in the first time step only. Targets are activities of place cells that
    sum to one, or positions in m where there are no place cells.

    - `place_cells`: for instance `PlaceCellCode.scattered(key, box=1.0, width=0.2)`.
    - `duration`: of a trial, in s.
    - `box`, `speed`, `coherence_time`, `dt`: see `ou_trajectories`.

    Entries of `info`: `positions`, `(batch, time + 1, 2)` in m; `start`, the first of them.
    """

    place_cells: PlaceCellCode | None = None
    cue: Cue = constant("none")
    duration: float = constant(2.0, float)
    box: float = constant(1.0, float)
    speed: float = constant(0.5, float)
    coherence_time: float = constant(1.0, float)
    dt: float = constant(0.1, float)

    def __check_init__(self):
        check_cue(self.cue, self.place_cells)
        check_ou(check_dt(self.dt), self.box, self.speed, self.coherence_time)
        if self.n_steps < 1:
            raise ValueError(f"duration must be at least one step, got {self.duration}.")

    @property
    def n_inputs(self) -> int:
        """Two components of velocity, and the cue."""
        return n_path_inputs(self.place_cells, self.cue)

    @property
    def n_outputs(self) -> int:
        """One for each place cell, or two coordinates."""
        return n_path_outputs(self.place_cells)

    @property
    def n_steps(self) -> int:
        """Number of time steps in every trial."""
        return steps_in(self.duration, self.dt)

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw paths.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        paths = ou_trajectories(
            key, batch_size, self.n_steps, dt=self.dt, box=self.box, speed=self.speed,
            coherence_time=self.coherence_time,
        )  # fmt: skip
        return path_trials(paths, self.dt, self.place_cells, self.cue)
