"""Regression through the door of the circuits."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from neurosim import simulate
from neurosim.models.linear_map import LinearMap
from neurosim.tasks.linear_student_teacher import LinearStudentTeacher
from neurosim.training import fit, parameter_count

KEY = jax.random.key(0)


@pytest.mark.usefixtures("double_precision")
def test_outputs_are_the_map_of_the_latest_input():
    model, u = LinearMap.init(4, 2, key=KEY), np.random.default_rng(0).normal(size=(3, 5, 4))
    for options in ({}, {"solver": diffrax.Euler()}):
        y = simulate(model, u, dt=1.0, **options).outputs
        np.testing.assert_allclose(y, u @ np.asarray(model.W).T, rtol=0, atol=1e-14)


def test_size_and_variance():
    model = LinearMap.init(100, 3, key=KEY)
    assert parameter_count(model) == 300
    assert np.mean(np.asarray(model.W) ** 2) == pytest.approx(0.01, rel=4 * np.sqrt(2 / 300))
    with pytest.raises(ValueError, match="n_in must be"):
        LinearMap.init(0, 3, key=KEY)
    with pytest.raises(ValueError, match="tau must be"):
        LinearMap(jnp.ones((1, 1)), tau=-1.0)


@pytest.mark.usefixtures("double_precision")
def test_gradient_descent_has_the_closed_form_of_least_squares():
    task = LinearStudentTeacher.generate(KEY, n_inputs=3, n_outputs=2)
    trials = task.sample(KEY, 20)
    model = LinearMap.init(3, 2, key=jax.random.key(1))
    result = fit(model, trials, optimizer=optax.sgd(0.1), steps=7, dt=1.0, key=KEY, progress=False)
    U = np.asarray(trials.inputs[:, 0])
    shrink = np.eye(3) - 0.1 * 2 / (2 * 20) * U.T @ U
    error = (np.asarray(model.W) - np.asarray(task.teacher)) @ np.linalg.matrix_power(shrink, 7)
    np.testing.assert_allclose(result.model.W, np.asarray(task.teacher) + error, atol=1e-12)


@pytest.mark.usefixtures("double_precision")
def test_forward_derivatives_in_batches():
    model, u = LinearMap.init(3, 2, key=KEY), jnp.ones((2, 1, 3))

    def loss(W):
        return jnp.sum(simulate(LinearMap(W), u, dt=1.0).outputs ** 2)

    tangents = jnp.asarray(np.random.default_rng(1).normal(size=(3, 2, 3)))
    slopes = jax.vmap(lambda V: jax.jvp(loss, (model.W,), (V,))[1])(tangents)
    # d/dW of 2 |W 1|^2 along V.
    expected = 4 * np.sum(np.asarray(model.W).sum(1) * np.asarray(tangents).sum(2), axis=1)
    np.testing.assert_allclose(slopes, expected, rtol=1e-12)
    np.testing.assert_allclose(jnp.sum(jax.grad(loss)(model.W) * tangents[0]), slopes[0])
