"""Where the circuit of divisive normalization rests, whatever its recurrent matrix.

Symbols are those of `normalization_flow`. With the identity the rest point has a closed form;
otherwise it is found by iteration, and where that fails by following the circuit itself.

**Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
circuit implementing divisive normalization, NeurIPS 37, section 5 and appendix G.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .divisive_normalization import (
    Rectify,
    Weights,
    normalization_flow,
    normalization_jacobian,
    normalized_response,
)
from .safe_math import safe_sqrt
from .spectral_norm import spectral_norm

# Rounds of the iteration before Newton's method takes over, and the change at which it does. The
# iteration converges linearly and always to the same point; Newton's method needs to be near it.
_ROUNDS, _NEAR, _NEWTON_STEPS = 60, 1e-3, 12
# Largest singular value of W_r up to which that is done. It is published for 1; from 1.2 on it ends
# at unstable points where there are stable ones.
_LARGEST = 1.1
# Of the two-stage Rosenbrock method that follows the circuit, and its tolerance: the trajectory
# must stay in its basin, no more.
_GAMMA, _RELATIVE, _ABSOLUTE = 1 - 0.5**0.5, 1e-2, 1e-3
# Activity from which on a circuit is taken to diverge.
_FAR = 1e12
# Step from which on the circuit may have settled, since weak drive leaves even the start within the
# bound on the residual; and Newton steps at the end.
_LONG, _POLISH = 1e3, 2


class _Circuit(NamedTuple):
    W_r: Any
    W: Any
    b: Any
    b0: Any
    sigma: Any


def normalization_fixed_point(
    z: Float[Array, " unit"],
    *,
    W_r: Weights,
    W: Float[Array, "unit unit"],
    b: Any,
    b0: Any,
    sigma: Any,
    rectify: Rectify = "none",
    max_steps: int = 500,
) -> tuple[Float[Array, " unit"], Float[Array, " unit"], Float[Array, ""], Bool[Array, ""]]:
    """The rest point `(y, a)` of the circuit, and whether it is one.

    Without `W_r` in closed form. Where the largest singular value of `W_r` is 1, or not far above,
    and nothing is rectified, by `normalization_iterate` from `normalization_guess` and then
    Newton's method. For all others, and where that fails, the circuit with equal time constants is
    followed from its state of rest without input, with steps that grow as it settles.

    Can be jitted and vmapped. Derivatives of every order and mode are those of the implicit
    function, `-J^-1 dF`; no iteration is differentiated.

    A rest point that is found need not be a stable one: ask the eigenvalues of
    `normalization_jacobian`.

    **Arguments:**

    - `z`: `(unit,)` input drive.
    - `W_r`: `(unit, unit)` recurrent weights, or `None` for the identity.
    - `W`: `(unit, unit)` normalization weights, none negative.
    - `b`, `b0`, `sigma`: `(unit,)` or scalars.
    - `rectify`: as in `normalization_flow`.
    - `max_steps`: bound on rounds of the iteration, and on steps along the circuit's way.

    **Returns:** `y`, `a`, `(unit,)` each; `residual`, the largest `|tau dy/dt|` or `|tau da/dt|`
    there; and `converged`, whether that is below 1e-10 (1e-5 in single precision) times the largest
    activity, or times 1 where that is smaller. A point that has not converged is where the search
    ended, and means nothing.
    """
    dtype = jnp.result_type(z, W, *(x for x in (W_r, b, b0, sigma) if x is not None), jnp.float32)
    z = jnp.asarray(z, dtype)
    circuit = _Circuit(
        *(None if x is None else jnp.asarray(x, dtype) for x in (W_r, W, b, b0, sigma))
    )
    if W_r is None:
        y, a = normalized_response(
            z, W=circuit.W, b=circuit.b, b0=circuit.b0, sigma=circuit.sigma, rectify=rectify
        )
    else:
        y, a = _rest_point(z, circuit, rectify, max_steps)
    x = jax.lax.stop_gradient(jnp.concatenate([y, a]))
    residual = _residual(x, *jax.lax.stop_gradient((z, circuit)), rectify)
    return y, a, residual, _settled(x, residual)


def normalization_guess(
    z: Float[Array, " unit"],
    *,
    W_r: Float[Array, "unit unit"],
    W: Float[Array, "unit unit"],
    b: Any,
    b0: Any,
    sigma: Any,
) -> Float[Array, " unit"]:
    """The published first guess of `a` at rest: exact at `W_r = I`.

        a = c + W (c (W_r b z)^2 / (l - l^2 + l^2 sqrt(c))^2),    c = (b0 sigma)^2

    with `l` the largest singular value of `W_r`, taken as 1 above that, where the formula has a
    pole.
    """
    largest = spectral_norm(W_r)
    direction = W_r @ (b * z) / jnp.where(largest > 0, largest, 1)
    # Above 1 the guess is that of the matrix scaled to 1.
    size = jnp.minimum(largest, 1)
    root = jnp.abs(b0 * sigma)
    below = 1 - size + size * root
    factor = jnp.where(below > 0, root / jnp.where(below > 0, below, 1), 1)
    return root * root + W @ ((factor * direction) ** 2)


def normalization_iterate(
    a: Float[Array, " unit"],
    z: Float[Array, " unit"],
    *,
    W_r: Float[Array, "unit unit"],
    W: Float[Array, "unit unit"],
    b: Any,
    b0: Any,
    sigma: Any,
) -> tuple[Float[Array, " unit"], Float[Array, " unit"]]:
    """One round of the published iteration: `y` at rest for the given `a`, and the `a` it pools to.

        y = (I - diag(1 - sqrt(a)) W_r)^-1 b z,    a <- (b0 sigma)^2 + W (a y^2)

    For circuits that are not rectified. One linear solve.
    """
    gain = 1 - safe_sqrt(jnp.maximum(a, 0))
    y = jnp.linalg.solve(jnp.eye(z.shape[0], dtype=z.dtype) - gain[:, None] * W_r, b * z)
    return y, (b0 * sigma) ** 2 + W @ (a * y * y)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _rest_point(z: Array, circuit: _Circuit, rectify: Rectify, max_steps: int) -> Any:
    start = jnp.concatenate([jnp.zeros_like(z), jnp.broadcast_to(_floor(circuit), z.shape)])
    found = jnp.full_like(start, jnp.nan)
    if rectify == "none":
        found = _iterate_to_rest(z, circuit, max_steps)
    x = _flow_to_rest(found, start, z, circuit, rectify, max_steps)
    return x[: z.shape[0]], x[z.shape[0] :]


@_rest_point.defjvp
def _rest_point_jvp(rectify: Rectify, max_steps: int, primals: Any, tangents: Any) -> Any:
    y, a = _rest_point(*primals, rectify, max_steps)

    def flow(z, circuit):
        return jnp.concatenate(normalization_flow(y, a, z, rectify=rectify, **circuit._asdict()))

    push = jax.jvp(flow, primals, tangents)[1]
    J = _jacobian(jnp.concatenate([y, a]), primals[1], rectify)
    dy, da = jnp.split(-jnp.linalg.solve(J, push), 2)
    return (y, a), (dy, da)


def _iterate_to_rest(z: Array, circuit: _Circuit, max_steps: int) -> Array:
    """By the published iteration until it is near, then by Newton's method; NaN if not tried."""

    def apart(carry):
        _, a, change, k = carry
        return (change > _NEAR * jnp.maximum(1, jnp.max(a))) & (k < min(_ROUNDS, max_steps))

    def round_of(carry):
        _, a, _, k = carry
        y, new = normalization_iterate(a, z, **circuit._asdict())
        # A comparison with NaN is false: where the numbers end, so does the loop.
        return y, new, jnp.max(jnp.abs(new - a)), k + 1

    guess = normalization_guess(z, **circuit._asdict())
    trusted = spectral_norm(circuit.W_r) <= _LARGEST
    change = jnp.where(trusted, jnp.inf, 0).astype(z.dtype)
    y, a, _, _ = jax.lax.while_loop(apart, round_of, (jnp.zeros_like(z), guess, change, 0))

    def unsettled(carry):
        x, k = carry
        settled = _settled(x, _residual(x, z, circuit, "none"))
        return trusted & ~settled & (k < _NEWTON_STEPS)

    def newton(carry):
        x, k = carry
        step = jnp.linalg.solve(_jacobian(x, circuit, "none"), _flow(x, z, circuit, "none"))
        return x - step, k + 1

    x, _ = jax.lax.while_loop(unsettled, newton, (jnp.concatenate([y, a]), 0))
    return jnp.where(trusted, x, jnp.nan)


def _flow_to_rest(
    found: Array, start: Array, z: Array, circuit: _Circuit, rectify: Rectify, max_steps: int
) -> Array:
    """`found` where it is a rest point; else the end of the circuit's way from `start`.

    A linearly implicit method of second order, which follows a trajectory with any step and
    becomes Newton's method as the step grows.
    """
    n = z.shape[0]
    identity = jnp.eye(2 * n, dtype=z.dtype)
    # Activity is in proportion to weak drive, and so is what it may be off by.
    weak = jnp.clip(jnp.max(jnp.abs(circuit.b * z)), jnp.finfo(z.dtype).tiny, 1)
    absolute = _ABSOLUTE * jnp.concatenate([jnp.full(n, weak), jnp.ones(n, z.dtype)])

    def unsettled(carry):
        x, h, k = carry
        going = (k < max_steps) & (h > 1e-12) & (jnp.max(jnp.abs(x)) < _FAR)
        settled = _settled(x, _residual(x, z, circuit, rectify)) & (h > long)
        return ~settled & going

    def step(carry):
        x, h, k = carry
        matrix = jax.scipy.linalg.lu_factor(identity - _GAMMA * h * _jacobian(x, circuit, rectify))
        k1 = jax.scipy.linalg.lu_solve(matrix, _flow(x, z, circuit, rectify))
        k2 = jax.scipy.linalg.lu_solve(matrix, _flow(x + h * k1, z, circuit, rectify) - 2 * k1)
        new = x + h * (1.5 * k1 + 0.5 * k2)
        scale = absolute + _RELATIVE * jnp.maximum(jnp.abs(x), jnp.abs(new))
        error = jnp.max(jnp.abs(0.5 * h * (k1 + k2)) / scale)
        # a is positive on every trajectory, so a step below 0 is too long whatever its error.
        good = jnp.all(jnp.isfinite(new)) & (error <= 1) & jnp.all(new[n:] >= 0)
        factor = jnp.clip(0.9 / jnp.sqrt(jnp.maximum(error, 1e-6)), 0.2, 5.0)
        factor = jnp.where(good, factor, jnp.where(error > 1, jnp.minimum(factor, 0.5), 0.5))
        return jnp.where(good, new, x), jnp.minimum(h * factor, 1e9), k + 1

    usable = _settled(found, _residual(found, z, circuit, rectify)) & jnp.all(found[n:] >= 0)
    x = jnp.where(usable, found, start)
    long = jnp.where(usable, 0, _LONG).astype(z.dtype)
    x, _, _ = jax.lax.while_loop(unsettled, step, (x, jnp.full((), 0.05, z.dtype), 0))
    return jax.lax.fori_loop(0, _POLISH, lambda _, x: _polished(x, z, circuit, rectify), x)


def _polished(x: Array, z: Array, circuit: _Circuit, rectify: Rectify) -> Array:
    """A Newton step where `x` is a rest point already and comes closer to it; else `x`.

    Weak drive moves y by less than the bound on the residual; what rests would be off by all of it.
    """
    flow = _flow(x, z, circuit, rectify)
    new = x - jnp.linalg.solve(_jacobian(x, circuit, rectify), flow)
    residual = jnp.max(jnp.abs(flow))
    closer = _residual(new, z, circuit, rectify) < residual
    closer &= jnp.all(new[z.shape[0] :] >= 0)
    return jnp.where(_settled(x, residual) & closer, new, x)


def _floor(circuit: _Circuit) -> Array:
    return (circuit.b0 * circuit.sigma) ** 2


def _flow(x: Array, z: Array, circuit: _Circuit, rectify: Rectify) -> Array:
    y, a = jnp.split(x, 2)
    return jnp.concatenate(normalization_flow(y, a, z, rectify=rectify, **circuit._asdict()))


def _jacobian(x: Array, circuit: _Circuit, rectify: Rectify) -> Array:
    y, a = jnp.split(x, 2)
    return normalization_jacobian(
        y, a, W_r=circuit.W_r, W=circuit.W, tau_y=1.0, tau_a=1.0, rectify=rectify
    )


def _residual(x: Array, z: Array, circuit: _Circuit, rectify: Rectify) -> Array:
    return jnp.max(jnp.abs(_flow(x, z, circuit, rectify)))


def _settled(x: Array, residual: Array) -> Array:
    bound = 1e-10 if x.dtype == jnp.float64 else 1e-5
    return residual < bound * jnp.maximum(1, jnp.max(jnp.abs(x)))
