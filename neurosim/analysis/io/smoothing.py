"""Gaussian smoothing within trials."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage

from ...kernels import check_dt
from ..activity import ActivityLike, AnyArray
from ..trial_arrays import read_trials


def smooth(
    X: ActivityLike,
    width: float | int,
    *,
    dt: float | int,
    causal: bool = False,
    mask: Any = None,
    truncate: float | int = 4.0,
) -> AnyArray | list[AnyArray]:
    """Activity averaged over neighbouring times of the same trial, with Gaussian weights.

    Each sample is the mean of the samples there are about it, its weights summing to 1 also at the
    ends of a trial and next to samples that do not count. So a constant stays what it is, and
    nothing leaks from one trial into another or out of padding.

    **Arguments:**

    - `X`: `(trial, time, unit)`, a list of `(time_i, unit)`, or one trial `(time, unit)`.
    - `width`: standard deviation of the Gaussian, in the unit of `dt`.
    - `dt`: time from one sample to the next.
    - `causal`: whether only the present and the past count: half of a Gaussian, which delays
        what it smooths by about `0.8 width`.
    - `mask`: booleans `(trial, time)`, or of the shape of `X`; samples that do not count enter no
        average, and come back as they were given.
    - `truncate`: where the Gaussian is cut off, in standard deviations.

    **Returns:** the layout of `X`, NumPy float64 for NumPy and JAX for JAX, differentiable.

    **Raises:** `ValueError` for a width that is not positive, a bad layout or mask, or values that
    count and are not finite.
    """
    step = check_dt(dt)
    for name, value in (("width", width), ("truncate", truncate)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}.")
    read = read_trials(X, mask)
    reach = min(int(np.ceil(truncate * width / step)), read.values.shape[1] - 1)
    lags = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (lags * step / width) ** 2)
    if causal:
        weights[lags > 0] = 0.0
    xp, values = read.xp, read.values
    total = _along_time(read.mask.astype(float), weights)
    # Where nothing is in reach, nothing counts either.
    share = xp.asarray(np.where(read.mask, 1 / np.where(read.mask, total, 1), 0))
    if not isinstance(values, jax.Array):
        return read.restore(_along_time(values, weights) * share)
    smoothed = _along_time_in_jax(values, weights)
    return read.restore(smoothed * share.astype(smoothed.dtype))


def _along_time(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return scipy.ndimage.correlate1d(values, weights, axis=1, mode="constant", cval=0.0)


def _along_time_in_jax(values: jax.Array, weights: np.ndarray) -> jax.Array:
    trials, time, units = values.shape
    reach = len(weights) // 2
    kernel = jnp.asarray(weights[::-1], values.dtype)

    def one(x: jax.Array) -> jax.Array:
        whole = jnp.convolve(x, kernel, mode="full", precision=jax.lax.Precision.HIGHEST)
        return whole[reach : reach + time]

    rows = values.transpose(0, 2, 1).reshape(trials * units, time)
    return jax.vmap(one)(rows).reshape(trials, units, time).transpose(0, 2, 1)
