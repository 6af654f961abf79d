"""Rates smoothed along the angle about a place, whose firing fields become rings."""

from collections.abc import Callable
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from .safe_math import safe_norm
from .whole_number import whole_number


def ring_smoothed_rates(
    rates: Callable[[Any], Any],
    positions: Any,
    *,
    center: Any,
    width: Any,
    radius: Any = None,
    reach: Any = None,
    n_angles: int | np.integer = 90,
) -> Any:
    """Rates averaged over positions turned about a centre, with Gaussian weights of the angle.

    A field becomes an arc about the centre, and a ring once `width` is large; the profile along the
    radius stays. With all fields averaged over the whole circle, a grid cell is
    1/3 + 2/9 J_0(|k| rho) sum_i cos(k_i . (c - phase)), rho the distance from the centre c.

    **Arguments:**

    - `rates`: from positions `(..., 2)` to rates `(...)` or `(cell, ...)`.
    - `positions`: `(..., 2)`.
    - `center`: `(2,)`.
    - `width`: standard deviation of the angle, in radians, wound round the circle; `math.inf` for
        the mean of the whole circle.
    - `radius`, `reach`: to smooth only about the circle of this radius: the average has the weight
        exp(-(rho - radius)^2 / (2 reach^2)), and what was there before has the rest.
    - `n_angles`: of the average, evenly spaced round the circle. Their distance times rho has to
        be well below the size of fields.

    **Returns:** what `rates` gives.

    **Raises:** `ValueError` for another shape, values that are not finite, a width or reach that is
    not positive, a radius without a reach or the other way round, or too few angles for the width.

    **Reference:** Acosta, Dinc, Redman, Madhav, Klindt & Miolane (2024), Global distortions from
    local rewards, NeurIPS 37, Section 4.3, for rings in trained networks.
    """
    xp = jnp if isinstance(positions, jax.Array) else np
    x, c = xp.asarray(positions, float), xp.asarray(center, float)
    if x.ndim == 0 or x.shape[-1] != 2 or x.size == 0:
        raise ValueError(f"positions must be (..., 2), at least one; got shape {x.shape}.")
    if c.shape != (2,):
        raise ValueError(f"center must be (2,), got shape {c.shape}.")
    if any(not isinstance(v, jax.core.Tracer) and not np.isfinite(v).all() for v in (x, c)):
        raise ValueError("positions and center must be finite.")
    if (radius is None) != (reach is None):
        raise ValueError("radius and reach go together: give both, or neither.")
    if reach is not None and not (reach > 0 and radius >= 0):
        raise ValueError(f"radius must not be negative and reach positive; got {radius}, {reach}.")
    angles, weights = _wrapped_gaussian(width, whole_number(n_angles, "n_angles", least=8))
    away = x - c
    crossed = xp.stack([-away[..., 1], away[..., 0]], axis=-1)
    average = 0.0
    for angle, weight in zip(angles, weights):
        if weight > 0:
            average = average + weight * rates(c + np.cos(angle) * away + np.sin(angle) * crossed)
    if reach is None:
        return average
    rho = safe_norm(away) if isinstance(away, jax.Array) else np.linalg.norm(away, axis=-1)
    share = xp.exp(-((rho - radius) ** 2) / (2 * reach**2))
    return share * average + (1 - share) * rates(x)


def _wrapped_gaussian(width: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Angles round the circle and their weights, which sum to 1."""
    width = float(width)
    if not width > 0:
        raise ValueError(f"width must be positive, got {width}.")
    angles = 2 * np.pi * np.arange(n) / n
    if 2 * np.pi / n > width:
        # At one standard deviation from angle to angle the sum is the integral to 5e-9.
        raise ValueError(
            f"{n} angles are too few for a width of {width} rad: at least "
            f"{int(np.ceil(2 * np.pi / width))} are needed."
        )
    turns = np.arange(-6, 7) * 2 * np.pi
    # From a whole turn on no harmonic of the angle keeps more than exp(-2 pi^2), or 3e-9.
    if width > 2 * np.pi:
        return angles, np.full(n, 1 / n)
    weights = np.exp(-((angles[:, None] + turns) ** 2) / (2 * width**2)).sum(axis=1)
    return angles, weights / weights.sum()
