"""Closed forms for a network whose modes are scaled by gains: decay, required gains, bifurcation.

They are exact for the linear network, and for the mean field of the rank-1 tanh network. Arrays
alone go in, so measured outputs serve as well as those of a model. In a network with a factor g on
the recurrent term, g belongs to `overlap` and to `right_perp`.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize

from .activity import is_traced, refuse_masked

_Values = jax.Array | np.ndarray | float | int | list | tuple


def _read(**values: Any) -> tuple[Any, list[Any]]:
    """The array namespace of the values, and the values in it, finite where that can be seen."""
    xp = jnp if any(isinstance(v, jax.Array) for v in values.values()) else np
    arrays = []
    for name, value in values.items():
        refuse_masked(value, name)
        array = xp.asarray(value)
        if not xp.issubdtype(array.dtype, xp.floating):
            array = array.astype(float)
        if not is_traced(array) and not np.all(np.isfinite(np.asarray(array))):
            raise ValueError(f"{name} must be finite.")
        arrays.append(array)
    return xp, arrays


def _positive(**values: float | int) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}.")


def mode_decay(gains: _Values, ts: _Values, *, tau: float | int) -> np.ndarray | jax.Array:
    """How far the modes of an undriven linear network have decayed under varying gains.

    With L = R of orthonormal columns the modes w = L^T x obey tau dw/dt = -(1 - s) w, so
    w(t) / w(t_0) = exp(-int (1 - s) / tau). The integral is taken by the trapezoid rule over the
    samples, so its error falls like the square of their spacing.

    **Arguments:**

    - `gains`: `(time,)` or `(time, mode)`, s at the times `ts`.
    - `ts`: `(time,)`, ascending, in the unit of `tau`.
    - `tau`: time constant of the network.

    **Returns:** w(t) / w(t_0), as `gains`; 1 at the first time.

    **Raises:** `ValueError` for values that are not finite, times that do not ascend or do not fit
    the gains, or a time constant that is not positive.

    **Reference:** Costacurta et al. (2024), section 3.1, Eq. 5.
    """
    _positive(tau=tau)
    xp, (s, t) = _read(gains=gains, ts=ts)
    if t.ndim != 1 or s.ndim not in (1, 2) or s.shape[:1] != t.shape or t.size == 0:
        raise ValueError(
            f"gains (time,) or (time, mode) and ts (time,) are needed, got {s.shape} and {t.shape}."
        )
    if not is_traced(t) and not np.all(np.diff(np.asarray(t, dtype=float)) > 0):
        raise ValueError("ts must ascend strictly.")
    width = xp.diff(t).reshape((-1,) + (1,) * (s.ndim - 1))
    area = xp.cumsum((1 - (s[1:] + s[:-1]) / 2) * width, axis=0)
    return xp.exp(-xp.concatenate([xp.zeros_like(s[:1]), area]) / tau)


def mode_decay_discrete(
    gains: _Values, *, tau: float | int, dt: float | int = 1.0
) -> np.ndarray | jax.Array:
    """How far the modes have decayed after each published step: the product of 1 - a (1 - s).

    With a = dt / tau. For dt = tau the factor is s itself: the gain is a forget gate.

    **Arguments:**

    - `gains`: `(time,)` or `(time, mode)`, the gain of each step.
    - `tau`, `dt`: time constant and step, in one unit.

    **Returns:** w after each step over w before the first, as `gains`.

    **Raises:** `ValueError` for values that are not finite, or a time that is not positive.

    **Reference:** Costacurta et al. (2024), section 3.2, Eq. 6.
    """
    _positive(tau=tau, dt=dt)
    xp, (s,) = _read(gains=gains)
    return xp.cumprod(1 - dt / tau * (1 - s), axis=0)


def required_gain(
    output: _Values,
    d_output: _Values,
    *,
    tau: float | int,
    overlap: float | int,
    offset: float | int = 0.0,
    ts: _Values = 0.0,
    readout_perp: float | int = 0.0,
    right_perp: float | int = 0.0,
    readout_left: float | int = 0.0,
) -> np.ndarray | jax.Array:
    """The gain by which a rank-1 linear network produces a given output without input.

    With x = k l + w, y = c x + d and w(t) = w(0) exp(-t / tau), the output is f(t) if

        s = (f + tau f' - d) / [(l r)(f - c w - d) + (c l)(r w)]

    A gain is realisable by a sigmoid only between 0 and 1 (`gain_is_feasible`).

    **Arguments:**

    - `output`, `d_output`: `(time,)`, f and its time derivative.
    - `tau`: time constant of the network.
    - `overlap`: l r. `offset`: d.
    - `ts`: `(time,)`, time since w had its initial value; needed where w is not zero.
    - `readout_perp`, `right_perp`, `readout_left`: c w(0), r w(0) and c l.

    **Returns:** s, `(time,)`. NaN where the denominator is below the square root of the floating
    point resolution relative to its terms: there any gain gives the same output.

    **Raises:** `ValueError` for values that are not finite, or a time constant that is not
    positive.

    **Reference:** Costacurta et al. (2024), section 4.1, Eq. 8.
    """
    _positive(tau=tau)
    xp, (f, df, t) = _read(output=output, d_output=d_output, ts=ts)
    left = xp.exp(-t / tau)
    return _quotient(
        xp, f + tau * df - offset, f, left, overlap, offset, readout_perp, right_perp, readout_left
    )


def required_gain_discrete(
    output: _Values,
    *,
    tau: float | int,
    overlap: float | int,
    dt: float | int = 1.0,
    offset: float | int = 0.0,
    readout_perp: float | int = 0.0,
    right_perp: float | int = 0.0,
    readout_left: float | int = 0.0,
) -> np.ndarray | jax.Array:
    """The gain of each published step by which a rank-1 linear network gives an output, exactly.

        s_t = [(f_{t+1} - d) - (1 - a)(f_t - d)] / {a [(l r)(f_t - c w_t - d) + (c l)(r w_t)]}

    with a = dt / tau and w_t = (1 - a)^t w_0. Fed with the output of any such network it returns
    that network's own gains.

    **Arguments:**

    - `output`: `(time + 1,)`, f, from the output of the initial state on.
    - `dt`: the step. The others are those of `required_gain`, with w_0 for w(0).

    **Returns:** s, `(time,)`, masked with NaN as in `required_gain`.

    **Raises:** `ValueError` for values that are not finite, fewer than two outputs, or a time that
    is not positive.

    **Reference:** Costacurta et al. (2024), section 4.1, in the steps of the published code.
    """
    _positive(tau=tau, dt=dt)
    xp, (f,) = _read(output=output)
    if f.ndim != 1 or f.shape[0] < 2:
        raise ValueError(f"output must be (time + 1,) with at least two values, got {f.shape}.")
    a = dt / tau
    left = (1 - a) ** xp.arange(f.shape[0] - 1)
    numerator = ((f[1:] - offset) - (1 - a) * (f[:-1] - offset)) / a
    return _quotient(
        xp, numerator, f[:-1], left, overlap, offset, readout_perp, right_perp, readout_left
    )


def _quotient(xp, numerator, f, left, overlap, offset, readout_perp, right_perp, readout_left):
    along = overlap * (f - readout_perp * left - offset)
    across = readout_left * right_perp * left
    denominator = along + across
    terms = abs(overlap) * (abs(f) + abs(readout_perp * left) + abs(offset)) + abs(across)
    tiny = xp.abs(denominator) <= xp.finfo(denominator.dtype).eps ** 0.5 * terms
    # The quotient must be finite on both sides: a NaN under `where` still reaches a gradient.
    return xp.where(tiny, xp.nan, numerator / xp.where(tiny, 1, denominator))


def gain_is_feasible(gains: _Values) -> np.ndarray | np.bool_ | jax.Array:
    """Whether all gains of a time course lie strictly between 0 and 1, where a sigmoid can be.

    **Arguments:**

    - `gains`: `(..., time)`; a NaN is not feasible.

    **Returns:** booleans, `(...)`.

    **Raises:** `ValueError` for masked values.

    **Reference:** Costacurta et al. (2024), section 3.
    """
    xp = jnp if isinstance(gains, jax.Array) else np
    refuse_masked(gains, "gains")
    s = xp.asarray(gains)
    return xp.all((s > 0) & (s < 1), axis=-1)


def minimum_ramp_overlap(
    intervals: _Values,
    *,
    tau: float | int,
    start: float | int,
    offset: float | int,
    height: float | int = 1.0,
) -> float | np.ndarray | jax.Array:
    """The overlap l r above which gains in (0, 1) can ramp an output up within an interval.

    The gain of a ramp by `height` in time I from `start` is largest at its start, where it is
    below 1 if l r > 1 + tau height / (I (start - d)).

    **Arguments:**

    - `intervals`: I, any shape, in the unit of `tau`.
    - `tau`: time constant; `start`: the output before the ramp; `offset`: d, below `start`.
    - `height`: rise of the output, positive.

    **Returns:** the bound, as `intervals`.

    **Raises:** `ValueError` for times or a height that are not positive, or a start that is not
    above the offset.

    **Reference:** derived from Costacurta et al. (2024), Eq. 8.
    """
    _positive(tau=tau, height=height)
    _, (interval,) = _read(intervals=intervals)
    if not is_traced(interval) and not np.all(np.asarray(interval) > 0):
        raise ValueError(f"intervals must be positive, got {intervals}.")
    if not start > offset:
        raise ValueError(f"start must be above the offset, got {start} and {offset}.")
    return 1 + tau * height / (interval * (start - offset))


def mean_field_overlap(scaled_overlap: _Values) -> float | np.ndarray:
    """Where a large rank-1 tanh network settles: x = k l, with k of the stable state.

    For Gaussian l of variance 1 and a recurrent matrix l r^T / N with l r / N = p under the gain s,
    k solves 1 = s p E[sech^2(k z)], z ~ N(0, 1). Up to the pitchfork at s p = 1 only k = 0 is left.

    **Arguments:**

    - `scaled_overlap`: s p, any shape.

    **Returns:** k >= 0 (-k is a solution too), as `scaled_overlap`; a float for a number.

    **Raises:** `ValueError` for values that are not finite.

    **Reference:** the mean field of Mastrogiuseppe & Ostojic (2018), Neuron 99, with a gain.
    """
    refuse_masked(scaled_overlap, "scaled_overlap")
    _, (values,) = _read(scaled_overlap=np.asarray(scaled_overlap, dtype=np.float64))
    solved = np.array([_solve_mean_field(float(v)) for v in values.ravel()]).reshape(values.shape)
    return float(solved) if solved.ndim == 0 else solved


# Both factors of the integrand are analytic in a strip of half width pi / 2 around these points, or
# wider, so the trapezoid rule is exact to rounding.
_POINTS = np.linspace(-20.0, 20.0, 801)


def _mean_slope(k: float) -> float:
    """E[sech^2(k z)], integrated over z or k z, whichever makes the integrand the wider."""
    m = max(1.0, k)
    density = np.exp(-0.5 * (_POINTS / m) ** 2) / (np.sqrt(2 * np.pi) * m)
    return float(np.sum(density / np.cosh(_POINTS * k / m) ** 2) * (_POINTS[1] - _POINTS[0]))


def _solve_mean_field(scaled_overlap: float) -> float:
    if scaled_overlap <= 1:
        return 0.0
    # E[sech^2(k z)] is below its limit for large k, sqrt(2 / pi) / k, so k is below this bound.
    bound = scaled_overlap * 0.8
    root = scipy.optimize.brentq(
        lambda k: scaled_overlap * _mean_slope(k) - 1, 0.0, bound, xtol=1e-14
    )
    return float(root)  # pyright: ignore[reportArgumentType]
