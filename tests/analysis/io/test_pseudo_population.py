"""Pseudo-populations: conditions matched, variability taken apart."""

import numpy as np
import pytest

from neurosim.analysis.io.pseudo_population import pseudo_population

RNG = np.random.default_rng(0)


def session(n_units, repeats, shared=0.0):
    """Units whose activity says their condition, with variability that all share."""
    labels = np.repeat(["a", "b"], repeats)
    mean = np.where(labels == "a", 0.0, 10.0)[:, None, None]
    noise = RNG.normal(size=(2 * repeats, 3, n_units)) + shared * RNG.normal(
        size=(2 * repeats, 1, 1)
    )
    return mean + 0.1 * noise, labels


def test_every_trial_is_one_of_its_condition():
    sessions = [session(2, 6), session(3, 4)]
    found = pseudo_population(sessions, random_state=0)
    assert found.X.shape == (8, 3, 5)  # 4 trials of each condition, as the second session has
    np.testing.assert_array_equal(found.labels["label"], ["a"] * 4 + ["b"] * 4)
    np.testing.assert_array_equal(found.unit_ids, [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]])
    for column, (s, unit) in enumerate(found.unit_ids):
        X, labels = sessions[s]
        source = found.source_trials[:, column]
        np.testing.assert_array_equal(found.X[:, :, column], X[source][:, :, unit])
        np.testing.assert_array_equal(labels[source], found.labels["label"])
        assert len(set(source)) == 8  # without replacement
    # The second session has 4 trials of each: all of them are used.
    assert sorted(found.source_trials[:, 4]) == list(range(8))


def test_units_recorded_at_once_lose_what_they_share():
    X, labels = session(2, 200, shared=10.0)
    assert np.corrcoef(X[:200, 0].T)[0, 1] > 0.9
    found = pseudo_population([(X, labels)], random_state=0)
    assert abs(np.corrcoef(found.X[:200, 0].T)[0, 1]) < 4 / np.sqrt(200)


def test_with_replacement_there_may_be_more():
    found = pseudo_population([session(2, 3)], n_trials=50, replace=True, random_state=0)
    assert found.X.shape == (100, 3, 2)
    again = pseudo_population([session(2, 3)], n_trials=50, replace=True, random_state=0)
    np.testing.assert_array_equal(found.source_trials, again.source_trials)
    other = pseudo_population([session(2, 3)], n_trials=50, replace=True, random_state=1)
    assert (found.source_trials != other.source_trials).any()


def test_several_labels_and_levels():
    X = np.arange(8.0)[:, None, None] * np.ones((1, 2, 1))
    labels = {"s": [0, 0, 1, 1, 2, 2, 0, 1], "c": ["l", "r"] * 4}
    found = pseudo_population([(X, labels)], random_state=0, levels={"s": [1, 0]})
    assert found.labels["s"].tolist() == [1, 1, 0, 0]
    assert found.labels["c"].tolist() == ["l", "r", "l", "r"]
    assert set(found.source_trials[:, 0]) <= {0, 1, 2, 3, 6, 7}


def test_sessions_that_lack_a_condition_are_named():
    X, labels = session(2, 3)
    with pytest.raises(ValueError, match="session 1 has no trial with label = b"):
        pseudo_population([(X, labels), (X[:3], labels[:3])], random_state=0)
    with pytest.raises(
        ValueError, match=r"session 0 has 3 trial\(s\) with label = a.*replace=True"
    ):
        pseudo_population([(X, labels)], n_trials=4, random_state=0)


@pytest.mark.parametrize(
    ("sessions", "options", "message"),
    [
        ([], {}, "sessions is empty"),
        ([session(1, 2), (np.zeros((4, 2, 1)), ["a", "a", "b", "b"])], {}, "the same times"),
        ([session(1, 2), (np.zeros((4, 3, 1)), {"x": [0, 0, 1, 1]})], {}, "session 1 has labels"),
        ([([np.zeros((3, 1))] * 4, ["a"] * 4)], {}, "session 0 must be one array"),
        ([(np.zeros((4, 3, 1)), ["a"] * 3)], {}, "each of the 4 trials"),
        ([session(1, 2)], {"n_trials": 0}, "at least 1"),
        ([session(1, 2)], {"random_state": None}, "random_state"),
        ([session(1, 2)], {"levels": {"label": ["z"]}}, "session 0 has no trial with one of"),
        ([session(1, 2)], {"levels": {"cue": ["z"]}}, "levels are for"),
    ],
)
def test_bad_input_is_refused(sessions, options, message):
    with pytest.raises(ValueError, match=message):
        pseudo_population(sessions, **{"random_state": 0, **options})
