"""Cross-validated Mahalanobis distances between conditions, which noise does not inflate."""

from itertools import combinations
from typing import Any

import numpy as np

from .estimator import refuse_traced
from .grouped_folds import grouped_folds
from .noise_precision import NoisePrecision
from .rdm import RDM, check_conditions, read_precision, weighted
from .trial_arrays import LabelsLike, read_labels
from .trial_patterns import TrialPatterns, cell_means, read_patterns


def crossnobis(
    X: Any,
    labels: LabelsLike,
    *,
    folds: Any = 5,
    noise: Any = "shrinkage",
    nan_policy: str = "raise",
    random_state: int | np.integer | np.random.Generator = 0,
) -> RDM:
    """Squared distances between conditions, each a product of differences in separate trials.

        d_ab = mean over pairs of folds m != n of (a_m - b_m)^T P (a_n - b_n) / units

    with a_m the mean pattern of condition a in fold m, and P the precision of the noise. The noise
    of one fold is independent of that of another, so the estimate is unbiased: conditions that do
    not differ have distance 0 on average, hence values below 0, which are kept. Without noise it is
    the Mahalanobis distance of `rdm`, and with `noise="identity"` the squared Euclidean one over
    the number of units: 3, not 9, for patterns that differ by (1, 2, 2).

    What is common to all trials of one fold, as of one session, cancels: conditions are compared
    within folds only. So trials may be missing: each pair of conditions uses the folds that have
    both, of which there must be two. Room is needed for the trials once, and a few arrays
    `(unit, unit)` (less than 100 MB for 5,000 trials of 1,000 units).

    **Arguments:**

    - `X`: `(trial, unit)`; or `(trial, time, unit)` or a list of `(time_i, unit)`, of which each
      trial is averaged over its times.
    - `labels`: `(trial,)`, or several such arrays by name, whose combinations that occur are the
      conditions.
    - `folds`: the fold of each trial, `(trial,)`, whose noise must be independent of that of other
      folds, as of runs or sessions; or the number of folds that the trials of each condition are
      dealt to.
    - `noise`: the method of `noise_precision`, applied to trials about the mean of their condition
      in their fold, so that P does not depend on the means; `"identity"`; a precision,
      `(unit, unit)` or `(unit,)`; or a list of precisions, one for each fold in order, of which
      the covariances are averaged over both folds of a pair.
    - `nan_policy`: what is done about NaN, see `neurosim.analysis.io.complete_trials`.
    - `random_state`: seed or generator that deals trials to folds.

    **Returns:** `RDM`, as `rdm` does; the diagonal is 0 by definition, since a condition does not
    differ from itself.

    **Raises:** `ValueError` for a bad layout, values that are not finite, labels or folds that do
    not match the trials, one condition, too few trials for the folds, a pair of conditions that
    are not both in two folds, or a precision that does not fit or cannot be estimated.

    **Reference:** Walther et al. (2016), Reliability of dissimilarity measures for multi-voxel
    pattern analysis, NeuroImage 137, 188-200; Diedrichsen, Provost & Zareamoghaddam (2016), On the
    distribution of cross-validated Mahalanobis distances, arXiv:1607.01371.
    """
    what = "a crossnobis distance"
    read = read_patterns(X, labels, nan_policy=nan_policy, what=what)
    check_conditions(read)
    fold = _read_folds(folds, read, len(X), random_state)
    n_folds, n_conditions = int(fold.max()) + 1, read.n_conditions
    # Cells, conditions in folds, in one row; those without trials take no part.
    present, cell = np.unique(fold * n_conditions + read.index, return_inverse=True)
    has = np.zeros((n_folds, n_conditions), bool)
    has.flat[present] = True
    _check_pairs(has, read)
    precisions = _read_precisions(noise, read, cell, n_folds)
    patterns = np.zeros((n_folds, n_conditions, read.patterns.shape[1]))
    patterns[has] = cell_means(read.patterns, cell, len(present))
    # About the mean of the fold, which cancels, so that it costs no digits.
    patterns -= patterns.sum(axis=1, keepdims=True) / has.sum(axis=1)[:, None, None]
    total = np.zeros((n_conditions, n_conditions))
    n_pairs = np.zeros((n_conditions, n_conditions), int)
    one_precision = not isinstance(precisions, list)
    weighed = weighted(patterns, precisions) if one_precision else patterns
    for m, n in combinations(range(n_folds), 2):
        right = weighed[n] if one_precision else weighted(patterns[n], _of_pair(precisions, m, n))
        gram = patterns[m] @ right.T
        products = np.diagonal(gram)[:, None] + np.diagonal(gram) - gram - gram.T
        both = has[m] & has[n]
        valid = both[:, None] & both
        total += np.where(valid, products, 0)
        n_pairs += valid
    np.fill_diagonal(total, 0)
    n_units = read.patterns.shape[1]
    # The diagonal counts pairs too, but those are no distances.
    return RDM(total / np.maximum(n_pairs, 1) / n_units, read.conditions, read.counts, n_units)


def _read_folds(folds: Any, read: TrialPatterns, n_given: int, random_state: Any) -> np.ndarray:
    """The fold of each trial that was kept, whole numbers from 0."""
    refuse_traced(folds, "a crossnobis distance")
    if np.ndim(folds) == 0:
        fold = np.empty(len(read.index), int)
        dealt = grouped_folds(
            len(read.index), n_folds=folds, random_state=random_state, labels=read.index
        )
        for i, (_, test) in enumerate(dealt):
            fold[test] = i
        return fold
    column = read_labels({"fold": folds}, n_given, name="folds")["fold"]
    return np.unique(column[read.kept_trials], return_inverse=True)[1]


def _check_pairs(has: np.ndarray, read: TrialPatterns) -> None:
    shared = has.astype(int).T @ has.astype(int)
    short = np.argwhere(np.triu(shared < 2, 1))
    if len(short) > 0:
        a, b = (int(i) for i in short[0])
        raise ValueError(
            f"conditions {read.describe(a)} and {read.describe(b)} are both in {shared[a, b]} "
            f"fold(s) of {len(has)}: their difference must be seen in two. So for {len(short)} "
            "pairs in all."
        )


def _read_precisions(
    noise: Any, read: TrialPatterns, cell: np.ndarray, n_folds: int
) -> np.ndarray | list[np.ndarray | None] | None:
    if not isinstance(noise, (list, tuple)) or isinstance(noise, NoisePrecision):
        return read_precision(noise, read, cell)
    if any(isinstance(precision, str) for precision in noise):
        raise ValueError("noise is one method, or a list of precisions, not of methods.")
    if len(noise) != n_folds:
        raise ValueError(
            f"noise is a list of {len(noise)} precisions, but there are {n_folds} folds; a single "
            "precision is an array."
        )
    return [read_precision(precision, read, cell) for precision in noise]


def _of_pair(precisions: list[np.ndarray | None], m: int, n: int) -> np.ndarray | None:
    """The precision of the mean covariance of folds m and n."""
    P, Q = precisions[m], precisions[n]
    if P is None or Q is None:
        return None
    if P.ndim == 1 and Q.ndim == 1:
        return 2 / (1 / P + 1 / Q)
    P, Q = (np.diag(x) if x.ndim == 1 else x for x in (P, Q))
    return 2 * np.linalg.inv(np.linalg.inv(P) + np.linalg.inv(Q))
