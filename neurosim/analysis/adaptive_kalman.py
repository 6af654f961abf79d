"""Scalar Kalman filters of a signal whose statistics change, with contexts right and wrong."""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .activity import as_floating, is_traced


class FilteredSignal(NamedTuple):
    """Estimates of a signal from observations up to each time; see `context_kalman_filter`.

    - `estimates`: `(..., time)`.
    - `variances`: `(..., time)`, what the filter takes their squared errors to be on average.
    """

    estimates: Any
    variances: Any


class ReferenceErrors(NamedTuple):
    """Mean squared errors that an estimate of the signal can be held against.

    - `kalman`: of the filter that knows the context; nothing does better.
    - `random_context`: of a filter that knows the mean and when contexts begin, and guesses time
        constant and observation noise, once a context.
    - `random_step`: the same, guessing anew at every step.
    - `random_drift`: the same, but with the true factor a; see `random_context_filter`.
    - `observation`: of the observation as it is.
    - `mean`: of the mean of the context.
    """

    kalman: Any
    random_context: Any
    random_step: Any
    random_drift: Any
    observation: Any
    mean: Any


def context_kalman_filter(
    observations: Any,
    *,
    time_constant: Any,
    mean: Any,
    observation_std: Any,
    onsets: Any,
    process_std: float | int = 1.0,
    decay_time_constant: Any = None,
) -> FilteredSignal:
    """The best estimate of a signal at each time, given the observations so far and the context.

    The signal is x+ = a x + (1 - a) b + sigma sqrt(1 - a^2) eps with a = 1 - 1 / tau, and the
    observation y = x + sigma_b eps'. Where a context begins the signal is drawn anew from
    N(b, sigma^2), and the filter starts anew from there; so it does at the first time.

    **Arguments:**

    - `observations`: y, `(..., time)`.
    - `time_constant`: tau in steps, at least 1. `mean`: b. `observation_std`: sigma_b. Of the
        context at each time, of a shape that broadcasts to the observations.
    - `onsets`: booleans, true at the first time of a context, of such a shape.
    - `process_std`: sigma.
    - `decay_time_constant`: if given, a = 1 - 1 / tau' with this tau', while the drift b / tau and
        the process noise stay those of tau. No signal does that unless the two are equal.

    **Returns:** a `FilteredSignal`, NumPy float64 for NumPy observations and JAX for JAX.

    **Raises:** `ValueError` for shapes that do not fit, no observations, values that are not
    finite, time constants below 1, or standard deviations that are negative or all 0 at once.
    """
    y, xp = _floats(observations, "observations")
    if y.ndim == 0 or y.size == 0:
        raise ValueError(f"observations must be (..., time) and not empty, got shape {y.shape}.")
    tau = _alike(time_constant, y, xp, "time_constant", least=1)
    b = _alike(mean, y, xp, "mean")
    std = _alike(observation_std, y, xp, "observation_std", least=0)
    sigma = _process_std(process_std)
    begins = _onsets(onsets, y, xp)
    decay = tau if decay_time_constant is None else decay_time_constant
    decay = _alike(decay, y, xp, "decay_time_constant", least=1)
    if sigma == 0 and not is_traced(std) and np.any(np.asarray(std) == 0):
        raise ValueError("observation_std and process_std must not both be 0.")
    Q = sigma**2 * (1 - (1 - 1 / tau) ** 2)
    series = (y, 1 - 1 / decay, b / tau, b, Q, std**2, begins)
    series = tuple(xp.moveaxis(x, -1, 0) for x in series)
    belief = (xp.zeros_like(series[0][0]), xp.zeros_like(series[0][0]))

    def update(belief: tuple[Any, Any], now: tuple[Any, ...]) -> tuple[tuple[Any, Any], Any]:
        m, P = belief
        y, a, drift, b, Q, R, begins = now
        # The stationary distribution, as if it had held before: one step leaves it as it is.
        m = a * xp.where(begins, b, m) + drift
        P = a**2 * xp.where(begins, sigma**2, P) + Q
        # P + R is 0 where neither noise is left: the prediction is exact then.
        gain = P / xp.where(P + R > 0, P + R, 1)
        belief = m + gain * (y - m), gain * R
        return belief, belief

    if xp is np:
        history = []
        for now in zip(*series):
            belief, _ = update(belief, now)
            history.append(belief)
        m, P = (np.stack(x) for x in zip(*history))
    else:
        _, (m, P) = jax.lax.scan(update, belief, series)
    return FilteredSignal(xp.moveaxis(m, 0, -1), xp.moveaxis(P, 0, -1))


def random_context_filter(
    observations: Any,
    *,
    mean: Any,
    onsets: Any,
    redraw: Literal["context", "step"] = "context",
    time_constant: Any = None,
    tau_range: tuple[float | int, float | int] = (1.0, 10.0),
    observation_std_range: tuple[float | int, float | int] = (0.1, 3.0),
    process_std: float | int = 1.0,
    random_state: int | np.random.Generator = 0,
) -> FilteredSignal:
    """A Kalman filter that knows the mean of the context, and guesses the rest of it.

    Time constant and observation noise are drawn uniformly, as the true ones are.

    **Arguments:**

    - `observations`, `mean`, `onsets`, `process_std`: as in `context_kalman_filter`.
    - `redraw`: guess once a `"context"`, or at every `"step"`.
    - `time_constant`: `None`; or the true one, for the factor a alone, while drift and process
        noise are those of the guess. With `redraw="step"` this is how the authors' code computes
        the filter with random context, whose error it puts at 1.3613.
    - `tau_range`, `observation_std_range`: to draw from.
    - `random_state`: seed or NumPy generator.

    **Returns:** a `FilteredSignal`.

    **Raises:** `ValueError` as `context_kalman_filter`, and for ranges out of order.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), Second-order forward-mode optimization
    of recurrent neural networks for neuroscience, NeurIPS 37, section 4.2.
    """
    y, xp = _floats(observations, "observations")
    if redraw not in ("context", "step"):
        raise ValueError(f"redraw must be 'context' or 'step', got {redraw!r}.")
    for name, (low, high), least in (
        ("tau_range", tau_range, 1),
        ("observation_std_range", observation_std_range, 0),
    ):
        if not (np.isfinite(high) and least <= low <= high):
            raise ValueError(
                f"{name} must be two finite numbers in order, the first at least {least}, got "
                f"{(low, high)}."
            )
    rng = np.random.default_rng(random_state)
    guesses = [rng.uniform(*r, y.shape) for r in (tau_range, observation_std_range)]
    tau, std = (xp.asarray(guess, y.dtype) for guess in guesses)
    if redraw == "context" and y.ndim and y.size:
        begins, t = _onsets(onsets, y, xp), xp.arange(y.shape[-1])
        latest = xp.where(begins, t, 0)
        axis = y.ndim - 1
        latest = (
            np.maximum.accumulate(latest, axis=axis)
            if xp is np
            else jax.lax.cummax(latest, axis=axis)
        )
        tau, std = (xp.take_along_axis(guess, latest, axis=-1) for guess in (tau, std))
    return context_kalman_filter(
        observations,
        time_constant=tau,
        mean=mean,
        observation_std=std,
        onsets=onsets,
        process_std=process_std,
        decay_time_constant=time_constant,
    )


def stationary_filter_error(
    time_constant: Any, observation_std: Any, *, process_std: float | int = 1.0
) -> Any:
    """The mean squared error that a Kalman filter settles at, long after the context began.

    **Arguments:**

    - `time_constant`: tau in steps, at least 1. `observation_std`: sigma_b, positive. Of shapes
        that broadcast.
    - `process_std`: sigma, positive.

    **Returns:** the positive root of P = R (a^2 P + Q) / (a^2 P + Q + R), with R = sigma_b^2 and
    Q = sigma^2 (1 - a^2), a = 1 - 1 / tau.

    **Raises:** `ValueError` for values that are not finite, or too small.
    """
    std, xp = _floats(observation_std, "observation_std")
    tau, other = _floats(time_constant, "time_constant")
    xp = jnp if jnp in (xp, other) else np
    sigma = _process_std(process_std)
    small = not is_traced(std) and np.any(np.asarray(std) <= 0)
    if small or sigma == 0:
        raise ValueError("observation_std and process_std must be positive.")
    tau, std = xp.broadcast_arrays(tau, std)
    tau, R = _alike(tau, tau, xp, "time_constant", least=1), std**2
    square = (1 - 1 / tau) ** 2
    Q = sigma**2 * (1 - square)
    # Of a^2 P^2 + half P - Q R = 0, in the form that also holds where a = 0.
    half = (Q + R) - square * R
    return 2 * Q * R / (half + xp.sqrt(half**2 + 4 * square * Q * R))


def reference_errors(
    signal: Any,
    observations: Any,
    *,
    time_constant: Any,
    mean: Any,
    observation_std: Any,
    onsets: Any,
    process_std: float | int = 1.0,
    random_state: int | np.random.Generator = 0,
) -> ReferenceErrors:
    """What estimates of a signal are worth: the errors of filters that know more or less.

    ```python
    trials = AdaptiveFiltering(length=2000).sample(key, 1000)
    reference_errors(trials.targets[..., 0], trials.inputs[..., 0], **trials.info).kalman  # 0.49
    ```

    **Arguments:**

    - `signal`: the truth, of the shape of the observations.
    - others: as in `context_kalman_filter` and `random_context_filter`. Guesses are uniform over
        tau from 1 to 10 and sigma_b from 0.1 to 3, the published ranges.

    **Returns:** `ReferenceErrors`, averaged over trials and time.

    **Raises:** `ValueError` as these do, and for a signal of another shape.
    """
    x, _ = _floats(signal, "signal")
    y, xp = _floats(observations, "observations")
    if x.shape != y.shape:
        raise ValueError(
            f"signal must have the shape of the observations, got {x.shape} and {y.shape}."
        )
    rng = np.random.default_rng(random_state)
    known = {"mean": mean, "onsets": onsets, "process_std": process_std}
    tau = time_constant
    estimates = (
        context_kalman_filter(y, time_constant=tau, observation_std=observation_std, **known)[0],
        random_context_filter(y, random_state=rng, **known)[0],
        random_context_filter(y, redraw="step", random_state=rng, **known)[0],
        random_context_filter(y, redraw="step", time_constant=tau, random_state=rng, **known)[0],
        y,
        _alike(mean, y, xp, "mean"),
    )
    return ReferenceErrors(*(xp.mean((estimate - x) ** 2) for estimate in estimates))


def _floats(values: Any, name: str) -> tuple[Any, Any]:
    array = as_floating(values, name)
    if not is_traced(array) and not np.all(np.isfinite(np.asarray(array))):
        raise ValueError(f"{name} must be finite.")
    return array, jnp if isinstance(array, jax.Array) else np


def _alike(values: Any, y: Any, xp: Any, name: str, least: float | int | None = None) -> Any:
    """Values in the shape and the kind of the observations, checked where they are known."""
    array, _ = _floats(values, name)
    if least is not None and not is_traced(array) and np.any(np.asarray(array) < least):
        raise ValueError(f"{name} must be at least {least}, got {np.min(np.asarray(array)):g}.")
    return _broadcast(xp.asarray(array, y.dtype), y, xp, name)


def _onsets(onsets: Any, y: Any, xp: Any) -> Any:
    array = onsets if isinstance(onsets, jax.Array) else np.asarray(onsets)
    if array.dtype != bool:
        raise ValueError(f"onsets must be booleans, got {array.dtype}.")
    begins = _broadcast(xp.asarray(array), y, xp, "onsets")
    return begins | (xp.arange(y.shape[-1]) == 0)


def _broadcast(array: Any, y: Any, xp: Any, name: str) -> Any:
    try:
        return xp.broadcast_to(array, y.shape)
    except ValueError:
        raise ValueError(
            f"{name} has shape {array.shape}, which does not fit observations {y.shape}."
        ) from None


def _process_std(process_std: float | int) -> float:
    sigma = float(process_std)
    if not (np.isfinite(sigma) and sigma >= 0):
        raise ValueError(f"process_std must be finite and not negative, got {process_std}.")
    return sigma
