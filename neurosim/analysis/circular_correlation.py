"""How closely two angles go together: circular correlation coefficients."""

from math import tau
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .activity import AnyArray, as_floating, is_traced
from .task_metrics import circular_mean

_NAMES = ("the angles a", "the angles b")


def circular_correlation(a: Any, b: Any, *, period: float | int = tau) -> float | jax.Array:
    """Correlation of two angles about their mean directions, after Jammalamadaka and SenGupta.

        r = sum sin(a - mean a) sin(b - mean b) / sqrt(sum sin^2(a - mean a) sum sin^2(b - mean b))

    1 for angles that differ by a rotation, -1 for a reflection (a + b constant), 0 on average for
    independent ones. It leans on the mean directions, which hardly exist for angles spread evenly
    round the circle, as those of most tasks are: use `fisher_lee_correlation` for such.

    **Arguments:**

    - `a`, `b`: `(sample,)`, angles.
    - `period`: of a full turn in the unit of the angles: 2 pi by default, 360 for degrees.

    **Returns:** a number from -1 to 1; a JAX scalar where either input is JAX.

    **Raises:** `ValueError` for shapes that differ, fewer than three samples, angles that are not
    finite, without a mean direction, or all equal or opposite (under tracing, where values are not
    known, the last two give NaN).

    **Reference:** Jammalamadaka & SenGupta (2001), Topics in Circular Statistics, section 8.2.
    """
    xp, angles = _read(period, a=a, b=b)
    sines = []
    for name, x in zip("ab", angles):
        mean = circular_mean(x)
        if not is_traced(x) and np.isnan(np.asarray(mean)):
            raise ValueError(
                f"{name} has no mean direction: its angles are spread evenly round the circle. "
                "fisher_lee_correlation needs none."
            )
        sines.append(xp.sin(x - mean))
    u, v = sines
    return _quotient(xp, xp.sum(u * v), xp.sum(u * u), xp.sum(v * v), angles, _NAMES)


def fisher_lee_correlation(a: Any, b: Any, *, period: float | int = tau) -> float | jax.Array:
    """Correlation of two angles from the turns between pairs of samples, after Fisher and Lee.

        r = S_ab / sqrt(S_aa S_bb),    S_ab = sum_ij sin(a_i - a_j) sin(b_i - b_j)

    1 for angles that differ by a rotation, -1 for a reflection (a + b constant), 0 on average for
    independent ones, and 0 too for angles of which one turns more often than the other. No mean
    direction is needed, so angles may be spread evenly round the circle. The cost grows with the
    number of samples, not of pairs.

    **Arguments**, **Returns** and **Raises** are those of `circular_correlation`, apart from the
    mean direction.

    **Reference:** Fisher & Lee (1983), A correlation coefficient for circular data, Biometrika 70,
    327-332.
    """
    xp, angles = _read(period, a=a, b=b)
    return correlate_turns(angles, xp, _NAMES)


def correlate_turns(angles: list[AnyArray], xp: Any, names: tuple[str, str]) -> float | jax.Array:
    """The coefficient of Fisher and Lee of two arrays of radians, called `names` in an error."""
    parts = []
    for x in angles:
        # Any origin gives the same; about the axis of the angles, nearly equal ones do not cancel.
        axis = jax.lax.stop_gradient(x) if xp is jnp else x
        origin = xp.arctan2(xp.sum(xp.sin(2 * axis)), xp.sum(xp.cos(2 * axis))) / 2
        parts += [xp.sin(x - origin), xp.cos(x - origin)]
    s, c, t, d = parts

    def pairs(s, c, t, d):
        """Half the sum over all pairs of sin(a_i - a_j) sin(b_i - b_j)."""
        return xp.sum(s * t) * xp.sum(c * d) - xp.sum(s * d) * xp.sum(c * t)

    return _quotient(xp, pairs(s, c, t, d), pairs(s, c, s, c), pairs(t, d, t, d), angles, names)


def _read(period: float | int, **values: Any) -> tuple[Any, list[AnyArray]]:
    """The module to compute with, and the angles in radians."""
    if not 0 < period < float("inf"):
        raise ValueError(f"period must be positive and finite, got {period}.")
    angles = [as_floating(value, name) for name, value in values.items()]
    shapes = [x.shape for x in angles]
    if shapes[0] != shapes[1] or len(shapes[0]) != 1:
        raise ValueError(f"a and b must both be (sample,), got {shapes[0]} and {shapes[1]}.")
    if shapes[0][0] < 3:
        raise ValueError(f"at least three samples are needed, got {shapes[0][0]}.")
    for name, x in zip(values, angles):
        if not is_traced(x) and not np.isfinite(np.asarray(x)).all():
            raise ValueError(f"{name} must be finite.")
    xp = jnp if any(isinstance(x, jax.Array) for x in angles) else np
    return xp, [xp.asarray(x) * (tau / period) for x in angles]


def _quotient(
    xp: Any,
    product: Any,
    first: Any,
    second: Any,
    angles: list[AnyArray],
    names: tuple[str, str],
) -> float | jax.Array:
    n = len(angles[0])
    # Sines of angles are exact to the rounding of the angles, whose squares these are.
    spread = []
    for name, x, value in zip(names, angles, (first, second)):
        largest = xp.maximum(xp.max(xp.abs(x)), 1)
        none = value <= n * (8 * xp.finfo(x.dtype).eps * largest) ** 2
        if not is_traced(none) and none:
            raise ValueError(f"{name} do not vary: they are all equal or opposite.")
        spread.append(xp.where(none, xp.nan, value))
    r = xp.clip(product / xp.sqrt(spread[0]) / xp.sqrt(spread[1]), -1, 1)
    return float(r) if xp is np else r
