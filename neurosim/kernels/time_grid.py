"""Whole numbers of steps: the time grid in exact arithmetic."""

from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Literal

import numpy as np

_TOLERANCE = Fraction(1, 10**9)


def _exact(value: float | int, name: str) -> Fraction:
    value = float(value)
    if not isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}.")
    # The decimal a user typed, not the binary number nearest to it: 0.3 / 0.1 is 3.
    return Fraction(repr(value))


def check_dt(dt: float | int) -> float:
    """Return `dt` as a float, or refuse one that is not a positive finite number.

    **Raises:** `ValueError` for a step that is zero, negative or not finite.
    """
    value = float(dt)
    if not (isfinite(value) and value > 0):
        raise ValueError(f"dt must be a positive, finite time step, got {dt}.")
    return value


def steps_in(
    duration: float | int,
    dt: float | int,
    *,
    rounding: Literal["refuse", "nearest"] = "refuse",
    name: str = "duration",
) -> int:
    """The number of steps of length `dt` in `duration`.

    Both are read as the decimals they are written as, so 2.1 s in steps of 0.7 s is 3 and not
    the 3.0000000000000004 of floating point. A duration that misses a whole number of steps by
    less than one part in 10^9 counts as that number, so computed durations such as 0.1 + 0.2 pass.

    **Arguments:**

    - `duration`: a time, not negative, in the unit of `dt`.
    - `dt`: the step, positive.
    - `rounding`: `"refuse"` a duration between two steps, or take the `"nearest"` (halves go up).
    - `name`: what to call the duration in the error.

    **Returns:** the number of steps, an `int`; times `dt` it is the duration realised.

    **Raises:** `ValueError` that names the nearest durations on the grid.
    """
    dt = check_dt(dt)
    if float(duration) < 0:
        raise ValueError(f"{name} must not be negative, got {duration}.")
    if rounding not in ("refuse", "nearest"):
        raise ValueError(f"rounding must be 'refuse' or 'nearest', got {rounding!r}.")
    exact_dt = _exact(dt, "dt")
    ratio = _exact(duration, name) / exact_dt
    nearest = floor(ratio + Fraction(1, 2))
    if rounding == "nearest" or abs(ratio - nearest) <= _TOLERANCE * max(1, nearest):
        return nearest
    below, above = (float(n * exact_dt) for n in (floor(ratio), ceil(ratio)))
    raise ValueError(
        f"{name} {duration} is not a multiple of dt = {dt}: the nearest on the grid are "
        f"{below:g} and {above:g}."
    )


def steps_between(t0: float | int, t1: float | int, dt: float | int) -> int:
    """The number of steps of length `dt` from `t0` to `t1`.

    As `steps_in`, and the difference is one of decimals too: from 4096 to 4096.0001 in steps of
    0.0001 is 1.

    **Raises:** `ValueError` that names the nearest ends on the grid.
    """
    dt = check_dt(dt)
    start, exact_dt = _exact(t0, "t0"), _exact(dt, "dt")
    ratio = (_exact(t1, "t1") - start) / exact_dt
    if ratio < 0:
        raise ValueError(f"t1 = {t1} must not come before t0 = {t0}.")
    nearest = floor(ratio + Fraction(1, 2))
    # A computed end is off by the spacing of floats where it lies, however short the span.
    spacing = Fraction(float(np.spacing(max(abs(float(t0)), abs(float(t1)))))) / exact_dt
    if abs(ratio - nearest) <= _TOLERANCE * max(1, nearest) + 2 * spacing and 2 * spacing < 0.5:
        return nearest
    below, above = (float(start + n * exact_dt) for n in (floor(ratio), ceil(ratio)))
    raise ValueError(
        f"the span from t0 = {t0} to t1 = {t1} is not a multiple of dt = {dt}: the nearest ends on "
        f"the grid are {below} and {above}."
    )


def time_grid(n_steps: int, dt: float | int, *, t0: float | int = 0.0) -> np.ndarray:
    """The times `t0 + k dt`, k = 0..n_steps, each from its integer and so without drift.

    **Returns:** float64 NumPy array of shape `(n_steps + 1,)`, whatever JAX's precision.
    """
    exact_t0, exact_dt = _exact(t0, "t0"), _exact(check_dt(dt), "dt")
    numerator = exact_dt.numerator * exact_t0.denominator
    offset = exact_t0.numerator * exact_dt.denominator
    denominator = exact_dt.denominator * exact_t0.denominator
    return np.array([(offset + k * numerator) / denominator for k in range(n_steps + 1)])
