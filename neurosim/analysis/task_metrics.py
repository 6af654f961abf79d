"""How well a response fits its task: crossing times of ramps, and distances between angles."""

from math import pi, tau
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import ArrayLike

from .activity import refuse_masked

Result = jax.Array | np.ndarray | np.floating


def _floats(**values: ArrayLike) -> tuple[Any, list[Any]]:
    """The namespace to compute in, JAX's if any value is JAX's, and the values as floats there."""
    for name, value in values.items():
        refuse_masked(value, name)
    xp = jnp if any(isinstance(value, jax.Array) for value in values.values()) else np
    arrays = [xp.asarray(value) for value in values.values()]
    return xp, [a if xp.issubdtype(a.dtype, xp.floating) else a * 1.0 for a in arrays]


def _check_period(period: float | int) -> None:
    if not 0 < period < float("inf"):
        raise ValueError(f"period must be positive and finite, got {period}.")


def ramp_crossing_times(
    outputs: ArrayLike,
    go: ArrayLike,
    *,
    fraction: float = 0.9,
    peak: ArrayLike | None = None,
    dt: float | int = 1,
) -> Result:
    """When each output first exceeds a fraction of its maximum after the go cue.

    The ideal ramp from -0.5 to 0.5 in I steps crosses at the first whole step beyond 0.95 I, not
    at I. A value that equals the threshold to rounding error has not crossed it.

    **Arguments:**

    - `outputs`: `(trials, time)` or `(trials, time, 1)`, or one trial as `(time,)`.
    - `go`: the step of the go cue, `(trials,)` or one for all; only later steps can cross.
    - `fraction`: of the maximum, between 0 and 1.
    - `peak`: what to take for the maximum, `(trials,)` or one for all; by default the largest
        output of the whole trial, before the cue too.
    - `dt`: length of a step; the default counts steps.

    **Returns:** time from `go` to the crossing, `(trials,)`; NaN where there is none, as in every
    trial whose outputs are not all finite.

    **Raises:** `ValueError` for shapes that do not fit, an empty trial, a `go` outside the trial.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must be between 0 and 1, got {fraction}.")
    xp, (y,) = _floats(outputs=outputs)
    if y.ndim == 3 and y.shape[-1] == 1:
        y = y[..., 0]
    if y.ndim not in (1, 2) or y.shape[-1] == 0:
        raise ValueError(
            "outputs must be (time,), (trials, time) or (trials, time, 1) with at least one "
            f"step, got shape {np.shape(outputs)}."
        )
    trials, n_steps = y.shape[:-1], y.shape[-1]
    if np.shape(go) not in ((), trials):
        raise ValueError(f"go must have shape () or {trials}, got {np.shape(go)}.")
    if not isinstance(go, Tracer):
        steps = np.asarray(go)
        if not (np.all(steps == np.round(steps)) and np.all((steps >= 0) & (steps < n_steps))):
            raise ValueError(f"go must hold steps from 0 to {n_steps - 1}, got {go}.")
    refuse_masked(go, "go")
    start = xp.asarray(go)
    if peak is None:
        top = xp.max(y, axis=-1)
    else:
        refuse_masked(peak, "peak")
        if np.shape(peak) not in ((), trials):
            raise ValueError(f"peak must have shape () or {trials}, got {np.shape(peak)}.")
        top = xp.broadcast_to(xp.asarray(peak, dtype=y.dtype), trials)
    threshold = fraction * top + 8 * xp.finfo(y.dtype).eps * xp.abs(top)
    after = xp.arange(n_steps) > start[..., None]
    above = after & (y > threshold[..., None])
    found = xp.any(above, axis=-1) & xp.all(xp.isfinite(y), axis=-1)
    first = xp.argmax(above, axis=-1)
    return xp.where(found, xp.asarray(first - start, dtype=y.dtype) * dt, xp.nan)


def circular_difference(a: ArrayLike, b: ArrayLike, *, period: float | int = tau) -> Result:
    """The signed angle from `b` to `a`, the short way round.

    **Arguments:**

    - `a`, `b`: angles, of shapes that broadcast.
    - `period`: of a full turn in the unit of the angles: 2 pi by default, 360 for degrees.

    **Returns:** values between `-period / 2` and `period / 2`; NaN where either angle is NaN.
    """
    _check_period(period)
    xp, (to, origin) = _floats(a=a, b=b)
    delta = (to - origin) * (tau / period)
    return xp.arctan2(xp.sin(delta), xp.cos(delta)) * (period / tau)


def circular_distance(a: ArrayLike, b: ArrayLike, *, period: float | int = tau) -> Result:
    """The angle between `a` and `b`, the short way round and without sign.

    **Arguments** are those of `circular_difference`.

    **Returns:** values from 0 to `period / 2`; NaN where either angle is NaN.
    """
    xp, (difference,) = _floats(difference=circular_difference(a, b, period=period))
    return xp.abs(difference)


def circular_mean(angles: ArrayLike, *, axis: int = -1, period: float | int = tau) -> Result:
    """The direction of the sum of unit vectors at `angles`.

    **Arguments:**

    - `angles`: of any shape.
    - `axis`: the axis to average over.
    - `period`: of a full turn in the unit of the angles: 2 pi by default, 360 for degrees.

    **Returns:** values between `-period / 2` and `period / 2`; NaN where the vectors cancel, as
    opposite angles do, and there is no mean direction.

    **Raises:** `ValueError` for no angles, or NaN or infinite ones (under tracing, where values
    are not known, those give NaN).
    """
    _check_period(period)
    xp, (values,) = _floats(angles=angles)
    if values.ndim == 0 or values.shape[axis] == 0:
        raise ValueError(f"angles must hold at least one angle along axis {axis}.")
    if not isinstance(angles, Tracer) and not np.all(np.isfinite(values)):
        raise ValueError("angles must be finite.")
    radians = values * (tau / period)
    sine, cosine = (xp.mean(f(radians), axis=axis) for f in (xp.sin, xp.cos))
    # Sines and cosines are exact to rounding only: vectors shorter than that point nowhere.
    cancelled = sine**2 + cosine**2 < (8 * xp.finfo(values.dtype).eps) ** 2
    mean = xp.arctan2(sine, xp.where(cancelled, 1, cosine)) * (period / tau)
    return xp.where(cancelled, xp.nan, mean)


def decode_angle(sine: ArrayLike, cosine: ArrayLike) -> Result:
    """The angle whose sine and cosine are in these proportions.

    The two need not lie on the unit circle. Unlike the arctangent of their quotient, this tells
    an angle from its opposite and has no jump at ±pi/2.

    **Arguments:**

    - `sine`, `cosine`: of shapes that broadcast.

    **Returns:** radians between -pi and pi; NaN where both are 0 and where either is NaN.
    """
    xp, (s, c) = _floats(sine=sine, cosine=cosine)
    nowhere = (s == 0) & (c == 0)
    return xp.where(nowhere, xp.nan, xp.arctan2(s, xp.where(nowhere, 1, c)))


def angular_accuracy(
    outputs: ArrayLike, angle: ArrayLike, *, tolerance: float | int = pi / 10
) -> Result:
    """The share of responses that point within `tolerance` of the right angle.

    Responses at random angles score `tolerance / pi`: a tenth, by default.

    **Arguments:**

    - `outputs`: `(..., 2)`, the sine and the cosine channel of the response.
    - `angle`: `(...)`, the right angles in radians.
    - `tolerance`: in radians.

    **Returns:** a number from 0 to 1. A response without a direction, (0, 0) or NaN, is wrong.

    **Raises:** `ValueError` for shapes that do not fit, no responses, or a right angle that is
    not finite.
    """
    xp, (response, right) = _floats(outputs=outputs, angle=angle)
    if response.shape != (*right.shape, 2) or response.size == 0:
        raise ValueError(
            "outputs must have the shape of angle and a last axis of (sine, cosine), not empty; "
            f"got {response.shape} and {right.shape}."
        )
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive, got {tolerance}.")
    if not isinstance(right, Tracer) and not np.all(np.isfinite(right)):
        raise ValueError("angle must be finite.")
    decoded = decode_angle(response[..., 0], response[..., 1])
    return xp.mean(circular_distance(decoded, right) < tolerance)
