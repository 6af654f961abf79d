"""How trials of one condition scatter: the precision of the noise, shrunk where data are few."""

from typing import Any, NamedTuple

import numpy as np

from .trial_arrays import LabelsLike
from .trial_patterns import TrialPatterns, cell_means, read_patterns

# Trials whose residuals are taken at a time, so that no second copy of the data is needed.
_BLOCK = 512


class NoisePrecision(NamedTuple):
    """Inverse covariance of the noise; see `noise_precision`."""

    precision: np.ndarray
    shrinkage: float
    degrees_of_freedom: int


def noise_precision(
    X: Any,
    labels: LabelsLike,
    *,
    method: str = "shrinkage",
    nan_policy: str = "raise",
) -> NoisePrecision:
    """The inverse of the covariance of trials about the mean of their condition.

    Conditions may differ in their number of trials. Beyond the input this takes a few arrays
    `(unit, unit)`, and only `(unit,)` for the diagonal; never one for each trial.

    **Arguments:**

    - `X`: `(trial, unit)`; or `(trial, time, unit)` or a list of `(time_i, unit)`, of which each
      trial is averaged over its times.
    - `labels`: `(trial,)`, or several such arrays by name: trials that share all labels are
      repeats.
    - `method`: `"shrinkage"` shrinks correlations between units towards 0, by the share that
        minimises the expected squared error, and leaves variances alone: the result exists for any
        number of units. `"diagonal"` takes them as 0. `"full"` takes them as they are.
    - `nan_policy`: what is done about NaN, see `neurosim.analysis.io.complete_trials`.

    **Returns:** `NoisePrecision`:

    - `precision`: `(unit, unit)`, or `(unit,)` for `"diagonal"`, in 1 / squared units of activity.
    - `shrinkage`: the share, from 0 to 1, by which correlations were shrunk.
    - `degrees_of_freedom`: trials less conditions.

    **Raises:** `ValueError` for a bad layout, values that are not finite, labels that do not match
    the trials, another method, no condition with two trials, a unit without noise, or, for
    `"full"`, too few degrees of freedom.

    **Reference:** Schäfer & Strimmer (2005), A shrinkage approach to large-scale covariance matrix
    estimation, Statistical Applications in Genetics and Molecular Biology 4, 32, target D.
    """
    read = read_patterns(X, labels, nan_policy=nan_policy, what="a noise precision")
    return precision_within(read, read.index, method)


def precision_within(read: TrialPatterns, cell: np.ndarray, method: Any) -> NoisePrecision:
    """The noise precision of patterns about the means of cells, `(trial,)` whole numbers from 0."""
    if method not in ("shrinkage", "diagonal", "full"):
        raise ValueError(f"method must be 'shrinkage', 'diagonal' or 'full', got {method!r}.")
    n, n_units = read.patterns.shape
    n_cells = int(cell.max()) + 1
    dof = n - n_cells
    if dof < 1:
        raise ValueError(
            f"{n} trials in {n_cells} cells (conditions, or conditions in a fold) have no repeats "
            "to take the noise from. Pass a precision from elsewhere, or fewer folds."
        )
    means = cell_means(read.patterns, cell, n_cells)
    variances = sum(np.einsum("ij,ij->j", r, r) for r in _residuals(read, cell, means)) / dof
    _check_noise(variances, read)
    if method == "diagonal":
        return NoisePrecision(1 / variances, 1.0, dof)
    # Correlations of residuals in units of their deviation, and the sums of squared products.
    deviations = np.sqrt(variances)
    sums, squares = np.zeros((n_units, n_units)), np.zeros((n_units, n_units))
    for residuals in _residuals(read, cell, means):
        residuals /= deviations
        sums += residuals.T @ residuals
        if method == "shrinkage":
            residuals *= residuals
            squares += residuals.T @ residuals
    shrinkage = _shrinkage(sums, squares, n, dof) if method == "shrinkage" else 0.0
    del squares
    sums *= (1 - shrinkage) / dof
    np.fill_diagonal(sums, 1)
    _check_invertible(sums, shrinkage, dof)
    precision = np.linalg.inv(sums)
    precision /= deviations
    precision /= deviations[:, None]
    return NoisePrecision((precision + precision.T) / 2, shrinkage, dof)


def _residuals(read: TrialPatterns, cell: np.ndarray, means: np.ndarray) -> Any:
    for start in range(0, len(cell), _BLOCK):
        rows = slice(start, start + _BLOCK)
        yield read.patterns[rows] - means[cell[rows]]


def _shrinkage(sums: np.ndarray, squares: np.ndarray, n: int, dof: int) -> float:
    """Sum over pairs of units of the variance of their correlation, over that of its square.

    Schäfer & Strimmer's estimate, for which n = dof + 1; with more cells the residuals are less
    independent than they are many.
    """
    variance = n / dof**3 * (squares.sum() - np.trace(squares))
    correlation = np.vdot(sums, sums) - np.sum(np.diagonal(sums) ** 2)
    variance -= correlation / dof**3
    correlation /= dof**2
    return float(min(1.0, max(0.0, variance / correlation))) if correlation > 0 else 1.0


def _check_noise(variances: np.ndarray, read: TrialPatterns) -> None:
    # A mean of equal values may differ from them by rounding.
    largest = np.maximum(read.patterns.max(axis=0), -read.patterns.min(axis=0))
    silent = variances <= (4 * np.finfo(np.float64).eps * largest) ** 2
    if silent.any():
        unit = int(read.kept_units[int(np.argmax(silent))])
        raise ValueError(
            f"unit {unit} does not vary among trials of one condition ({int(silent.sum())} of "
            f"{len(silent)} units do not): it has no noise to be weighed by. Leave such units out, "
            "or pass a precision."
        )


def _check_invertible(correlation: np.ndarray, shrinkage: float, dof: int) -> None:
    if shrinkage > 0:
        return
    eigenvalues = np.linalg.eigvalsh(correlation)
    threshold = len(correlation) * np.finfo(np.float64).eps * eigenvalues[-1]
    rank = int((eigenvalues > threshold).sum())
    if rank < len(correlation):
        raise ValueError(
            f"the noise covariance of {len(correlation)} units from {dof} degrees of freedom has "
            f"numerical rank {rank} (eigenvalues of the correlation above {threshold:.1e}), and no "
            "inverse: use 'shrinkage' or 'diagonal'."
        )
