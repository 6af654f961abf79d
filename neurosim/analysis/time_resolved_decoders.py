"""Linear decoders of trials, fitted at every time at once.

The weights of all times come from one batch of linear systems, and the scores of all times by all
decoders from one product of matrices.
"""

from typing import NamedTuple

import numpy as np


class TimeResolvedDecoder(NamedTuple):
    """Linear decoders of single times; see `fit_ridge` and `fit_discriminant`.

    - `weights`: `(time, unit, output)`, in units of activity as given, not standardised.
    - `offset`: `(time, output)`.
    """

    weights: np.ndarray
    offset: np.ndarray

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Outputs `(trained time, trial, tested time, output)` for trials `(trial, time, unit)`."""
        n_trained, n_units, n_outputs = self.weights.shape
        n_trials, n_times, _ = X.shape
        columns = np.moveaxis(self.weights, 1, 0).reshape(n_units, n_trained * n_outputs)
        outputs = X.reshape(n_trials * n_times, n_units) @ columns
        outputs = outputs.reshape(n_trials, n_times, n_trained, n_outputs) + self.offset
        return np.moveaxis(outputs, 2, 0)


class _Standardised(NamedTuple):
    """Activity `(time, trial, unit)` about the mean of each unit at each time, over its s.d."""

    values: np.ndarray
    mean: np.ndarray
    scale: np.ndarray


def fit_ridge(
    X: np.ndarray, targets: np.ndarray, weight: np.ndarray, penalty: float | int
) -> TimeResolvedDecoder:
    """Ridge regression of targets on standardised activity, at each time.

    Minimises sum_i w_i |y_i - z_i b - b0|^2 + penalty |b|^2, with z each unit's activity about its
    mean and over its standard deviation, both of them over the same trials and with their weights.

    **Arguments:**

    - `X`: `(trial, time, unit)`.
    - `targets`: `(trial, output)`.
    - `weight`: `(trial, time)`, not negative; 0 for trials that are not there at some time.
    - `penalty`: above 0.
    """
    z = _standardise(X, weight)
    mean = weight.T @ targets / weight.T.sum(axis=1, keepdims=True)
    root = np.sqrt(weight.T)[..., None]
    A = z.values * root
    y = (targets - mean[:, None]) * root
    n_trials, n_units = A.shape[1:]
    transposed = np.swapaxes(A, 1, 2)
    if n_units <= n_trials:
        gram = transposed @ A
        _add_to_diagonal(gram, penalty)
        b = np.linalg.solve(gram, transposed @ y)
    else:
        gram = A @ transposed
        _add_to_diagonal(gram, penalty)
        b = transposed @ np.linalg.solve(gram, y)
    return _in_units_of_activity(z, b, mean)


def fit_discriminant(
    X: np.ndarray,
    index: np.ndarray,
    weight: np.ndarray,
    shrinkage: float | int,
) -> TimeResolvedDecoder:
    """Linear discriminant of classes that are equally likely, at each time.

    The covariance within classes, the mean of those of each class, is shrunk by `shrinkage` towards
    its mean variance in all directions.

    **Arguments:**

    - `X`: `(trial, time, unit)`.
    - `index`: `(trial,)`, class of each trial, from 0.
    - `weight`: `(trial, time)`, the same sum for each class; 0 for trials that are not there.
    - `shrinkage`: 0 to 1.

    **Raises:** `ValueError` where the covariance has no inverse.
    """
    z = _standardise(X, weight)
    n_classes = int(index.max()) + 1
    member = index == np.arange(n_classes)[:, None]
    # (time, class, trial), rows that sum to 1 over the trials of the class.
    share = weight.T[:, None] * member
    share = share / share.sum(axis=-1, keepdims=True)
    means = share @ z.values
    residuals = z.values - means[:, index]
    A = residuals * np.sqrt(share.sum(axis=1) / n_classes)[..., None]
    within = np.swapaxes(A, 1, 2) @ A
    n_units = within.shape[-1]
    level = np.trace(within, axis1=1, axis2=2) / n_units
    within *= 1 - shrinkage
    _add_to_diagonal(within, (shrinkage * level)[:, None])
    still = np.ptp(np.where(weight.T[..., None] > 0, z.values, 0), axis=1) == 0
    # A unit that does not vary has no weight; its row is 0 but for the shrinkage.
    _add_to_diagonal(within, np.where(still, 1.0, 0.0))
    _check_invertible(within, shrinkage)
    b = np.linalg.solve(within, np.swapaxes(means, 1, 2))
    offset = -0.5 * np.einsum("tcu,tuc->tc", means, b)
    return _in_units_of_activity(z, b, offset)


def _standardise(X: np.ndarray, weight: np.ndarray) -> _Standardised:
    values = np.ascontiguousarray(np.swapaxes(X, 0, 1))
    share = weight.T / weight.T.sum(axis=1, keepdims=True)
    mean = np.einsum("ti,tiu->tu", share, values)
    centred = values - mean[:, None]
    variance = np.einsum("ti,tiu->tu", share, centred**2)
    # What rounding leaves of a constant is no variance.
    rounding = 10 * len(X) * np.finfo(np.float64).eps * np.abs(mean)
    still = variance <= rounding**2
    centred[np.broadcast_to(still[:, None], centred.shape)] = 0
    scale = np.where(still, 1.0, np.sqrt(np.where(still, 1.0, variance)))
    centred /= scale[:, None]
    return _Standardised(centred, mean, scale)


def _add_to_diagonal(matrices: np.ndarray, value: np.ndarray | float | int) -> None:
    diagonal = np.arange(matrices.shape[-1])
    matrices[:, diagonal, diagonal] += value


def _check_invertible(within: np.ndarray, shrinkage: float | int) -> None:
    if shrinkage > 0:
        return
    threshold = 1e-10
    largest = np.linalg.eigvalsh(within)
    rank = (largest > threshold * largest[:, -1:]).sum(axis=1)
    n_units = within.shape[-1]
    if (rank < n_units).any():
        time = int(np.argmax(rank < n_units))
        raise ValueError(
            f"the covariance within classes has rank {int(rank[time])} for {n_units} units at time "
            f"{time} (eigenvalues above {threshold} of the largest): use more trials, fewer units, "
            "or a penalty above 0."
        )


def _in_units_of_activity(
    z: _Standardised, b: np.ndarray, offset: np.ndarray
) -> TimeResolvedDecoder:
    weights = b / z.scale[..., None]
    return TimeResolvedDecoder(weights, offset - np.einsum("tu,tuo->to", z.mean, weights))
