"""Paths of a rodent that wanders in a box, slows down at its walls and turns along them."""

from functools import partial
from math import pi
from typing import Any, Literal

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

#: Speed is left at this share of itself near a wall that is headed for.
_SLOWED = 0.25


def rodent_trajectories(
    key: PRNGKeyArray,
    n_paths: int | np.integer,
    n_steps: int | np.integer,
    *,
    dt: float | int = 0.02,
    box: float | int = 2.2,
    speed: float | int = 0.13 * 2 * pi,
    turn: float | int = 5.76 * 2,
    wall_width: float | int = 0.03,
    at_wall: Literal["stop", "pass"] = "stop",
) -> Float[Array, "path step 2"]:
    """Random paths of an animal, from anywhere in a square box and heading anywhere.

    In every step the speed is Rayleigh distributed, and the heading turns by a normal angle. Within
    `wall_width` of the nearest wall, and heading for it, the animal has a quarter of its speed, and
    turns until it runs along the wall. All paths run at once. Can be jitted, with the numbers
    static.

    **Arguments:**

    - `key`: PRNG key; path i is the same among more paths.
    - `n_paths`, `n_steps`: how many, and how long.
    - `dt`: a time step, in s. `box`: side, in m.
    - `speed`: scale of the Rayleigh distribution, in m/s; the mean is sqrt(pi / 2) times that.
    - `turn`: standard deviation of turning, in rad/s: that of an angle is `turn * dt`.
    - `wall_width`: in m.
    - `at_wall`: a step that would end outside of the box ends at its wall, `"stop"`; or goes on, as
        in the published code, `"pass"`: fast animals then get out by a step.

    **Returns:** `(path, n_steps + 1, 2)`, positions from 0 to `box` in m.

    **Raises:** `ValueError` for numbers out of range.

    **Reference:** Raudies & Hasselmo (2012), PLOS Comput Biol 8:e1002553, as in the code of
    Sorscher et al. (2019), NeurIPS 32.
    """
    count = whole_number(n_paths, "n_paths", least=1)
    length = whole_number(n_steps, "n_steps", least=1)
    check_rodent(box, speed, turn, wall_width, at_wall)
    numbers = (check_dt(dt), *(float(v) for v in (box, speed, turn, wall_width)))
    return _draw(trial_keys(key, count), length, *numbers, at_wall == "stop")


def check_rodent(box: Any, speed: Any, turn: Any, wall_width: Any, at_wall: Any) -> None:
    """Refuse sizes and speeds out of range."""
    for name, value in (("box", box), ("speed", speed)):
        if not 0 < value < float("inf"):
            raise ValueError(f"{name} must be positive and finite, got {value}.")
    if not 0 <= turn < float("inf"):
        raise ValueError(f"turn must be finite and not negative, got {turn}.")
    if not 0 <= wall_width <= box / 2:
        raise ValueError(f"wall_width must lie between 0 and half the box, got {wall_width}.")
    if at_wall not in ("stop", "pass"):
        raise ValueError(f"at_wall must be 'stop' or 'pass', got {at_wall!r}.")


@partial(jax.jit, static_argnums=1)
def _draw(keys, length, dt, box, speed, turn, wall_width, stop):
    def one(key):
        k_place, k_heading, k_speed, k_turn = jax.random.split(key, 4)
        place = box * jax.random.uniform(k_place, (2,))
        heading = 2 * jnp.pi * jax.random.uniform(k_heading)
        speeds = jax.random.rayleigh(k_speed, jnp.asarray(speed), (length,))
        turns = turn * dt * jax.random.normal(k_turn, (length,))

        def advance(state, step):
            x, heading = state
            fast, angle = step
            near, along = _turn_at_wall(x, heading, box, wall_width)
            distance = jnp.where(near, _SLOWED, 1) * fast * dt
            x = x + distance * jnp.stack([jnp.cos(heading), jnp.sin(heading)])
            x = jnp.where(stop, jnp.clip(x, 0, box), x)
            heading = heading + angle + jnp.where(near, along, 0)
            return (x, heading), x

        _, later = jax.lax.scan(advance, (place, heading), (speeds, turns))
        return jnp.concatenate([place[None], later])

    return jax.vmap(one)(keys)


def _turn_at_wall(x: Any, heading: Any, box: Any, wall_width: Any) -> tuple[Any, Any]:
    """Whether the nearest wall is near and headed for, and the turn that leads along it."""
    distances = jnp.concatenate([box - x, x])
    nearest = jnp.argmin(distances)
    # The walls are to the east, north, west and south: their directions are quarters of a turn.
    off = jnp.mod(heading - nearest * jnp.pi / 2 + jnp.pi, 2 * jnp.pi) - jnp.pi
    near = (distances[nearest] < wall_width) & (jnp.abs(off) < jnp.pi / 2)
    # Straight at the wall there is no nearer side: the published sign of 0 would not turn at all.
    return near, jnp.where(off < 0, -1, 1) * (jnp.pi / 2 - jnp.abs(off))


class RodentTrajectory(Task):
    """Paths of `rodent_trajectories` as trials: velocity in, place out.

    Inputs are velocities in m/s; with `cue="place_cells"` there is a channel more for each place
    cell, with its activity at the start, in the first time step only. Targets are activities of
    place cells that sum to one, or positions in m where there are no place cells.

    - `place_cells`: `PlaceCellCode.scattered(key)` is the published one.
    - `duration`: of a trial, in s; 20 steps by default.
    - `box`, `speed`, `turn`, `wall_width`, `at_wall`, `dt`: see `rodent_trajectories`.

    Entries of `info`: `positions`, `(batch, time + 1, 2)` in m; `start`, the first of them.

    **Reference:** Sorscher et al. (2019), NeurIPS 32; Sorscher et al. (2023), Neuron 111.
    """

    place_cells: PlaceCellCode | None = None
    cue: Cue = constant("none")
    duration: float = constant(0.4, float)
    box: float = constant(2.2, float)
    speed: float = constant(0.13 * 2 * pi, float)
    turn: float = constant(5.76 * 2, float)
    wall_width: float = constant(0.03, float)
    at_wall: Literal["stop", "pass"] = constant("stop")
    dt: float = constant(0.02, float)

    def __check_init__(self):
        check_cue(self.cue, self.place_cells)
        check_rodent(self.box, self.speed, self.turn, self.wall_width, self.at_wall)
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
        paths = rodent_trajectories(
            key, batch_size, self.n_steps, dt=self.dt, box=self.box, speed=self.speed,
            turn=self.turn, wall_width=self.wall_width, at_wall=self.at_wall,
        )  # fmt: skip
        return path_trials(paths, self.dt, self.place_cells, self.cue)
