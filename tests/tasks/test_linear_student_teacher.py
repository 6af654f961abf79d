"""Linear student and teacher: the spectrum, the map, and what is fixed between batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks.linear_student_teacher import LinearStudentTeacher

KEY = jax.random.key(0)


def test_published_spectrum_and_map():
    task = LinearStudentTeacher.generate(KEY)
    assert (task.n_inputs, task.n_outputs, task.n_steps) == (100, 3, 1)
    expected = 1 / (1 + np.arange(1, 101) ** 2)
    np.testing.assert_allclose(task.spectrum, expected / expected.mean(), rtol=1e-5)
    axes, teacher = np.asarray(task.axes), np.asarray(task.teacher)
    np.testing.assert_allclose(axes.T @ axes, np.eye(100), atol=1e-5)
    assert np.mean(teacher**2) == pytest.approx(0.01, rel=4 * np.sqrt(2 / 300))
    trials = jax.jit(lambda key: task.sample(key, 6))(KEY)
    inputs = np.asarray(trials.inputs, np.float64)
    assert inputs.shape == (6, 1, 100)
    np.testing.assert_allclose(trials.targets, inputs @ teacher.T, atol=1e-5)
    assert np.all(np.asarray(trials.mask) == 1)
    np.testing.assert_allclose(trials.info["components"], inputs[:, 0] @ axes, atol=1e-5)


def test_inputs_have_the_covariance():
    task = LinearStudentTeacher.generate(KEY, n_inputs=5, n_outputs=2, noise_std=0.5)
    trials = task.sample(KEY, 20_000)
    u = np.asarray(trials.inputs[:, 0])
    axes, spectrum = np.asarray(task.axes), np.asarray(task.spectrum)
    covariance = axes @ np.diag(spectrum) @ axes.T
    np.testing.assert_allclose(u.T @ u / 20_000, covariance, atol=5 * 3.2 * np.sqrt(2 / 20_000))
    noise = np.asarray(trials.targets[:, 0]) - u @ np.asarray(task.teacher).T
    assert noise.std() == pytest.approx(0.5, rel=4 / np.sqrt(2 * noise.size))


def test_a_trial_does_not_change_when_the_batch_grows():
    task = LinearStudentTeacher.generate(KEY, n_inputs=30, noise_std=0.1)
    few, many = (task.sample(jax.random.key(3), n) for n in (2, 37))
    np.testing.assert_array_equal(few.inputs, many.inputs[:2])
    np.testing.assert_array_equal(few.targets, many.targets[:2])


def test_double_precision():
    with jax.enable_x64(True):
        trials = LinearStudentTeacher.generate(KEY, n_inputs=4).sample(KEY, 2)
        assert trials.inputs.dtype == trials.targets.dtype == jnp.float64


def test_bad_fields_are_named():
    ones = jnp.ones
    for options, message in (
        ({"n_inputs": 0}, "n_inputs must be at least 1"),
        ({"n_outputs": 0}, "n_outputs must be at least 1"),
        ({"noise_std": -1.0}, "noise_std must be"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearStudentTeacher.generate(KEY, **options)
    for fields, message in (
        ({"spectrum": -ones(2)}, "spectrum must be finite and not negative"),
        ({"teacher": ones((1, 2)) * jnp.nan}, "teacher must be finite"),
        ({"dt": 0}, "dt must be"),
    ):
        good = {"teacher": ones((1, 2)), "axes": jnp.eye(2), "spectrum": ones(2)}
        with pytest.raises(ValueError, match=message):
            LinearStudentTeacher(**(good | fields))
