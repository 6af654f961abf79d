"""States at which a dynamical system moves slowest, from many starts at once.

Both stages minimise q(x) = |F(x)|^2 / 2, where F is the velocity of a flow or the displacement of
a map, and so are drawn to fixed points whatever their stability: saddles are minima of q as much
as attractors are. Adam first brings scattered starts near minima of q at the cost of one gradient a
step; a Levenberg-Marquardt method then converges quadratically at the cost of one Jacobian and one
linear solve a step, for those starts only that are not there yet.

The damping of the latter is proportional to |F|^2. It fades as a start converges, so that
convergence is quadratic, also to points that are not isolated, as on a line attractor, where
Newton's method fails because its matrix is singular.

**Reference:** Sussillo and Barak (2013), Opening the black box, Neural Computation 25, 626-649,
for q; Yamashita and Fukushima (2001), On the rate of convergence of the Levenberg-Marquardt
method, Computing Suppl. 15, 239-249, for the damping.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from .displacement import Displacement


class Minimum(NamedTuple):
    """Where the starts arrived: states `(start, n)` and their q `(start,)`."""

    x: Float[np.ndarray, "start n"]
    q: Float[np.ndarray, " start"]


class Linearisation(NamedTuple):
    """The dynamics to first order at each of many states.

    - `jacobian`: `(state, n, n)`, of the dynamics as they were given.
    - `input_jacobian`: `(state, n, m)`, of the same, to the input.
    - `flattest`: `(state,)`, the least |A v| over unit vectors v, where A is the Jacobian of F: 0
      where points that stand still form a line.
    - `typical`: `(state,)`, the root mean square of |A v| over v.
    - `direction`: `(state, n)`, the v that is flattest.
    """

    jacobian: np.ndarray
    input_jacobian: np.ndarray
    flattest: np.ndarray
    typical: np.ndarray
    direction: np.ndarray


def speed(f: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """q = |F|^2 / 2."""
    return 0.5 * jnp.sum(f * f, axis=-1)


@eqx.filter_jit
def descend(
    displacement: Displacement,
    x: Float[Array, "start n"],
    u: Float[Array, "start m"],
    *,
    scale: Float[Array, ""],
    n_steps: int,
) -> Float[Array, "start n"]:
    """Lower q from every start by Adam, under its input, and return the slowest state each has met.

    The rate falls from a tenth of `scale` to a thousandth along a cosine. Cost: one reverse-mode
    gradient of q for each start and step.
    """
    initial = speed(jax.vmap(displacement)(x, u))
    # Adam adds a constant to its denominator: q is rescaled so that the unit of time is none.
    unit = jnp.nanmedian(jnp.where(jnp.isfinite(initial) & (initial > 0), initial, jnp.nan))
    unit = jnp.where(unit > 0, unit, 1)
    value_and_grad = jax.vmap(jax.value_and_grad(lambda x, u: speed(displacement(x, u)) / unit))
    rate = optax.cosine_decay_schedule(0.1, n_steps, alpha=0.01)
    adam = optax.adam(lambda count: scale * rate(count))

    def step(carry: Any, _: None) -> tuple[Any, None]:
        x, moments, slowest = carry
        q, gradient = value_and_grad(x, u)
        slowest = _slower(Slowest(x, q), slowest)
        update, moments = adam.update(jnp.where(jnp.isfinite(gradient), gradient, 0), moments)
        return (optax.apply_updates(x, update), moments, slowest), None

    slowest = Slowest(x, jnp.where(jnp.isfinite(initial), initial / unit, jnp.inf))
    (x, _, slowest), _ = jax.lax.scan(step, (x, adam.init(x), slowest), None, length=n_steps)
    return _slower(Slowest(x, speed(jax.vmap(displacement)(x, u)) / unit), slowest).x


class Slowest(NamedTuple):
    """The slowest state each start has met, `(start, n)`, and its q, `(start,)`."""

    x: Array
    q: Array


def _slower(new: Slowest, old: Slowest) -> Slowest:
    better = new.q < old.q  # False for NaN
    return Slowest(jnp.where(better[:, None], new.x, old.x), jnp.where(better, new.q, old.q))


class _Search(NamedTuple):
    """Levenberg-Marquardt in progress, an entry for each start."""

    x: Any
    u: Any
    q: Any
    damping: Any
    stalled: Any
    done: Any


#: Iterations that a batch runs for before the starts that have arrived are taken out of it.
_VISIT = 4


def minimise_speed(
    displacement: Displacement,
    x: Float[np.ndarray, "start n"],
    u: Float[np.ndarray, "start m"],
    *,
    scale: float,
    tolerance: float,
    batch_size: int,
    max_steps: int = 60,
) -> Minimum:
    """Bring every start to the nearest minimum of q, to rounding where that is a fixed point.

    A start is done when its step is below sqrt(epsilon) / 10 of the scale of the state, or when
    8 iterations in a row have not lowered q by a thousandth (3 where q is below `tolerance`
    already): it is then at a minimum where the system slows down without standing still.

    **Arguments:**

    - `displacement`: F.
    - `x`: `(start, n)`.
    - `u`: `(start, m)`, the input held for each; m = 0 for dynamics without one.
    - `scale`: typical distance between starts, in units of the state.
    - `tolerance`: the q below which a state counts as standing still.
    - `batch_size`: number of starts worked on at once; all calls with one number share what is
      compiled.
    - `max_steps`: most iterations for any start.

    **Returns:** a `Minimum`.
    """
    n_starts = len(x)
    search = _Search(
        x=np.array(x),
        u=np.array(u),
        q=np.full(n_starts, np.inf, x.dtype),
        damping=np.ones(n_starts, x.dtype),
        stalled=np.zeros(n_starts, int),
        done=np.zeros(n_starts, bool),
    )
    # Arrays: a Python number would be part of what is compiled, anew for every set of starts.
    numbers = jnp.asarray(scale, x.dtype), jnp.asarray(tolerance, x.dtype)
    for _ in range(-(-max_steps // _VISIT)):
        active = np.flatnonzero(~search.done)
        if len(active) == 0:
            break
        for batch, kept in _batches(active, batch_size):
            part = jax.tree.map(lambda leaf, batch=batch: leaf[batch], search)
            part = _levenberg_marquardt(displacement, part, *numbers)
            for leaf, values in zip(search, part, strict=True):
                leaf[batch[:kept]] = np.asarray(values)[:kept]
    return Minimum(search.x, search.q)


def linearise(
    displacement: Displacement,
    x: Float[np.ndarray, "state n"],
    u: Float[np.ndarray, "state m"],
    *,
    batch_size: int,
) -> Linearisation:
    """Jacobians, and the direction in which F changes least, at each of many states."""
    parts = []
    for batch, kept in _batches(np.arange(len(x)), batch_size):
        part = _linearise(displacement, jnp.asarray(x[batch]), jnp.asarray(u[batch]))
        parts.append([np.asarray(leaf)[:kept] for leaf in part])
    return Linearisation(*(np.concatenate(leaves) for leaves in zip(*parts, strict=True)))


def _batches(indices: np.ndarray, batch_size: int) -> Any:
    """Batches of one size, the last filled up by repetition, with how many are no repetition."""
    for begin in range(0, len(indices), batch_size):
        batch = indices[begin : begin + batch_size]
        yield np.resize(batch, batch_size), len(batch)


def _value_and_jacobian(f: Callable, x: Array, u: Array) -> tuple[Array, Array]:
    def value_twice(x: Array) -> tuple[Array, Array]:
        value = f(x, u)
        return value, value

    # Forward mode, which every model of this package has; reverse mode costs the same here.
    jacobian, value = jax.jacfwd(value_twice, has_aux=True)(x)
    return value, jacobian


def _gram(jacobian: Array) -> tuple[Array, Array]:
    """J^T J, and the damping below which it is singular to rounding."""
    gram = jacobian.T @ jacobian
    n = gram.shape[0]
    finfo = jnp.finfo(gram.dtype)
    return gram, 10 * finfo.eps * jnp.trace(gram) / n + finfo.tiny


@eqx.filter_jit
def _levenberg_marquardt(
    displacement: Displacement, search: _Search, scale: Array, tolerance: Array
) -> _Search:
    dtype = search.x.dtype
    step_tolerance = 0.1 * jnp.finfo(dtype).eps ** 0.5

    def iterate(old: _Search) -> _Search:
        f, jacobian = _value_and_jacobian(displacement, old.x, old.u)
        q = speed(f)
        gram, floor = _gram(jacobian)
        damping = 2 * q * old.damping / scale**2 + floor
        factor = jax.scipy.linalg.cho_factor(gram + damping * jnp.eye(len(f), dtype=dtype))
        gradient = jacobian.T @ f
        delta = -jax.scipy.linalg.cho_solve(factor, gradient)
        new_q = speed(displacement(old.x + delta, old.u))
        predicted = 0.5 * jnp.sum(delta * (damping * delta - gradient))
        # Where F does not change in any direction, a step would follow nothing but rounding.
        typical = jnp.sqrt(jnp.trace(gram) / len(f))
        resting = (q <= tolerance) & (typical * scale <= 0.01 * jnp.sqrt(2 * tolerance))
        accepted = (new_q < q) & ~resting  # False for NaN
        gain = jnp.where(accepted, (q - new_q) / predicted, -1)
        change = jnp.where(gain > 0.75, 0.1, jnp.where(gain > 0.25, 1, jnp.where(accepted, 4, 10)))
        stalled = jnp.where(new_q < 0.999 * q, 0, old.stalled + 1)
        size = jnp.sqrt(jnp.sum(delta**2))
        extent = scale * len(f) ** 0.5 + jnp.sqrt(jnp.sum(old.x**2))
        arrived = (size <= step_tolerance * extent) & (accepted | (q <= tolerance))
        given_up = stalled >= jnp.where(q <= tolerance, 3, 8)
        new = _Search(
            x=jnp.where(accepted, old.x + delta, old.x),
            u=old.u,
            q=jnp.where(accepted, new_q, q),
            damping=jnp.maximum(old.damping * change, 1e-8),
            stalled=stalled,
            done=arrived | given_up | resting | ~(q > 0),
        )
        return jax.tree.map(lambda a, b: jnp.where(old.done, a, b), old, new)

    def body(carry: tuple[Array, _Search]) -> tuple[Array, _Search]:
        count, search = carry
        return count + 1, jax.vmap(iterate)(search)

    def unfinished(carry: tuple[Array, _Search]) -> Array:
        count, search = carry
        return (count < _VISIT) & ~jnp.all(search.done)

    return jax.lax.while_loop(unfinished, body, (jnp.asarray(0), search))[1]


@eqx.filter_jit
def _linearise(
    displacement: Displacement, x: Float[Array, "state n"], u: Float[Array, "state m"]
) -> tuple[Array, ...]:
    n = x.shape[1]
    # Any fixed vector that is not orthogonal to the one sought.
    begin = jax.random.normal(jax.random.key(0), (n,), x.dtype)

    def at(x: Array, u: Array) -> tuple[Array, ...]:
        jacobian, of_input = jax.jacfwd(displacement.given, argnums=(0, 1))(x, u)
        matrix = jacobian - jnp.eye(n, dtype=x.dtype) if displacement.kind == "map" else jacobian
        # In units of its own, and with a floor of 1 where nothing changes at all: from a floor that
        # is next to nothing, the powers of v below would leave the range of numbers.
        size = jnp.max(jnp.abs(matrix))
        moves = size > 0
        matrix = matrix / jnp.where(moves, size, 1)
        gram, floor = _gram(matrix)
        floor = jnp.where(moves, floor, 1)
        factor = jax.scipy.linalg.cho_factor(gram + floor * jnp.eye(n, dtype=x.dtype))
        v = begin
        for _ in range(4):
            v = jax.scipy.linalg.cho_solve(factor, v)
            v = v / jnp.sqrt(jnp.sum(v * v))
        least = size * jnp.sqrt(jnp.sum((matrix @ v) ** 2))
        typical = size * jnp.sqrt(jnp.trace(gram) / n)
        return jacobian, of_input, least, typical, v

    return jax.vmap(at)(x, u)
