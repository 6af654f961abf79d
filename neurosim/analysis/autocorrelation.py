"""How long activity stays like itself: autocorrelations and their time scales."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
import scipy.optimize

from ..kernels import check_dt, whole_number
from .activity import Activity, ActivityLike, AnyArray, read_activity
from .estimator import refuse_traced


def autocorrelation(X: ActivityLike, max_lag: int | np.integer) -> AnyArray:
    """Autocorrelation of each neuron over lags within trials.

    The mean of each neuron over all samples of all trials is subtracted. The product of samples a
    lag apart is averaged over all such pairs within trials, and divided by the variance. So trials
    count by the pairs that they hold, values at lags that few pairs span are rough and may exceed
    1 in magnitude, and a course that repeats in every trial counts as correlation: subtract the
    average over trials first to leave it out.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`.
    - `max_lag`: in steps, less than the length of the longest trial.

    **Returns:** `(max_lag + 1, neurons)`, from lag 0, where it is 1. **NaN for a neuron that is
    constant**, which has no correlation. NumPy float64 for NumPy; JAX for JAX, differentiable.

    **Raises:** `ValueError` for a bad layout, values that are not finite, or a lag out of range.
    """
    activity = read_activity(X)
    return _correlations(activity, _lag(max_lag, activity))


def autocorrelation_time(
    X: ActivityLike,
    dt: float | int,
    *,
    method: str = "exponential",
    max_lag: int | np.integer | None = None,
) -> np.ndarray:
    """The time over which the autocorrelation of each neuron decays.

    - `method="exponential"`: tau of the exp(-lag / tau) that is nearest to the autocorrelation,
      by squares, each lag weighted by its pairs of samples. For a process with one time constant
      (an Ornstein-Uhlenbeck process, a leaky filter of white noise) it is that time constant.
    - `method="integral"`: the integral of the autocorrelation, by trapezoids, up to its first
      value that is not positive. For such a process it is near tau, tau being well above `dt`; for
      others it needs no assumption on the shape of the decay.

    Biased low in trials that are not much longer than the time itself.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`.
    - `dt`: length of a step.
    - `max_lag`: in steps; by default that of the longest trial less one.

    **Returns:** `(neurons,)`, in the unit of `dt`; NumPy float64 whatever is given.

    - NaN for a neuron that is constant, and, for the integral, for one whose autocorrelation is
      still positive at `max_lag`, so that its integral is not known.
    - Exponential: 0 for a neuron uncorrelated from one step to the next (or negatively so, or a
      time below a tenth of a step), and infinite for one whose autocorrelation does not decay over
      the lags.

    **Raises:** `ValueError` for a bad layout, values that are not finite, another method, a lag out
    of range, or a `dt` that is not positive; `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Murray et al. (2014), A hierarchy of intrinsic timescales across primate cortex,
    Nature Neuroscience 17, 1661-1663, for the exponential (theirs has an offset); Sokal (1997),
    Monte Carlo methods in statistical mechanics, for the integral.
    """
    if method not in ("exponential", "integral"):
        raise ValueError(f"method must be 'exponential' or 'integral', got {method!r}.")
    dt = check_dt(dt)
    refuse_traced(X, "autocorrelation_time")
    activity = read_activity(X)
    longest = max(activity.lengths)
    if longest < 2:
        raise ValueError("X has no trial of two time points: there is no lag to correlate over.")
    lag = longest - 1 if max_lag is None else _lag(max_lag, activity)
    if lag < 1:
        raise ValueError(f"max_lag must be at least 1, got {max_lag}.")
    correlations = np.asarray(_correlations(activity, lag), np.float64)
    varying = np.flatnonzero(np.isfinite(correlations).all(axis=0))
    r = correlations[:, varying]
    steps = np.full(correlations.shape[1], np.nan)
    if method == "exponential":
        steps[varying] = _exponential(r, _n_pairs(activity, lag))
    else:
        steps[varying] = [_integral(column) for column in r.T]
    return steps * dt


def _lag(max_lag: Any, activity: Activity) -> int:
    lag = whole_number(max_lag, "max_lag")
    longest = max(activity.lengths)
    if not 0 <= lag < longest:
        raise ValueError(
            f"max_lag must lie between 0 and {longest - 1}, the length of the longest trial less "
            f"one, got {lag}."
        )
    return lag


def _n_pairs(activity: Activity, max_lag: int) -> np.ndarray:
    lags = np.arange(max_lag + 1)
    return np.maximum(np.array(activity.lengths)[:, None] - lags, 0).sum(axis=0)


def _correlations(activity: Activity, max_lag: int) -> AnyArray:
    xp, samples = activity.xp, activity.samples
    # About a value of its own and over its range, so that the squares of each neuron are in range.
    shifted = samples - samples[0]
    largest = xp.max(xp.abs(shifted), axis=0)
    if xp is jnp:
        largest = jax.lax.stop_gradient(largest)
    varies = largest > 0
    scaled = shifted / xp.where(varies, largest, 1)
    scaled = scaled - xp.mean(scaled, axis=0)
    longest = max(activity.lengths)
    trials = [xp.pad(x, ((0, longest - len(x)), (0, 0))) for x in activity.trials(scaled)]
    # Zeros beyond the end keep the ends of a trial from meeting in the circular correlation.
    n = scipy.fft.next_fast_len(longest + max_lag, real=True)
    spectrum = xp.fft.rfft(xp.stack(trials), n, axis=1)
    power = xp.sum(spectrum.real**2 + spectrum.imag**2, axis=0)
    products = xp.fft.irfft(power, n, axis=0)[: max_lag + 1]
    covariance = products / _n_pairs(activity, max_lag)[:, None]
    variance = xp.where(varies, covariance[0], 1)
    return xp.where(varies, covariance / variance, xp.nan)


def _exponential(r: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Time constants in steps of the weighted least-squares exponential decays from 1."""
    lags = np.arange(len(r))

    def misfit(log_tau: float, columns: np.ndarray) -> np.ndarray:
        """The weighted squares, less those of the correlations themselves, as one product."""
        tau = np.exp(log_tau)
        # Beyond 40 time constants nothing is left of the decay, to rounding.
        n = int(min(len(lags), 40 * tau + 2))
        decay = np.exp(-lags[:n] / tau)
        weighted = weights[:n] * decay
        return weighted @ decay - 2 * weighted @ columns[:n]

    # At the one end the decay is over within a step, at the other it has not begun.
    grid = np.linspace(np.log(0.1), np.log(1000 * len(r)), 200)
    best = np.argmin([misfit(float(log_tau), r) for log_tau in grid], axis=0)
    steps = np.where(best == 0, 0.0, np.inf)
    for i in np.flatnonzero((best > 0) & (best < len(grid) - 1)):
        column = r[:, i : i + 1]
        found: Any = scipy.optimize.minimize_scalar(
            lambda log_tau, column=column: float(misfit(float(log_tau), column)[0]),
            bounds=(grid[best[i] - 1], grid[best[i] + 1]),
            method="bounded",
            options={"xatol": 1e-9},
        )
        steps[i] = np.exp(found.x)
    return steps


def _integral(r: np.ndarray) -> float:
    """Integral in steps, by trapezoids, to the first value that is not positive."""
    over = np.flatnonzero(r <= 0)
    if len(over) == 0:
        return np.nan
    end = int(over[0])
    # The line to that value is cut where it crosses zero.
    last = r[end - 1] ** 2 / (r[end - 1] - r[end]) / 2
    return float(np.sum(r[: end - 1] + r[1:end]) / 2 + last)
