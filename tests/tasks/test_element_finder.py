"""Element Finder: its statistics in closed form and its answers by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks import ElementFinder


@pytest.fixture(scope="module")
def trials():
    return jax.jit(ElementFinder().sample, static_argnums=1)(jax.random.key(0), 4000)


def test_layout(trials):
    task = ElementFinder()
    assert (task.n_inputs, task.n_outputs, task.n_steps) == (1, 1, 26)
    assert trials.inputs.shape == trials.targets.shape == trials.mask.shape == (4000, 26, 1)
    assert jnp.issubdtype(trials.inputs.dtype, jnp.floating)


def test_answer_is_the_element_asked_for(trials):
    inputs = np.asarray(trials.inputs[..., 0])
    query = inputs[:, 0].astype(int)
    answers = np.array([sequence[q] for q, sequence in zip(query, inputs[:, 1:])])
    np.testing.assert_array_equal(trials.targets[:, -1, 0], answers)
    np.testing.assert_array_equal(trials.info["query"], query)
    np.testing.assert_array_equal(trials.info["value"], answers)


def test_only_the_last_output_counts(trials):
    mask = np.asarray(trials.mask)
    assert np.all(mask[:, -1] == 1)
    assert mask.sum() == 4000
    assert np.all(np.isfinite(trials.targets))


def test_both_ends_are_included_and_chance_is_known(trials):
    inputs = np.asarray(trials.inputs[..., 0])
    np.testing.assert_array_equal(np.unique(inputs[:, 0]), np.arange(25))
    np.testing.assert_array_equal(np.unique(inputs[:, 1:]), np.arange(-10, 11))
    assert ElementFinder().chance_mse == pytest.approx(36.667, abs=5e-4)
    # Uniform on 21 values: standard error of the mean square of 100,000 draws, four times.
    squares = inputs[:, 1:].astype(float) ** 2
    assert abs(squares.mean() - 110 / 3) < 4 * squares.std() / 1e5**0.5
    assert abs(inputs[:, 1:].mean()) < 4 * (110 / 3 / 1e5) ** 0.5


def test_restricted_queries():
    trials = ElementFinder(queries=[5, 10, 15]).sample(jax.random.key(1), 60)
    np.testing.assert_array_equal(np.unique(trials.inputs[:, 0]), [5, 10, 15])
    np.testing.assert_array_equal(np.unique(trials.info["query"]), [5, 10, 15])


def test_fixed_query_and_value():
    trials = ElementFinder(queries=[7], fixed_value=-3).sample(jax.random.key(1), 20)
    inputs = np.asarray(trials.inputs[..., 0])
    assert np.all(inputs[:, 0] == 7)
    assert np.all(inputs[:, 1 + 7] == -3)
    assert np.all(trials.targets[:, -1] == -3)
    assert len(np.unique(inputs[:, 1 + 8])) > 5


def test_a_trial_does_not_change_when_the_batch_grows():
    few, many = (ElementFinder().sample(jax.random.key(3), n) for n in (3, 9))
    np.testing.assert_array_equal(few.inputs, many.inputs[:3])
    assert len(np.unique(np.asarray(many.inputs[..., 0]), axis=0)) == 9


def test_the_widest_range_is_drawn_evenly():
    task = ElementFinder(length=100, low=-(2**31), high=2**31 - 2)
    elements = np.asarray(task.sample(jax.random.key(0), 20).inputs[:, 1:], dtype=float)
    # Uniform: each eighth of the range holds an eighth of 2000, four standard deviations.
    counts = np.histogram(elements, bins=8, range=(-(2.0**31), 2.0**31))[0]
    assert np.all(np.abs(counts - 250) < 4 * (2000 / 8 * 7 / 8) ** 0.5)


def test_whole_numbers_may_be_of_any_kind():
    task = ElementFinder(length=np.int32(3), low=np.int64(-2), high=jnp.asarray(2))
    assert task == ElementFinder(length=3, low=-2, high=2)
    assert hash(task) == hash(ElementFinder(length=3, low=-2, high=2))


def test_sample_can_be_vmapped_over_keys():
    task, keys = ElementFinder(length=4), jax.random.split(jax.random.key(0), 3)
    both = jax.vmap(lambda key: task.sample(key, 2))(keys)
    np.testing.assert_array_equal(both.inputs[2], task.sample(keys[2], 2).inputs)


def test_double_precision():
    with jax.enable_x64(True):
        trials = ElementFinder(length=3).sample(jax.random.key(0), 2)
        assert trials.inputs.dtype == trials.targets.dtype == jnp.float64


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dt": -1}, "dt must be"),
        ({"length": 0}, "length must be at least 1"),
        ({"low": 3, "high": 2}, "low must not exceed high"),
        ({"queries": []}, "queries must hold"),
        ({"queries": [0, 25]}, "queries must be positions from 0 to 24"),
        ({"queries": [-1]}, "queries must be positions"),
        ({"queries": [1.5]}, "whole numbers"),
        ({"queries": [float("nan")]}, "queries must be whole numbers"),
        ({"fixed_value": float("nan")}, "fixed_value must be finite"),
        ({"low": 0.5}, "low must be a whole number"),
        ({"high": 3.0}, "high must be a whole number"),
        ({"length": 3.0}, "length must be a whole number"),
        ({"length": "3"}, "length must be a whole number"),
        ({"low": 0, "high": 2**31 - 1}, "32-bit integers"),
        ({"low": -(2**31) - 1}, "32-bit integers"),
        ({"high": 10**12}, "32-bit integers"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        ElementFinder(**fields)
