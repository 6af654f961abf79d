"""What cross-temporal analyses share: trials, their folds, and shuffles of their labels."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike
from .estimator import refuse_traced
from .grouped_folds import Fold, grouped_folds
from .resampling import group_members, permutation_p_value
from .trial_arrays import read_trials


class SplitTrials(NamedTuple):
    """Trials to be split into folds.

    - `values`: `(trial, time, unit)`, 0 where not there.
    - `there`: `(trial, time)`, booleans.
    - `groups`: the places of the trials of each group, or `None`.
    """

    values: np.ndarray
    there: np.ndarray
    groups: list[np.ndarray] | None


def read_split_trials(X: ActivityLike, mask: Any, groups: Any) -> SplitTrials:
    """Check and read trials, and which of them stay together.

    **Raises:** `ValueError` for a bad layout, values that are not finite, a mask of single units,
    or groups that do not match the trials; `TypeError` under `jit`.
    """
    read = read_trials(X, mask, single=False)
    refuse_traced(read.values, "cross-temporal decoding")
    values = np.asarray(read.values, np.float64)
    if read.mask.shape[-1] > 1:
        raise ValueError("mask must be (trial, time): a decoder needs all units of a trial.")
    members = None if groups is None else group_members(groups, len(values), "groups")
    return SplitTrials(values, read.mask[..., 0], members)


def trial_folds(
    trials: SplitTrials, n_folds: int | np.integer, rng: np.random.Generator, labels: Any
) -> list[Fold]:
    """Folds that keep groups together, and share out labels where there are any."""
    groups: Any = len(trials.values)
    if trials.groups is not None:
        groups = np.empty(len(trials.values), int)
        for i, members in enumerate(trials.groups):
            groups[members] = i
    return grouped_folds(groups, n_folds=n_folds, random_state=rng, labels=labels)


def shuffled_scores(
    repeat: Callable[[np.ndarray], np.ndarray],
    value: np.ndarray,
    labels: np.ndarray,
    trials: SplitTrials,
    n_shuffles: int | np.integer,
    alternative: str,
    rng: np.random.Generator,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Scores with labels dealt out anew, `(shuffle, time, time)`, and the p values of `value`.

    `repeat` takes, for each trial, the trial whose label it gets; it returns scores `(time, time)`.
    """
    if alternative not in ("greater", "less", "two-sided"):
        raise ValueError(
            f"alternative must be 'greater', 'less' or 'two-sided', got {alternative!r}."
        )
    if n_shuffles == 0:
        return None, None
    count = whole_number(n_shuffles, "n_shuffles", least=1)
    null = np.stack([repeat(_shuffled(labels, trials.groups, rng)) for _ in range(count)])
    p_value = np.full(value.shape, np.nan)
    known = np.isfinite(value) & np.isfinite(null).all(axis=0)
    if known.any():
        p_value[known] = permutation_p_value(value[known], null[:, known], alternative=alternative)
    return null, p_value


def _shuffled(
    labels: np.ndarray, groups: list[np.ndarray] | None, rng: np.random.Generator
) -> np.ndarray:
    """For each trial the trial whose label it gets."""
    n = len(labels)
    if groups is None:
        return rng.permutation(n)
    order = np.arange(n)
    if all((labels[group] == labels[group[0]]).all() for group in groups):
        for group, other in zip(groups, rng.permutation(len(groups)), strict=True):
            order[group] = groups[other][0]
        return order
    for group in groups:
        order[group] = rng.permutation(group)
    return order
