"""Dissimilarities between conditions: representational dissimilarity matrices."""

from typing import Any, NamedTuple

import numpy as np

from .activity import as_floating
from .noise_precision import NoisePrecision, precision_within
from .trial_arrays import LabelsLike
from .trial_patterns import TrialPatterns, read_patterns


class RDM(NamedTuple):
    """Dissimilarities between all pairs of conditions; see `rdm` and `crossnobis`."""

    dissimilarities: np.ndarray
    conditions: dict[str, np.ndarray]
    counts: np.ndarray
    n_units: int


def rdm(
    X: Any,
    labels: LabelsLike | None = None,
    *,
    metric: str = "euclidean",
    noise: Any = "shrinkage",
    nan_policy: str = "raise",
) -> RDM:
    """Dissimilarities between the mean patterns of conditions.

    - `"euclidean"`: the squared Euclidean distance over the number of units, so that it does not
        grow with their number: 3, not 9, for patterns that differ by (1, 2, 2).
    - `"correlation"`: 1 - r, r the correlation of two patterns over units.
    - `"mahalanobis"`: (a - b)^T P (a - b) over the number of units, P the precision of the noise.

    All are biased upwards: the noise of a mean pattern adds to its distance from any other. See
    `crossnobis` for distances that are 0 on average where there is no difference.

    **Arguments:**

    - `X`: `(trial, unit)`; or `(trial, time, unit)` or a list of `(time_i, unit)`, of which each
      trial is averaged over its times.
    - `labels`: `(trial,)`, or several such arrays by name, whose combinations that occur are the
      conditions. `None` where each row of `X` is a condition.
    - `metric`: see above.
    - `noise`: for `"mahalanobis"`, the method of `noise_precision`, applied to these trials; or a
        precision, `(unit, unit)` or `(unit,)`.
    - `nan_policy`: what is done about NaN, see `neurosim.analysis.io.complete_trials`.

    **Returns:** `RDM`, NumPy whatever is given:

    - `dissimilarities`: `(condition, condition)`, symmetric, 0 on the diagonal.
    - `conditions`: the labels of the conditions by name, in order; `"label"` is the name of one
      array of them, `"row"` that of rows.
    - `counts`: `(condition,)`, trials of each.
    - `n_units`: units that were used.

    **Raises:** `ValueError` for a bad layout, values that are not finite, labels that do not match
    the trials, one condition, another metric, a pattern that is the same in all units
    (`"correlation"`), or a precision that does not fit, is not symmetric, or cannot be estimated.

    **Reference:** Kriegeskorte, Mur & Bandettini (2008), Representational similarity analysis,
    Frontiers in Systems Neuroscience 2, 4; Walther et al. (2016), Reliability of dissimilarity
    measures for multi-voxel pattern analysis, NeuroImage 137, 188-200.
    """
    if metric not in ("euclidean", "correlation", "mahalanobis"):
        raise ValueError(
            f"metric must be 'euclidean', 'correlation' or 'mahalanobis', got {metric!r}. "
            "Crossnobis distances have a function of their own."
        )
    read = read_patterns(X, labels, nan_policy=nan_policy, what="an RDM")
    check_conditions(read)
    means = read.means()
    n_units = means.shape[1]
    if metric == "correlation":
        means = _standardised(means, read) * (n_units / 2) ** 0.5
    precision = read_precision(noise, read, read.index) if metric == "mahalanobis" else None
    # About their mean, so that an offset common to all conditions costs no digits.
    centred = means - means.mean(axis=0)
    gram = centred @ weighted(centred, precision).T
    squared = np.diagonal(gram)[:, None] + np.diagonal(gram) - gram - gram.T
    np.fill_diagonal(squared, 0)
    return RDM(np.maximum(squared, 0) / n_units, read.conditions, read.counts, n_units)


def weighted(patterns: np.ndarray, precision: np.ndarray | None) -> np.ndarray:
    """Patterns times the precision, which is a matrix, a diagonal, or `None` for the identity."""
    if precision is None:
        return patterns
    return patterns * precision if precision.ndim == 1 else patterns @ precision


def check_conditions(read: TrialPatterns) -> None:
    """`ValueError` for fewer than two conditions."""
    if read.n_conditions < 2:
        raise ValueError(
            f"all {len(read.index)} trials are of one condition ({read.describe(0)}): "
            "dissimilarities need two."
        )


def read_precision(noise: Any, read: TrialPatterns, cell: np.ndarray) -> np.ndarray | None:
    """A noise precision by its method, from trials about the means of cells, or as given."""
    if isinstance(noise, str):
        return None if noise == "identity" else precision_within(read, cell, noise).precision
    given = noise.precision if isinstance(noise, NoisePrecision) else noise
    precision = np.asarray(as_floating(given, "noise"), np.float64)
    n_units = read.patterns.shape[1]
    if precision.shape not in ((n_units,), (n_units, n_units)):
        raise ValueError(
            f"noise must be a method, or a precision ({n_units}, {n_units}) or ({n_units},) of the "
            f"units that are used, got shape {precision.shape}."
        )
    if not np.isfinite(precision).all():
        raise ValueError("noise must be finite.")
    if precision.ndim == 2 and not np.allclose(
        precision, precision.T, rtol=1e-6, atol=1e-9 * np.abs(precision).max()
    ):
        raise ValueError("noise must be symmetric: it is a precision, (unit, unit).")
    diagonal = precision if precision.ndim == 1 else np.diagonal(precision)
    if (diagonal < 0).any():
        raise ValueError("noise must not be negative: it is a precision, not a covariance.")
    return precision


def _standardised(means: np.ndarray, read: TrialPatterns) -> np.ndarray:
    """Patterns about their mean over units, of norm 1."""
    flat = (means == means[:, :1]).all(axis=1)
    if flat.any():
        raise ValueError(
            f"the pattern of {read.describe(int(np.argmax(flat)))} is the same in all units: it "
            "has no correlation with any other."
        )
    centred = means - means.mean(axis=1, keepdims=True)
    return centred / np.linalg.norm(centred, axis=1, keepdims=True)
