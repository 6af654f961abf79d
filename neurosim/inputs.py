"""Inputs as functions of continuous time that know where they jump.

An adaptive solver that is not told of a brief pulse steps over it and returns the solution without
it. Every input here carries its breakpoints, and `simulate` makes steps end there.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


def _finite(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except jax.errors.TracerArrayConversionError:
        raise ValueError(f"{name} must be known when traced; only values may be traced.") from None
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite.")
    return array


def _values(name: str, values: Any) -> Any:
    """As `_finite`, but a traced array passes, to be differentiated or mapped over."""
    return values if isinstance(values, jax.core.Tracer) else _finite(name, values)


class Input(eqx.Module):
    """A signal `(channel,)` of time with known breakpoints."""

    @property
    @abc.abstractmethod
    def breakpoints(self) -> np.ndarray:
        """Times at which the signal, or its derivative, jumps: float64, ascending."""

    @abc.abstractmethod
    def shifted(self, offset: float) -> "Input":
        """The same signal `offset` later."""

    @abc.abstractmethod
    def __call__(self, t: Any) -> Array:
        """The value at time `t`; at a jump, the value after it."""


class Pulses(Input):
    """Rectangular pulses, each on from `onsets[i]` for `durations[i]`; overlapping ones add.

    **Arguments:**

    - `onsets`: `(n,)`, in the unit of time of the model.
    - `durations`: `(n,)` or one for all, positive.
    - `amplitudes`: `(n, channel)`.

    **Raises:** `ValueError` for lengths that disagree, or a duration that is not positive.
    """

    onsets: Any
    offsets: Any
    amplitudes: Any

    def __init__(self, onsets: Any, durations: Any, amplitudes: Any):
        self.onsets = _finite("onsets", onsets)
        lengths = _finite("durations", durations)
        self.amplitudes = _values("amplitudes", amplitudes)
        if self.onsets.ndim != 1 or self.amplitudes.shape[:1] != self.onsets.shape:
            raise ValueError(
                f"Pulses need onsets (n,) and amplitudes (n, channel), got {self.onsets.shape} "
                f"and {self.amplitudes.shape}."
            )
        if self.amplitudes.ndim != 2:
            raise ValueError(f"amplitudes must be (n, channel), got {self.amplitudes.shape}.")
        if lengths.shape not in ((), (1,), self.onsets.shape):
            raise ValueError(
                f"durations must be one number or {self.onsets.shape}, got {lengths.shape}."
            )
        if np.any(lengths <= 0):
            raise ValueError("durations must be positive.")
        self.offsets = self.onsets + lengths

    @property
    def breakpoints(self) -> np.ndarray:
        return np.unique(np.concatenate([self.onsets, self.offsets]))

    def shifted(self, offset: float) -> "Pulses":
        return Pulses(self.onsets + offset, self.offsets - self.onsets, self.amplitudes)

    def __call__(self, t: Any) -> Array:
        # Edges are rounded once, as the solver's breakpoints are, so that both agree on the side.
        start = jnp.asarray(self.onsets, dtype=jnp.result_type(float))
        stop = jnp.asarray(self.offsets, dtype=jnp.result_type(float))
        on = (start <= t) & (t < stop)
        return jnp.where(on[:, None], jnp.asarray(self.amplitudes), 0.0).sum(axis=0)


class Steps(Input):
    """Piecewise constant: `values[i]` from `times[i]` on, `values[0]` before.

    **Arguments:**

    - `times`: `(n,)`, strictly ascending, in the unit of time of the model.
    - `values`: `(n, channel)`.

    **Raises:** `ValueError` for lengths that disagree or times that do not ascend.
    """

    times: Any
    values: Any

    def __init__(self, times: Any, values: Any):
        self.times, self.values = _knots(times, values)

    @property
    def breakpoints(self) -> np.ndarray:
        return self.times

    def shifted(self, offset: float) -> "Steps":
        return Steps(self.times + offset, self.values)

    def __call__(self, t: Any) -> Array:
        times = jnp.asarray(self.times, dtype=jnp.result_type(float))
        index = jnp.searchsorted(times, t, side="right") - 1
        return jnp.asarray(self.values, dtype=jnp.result_type(float))[jnp.maximum(index, 0)]


class Interpolated(Input):
    """Linear interpolation between samples, constant outside them.

    **Arguments:**

    - `times`: `(n,)`, strictly ascending, in the unit of time of the model.
    - `values`: `(n, channel)`.

    **Raises:** `ValueError` for lengths that disagree or times that do not ascend.
    """

    times: Any
    values: Any

    def __init__(self, times: Any, values: Any):
        self.times, self.values = _knots(times, values)

    @property
    def breakpoints(self) -> np.ndarray:
        return self.times

    def shifted(self, offset: float) -> "Interpolated":
        return Interpolated(self.times + offset, self.values)

    def __call__(self, t: Any) -> Array:
        times = jnp.asarray(self.times, dtype=jnp.result_type(float))
        values = jnp.asarray(self.values, dtype=jnp.result_type(float))
        if times.shape[0] == 1:
            return values[0]
        right = jnp.clip(jnp.searchsorted(times, t, side="right"), 1, times.shape[0] - 1)
        left = right - 1
        weight = jnp.clip((t - times[left]) / (times[right] - times[left]), 0.0, 1.0)
        return (1 - weight) * values[left] + weight * values[right]


class FunctionInput(Input):
    """Any function of time, with its breakpoints said by hand.

    **Arguments:**

    - `function`: `t -> (channel,)`, traceable.
    - `breakpoints`: the times at which it, or its derivative, jumps.
    """

    function: Callable[[Any], Any]
    _breakpoints: Any
    _offset: Any

    def __init__(
        self, function: Callable[[Any], Any], breakpoints: Any = (), *, offset: float = 0.0
    ):
        self.function = function
        self._breakpoints = np.unique(_finite("breakpoints", breakpoints))
        self._offset = np.asarray(offset, dtype=np.float64)

    @property
    def breakpoints(self) -> np.ndarray:
        return self._breakpoints

    def shifted(self, offset: float) -> "FunctionInput":
        return FunctionInput(
            self.function, self._breakpoints + offset, offset=float(self._offset) + offset
        )

    def __call__(self, t: Any) -> Array:
        return jnp.asarray(self.function(t - self._offset))


def _knots(times: Any, values: Any) -> tuple[np.ndarray, Any]:
    t, v = _finite("times", times), _values("values", values)
    if t.ndim != 1 or t.size == 0 or v.ndim != 2 or v.shape[0] != t.shape[0]:
        raise ValueError(
            f"times (n,) and values (n, channel) are needed, got {t.shape}, {v.shape}."
        )
    if np.any(np.diff(t) <= 0):
        raise ValueError("times must ascend strictly.")
    return t, v


class _PathValue(eqx.Module):
    """The value of a Diffrax path, as a function that is the same object for the same path."""

    path: diffrax.AbstractPath

    def __call__(self, t: Any) -> Any:
        return self.path.evaluate(t, left=False)


def as_input(signal: Any, breakpoints: Sequence[float] | np.ndarray = ()) -> Input:
    """Wrap a callable or a Diffrax path as an `Input`.

    Breakpoints add to those an `Input` has, and to the knots of Diffrax's interpolations.

    **Raises:** `ValueError` for anything that is not a function of time.
    """
    more = _finite("breakpoints", breakpoints)
    if isinstance(signal, Input):
        if more.size == 0:
            return signal
        return FunctionInput(signal, np.union1d(signal.breakpoints, more))
    if isinstance(signal, diffrax.AbstractPath):
        knots = _finite("the knots of a path", getattr(signal, "ts", ()))
        return FunctionInput(_PathValue(signal), np.union1d(knots, more))
    if callable(signal):
        return FunctionInput(signal, more)
    raise ValueError(
        f"inputs must be an array, an Input, a function of time or a Diffrax path, got "
        f"{type(signal).__name__}."
    )
