"""Abstract geometry: whether a variable is coded alike in all contexts."""

from copy import deepcopy
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np

from .condition_decoder import (
    Decoder,
    condition_moments,
    correct_by_discriminant,
    linear_discriminant,
    mean_over_conditions,
)
from .resampling import as_generator, permutation_p_value
from .trial_arrays import LabelsLike
from .trial_patterns import TrialPatterns, cell_means, read_patterns

Seed = int | np.integer | np.random.Generator

# 8! pairings are 40,320.
_MOST_PAIRS = 8


class CCGP(NamedTuple):
    """Generalisation of a decoder to conditions it has not seen; see `ccgp`."""

    score: float
    splits: np.ndarray
    held_out: tuple[tuple[int, ...], ...]
    null: np.ndarray
    p_value: float | None


class ParallelismScore(NamedTuple):
    """How parallel the coding directions of a variable are; see `parallelism_score`."""

    score: float
    pairs: np.ndarray
    null: np.ndarray
    p_value: float | None


def ccgp(
    X: Any,
    labels: LabelsLike,
    variable: str,
    *,
    hold_out: str = "context",
    decoder: Decoder | None = None,
    shrinkage: float | int = 0.1,
    nan_policy: str = "raise",
    n_shuffles: int | np.integer = 0,
    random_state: Seed = 0,
) -> CCGP:
    """Cross-condition generalisation performance of a variable with two values.

    A linear decoder of the variable is fitted to trials of some conditions and judged on trials of
    the others; the score is the mean over splits. A variable that is coded alike in all contexts
    generalises: 1. Random patterns, which a decoder tells apart as well, give .5 on average, but
    scatter far more than coin tosses do, since few conditions are held out. So chance is that of a
    geometry without structure: the patterns of each condition, noise and all, with their units in
    an order of its own, after the mean over conditions is taken out. That keeps each condition's
    distance from the mean, and its noise.

    **Arguments:**

    - `X`: `(trial, unit)`; or `(trial, time, unit)` or a list of `(time_i, unit)`, of which each
      trial is averaged over its times. Scale units as you want them to count.
    - `labels`: `(trial,)` arrays by name, whose combinations that occur are the conditions; each
      condition counts the same, whatever its number of trials.
    - `variable`: the name of the label to decode, of two values, each in at least two conditions.
    - `hold_out`: `"context"` holds out one context, a combination of all other labels, at a time;
      each must have both values. `"pair"` holds out one condition of each value, all pairs in turn,
      as Bernardi et al. do for any dichotomy: of a square, the decoder is then fitted to a diagonal
      in half of the splits, which is at chance for the other, so that the score is .75, not 1.
    - `decoder`: with `fit(X, y)` and `predict(X)`, a classifier of scikit-learn for instance; a
      copy of it is fitted to each split. By default a linear discriminant with the covariance
      within a value, of noise and of contexts, `shrinkage` of it the same in all directions.
    - `shrinkage`: above 0 and at most 1, at which only the difference of the means counts.
    - `nan_policy`: what is done about NaN, see `neurosim.analysis.io.complete_trials`.
    - `n_shuffles`: number of geometries without structure; 0 for none.
    - `random_state`: their seed or generator.

    **Returns:** `CCGP`:

    - `score`: share correct, the mean of `splits`.
    - `splits`: `(split,)`, share correct, each condition held out counting the same.
    - `held_out`: for each split the conditions held out, as places in the sorted combinations of
      labels that occur.
    - `null`: `(n_shuffles,)`, scores without structure.
    - `p_value`: share of those, the data counted among them, that score as high; `None` for none.

    **Raises:** `ValueError` for a bad layout, values that are not finite, labels that do not match
    the trials, an unknown variable, one that has not two values, a value in one condition only, or
    a context without both values.

    **Reference:** Bernardi, Benna, Rigotti, Munuera, Fusi & Salzman (2020), The geometry of
    abstraction in the hippocampus and prefrontal cortex, Cell 183, 954-967.
    """
    check_shrinkage(shrinkage)
    read = read_patterns(X, labels, nan_policy=nan_policy, what="CCGP")
    side = _sides(read, variable)
    held_out = _held_out(read, variable, side, hold_out)
    patterns = _about_mean(read)

    def splits_of(patterns: np.ndarray) -> np.ndarray:
        return _generalisation(patterns, read.index, side, held_out, decoder, shrinkage)

    splits = splits_of(patterns)
    rng = as_generator(random_state)
    null = np.array([
        splits_of(without_structure(patterns, read.index, rng)).mean()
        for _ in range(_n_shuffles(n_shuffles))
    ])  # fmt: skip
    score = float(splits.mean())
    return CCGP(score, splits, held_out, null, _p_value(score, null))


def parallelism_score(
    X: Any,
    labels: LabelsLike,
    variable: str,
    *,
    nan_policy: str = "raise",
    n_shuffles: int | np.integer = 0,
    random_state: Seed = 0,
) -> ParallelismScore:
    """How parallel the directions are along which patterns move with a variable of two values.

    Each condition of one value is paired with one of the other; the score is the mean cosine
    between the differences of all pairs, for the pairing where it is greatest. 1 for a variable
    coded alike in all contexts; about 0 for random patterns of many units. Noise of the means
    makes differences longer and cosines smaller, so scores of few trials are too low. Chance is
    that of `ccgp`, the best pairing included.

    **Arguments:**

    - `X`, `labels`, `nan_policy`, `n_shuffles`, `random_state`: as for `ccgp`.
    - `variable`: the name of a label of two values, both in the same number of conditions, 2 to 8.

    **Returns:** `ParallelismScore`:

    - `score`: from -1 to 1.
    - `pairs`: `(pair, 2)`, conditions of the first and second value of the best pairing, as places
      in the sorted combinations of labels that occur.
    - `null`, `p_value`: as of `ccgp`.

    **Raises:** as `ccgp`; `ValueError` for values in different numbers of conditions, or more than
    8, or two conditions with the same mean pattern.

    **Reference:** Bernardi et al. (2020), Cell 183, 954-967, Experimental procedures.
    """
    read = read_patterns(X, labels, nan_policy=nan_policy, what="a parallelism score")
    side = _sides(read, variable)
    groups = [np.flatnonzero(side == s) for s in (0, 1)]
    sizes = [len(group) for group in groups]
    if sizes[0] != sizes[1] or sizes[0] > _MOST_PAIRS:
        raise ValueError(
            f"the values of {variable!r} are in {sizes[0]} and {sizes[1]} conditions: pairs need "
            f"equal numbers, {_MOST_PAIRS} at most."
        )
    patterns = _about_mean(read)
    pairings = np.array(list(permutations(range(sizes[0]))))

    def best_of(patterns: np.ndarray) -> tuple[float, int]:
        means = cell_means(patterns, read.index, read.n_conditions)
        return _best_pairing(means[groups[0]], means[groups[1]], pairings)

    score, best = best_of(patterns)
    rng = as_generator(random_state)
    null = np.array([
        best_of(without_structure(patterns, read.index, rng))[0]
        for _ in range(_n_shuffles(n_shuffles))
    ])  # fmt: skip
    pairs = np.stack([groups[0], groups[1][pairings[best]]], axis=1)
    return ParallelismScore(score, pairs, null, _p_value(score, null))


def without_structure(
    patterns: np.ndarray, index: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Patterns `(trial, unit)` with the units in another order in each condition."""
    moved = np.empty_like(patterns)
    for condition in np.unique(index):
        order = rng.permutation(patterns.shape[1])
        moved[index == condition] = patterns[index == condition][:, order]
    return moved


def check_shrinkage(shrinkage: float | int) -> None:
    """`ValueError` for a shrinkage that leaves the discriminant undefined."""
    if not 0 < shrinkage <= 1:
        raise ValueError(f"shrinkage must be above 0 and at most 1, got {shrinkage}.")


def _sides(read: TrialPatterns, variable: str) -> np.ndarray:
    """`(condition,)`, 0 or 1: which of its two values the variable has."""
    if variable not in read.conditions:
        raise ValueError(
            f"variable must be one of the labels, {sorted(read.conditions)}, got {variable!r}."
        )
    values, side = np.unique(read.conditions[variable], return_inverse=True)
    if len(values) != 2:
        raise ValueError(f"{variable!r} must have two values, it has {len(values)}: {values}.")
    for s in (0, 1):
        if (side == s).sum() < 2:
            raise ValueError(
                f"{variable} = {values[s]} is in one condition only: to generalise over conditions "
                "there must be two. Labels of what else varies define conditions, too."
            )
    return side


def _about_mean(read: TrialPatterns) -> np.ndarray:
    """Patterns about the mean over conditions, which each count the same."""
    return read.patterns - read.means().mean(axis=0)


def _held_out(
    read: TrialPatterns, variable: str, side: np.ndarray, hold_out: str
) -> tuple[tuple[int, ...], ...]:
    """The conditions to hold out, split by split."""
    if hold_out == "pair":
        groups = [np.flatnonzero(side == s).tolist() for s in (0, 1)]
        return tuple(product(*groups))
    if hold_out != "context":
        raise ValueError(f"hold_out must be 'context' or 'pair', got {hold_out!r}.")
    others = [values for name, values in read.conditions.items() if name != variable]
    contexts: dict[Any, list[int]] = {}
    for condition, context in enumerate(zip(*(values.tolist() for values in others))):
        contexts.setdefault(context, []).append(condition)
    for members in contexts.values():
        if len(set(side[members])) < 2:
            raise ValueError(
                f"{variable!r} has one value only in the context of {read.describe(members[0])}: "
                "leave such trials out, or use hold_out='pair'."
            )
    return tuple(tuple(members) for members in contexts.values())


def _generalisation(
    patterns: np.ndarray,
    index: np.ndarray,
    side: np.ndarray,
    held_out: tuple[tuple[int, ...], ...],
    decoder: Decoder | None,
    shrinkage: float | int,
) -> np.ndarray:
    """`(split,)`: share correct in conditions held out, of a decoder fitted to the others."""
    moments = condition_moments(patterns, index, len(side)) if decoder is None else None
    splits = np.empty(len(held_out))
    for i, conditions in enumerate(held_out):
        test = np.isin(index, conditions)
        truth = side[index[test]]
        if moments is not None:
            fitted = side.copy()
            fitted[list(conditions)] = -1
            found = linear_discriminant(
                moments, fitted, shrinkage=shrinkage, n_units=patterns.shape[1]
            )
            correct = correct_by_discriminant(patterns[test], *found, truth)
        else:
            model: Any = deepcopy(decoder)
            model.fit(patterns[~test], side[index[~test]])
            correct = np.asarray(model.predict(patterns[test])) == truth
        splits[i] = mean_over_conditions(correct, index[test])
    return splits


def _best_pairing(first: np.ndarray, second: np.ndarray, pairings: np.ndarray) -> tuple[float, int]:
    """The greatest mean cosine between differences of pairs, and the place of its pairing."""
    k = len(first)
    differences = (second - first[:, None]).reshape(k * k, -1)
    lengths = np.linalg.norm(differences, axis=1)
    if (lengths <= 1e-12 * np.abs(np.concatenate([first, second])).max()).any():
        raise ValueError("two conditions have the same mean pattern: no direction between them.")
    cosines = (differences @ differences.T) / lengths / lengths[:, None]
    # Row of each pair (i, pairing[i]) in the differences, and the mean over all pairs of pairs.
    rows = np.arange(k) * k + pairings
    total = cosines[rows[:, :, None], rows[:, None, :]].sum(axis=(1, 2))
    scores = (total - k) / (k * (k - 1))
    best = int(np.argmax(scores))
    return float(np.clip(scores[best], -1, 1)), best


def _n_shuffles(n_shuffles: Any) -> int:
    if int(n_shuffles) != n_shuffles or n_shuffles < 0:
        raise ValueError(f"n_shuffles must be a whole number, 0 or more, got {n_shuffles!r}.")
    return int(n_shuffles)


def _p_value(score: float, null: np.ndarray) -> float | None:
    return None if len(null) == 0 else float(permutation_p_value(score, null))
