"""Folds for cross-validation that keep together what is correlated."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import refuse_masked
from .resampling import as_generator, group_members
from .trial_arrays import read_labels


class Fold(NamedTuple):
    """Trials to fit and trials to test on; see `grouped_folds`."""

    train: np.ndarray
    test: np.ndarray


def grouped_folds(
    groups: Any,
    *,
    n_folds: int | np.integer,
    random_state: Any,
    labels: Any = None,
) -> list[Fold]:
    """Folds for cross-validation that never part a group, and share out labels evenly.

    Time points of one trial are a group, or trials of one block: what is correlated must not be on
    both sides of a fold. The folds go into scikit-learn as they are, as `cv`.

    **Arguments:**

    - `groups`: `(sample,)`, the group of each sample, such as its trial; or the number of samples,
        for samples that are each their own.
    - `n_folds`: number of folds, at least 2.
    - `random_state`: a seed or a generator.
    - `labels`: `(sample,)`; each fold then has about the same share of each label.

    **Returns:** `n_folds` times `Fold`, the places of the samples to `train` and to `test` on. Each
    sample is in one test.

    **Raises:** `ValueError` for fewer groups, or fewer groups with some label, than folds, or when
    a fold is left without some label.
    """
    rng = as_generator(random_state)
    folds = whole_number(n_folds, "n_folds", least=1)
    if folds < 2:
        raise ValueError(f"n_folds must be at least 2, got {folds}.")
    refuse_masked(groups, "groups")
    alone = np.ndim(groups) == 0
    column = np.arange(whole_number(groups, "groups", least=1)) if alone else np.asarray(groups)
    members = group_members(column, len(column), "groups")
    if len(members) < folds:
        raise ValueError(f"{len(members)} group(s) cannot make {folds} folds.")
    one = np.zeros(len(column), int)
    wanted = one if labels is None else read_labels(labels, len(column))["label"]
    classes, code = np.unique(wanted, return_inverse=True)
    of_group = np.array([np.bincount(code[g], minlength=len(classes)) for g in members])
    rare = np.flatnonzero((of_group > 0).sum(axis=0) < folds)
    if len(rare) > 0:
        raise ValueError(
            f"label {classes[rare[0]]} is in {int((of_group[:, rare[0]] > 0).sum())} group(s), too "
            f"few for {folds} folds."
        )
    fold_of_group = _deal(of_group, folds, rng)
    fold = np.empty(len(column), int)
    for group, which in zip(members, fold_of_group, strict=True):
        fold[group] = which
    for i in range(folds):
        for j, name in enumerate(classes):
            here = (fold == i) & (code == j)
            if not here.any() or here.sum() == (code == j).sum():
                raise ValueError(f"fold {i} is left without label {name}: take fewer folds.")
    return [Fold(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(folds)]


def _deal(of_group: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """A fold for each group, given how many samples of each class it has."""
    order = rng.permutation(len(of_group))
    # Large groups first: the small ones even out what they leave.
    order = order[np.argsort(-of_group.sum(axis=1)[order], kind="stable")]
    weight = 1 / of_group.sum(axis=0) ** 2
    filled = np.zeros((folds, of_group.shape[1]))
    fold = np.empty(len(of_group), int)
    for group in order:
        # What the group would add to the sum of squares of each class's shares over the folds.
        cost = filled @ (of_group[group] * weight)
        cheapest = np.flatnonzero(cost <= cost.min() * (1 + 1e-12))
        chosen = cheapest[np.argmin(filled[cheapest].sum(axis=1))]
        filled[chosen] += of_group[group]
        fold[group] = chosen
    return fold
