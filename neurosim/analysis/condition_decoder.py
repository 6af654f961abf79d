"""A linear decoder between two sets of conditions, in which each condition counts the same."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .trial_patterns import cell_means


@runtime_checkable
class Decoder(Protocol):
    """What can take the place of the decoder here, such as a classifier of scikit-learn."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to patterns `(trial, unit)` and classes `(trial,)`, 0 or 1."""
        ...

    def predict(self, X: Any) -> Any:
        """Classes `(trial,)` of patterns `(trial, unit)`."""
        ...


class ConditionMoments(NamedTuple):
    """What a linear discriminant needs to know of trials; see `condition_moments`.

    - `means`: `(condition, dimension)`.
    - `noise`: `(condition, dimension, dimension)`, covariance about them, divisor the trials.
    - `basis`: `(unit, dimension)`, orthonormal columns, or `None` where dimensions are the units.
    """

    means: np.ndarray
    noise: np.ndarray
    basis: np.ndarray | None


def condition_moments(
    patterns: np.ndarray, index: np.ndarray, n_conditions: int
) -> ConditionMoments:
    """Mean pattern of each condition and covariance about it, in no more dimensions than trials.

    Each condition, from 0, must have a trial in `index`.
    """
    basis = None
    if patterns.shape[1] > patterns.shape[0]:
        # Patterns have no part outside of their span, where the discriminant has no weight either.
        basis = np.linalg.qr(patterns.T)[0]
        patterns = patterns @ basis
    means = cell_means(patterns, index, n_conditions)
    noise = np.empty((n_conditions, *(patterns.shape[1],) * 2))
    for i in range(n_conditions):
        residuals = patterns[index == i] - means[i]
        noise[i] = residuals.T @ residuals / len(residuals)
    return ConditionMoments(means, noise, basis)


def linear_discriminant(
    moments: ConditionMoments, side: np.ndarray, *, shrinkage: float | int, n_units: int
) -> tuple[np.ndarray, float]:
    """Weights by unit and threshold of the discriminant between conditions of side 1 and 0.

    `side` is `(condition,)`, -1 for conditions that take no part. The covariance within a side,
    of noise and of differences between its conditions, is shrunk by `shrinkage` towards its mean
    variance in all directions.
    """
    groups = [moments.means[side == s] for s in (0, 1)]
    low, high = (group.mean(axis=0) for group in groups)
    spread = np.concatenate([groups[0] - low, groups[1] - high])
    within = moments.noise[side >= 0].mean(axis=0) + spread.T @ spread / len(spread)
    difference, level = high - low, np.trace(within) / n_units
    if np.linalg.norm(difference) <= 1e-12 * np.abs(moments.means).max():
        # What rounding leaves of two equal means has no direction.
        weights = np.zeros_like(difference)
    elif level > 0:
        within *= (1 - shrinkage) / level
        within[np.diag_indices_from(within)] += shrinkage
        weights = np.linalg.solve(within, difference)
    else:
        weights = difference
    threshold = float(weights @ (low + high) / 2)
    return (weights if moments.basis is None else moments.basis @ weights), threshold


def correct_by_discriminant(
    patterns: np.ndarray, weights: np.ndarray, threshold: float | int, side: np.ndarray
) -> np.ndarray:
    """`(trial,)`: 1 on the right side of the threshold, 0 on the wrong one, 1/2 on it.

    A pattern within rounding of the threshold is on it.
    """
    margin = patterns @ weights - threshold
    undecided = np.abs(margin) <= 1e-9 * (np.abs(patterns) @ np.abs(weights) + abs(threshold))
    return np.where(undecided, 0.5, (margin > 0) == (side == 1))


def mean_over_conditions(correct: np.ndarray, index: np.ndarray) -> float:
    """The mean over conditions of the share of their trials that are right."""
    return float(np.mean([correct[index == i].mean() for i in np.unique(index)]))
