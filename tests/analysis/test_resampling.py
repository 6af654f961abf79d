"""Shuffles keep what they should and break what they should; p values by counting."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.resampling import (
    bootstrap_trials,
    circular_shifts,
    permutation_p_value,
    shuffle_labels,
    shuffle_trials_per_unit,
)

groups = np.repeat([0, 1], [4, 6])
LABELS = np.array([0, 0, 1, 1, 1, 1, 1, 2, 2, 2])


def test_labels_stay_in_their_group():
    found = shuffle_labels(LABELS, groups=groups, n_shuffles=200, random_state=0)
    assert found.shape == (200, 10)
    for g in (0, 1):
        expected = np.tile(np.sort(LABELS[groups == g]), (200, 1))
        np.testing.assert_array_equal(np.sort(found[:, groups == g], axis=1), expected)
    # Every label comes to every trial of its group: 2 of 4, here.
    assert found[:, 0].mean() == pytest.approx(0.5, abs=0.15)
    whole = shuffle_labels(LABELS, n_shuffles=50, random_state=0)
    assert (np.sort(whole[:, groups == 0], axis=1) != np.sort(LABELS[:4])).any()


def test_labels_that_belong_together_stay_together():
    pairs = np.column_stack([np.arange(10), np.arange(10) * 2])
    found = shuffle_labels(pairs, random_state=3)
    assert found.shape == (10, 2)
    np.testing.assert_array_equal(found[:, 1], 2 * found[:, 0])
    assert (found != pairs).any()
    assert shuffle_labels(np.array(["a", "b"]), random_state=0).shape == (2,)


def test_a_generator_goes_on_and_a_seed_does_not():
    rng = np.random.default_rng(0)
    first, second = (shuffle_labels(np.arange(20), random_state=rng) for _ in range(2))
    assert (first != second).any()
    again = shuffle_labels(np.arange(20), random_state=0)
    np.testing.assert_array_equal(first, again)


def test_shifts_are_all_different_and_far_enough():
    found = circular_shifts(100, n_shifts=61, min_shift=20, random_state=0)
    assert sorted(found) == list(range(20, 81))
    assert sorted(circular_shifts(5, n_shifts=4, random_state=0)) == [1, 2, 3, 4]


def test_trials_of_a_unit_stay_in_their_condition():
    X = np.arange(60.0).reshape(10, 2, 3)
    labels = np.repeat([0, 1], 5)
    found = shuffle_trials_per_unit(X, labels=labels, random_state=0)
    for c in (0, 1):
        members = labels == c
        np.testing.assert_allclose(found[members].mean(axis=0), X[members].mean(axis=0))
        np.testing.assert_allclose(found[members].var(axis=0), X[members].var(axis=0))
    # Whole time courses move.
    np.testing.assert_array_equal(found[:, 1] - found[:, 0], X[:, 1] - X[:, 0])
    assert (found != X).any()


def test_noise_correlations_go_and_signal_stays():
    rng = np.random.default_rng(0)
    labels = np.repeat([0.0, 5.0], 300)
    X = (labels[:, None] + rng.normal(size=(600, 1)) + 0.3 * rng.normal(size=(600, 2)))[:, None]
    found = shuffle_trials_per_unit(X, labels=labels, random_state=1)
    for c in (0.0, 5.0):
        assert np.corrcoef(X[labels == c, 0].T)[0, 1] > 0.85
        assert abs(np.corrcoef(found[labels == c, 0].T)[0, 1]) < 4 / np.sqrt(300)
    assert np.corrcoef(found[:, 0].T)[0, 1] > 0.8
    single = shuffle_trials_per_unit(jnp.asarray(X, jnp.float32), labels=labels, random_state=1)
    assert isinstance(single, jax.Array)
    np.testing.assert_allclose(single, found, rtol=1e-6, atol=1e-6)


def test_bootstrap_gives_the_standard_error_of_the_mean():
    x = np.random.default_rng(0).normal(size=100)
    means = [x[i].mean() for i in bootstrap_trials(100, n_resamples=4000, random_state=0)]
    # The variance of n draws from the sample itself is its variance, without n - 1, over n.
    assert np.std(means) == pytest.approx(x.std() / 10, rel=0.05)


def test_bootstrap_of_sessions_is_as_wide_as_sessions_differ():
    sessions = np.repeat(np.arange(8), 50)
    offset = np.random.default_rng(0).normal(size=8)
    x = offset[sessions] + 0.01 * np.random.default_rng(1).normal(size=400)
    found = bootstrap_trials(400, n_resamples=3000, sessions=sessions, random_state=0)
    assert np.std([x[i].mean() for i in found]) == pytest.approx(
        offset.std() / np.sqrt(8), rel=0.05
    )
    flat = bootstrap_trials(400, n_resamples=500, random_state=0)
    assert np.std([x[i].mean() for i in flat]) < 0.3 * offset.std() / np.sqrt(8)
    # Trials of one draw of a session come from that session alone, as many as it has.
    assert all((np.bincount(sessions[i], minlength=8) % 50 == 0).all() for i in found[:50])


def test_bootstrap_keeps_the_trials_of_each_condition():
    labels = np.repeat(["a", "b"], [3, 7])
    for i in bootstrap_trials(10, n_resamples=20, labels=labels, random_state=0):
        assert (labels[i] == "a").sum() == 3


def test_unequal_sessions_give_resamples_of_unequal_length():
    sessions = np.repeat([0, 1], [2, 5])
    found = bootstrap_trials(7, n_resamples=50, sessions=sessions, random_state=0)
    assert {len(i) for i in found} == {4, 7, 10}


def test_p_values_by_counting():
    null = np.array([0.0, 1.0, 2.0, 3.0])
    assert permutation_p_value(2.5, null) == (1 + 1) / 5
    assert permutation_p_value(2.0, null) == (1 + 2) / 5  # a tie counts
    assert permutation_p_value(9.0, null) == 1 / 5
    assert permutation_p_value(2.5, null, alternative="less") == (1 + 3) / 5
    assert permutation_p_value(2.5, null, alternative="two-sided") == 2 * 2 / 5
    assert permutation_p_value(1.5, null, alternative="two-sided") == 1.0
    both = permutation_p_value(np.array([2.5, -1.0]), np.column_stack([null, null]))
    np.testing.assert_allclose(both, [2 / 5, 1.0])


def test_sums_in_another_order_are_ties():
    observed = 0.1 + 0.2 + 0.3
    assert observed != 0.3 + 0.2 + 0.1
    null = np.array([0.3 + 0.2 + 0.1, 0.0, 0.0])
    assert permutation_p_value(observed, null) == 2 / 4
    single = permutation_p_value(jnp.float32(observed), jnp.asarray(null, jnp.float32))
    assert single == 2 / 4


def test_p_values_are_even_under_the_null():
    rng = np.random.default_rng(0)
    p = [permutation_p_value(rng.normal(), rng.normal(size=19)) for _ in range(2000)]
    # 1/20, 2/20, ..., each as likely.
    frequency = np.bincount(np.rint(np.array(p) * 20).astype(int), minlength=21)[1:] / 2000
    assert np.abs(frequency - 0.05).max() < 4 * np.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shuffle_labels(LABELS, random_state=None), "random_state must be"),
        (lambda: shuffle_labels(LABELS, random_state=-1), "random_state must be"),
        (lambda: shuffle_labels(LABELS, random_state=0.5), "random_state must be"),
        (lambda: shuffle_labels(groups, groups=groups, random_state=0), "no shuffle changes"),
        (lambda: shuffle_labels(LABELS, groups=groups[:3], random_state=0), "each of the 10"),
        (lambda: shuffle_labels(np.zeros(0), random_state=0), r"\(trial,\) or"),
        (lambda: shuffle_labels(LABELS, n_shuffles=0, random_state=0), "n_shuffles must be at"),
        (lambda: circular_shifts(100, n_shifts=62, min_shift=20, random_state=0), "61 different"),
        (lambda: circular_shifts(10, n_shifts=1, min_shift=6, random_state=0), "have 0 different"),
        (lambda: circular_shifts(10, n_shifts=1, min_shift=0, random_state=0), "min_shift must"),
        (lambda: shuffle_trials_per_unit([np.ones((2, 1))] * 2, random_state=0), "one length"),
        (lambda: shuffle_trials_per_unit(np.ones((2, 1)), random_state=0), "must have trials"),
        (
            lambda: shuffle_trials_per_unit(np.ones((2, 1, 1)), labels=[0, 1], random_state=0),
            "nothing to exchange",
        ),
        (lambda: bootstrap_trials(0, n_resamples=1, random_state=0), "n_trials must be at least 1"),
        (lambda: bootstrap_trials(3, n_resamples=1, labels=[0], random_state=0), "each of the 3"),
        (lambda: permutation_p_value(1.0, [1.0], alternative="up"), "alternative must be"),
        (lambda: permutation_p_value(1.0, []), "at least one shuffle"),
        (lambda: permutation_p_value([1.0, 2.0], [[1.0]]), r"null must be \(shuffle, \*\(2,\)\)"),
        (lambda: permutation_p_value(1.0, [np.nan]), "must not be NaN"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
