"""Trajectory tangling: whether nearby states move on in different directions."""

import math
from typing import Any

import numpy as np

from .activity import ActivityLike, read_activity
from .estimator import refuse_traced


def tangling(
    X: ActivityLike,
    *,
    dt: float | int,
    derivative: ActivityLike | None = None,
    epsilon: float | int | None = None,
) -> np.ndarray | list[np.ndarray]:
    """How differently a trajectory moves on from states that are close, at each time.

    Q(t) = max over t' of |xdot_t - xdot_t'|^2 / (|x_t - x_t'|^2 + epsilon), over the times of all
    trials or conditions. A system that follows a smooth flow without unseen input has little of it.
    Nothing is centred: Q is of differences. The published analysis takes averages over trials, unit
    by unit soft-normalised, in 8 principal components:

    ```python
    states = PCA(8).fit_transform(SoftNormalizer().fit_transform(rates))
    Q = tangling(states, dt=0.01)
    ```

    Noise raises it, so that only data of the same number of trials compare.

    **Arguments:**

    - `X`: `(condition, time, unit)`, a list of `(time_i, unit)`, or one trajectory `(time, unit)`.
    - `dt`: time between samples.
    - `derivative`: of the layout of `X`, per unit of time, such as the vector field of a model; by
        default differences within each condition, of second order, for which three times are
        needed.
    - `epsilon`: above 0, in squared units of activity; by default a tenth of the total variance of
        `X` over all samples.

    **Returns:** `(condition, time)`, a list of `(time_i,)`, or `(time,)`, as `X`; NumPy, in units
    of one over time squared.

    **Raises:** `ValueError` for a bad layout, values that are not finite, activity that does not
    vary, fewer than three times, or an epsilon or dt out of range; `TypeError` under `jit`.

    **Reference:** Russo et al. (2018), Motor cortex embeds muscle-like commands in an untangled
    population response, Neuron 97.
    """
    activity = read_activity(X, axis_name="unit")
    refuse_traced(activity.samples, "tangling")
    if not (math.isfinite(dt) and dt > 0):
        raise ValueError(f"dt must be finite and above 0, got {dt}.")
    x = np.asarray(activity.samples, np.float64)
    if derivative is None:
        short = min(activity.lengths)
        if short < 3:
            raise ValueError(f"a derivative needs three times of each condition, got {short}.")
        trials: list[Any] = activity.trials(x)
        xdot = np.concatenate([np.gradient(trial, dt, axis=0, edge_order=2) for trial in trials])
    else:
        given = read_activity(derivative, name="derivative", axis_name="unit")
        refuse_traced(given.samples, "tangling")
        xdot = np.asarray(given.samples, np.float64)
        if given.lengths != activity.lengths or xdot.shape != x.shape:
            raise ValueError("derivative must have the conditions, times and units of X.")
    if epsilon is None:
        if not activity.varies:
            raise ValueError("X does not vary: it has no variance to take an epsilon from.")
        epsilon = 0.1 * float(x.var(axis=0).sum())
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be finite and above 0, got {epsilon}.")
    Q = _largest_ratio(x, xdot, epsilon)
    if activity.layout == "list":
        return np.split(Q, np.cumsum(activity.lengths)[:-1])
    return Q if activity.layout == "samples" else Q.reshape(len(activity.lengths), -1)


def _largest_ratio(x: np.ndarray, xdot: np.ndarray, epsilon: float | int) -> np.ndarray:
    Q = np.empty(len(x))
    # As many rows at once as keep the table of distances small.
    rows = max(1, 2**21 // len(x))
    for start in range(0, len(x), rows):
        part = slice(start, start + rows)
        apart = _squared_distances(x, part)
        Q[part] = (_squared_distances(xdot, part) / (apart + epsilon)).max(axis=1)
    return Q


def _squared_distances(x: np.ndarray, part: slice) -> np.ndarray:
    # About the mean, where squares lose less to rounding.
    x = x - x.mean(axis=0)
    size = (x**2).sum(axis=1)
    return np.maximum(size[part, None] + size - 2 * x[part] @ x.T, 0)
