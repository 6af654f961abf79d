"""Delayed addition: the sum can be read off the marks, which lie where they should."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks.delayed_addition import DelayedAddition

KEY = jax.random.key(0)


def test_target_is_the_sum_of_the_marked_numbers():
    task = DelayedAddition(length=32, n_outputs=2)
    trials = jax.jit(task.sample, static_argnums=1)(KEY, 50)
    assert trials.inputs.shape == (50, 32, 2)
    assert trials.targets.shape == (50, 32, 2)
    numbers, marks = np.asarray(trials.inputs[..., 0]), np.asarray(trials.inputs[..., 1])
    assert set(np.unique(marks)) == {0, 1}
    assert np.all(marks.sum(axis=1) == 2)
    sums = (numbers * marks).sum(axis=1)
    np.testing.assert_allclose(trials.targets[:, -1], np.stack([sums, sums], 1), rtol=1e-6)
    assert np.all(np.asarray(trials.targets)[:, :-1] == 0)
    mask = np.zeros((50, 32, 2))
    mask[:, -1] = 1
    np.testing.assert_array_equal(trials.mask, mask)
    # Marks in ascending order, and the numbers there.
    np.testing.assert_array_equal(np.nonzero(marks)[1].reshape(50, 2), trials.info["marks"])
    np.testing.assert_array_equal(numbers[marks == 1].reshape(50, 2), trials.info["marked"])
    np.testing.assert_allclose(trials.info["sum"], sums, rtol=1e-6)


def test_numbers_and_marks_are_uniform():
    task = DelayedAddition(length=32)
    trials = task.sample(KEY, 8000)
    first, second = np.asarray(trials.info["marks"]).T
    counts = np.bincount(first, minlength=10)
    assert counts.size == 10
    assert np.abs(counts - 800).max() < 4 * np.sqrt(720)
    for value in (0, 9):
        after = second[first == value]
        assert (after.min(), after.max()) == (value + 1, 16)
        middle, n = (value + 1 + 16) / 2, 16 - value
        assert after.mean() == pytest.approx(middle, abs=4 * np.sqrt((n**2 - 1) / 12 / after.size))
    numbers = np.asarray(trials.inputs[..., 0])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert numbers.mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * numbers.size))
    # The best guess without the input is 1, and its error twice the variance of a number.
    error = np.mean((np.asarray(trials.info["sum"]) - 1) ** 2)
    assert error == pytest.approx(task.chance_mse, rel=0.05)


def test_a_trial_does_not_change_when_the_batch_grows():
    task = DelayedAddition(length=20)
    few, many = (task.sample(jax.random.key(3), n) for n in (2, 5))
    np.testing.assert_array_equal(few.inputs, many.inputs[:2])
    np.testing.assert_array_equal(few.targets, many.targets[:2])
    assert len(np.unique(np.asarray(many.info["sum"]))) == 5


def test_double_precision():
    with jax.enable_x64(True):
        trials = DelayedAddition(length=20).sample(KEY, 2)
        assert trials.inputs.dtype == trials.targets.dtype == trials.mask.dtype == jnp.float64


def test_bad_fields_are_named():
    for fields, message in (
        ({"dt": 0}, "dt must be"),
        ({"length": 19}, "length 19 leaves no second mark .* it must be at least 20"),
        ({"first_within": 0}, "first_within must be at least 1"),
        ({"n_outputs": 0}, "n_outputs must be at least 1"),
        ({"length": 32.0}, "length must be a whole number"),
    ):
        with pytest.raises(ValueError, match=message):
            DelayedAddition(**fields)
