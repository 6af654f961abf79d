"""Trials as patterns over units, sorted into conditions: what analyses of conditions read."""

from typing import Any, NamedTuple

import numpy as np

from .activity import as_floating
from .estimator import refuse_traced
from .io.missing_values import complete_trials
from .trial_arrays import LabelsLike, read_conditions, read_trials


class TrialPatterns(NamedTuple):
    """One pattern over units for each trial, and its condition; see `read_patterns`."""

    patterns: np.ndarray
    index: np.ndarray
    conditions: dict[str, np.ndarray]
    kept_trials: np.ndarray
    kept_units: np.ndarray

    @property
    def n_conditions(self) -> int:
        """Number of conditions."""
        return len(next(iter(self.conditions.values())))

    @property
    def counts(self) -> np.ndarray:
        """Trials of each condition."""
        return np.bincount(self.index, minlength=self.n_conditions)

    def describe(self, condition: int) -> str:
        """A condition in words."""
        return ", ".join(
            f"{name} = {values[condition]}" for name, values in self.conditions.items()
        )

    def means(self) -> np.ndarray:
        """`(condition, unit)`, the mean pattern of each condition."""
        return cell_means(self.patterns, self.index, self.n_conditions)


def read_patterns(
    X: Any, labels: LabelsLike | None, *, nan_policy: str = "raise", what: str
) -> TrialPatterns:
    """Read one pattern over units for each trial, in NumPy float64 whatever is given.

    **Arguments:**

    - `X`: `(trial, unit)`; or `(trial, time, unit)` or a list of `(time_i, unit)`, of which each
      trial is averaged over its times.
    - `labels`: `(trial,)`, or several such arrays by name, whose combinations that occur are the
      conditions; `None` where each row is a condition of its own.
    - `nan_policy`: what is done about NaN, see `neurosim.analysis.io.complete_trials`.
    - `what`: what is computed, for the `TypeError` where values are not known.

    **Returns:** `TrialPatterns`:

    - `patterns`: `(trial, unit)`, of what was kept.
    - `index`: `(trial,)`, the condition of each trial.
    - `conditions`: the labels of each condition by name, in order of the labels.
    - `kept_trials`, `kept_units`: their places in what was given.

    **Raises:** `ValueError` for a bad layout, values that are not finite (as the policy says), or
    labels that do not match the trials.
    """
    refuse_traced(X, what)
    patterns, kept_trials, kept_units = _patterns(X, nan_policy)
    n_given = len(X)
    if labels is None:
        index = kept_trials
        conditions = {"row": np.arange(n_given)}
    else:
        read = read_conditions(labels, n_given)
        index = read.cell[kept_trials]
        conditions = read.labels(np.arange(read.n_cells))
    # Only the combinations of labels that occur.
    present, index = np.unique(index, return_inverse=True)
    conditions = {name: values[present] for name, values in conditions.items()}
    return TrialPatterns(patterns, index, conditions, kept_trials, kept_units)


def cell_means(patterns: np.ndarray, cell: np.ndarray, n_cells: int) -> np.ndarray:
    """`(cell, unit)`, the mean of the patterns of each cell; each must have one."""
    means = np.empty((n_cells, patterns.shape[1]))
    for i in range(n_cells):
        means[i] = patterns[cell == i].mean(axis=0)
    return means


def _patterns(X: Any, nan_policy: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if isinstance(X, (list, tuple)) and len(X) > 0 and np.ndim(X[0]) == 2:
        if nan_policy != "raise":
            raise ValueError(
                f"nan_policy {nan_policy!r} is for arrays: take missing values out of a list first."
            )
        read = read_trials(X)
        weights = read.mask / read.mask.sum(axis=1, keepdims=True)
        patterns = np.asarray((read.values * weights).sum(axis=1), np.float64)
        return patterns, np.arange(len(patterns)), np.arange(patterns.shape[1])
    values = np.asarray(as_floating(X, "X"), np.float64)
    if values.ndim not in (2, 3) or values.size == 0:
        raise ValueError(
            "X must be (trial, unit), (trial, time, unit) or a list of (time_i, unit), not empty; "
            f"got shape {values.shape}."
        )
    if np.isfinite(values).all():
        patterns = values if values.ndim == 2 else values.mean(axis=1)
        return patterns, np.arange(len(values)), np.arange(values.shape[-1])
    found = complete_trials(values[:, None] if values.ndim == 2 else values, nan_policy=nan_policy)
    counts = found.mask[..., None]
    patterns = (found.X * counts).sum(axis=1) / counts.sum(axis=1)
    return patterns, found.kept_trials, found.kept_units
