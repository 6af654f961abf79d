"""Folds keep groups together and labels even."""

import numpy as np
import pytest

from neurosim.analysis.grouped_folds import grouped_folds

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_no_group_is_on_both_sides(n_folds):
    trial = np.repeat(np.arange(17), RNG.integers(1, 9, 17))
    folds = grouped_folds(trial, n_folds=n_folds, random_state=0)
    assert len(folds) == n_folds
    for train, test in folds:
        assert set(trial[train]).isdisjoint(trial[test])
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(len(trial)))
    np.testing.assert_array_equal(
        np.sort(np.concatenate([test for _, test in folds])), np.arange(len(trial))
    )
    sizes = [len(test) for _, test in folds]
    assert max(sizes) - min(sizes) <= 8  # no more than one group


def test_each_fold_has_its_share_of_each_label():
    labels = np.repeat(["a", "b", "c"], [11, 20, 5])
    for _, test in grouped_folds(36, n_folds=5, labels=labels, random_state=1):
        counts = [int((labels[test] == name).sum()) for name in "abc"]
        assert counts[0] in (2, 3)
        assert counts[1:] == [4, 1]


def test_groups_with_several_labels():
    trial = np.repeat(np.arange(20), 4)
    labels = np.tile([0, 0, 1, 1], 20)
    for _, test in grouped_folds(trial, n_folds=4, labels=labels, random_state=0):
        assert (labels[test] == 0).sum() == (labels[test] == 1).sum() == 10


def test_the_seed_decides():
    first, again, other = (grouped_folds(30, n_folds=3, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first[0].test, again[0].test)
    assert (first[0].test != other[0].test).any()


def test_scikit_learn_takes_them():
    model_selection = pytest.importorskip("sklearn.model_selection")
    linear_model = pytest.importorskip("sklearn.linear_model")
    X = RNG.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    folds = grouped_folds(np.repeat(np.arange(20), 2), n_folds=4, labels=y, random_state=0)
    scores = model_selection.cross_val_score(linear_model.LogisticRegression(), X, y, cv=folds)
    assert scores.mean() > 0.8


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        (10, {"n_folds": 1}, "n_folds must be at least 2"),
        (3, {"n_folds": 4}, r"3 group\(s\) cannot make 4 folds"),
        (np.repeat([0, 1], 5), {"n_folds": 3}, r"2 group\(s\)"),
        (10, {"n_folds": 3, "labels": [0] * 8 + [1] * 2}, r"label 1 is in 2 group\(s\), too few"),
        (10, {"n_folds": 3, "labels": [0] * 9}, "each of the 10 trials"),
        ([0, None], {"n_folds": 2}, "missing for trial 1"),
        (10, {"n_folds": 2, "random_state": None}, "random_state must be"),
        (0, {"n_folds": 2}, "groups must be at least 1"),
    ],
)
def test_bad_input_is_refused(groups, options, message):
    with pytest.raises(ValueError, match=message):
        grouped_folds(groups, **{"random_state": 0, **options})
