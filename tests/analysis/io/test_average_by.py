"""Averages by condition against means taken by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.io.condition_averages import average_by

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 5, 3))
stimulus = np.array(["a", "b", "c"] * 4)
choice = np.array([0, 0, 0, 1, 1, 1] * 2)
LABELS = {"stimulus": stimulus, "choice": choice}


def test_each_cell_is_the_mean_of_its_trials():
    found = average_by(X, LABELS)
    assert found.averages.shape == (3, 2, 5, 3)
    for i, s in enumerate("abc"):
        for j in range(2):
            members = (stimulus == s) & (choice == j)
            np.testing.assert_allclose(found.averages[i, j], X[members].mean(axis=0), atol=1e-15)
    np.testing.assert_array_equal(found.counts, np.full((3, 2), 2))
    np.testing.assert_array_equal(found.n_samples, np.full((3, 2, 5, 1), 2))
    assert {name: values.tolist() for name, values in found.levels.items()} == {
        "stimulus": ["a", "b", "c"],
        "choice": [0, 1],
    }


def test_the_order_of_trials_and_of_units_does_not_matter():
    order, units = RNG.permutation(12), RNG.permutation(3)
    shuffled = {name: values[order] for name, values in LABELS.items()}
    found = average_by(X[order][..., units], shuffled)
    np.testing.assert_allclose(
        found.averages, average_by(X, LABELS).averages[..., units], atol=1e-14
    )


def test_one_array_of_labels():
    found = average_by(X, choice)
    np.testing.assert_allclose(found.averages[1], X[choice == 1].mean(axis=0))
    assert found.levels["label"].tolist() == [0, 1]


def test_levels_are_in_the_order_given():
    found = average_by(X, stimulus, levels={"label": ["c", "a", "b"]})
    np.testing.assert_allclose(found.averages[0], X[stimulus == "c"].mean(axis=0))


def test_a_missing_cell_is_named_or_nan():
    keep = ~((stimulus == "b") & (choice == 1))
    labels = {name: values[keep] for name, values in LABELS.items()}
    with pytest.raises(ValueError, match="no trial has stimulus = b, choice = 1; 1 of 6"):
        average_by(X[keep], labels)
    found = average_by(X[keep], labels, missing="nan")
    assert np.isnan(found.averages[1, 1]).all()
    assert found.counts[1, 1] == 0
    assert np.isnan(found.averages).sum() == 15


def test_samples_that_do_not_count():
    mask = np.ones((12, 5), bool)
    mask[0, 3:] = False  # stimulus a, choice 0, with trial 6
    poisoned = np.where(mask[..., None], X, np.nan)
    found = average_by(poisoned, LABELS, mask=mask)
    np.testing.assert_allclose(found.averages[0, 0, :3], (X[0, :3] + X[6, :3]) / 2)
    np.testing.assert_allclose(found.averages[0, 0, 3:], X[6, 3:])
    np.testing.assert_array_equal(found.n_samples[0, 0, :, 0], [2, 2, 2, 1, 1])
    mask[6, 4] = False
    with pytest.raises(ValueError, match="stimulus = a, choice = 0 have no sample at time 4"):
        average_by(X, LABELS, mask=mask)


def test_lists_and_masks_say_the_same():
    lengths = [5, 4, 3] * 4
    mask = np.arange(5) < np.array(lengths)[:, None]
    trials = [trial[:n] for trial, n in zip(X, lengths, strict=True)]
    by_list = average_by(trials, choice)
    by_mask = average_by(X, choice, mask=mask)
    np.testing.assert_array_equal(by_list.averages, by_mask.averages)
    np.testing.assert_array_equal(by_list.n_samples[0, :, 0], [6, 6, 6, 4, 2])


def test_units_that_were_not_recorded_in_every_trial():
    mask = np.ones(X.shape, bool)
    mask[:6, :, 2] = False
    found = average_by(X, choice, mask=mask)
    np.testing.assert_allclose(
        found.averages[0, :, 2], X[6:][choice[6:] == 0][:, :, 2].mean(axis=0)
    )
    np.testing.assert_array_equal(found.n_samples[0, 0], [6, 6, 3])


def test_jax_in_jax_out():
    single = jnp.asarray(X, jnp.float32)
    found = average_by(single, LABELS)
    assert found.averages.dtype == jnp.float32
    np.testing.assert_allclose(found.averages, average_by(X, LABELS).averages, atol=1e-6)
    slope = jax.jit(jax.grad(lambda x: average_by(x, choice).averages[0].sum()))(single)
    np.testing.assert_allclose(slope[:, 0, 0], (choice == 0) / 6, atol=1e-7)


def test_jax_in_double(double_precision):
    found = average_by(jnp.asarray(X), LABELS)
    assert found.averages.dtype == jnp.float64
    np.testing.assert_allclose(found.averages, average_by(X, LABELS).averages, atol=1e-15)
    assert average_by(jnp.asarray(X, jnp.float32), LABELS).averages.dtype == jnp.float32


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ({}, {}, "at least one label"),
        (choice[:3], {}, "each of the 12 trials"),
        (np.where(choice == 1, np.nan, 0.0), {}, "labels is missing for trial 3"),
        ({"s": [None, *stimulus[1:]]}, {}, r"labels\['s'\] is missing for trial 0"),
        ({"s": np.array([1, "a"] * 6, dtype=object)}, {}, "cannot be ordered"),
        (choice, {"levels": {"label": [0]}}, "holds 1, not among"),
        (choice, {"levels": {"label": [0, 0, 1]}}, "without repeats"),
        (choice, {"levels": {"other": [0]}}, "levels are for"),
        (choice, {"missing": "zero"}, "missing must be 'raise' or 'nan'"),
        (choice, {"levels": {"label": [0, 1, 2]}}, "no trial has label = 2"),
        (np.ma.masked_equal(choice, 0), {}, "masked"),
    ],
)
def test_bad_labels_are_refused(labels, options, message):
    with pytest.raises(ValueError, match=message):
        average_by(X, labels, **options)


def test_bad_activity_is_refused():
    with pytest.raises(ValueError, match="must have trials"):
        average_by(X[0], choice)
    with pytest.raises(ValueError, match="trial 2, time 1, unit 0"):
        average_by(np.where(np.arange(180).reshape(12, 5, 3) == 33, np.inf, X), choice)
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda y: average_by(X, y).averages)(choice)
