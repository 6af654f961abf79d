"""An animal that wanders in a box, as a stochastic differential equation."""

from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels import safe_sqrt
from ..kernels.integrated_ornstein_uhlenbeck import reflect, velocity_step
from .dynamics import Dynamics, fixed_field


class RodentMotionState(NamedTuple):
    """Where an animal is and how it moves; see `RodentMotion`.

    - `x`: `(dim,)` in m, of the path that walls have not folded. `v`: `(dim,)` in m per s, alike.
    """

    x: Any
    v: Any


class RodentMotion(Dynamics):
    """Ornstein-Uhlenbeck velocity along each axis, within walls that reflect and may repel.

        dv = (-v / tau + a(x)) dt + sqrt(2 / tau) s dW,    dx = v dt

        a(x) = repulsion (s / d)^2 (d - y)    away from a wall at a distance y < d

    The state is that of a path that goes on beyond the walls, as in a room of mirrors; `readout`
    and `within` fold it back into the box, which is what reflection does. So no solver steps over
    a wall. The output is the position in the box, `(dim,)`.

    Without repulsion the step is exact, whatever `dt`, and `analysis.random_foraging` draws from
    the same law: velocities are normal with deviation s and positions uniform. With it, half of a
    push by walls is given before the exact step and half after, of second order in `dt`;
    velocities keep their law at rest, and positions next to a wall have the density
    exp(-repulsion (1 - y / d)^2 / 2) of that in the middle.

    - `low`, `high`: `(dim,)`, the walls, in m or any unit of length.
    - `speed`: s, standard deviation of velocity along each axis, in that unit per s.
    - `coherence_time`: tau in s. These defaults are those of rats, in m.
    - `repulsion`: strength of the walls, 0 for none; at 1 an animal that comes head on with the
        velocity s, and is not otherwise moved, turns round just at the wall.
    - `wall_distance`: d, how far walls reach.
    - `start`: `(dim,)`, where a trial starts, at rest; by default the middle. Pass `initial_state`
        to `simulate` for others, such as those of `draw_states`.

    **Reference:** George et al. (2024), RatInABox, eLife 13, RP85274, for the defaults and the
    spring of the walls.
    """

    low: Float[Array, " dim"] = fixed_field()
    high: Float[Array, " dim"] = fixed_field()
    speed: Any = fixed_field()
    coherence_time: Any = fixed_field()
    repulsion: Any = fixed_field()
    wall_distance: Any = fixed_field()
    start: Float[Array, " dim"] = fixed_field()

    def __init__(
        self,
        box: Any = ((0.0, 1.0), (0.0, 1.0)),
        *,
        speed: Any = 0.08,
        coherence_time: Any = 0.7,
        repulsion: Any = 0.0,
        wall_distance: Any = 0.1,
        start: Any = None,
    ):
        """**Arguments** as the class, and the walls as `box`: `(low, high)` of a track, or one pair
        for each axis.

        **Raises:** `ValueError` for a box without extent, a start outside of it, a speed, time or
        distance that is not positive, or a repulsion that is negative.
        """
        walls = np.atleast_2d(np.asarray(box, np.float64))
        if walls.ndim != 2 or walls.shape[1] != 2 or not np.isfinite(walls).all():
            raise ValueError(f"box must be (low, high), or such a pair for each axis; got {box}.")
        if not (walls[:, 0] < walls[:, 1]).all():
            raise ValueError(f"box must have low < high along each axis, got {box}.")
        first = walls.mean(axis=1) if start is None else np.asarray(start, np.float64).reshape(-1)
        inside = first.shape == walls[:, 0].shape and bool(
            ((first >= walls[:, 0]) & (first <= walls[:, 1])).all()
        )
        if not inside:
            raise ValueError(f"start must lie in the box {walls.tolist()}, got {start}.")
        known = {"speed": speed, "coherence_time": coherence_time, "wall_distance": wall_distance}
        for name, value in known.items():
            if not isinstance(value, jax.core.Tracer) and not 0 < float(value) < np.inf:
                raise ValueError(f"{name} must be positive and finite, got {value}.")
        if not isinstance(repulsion, jax.core.Tracer) and not 0 <= float(repulsion) < np.inf:
            raise ValueError(f"repulsion must be finite and not negative, got {repulsion}.")
        self.low, self.high = jnp.asarray(walls[:, 0], float), jnp.asarray(walls[:, 1], float)
        self.speed, self.coherence_time = speed, coherence_time
        self.repulsion, self.wall_distance = repulsion, wall_distance
        self.start = jnp.asarray(first, float)

    def initial_state(self) -> RodentMotionState:
        """At `start`, at rest."""
        return RodentMotionState(self.start, jnp.zeros_like(self.start))

    def draw_states(self, key: Any, n: int) -> RodentMotionState:
        """`n` states, `(n, dim)`: anywhere in the box, with velocities of their law.

        With repulsion they settle within some wall distances over the speed.
        """
        k_x, k_v = jax.random.split(key)
        shape = (n, len(self.start))
        x = jax.random.uniform(k_x, shape, self.low.dtype, self.low, self.high)
        return RodentMotionState(x, self.speed * jax.random.normal(k_v, shape, x.dtype))

    def within(self, state: RodentMotionState) -> RodentMotionState:
        """States `(..., dim)` as seen in the box: places between the walls, velocities turned."""
        x, turned = reflect(state.x, self.low, self.high)
        return RodentMotionState(x, jnp.where(turned, -state.v, state.v))

    def vector_field(self, t: Any, state: Any, input: Any) -> RodentMotionState:
        """`(v, -v / tau + a(x))`."""
        return RodentMotionState(state.v, self._push(state.x) - state.v / self.coherence_time)

    def diffusion(self, t: Any, state: Any, input: Any) -> RodentMotionState:
        """`sqrt(2 / tau) s` for velocities; positions have no noise of their own."""
        amplitude = self.speed * safe_sqrt(jnp.asarray(2 / self.coherence_time, state.v.dtype))
        return RodentMotionState(jnp.zeros_like(state.x), jnp.full_like(state.v, amplitude))

    def step(self, t: Any, state: Any, input: Any, dt: Any) -> RodentMotionState:
        """The step without noise."""
        return self.noisy_step(t, state, input, dt, jax.tree.map(jnp.zeros_like, state))

    def noisy_step(self, t: Any, state: Any, input: Any, dt: Any, dW: Any) -> RodentMotionState:
        """Half a push, the exact step without walls, half a push; `dW` has variance `dt`."""
        law = velocity_step(dt, coherence_time=self.coherence_time, speed=self.speed)
        root = dt**-0.5
        v = state.v + dt / 2 * self._push(state.x)
        x = state.x + law.reach * v + root * (law.share * dW.v + law.rest * dW.x)
        v = law.keep * v + root * law.kick * dW.v
        return RodentMotionState(x, v + dt / 2 * self._push(x))

    def readout(self, state: Any) -> Float[Array, " dim"]:
        """The position in the box, `(dim,)`."""
        return self.within(state).x

    def _push(self, x: Any) -> Any:
        """Acceleration by the walls, of the path that they have not folded."""
        inside, turned = reflect(x, self.low, self.high)
        d = self.wall_distance
        spring = self.repulsion * (self.speed / d) ** 2
        near_low = jnp.maximum(d - (inside - self.low), 0)
        near_high = jnp.maximum(d - (self.high - inside), 0)
        push = spring * (near_low - near_high)
        return jnp.where(turned, -push, push).astype(x.dtype)
