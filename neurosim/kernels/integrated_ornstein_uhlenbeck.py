"""Velocity that forgets itself, and the path it makes: the exact law of a step; walls that reflect.

dv = -v / tau dt + sqrt(2 / tau) s dW,    dx = v dt
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

#: Below this number of time constants the law comes from its series.
_SHORT = 0.5
#: Coefficients of h^3, h^4, ... in 2 h - 3 + 4 e^-h - e^-2h; the last adds 1e-15 of it.
_SERIES = [(-1) ** n * (4 - 2**n) / math.factorial(n) for n in range(3, 20)]


class VelocityStep(NamedTuple):
    """Velocity and displacement after a step, given the velocity v before; see `velocity_step`.

    With z and y independent and standard normal:

        v+ = keep v + kick z,    x+ = x + reach v + share z + rest y
    """

    keep: Any
    kick: Any
    reach: Any
    share: Any
    rest: Any


def velocity_step(dt: Any, *, coherence_time: Any, speed: Any) -> VelocityStep:
    """The exact joint law of velocity and displacement over a time `dt`.

    **Arguments:**

    - `dt`: length of the step. `coherence_time`: tau, in the same unit.
    - `speed`: s, standard deviation of velocity.

    **Returns:** `VelocityStep`, of the shape of the arguments; JAX where one of them is.

    **Reference:** Gillespie (1996), Exact numerical simulation of the Ornstein-Uhlenbeck process
    and its integral, Physical Review E 54, 2084-2091.
    """
    traced = any(isinstance(x, jax.Array) for x in (dt, coherence_time, speed))
    xp: Any = jnp if traced else np
    h = dt / coherence_time
    lost = -xp.expm1(-h)
    variance = -xp.expm1(-2 * h)
    covariance = lost**2
    kick = xp.sqrt(variance)
    share = covariance / kick
    spread = _spread(h, xp)
    rest = xp.sqrt(xp.maximum(spread - share**2, 0))
    length = speed * coherence_time
    return VelocityStep(
        xp.exp(-h), speed * kick, coherence_time * lost, length * share, length * rest
    )


def reflect(x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Where a free path is in a box whose walls reflect it, and whether it has been turned round.

    **Arguments:**

    - `x`: positions of the free path. `low`, `high`: the walls of each dimension; shapes that fit.

    **Returns:** positions within the box, and where the velocity of the path has changed its sign.
    """
    xp: Any = jnp if isinstance(x, jax.Array) else np
    length = high - low
    around = xp.mod(x - low, 2 * length)
    turned = around > length
    inside = low + xp.where(turned, 2 * length - around, around)
    return xp.clip(inside, low, high), turned


def _spread(h: Any, xp: Any) -> Any:
    """2 h - 3 + 4 e^-h - e^-2h, which cancels to 2 h^3 / 3 for small h."""
    short = h < _SHORT
    small = xp.where(short, h, 0.0)
    series = 0.0
    for c in reversed(_SERIES):
        series = c + small * series
    return xp.where(short, small**3 * series, 2 * h - 3 + 4 * xp.exp(-h) - xp.exp(-2 * h))
