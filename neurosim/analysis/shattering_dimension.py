"""Shattering dimension: how many ways of dividing conditions in two a linear readout can take."""

from copy import deepcopy
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .abstraction import check_shrinkage
from .condition_decoder import (
    Decoder,
    condition_moments,
    correct_by_discriminant,
    linear_discriminant,
    mean_over_conditions,
)
from .grouped_folds import grouped_folds
from .resampling import as_generator
from .trial_arrays import LabelsLike
from .trial_patterns import read_patterns

# As many as 16 conditions have, and more.
_MOST_DICHOTOMIES = 10_000


class ShatteringDimension(NamedTuple):
    """Decodability of divisions of conditions in two; see `shattering_dimension`."""

    score: float
    accuracies: np.ndarray
    dichotomies: np.ndarray
    conditions: dict[str, np.ndarray]


def shattering_dimension(
    X: Any,
    labels: LabelsLike,
    *,
    n_folds: int | np.integer = 5,
    n_dichotomies: int | np.integer | None = None,
    decoder: Decoder | None = None,
    shrinkage: float | int = 0.1,
    nan_policy: str = "raise",
    random_state: int | np.integer | np.random.Generator = 0,
) -> ShatteringDimension:
    """Mean decodability of the balanced dichotomies of conditions.

    Conditions are divided into two halves in all ways, and a linear decoder tells the halves apart
    in held-out trials. 1 for patterns in general position; less where the geometry is low
    dimensional: a square whose sides are two variables has 5/6, since the third of its
    dichotomies, "exclusive or", is at chance.

    **Arguments:**

    - `X`: `(trial, unit)`; or `(trial, time, unit)` or a list of `(time_i, unit)`, of which each
      trial is averaged over its times.
    - `labels`: `(trial,)`, or several such arrays by name, whose combinations that occur are the
      conditions, an even number; each counts the same, whatever its number of trials.
    - `n_folds`: number of parts that the trials of each condition are dealt to, each held out once.
    - `n_dichotomies`: how many to draw at random; `None` for all, of which there may be 10,000.
    - `decoder`, `shrinkage`: as for `ccgp`.
    - `nan_policy`: what is done about NaN, see `neurosim.analysis.io.complete_trials`.
    - `random_state`: seed or generator of folds and draws.

    **Returns:** `ShatteringDimension`:

    - `score`: the mean of `accuracies`.
    - `accuracies`: `(dichotomy,)`, share correct in held-out trials, conditions counting alike.
    - `dichotomies`: `(dichotomy, condition)`, booleans, false for the half of the first condition.
    - `conditions`: the labels of the conditions by name.

    **Raises:** `ValueError` for a bad layout, values that are not finite, labels that do not match
    the trials, an odd number of conditions, fewer trials of a condition than folds, or too many
    dichotomies.

    **Reference:** Rigotti et al. (2013), The importance of mixed selectivity in complex cognitive
    tasks, Nature 497, 585-590; Bernardi et al. (2020), Cell 183, 954-967.
    """
    check_shrinkage(shrinkage)
    read = read_patterns(X, labels, nan_policy=nan_policy, what="a shattering dimension")
    n = read.n_conditions
    if n % 2 or n < 2:
        raise ValueError(f"conditions must be even in number to be halved, got {n}.")
    rng = as_generator(random_state)
    dichotomies = _dichotomies(n, n_dichotomies, rng)
    patterns = read.patterns - read.means().mean(axis=0)
    correct = np.empty((len(dichotomies), len(read.index)))
    folds = grouped_folds(len(read.index), n_folds=n_folds, random_state=rng, labels=read.index)
    for train, test in folds:
        correct[:, test] = _held_out(
            patterns, read.index, dichotomies, decoder, shrinkage, train, test
        )
    accuracies = np.array([mean_over_conditions(row, read.index) for row in correct])
    return ShatteringDimension(float(accuracies.mean()), accuracies, dichotomies, read.conditions)


def _held_out(
    patterns: np.ndarray,
    index: np.ndarray,
    dichotomies: np.ndarray,
    decoder: Decoder | None,
    shrinkage: float | int,
    train: np.ndarray,
    test: np.ndarray,
) -> np.ndarray:
    """`(dichotomy, test trial)`: what is right, of decoders fitted to the other trials."""
    n = dichotomies.shape[1]
    moments = condition_moments(patterns[train], index[train], n) if decoder is None else None
    rows = []
    for dichotomy in dichotomies.astype(int):
        truth = dichotomy[index[test]]
        if moments is not None:
            found = linear_discriminant(
                moments, dichotomy, shrinkage=shrinkage, n_units=patterns.shape[1]
            )
            rows.append(correct_by_discriminant(patterns[test], *found, truth))
        else:
            model: Any = deepcopy(decoder)
            model.fit(patterns[train], dichotomy[index[train]])
            rows.append(np.asarray(model.predict(patterns[test])) == truth)
    return np.array(rows, float)


def _dichotomies(n: int, wanted: Any, rng: np.random.Generator) -> np.ndarray:
    """Booleans `(dichotomy, condition)`; the first condition is on the side of false."""
    there = comb(n, n // 2) // 2
    if wanted is None and there > _MOST_DICHOTOMIES:
        raise ValueError(
            f"{n} conditions have {there} balanced dichotomies: draw some with n_dichotomies."
        )
    if wanted is None or whole_number(wanted, "n_dichotomies", least=1) >= there:
        rows = list(combinations(range(1, n), n // 2))
    else:
        drawn: set[tuple[int, ...]] = set()
        while len(drawn) < wanted:
            drawn.add(tuple(sorted(1 + rng.permutation(n - 1)[: n // 2])))
        rows = sorted(drawn)
    table = np.zeros((len(rows), n), bool)
    for i, row in enumerate(rows):
        table[i, list(row)] = True
    return table
