"""Lorenz end point: snippets that follow the flow, and a mask on their last state."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from neurosim import simulate
from neurosim.kernels.lorenz import lorenz_trajectory
from neurosim.models.bottleneck_rnn import BottleneckRNN
from neurosim.tasks.lorenz_end_point import LorenzEndPoint
from neurosim.training import fit, mean_squared_error

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def task():
    return LorenzEndPoint.generate(KEY, n_snippets=50, n_points=12)


def test_a_trial_follows_the_flow_from_its_initial_state(task):
    trials = jax.jit(lambda key: task.sample(key, 4))(KEY)
    assert trials.inputs.shape == (4, 11, 0)
    assert trials.targets.shape == (4, 11, 3)
    assert (task.n_inputs, task.n_outputs, task.n_steps) == (0, 3, 11)
    mean, std = np.asarray(task.mean), np.asarray(task.std)
    start = np.asarray(trials.info["initial_state"]) * std + mean
    expected = (np.asarray(lorenz_trajectory(start, 11)) - mean) / std
    np.testing.assert_allclose(trials.targets, np.swapaxes(expected, 0, 1), atol=1e-4)
    mask = np.zeros((4, 11, 3))
    mask[:, -1] = 1
    np.testing.assert_array_equal(trials.mask, mask)


def test_snippets_follow_one_another_and_are_z_scored(task):
    snippets = np.asarray(task.snippets)
    assert snippets.shape == (50, 12, 3)
    np.testing.assert_allclose(snippets.mean(axis=(0, 1)), 0, atol=1e-5)
    np.testing.assert_allclose(snippets.std(axis=(0, 1)), 1, atol=1e-5)
    mean, std = np.asarray(task.mean), np.asarray(task.std)
    after = (np.asarray(lorenz_trajectory(snippets[:-1, -1] * std + mean, 1))[0] - mean) / std
    np.testing.assert_allclose(after, snippets[1:, 0], atol=1e-4)


def test_published_size_has_the_moments_of_the_attractor():
    task = LorenzEndPoint.generate(jax.random.key(1))
    assert task.snippets.shape == (4000, 32, 3)
    assert task.n_steps == 31
    assert task.dt == 0.01
    np.testing.assert_allclose(task.mean, [0, 0, 23.55], atol=0.8)
    np.testing.assert_allclose(task.std, [7.93, 9.01, 8.62], atol=0.1)


def test_every_snippet_is_drawn_as_often(task):
    picked = np.asarray(task.sample(KEY, 5000).info["snippet"])
    counts = np.bincount(picked, minlength=50)
    assert counts.size == 50
    # Pearson's chi-square with 49 degrees of freedom.
    assert np.sum((counts - 100) ** 2) / 100 < 49 + 4 * np.sqrt(98)


def test_a_trial_does_not_change_when_the_batch_grows(task):
    few, many = (task.sample(jax.random.key(3), n) for n in (2, 5))
    np.testing.assert_array_equal(few.targets, many.targets[:2])
    assert len(np.unique(np.asarray(many.info["snippet"]))) > 1


def test_a_network_without_inputs_can_be_run_and_trained_on_it(task):
    model = BottleneckRNN.lorenz(4, key=KEY)
    trials = task.sample(KEY, 3)
    start = trials.info["initial_state"]
    trajectory = simulate(model, trials.inputs, dt=task.dt, initial_state=start)
    last = np.asarray(trajectory.outputs - trials.targets)[:, -1]
    loss = mean_squared_error(trajectory, trials)
    assert float(loss) == pytest.approx(np.mean(last**2), rel=1e-5)
    result = fit(
        model, task, optimizer=optax.sgd(1e-3), steps=2, batch_size=3, key=KEY, progress=False
    )
    assert np.all(np.isfinite(result.losses))


def test_double_precision():
    with jax.enable_x64(True):
        task = LorenzEndPoint.generate(KEY, n_snippets=3, n_points=4, burn_in=0)
        trials = task.sample(KEY, 2)
        assert trials.inputs.dtype == trials.targets.dtype == trials.mask.dtype == jnp.float64


def test_bad_fields_are_named(task):
    for options, message in (
        ({"n_snippets": 0}, "n_snippets must be at least 1"),
        ({"n_points": 1}, "n_points must be at least 2"),
        ({"burn_in": -1}, "burn_in must not be negative"),
        ({"dt": 0}, "dt must be"),
        ({"dt": 1.0, "n_snippets": 5}, "dt = 1.0 is too long"),
    ):
        with pytest.raises(ValueError, match=message):
            LorenzEndPoint.generate(KEY, **options)
    with pytest.raises(ValueError, match=r"snippets must be .*at least one snippet of two points"):
        LorenzEndPoint(snippets=jnp.zeros((4, 1, 3)), mean=task.mean, std=task.std)
    with pytest.raises(ValueError, match="mean must be finite"):
        LorenzEndPoint(snippets=task.snippets, mean=task.mean * jnp.nan, std=task.std)
    with pytest.raises(ValueError, match="empty batch"):
        task.sample(KEY, 0)
