"""Sketches against gradients, Jacobians and Hessians, and against numbers computed by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sketch_problems import (
    THETA,
    V,
    X,
    flat,
    random_tangents,
    squared_error,
    tanh_rnn,
)

from neurosim.kernels.tangents import project_curvature, push_tangents
from neurosim.training.marked_loss import mark, no_loss, sketch_marked
from neurosim.training.sketch import sketch, sketch_scan

pytestmark = pytest.mark.usefixtures("double_precision")


def test_value_slopes_and_curvature_of_a_linear_model():
    found = sketch(lambda p: X @ p, squared_error, THETA, V)
    assert found.loss == pytest.approx(0.5071668762, abs=1e-10)
    np.testing.assert_allclose(found.gradient, [-0.2068340530, 1.5770076912], atol=1e-10)
    ggn = [[2.4467398670, 1.7061849980], [1.7061849980, 6.2312641427]]
    np.testing.assert_allclose(found.ggn, ggn, atol=1e-10)


def test_value_slopes_and_curvature_of_a_poisson_loss():
    counts = np.array([0, 3, 3, 0, 2, 3])
    found = sketch(lambda p: X @ p, lambda y: jnp.mean(jnp.exp(y) - counts * y), THETA, V)
    assert found.loss == pytest.approx(0.8623882065, abs=1e-10)
    np.testing.assert_allclose(found.gradient, [0.2314251244, 0.3433703235], atol=1e-10)
    ggn = [[1.3919579988, 1.0719933136], [1.0719933136, 3.5642860047]]
    np.testing.assert_allclose(found.ggn, ggn, atol=1e-10)


def test_scalar_recurrence_in_closed_form():
    """z' = a z + 1 from 0, a = 1/2: z = 2 - 2^(1-t), dz/da = (0, 1, 2, 2.75, 3.25)."""
    found = sketch_scan(
        lambda a, z, x: (a * z + 1, a * z + 1),
        lambda z, target: (z - 1) ** 2 / 5,
        lambda a: jnp.zeros(()),
        jnp.asarray(0.5),
        jnp.ones(1),
        None,
        jnp.zeros(5),
    )
    values = np.array([1, 1.5, 1.75, 1.875, 1.9375])
    assert found.loss == pytest.approx(np.mean((values - 1) ** 2), abs=1e-15)
    np.testing.assert_allclose(found.ggn, [[9.25]], rtol=1e-15)
    np.testing.assert_allclose(found.gradient, [2.98125], rtol=1e-15)
    assert found.gradient[0] / found.ggn[0, 0] == pytest.approx(0.3222973, abs=1e-7)


def forms(params, tangents, xs, labels, init, step, share, outputs, loss):
    """The three ways to a sketch of the same loss."""

    def marked(p):
        def body(carry, at):
            z, total = carry
            x, label = at
            z, y = step(p, z, x)
            return (z, total + mark(share, y, label)), None

        (_, total), _ = jax.lax.scan(body, (init(p), no_loss()), (xs, labels))
        return total

    return {
        "whole": sketch(outputs, loss, params, tangents),
        "scan": sketch_scan(step, share, init, params, tangents, xs, labels),
        "chunks": sketch_scan(step, share, init, params, tangents, xs, labels, chunk_size=3),
        "marked": sketch_marked(marked, params, tangents),
        "whole in chunks": sketch(outputs, loss, params, tangents, chunk_size=2),
    }


@pytest.mark.parametrize("k", [1, 7])
def test_slopes_and_curvature_of_a_recurrent_network(k):
    params, *parts = tanh_rnn()
    *_, outputs, loss = parts
    tangents = random_tangents(params, k)
    gradient = flat(
        jax.tree.map(lambda x: x[None], jax.grad(lambda p: loss(outputs(p)))(params)), 1
    )
    jacobian = jax.jacrev(outputs)(params)
    n = outputs(params).size
    J = flat(jax.tree.map(lambda j, p: j.reshape(n, *p.shape), jacobian, params), n)
    H = jax.hessian(loss)(outputs(params)).reshape(n, n)
    G = J.T @ H @ J
    assert len(G) == 78
    assert np.linalg.matrix_rank(G, tol=1e-12 * np.linalg.norm(G)) == 72
    V = flat(tangents, k)
    for name, found in forms(params, tangents, *parts).items():
        assert found.loss == pytest.approx(float(loss(outputs(params))), rel=1e-14), name
        np.testing.assert_allclose(found.gradient, V @ gradient[0], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.ggn, V @ G @ V.T, rtol=1e-12, atol=1e-14)


def test_tangents_of_the_initial_state_count():
    params, *parts = tanh_rnn()
    only_start = jax.tree.map(jnp.zeros_like, random_tangents(params, 2))
    only_start["z0"] = jnp.eye(2, 6)
    gradient = jax.grad(lambda p: parts[-1](parts[-2](p)))(params)["z0"][:2]
    for found in forms(params, only_start, *parts).values():
        np.testing.assert_allclose(found.gradient, gradient, rtol=1e-12, atol=1e-15)
    assert np.all(np.abs(gradient) > 1e-6)


def test_steps_without_weight_do_not_count():
    params, xs, labels, init, step, share, outputs, _ = tanh_rnn()
    tangents = random_tangents(params, 5)
    weights = jnp.zeros(11).at[-1].set(1)
    found = sketch_scan(step, share, init, params, tangents, xs, labels, weights=weights)
    last = sketch(lambda p: outputs(p)[-1], lambda y: share(y, labels[-1]), params, tangents)
    for a, b in zip(found, last):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-16)


def test_a_factor_of_the_loss_is_one_of_all_three():
    params, xs, labels, init, step, share, *_ = tanh_rnn()
    tangents = random_tangents(params, 3)
    one = sketch_scan(step, share, init, params, tangents, xs, labels)
    seven = sketch_scan(step, lambda y, l: 7 * share(y, l), init, params, tangents, xs, labels)
    for a, b in zip(one, seven):
        np.testing.assert_allclose(7 * a, b, rtol=1e-13)


def test_quadratic_model_of_a_linear_network_is_exact():
    """c(p + e d) = c + e C.z + e^2/2 z G z, for a squared error of outputs linear in p."""
    found = sketch(lambda p: X @ p, squared_error, THETA, V)
    z = np.array([0.3, -1.2])
    for epsilon in (0.1, 1.0, 10.0):
        value = squared_error(X @ (THETA + epsilon * z @ V))
        model = found.loss + epsilon * found.gradient @ z + epsilon**2 / 2 * z @ found.ggn @ z
        assert value == pytest.approx(float(model), rel=1e-12)


def test_quadratic_model_of_a_convex_loss_errs_by_the_third_order():
    def loss(y):
        return jnp.mean(jnp.exp(y) - y)

    found = sketch(lambda p: X @ p, loss, THETA, V)
    z = np.array([0.3, -1.2])

    def error(epsilon):
        value = loss(X @ (THETA + epsilon * z @ V))
        return (
            value - found.loss - epsilon * found.gradient @ z - epsilon**2 / 2 * z @ found.ggn @ z
        )

    assert error(1e-2) / error(5e-3) == pytest.approx(8, rel=0.02)


@pytest.mark.parametrize(("residual", "order"), [(0.5, 2), (0.0, 3)])
def test_quadratic_model_of_a_bent_output_errs_by_its_residual(residual, order):
    """The curvature left out is that of the outputs times what they miss their target by."""
    target = np.tanh(X @ THETA) + residual

    def outputs(p):
        return jnp.tanh(X @ p)

    def loss(y):
        return jnp.mean((y - target) ** 2)

    found = sketch(outputs, loss, THETA, V)
    z = np.array([0.3, -1.2])

    def error(epsilon):
        value = loss(outputs(THETA + epsilon * z @ V))
        model = found.loss + epsilon * found.gradient @ z + epsilon**2 / 2 * z @ found.ggn @ z
        return value - model

    assert error(2e-3) / error(1e-3) == pytest.approx(2**order, rel=0.02)


def test_chunks_of_all_sizes_agree():
    params, xs, labels, init, step, share, *_ = tanh_rnn()
    tangents = random_tangents(params, 7)
    all_at_once = sketch_scan(step, share, init, params, tangents, xs, labels)
    for size in (1, 2, 7, 100):
        found = sketch_scan(step, share, init, params, tangents, xs, labels, chunk_size=size)
        for a, b in zip(found, all_at_once):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


def test_pushes_tangents_of_several_arguments():
    value, pushed = push_tangents(
        lambda a, b: a * b, (jnp.asarray(2.0), jnp.asarray(3.0)), (jnp.eye(2)[0], jnp.eye(2)[1])
    )
    assert value == 6
    np.testing.assert_array_equal(pushed, [3, 2])


def test_curvature_of_a_tree_of_outputs():
    outputs = {"a": jnp.array([1.0, 2.0]), "b": jnp.asarray(3.0)}
    pushed = {"a": jnp.array([[1.0, 0], [0, 1]]), "b": jnp.array([1.0, 2.0])}
    value, slopes, curvature = project_curvature(
        lambda y: jnp.sum(y["a"] ** 2) + y["b"] ** 2, outputs, pushed
    )
    assert value == 14
    np.testing.assert_allclose(slopes, [2 + 6, 4 + 12])
    np.testing.assert_allclose(curvature, [[4, 4], [4, 10]])


def test_reverse_mode_in_the_way_is_named():
    @jax.custom_vjp
    def own(x):
        return x * 2.0

    own.defvjp(lambda x: (own(x), None), lambda _, g: (2 * g,))
    for call in (
        lambda: sketch(lambda p: own(p), squared_error, jnp.ones(6), jnp.ones((1, 6))),
        lambda: sketch_marked(lambda p: mark(squared_error, own(p)), jnp.ones(6), jnp.ones((1, 6))),
    ):
        with pytest.raises(ValueError, match=r"adjoint=diffrax\.ForwardMode\(\)"):
            call()


def test_bad_input_is_refused():
    params, xs, labels, init, step, share, *_ = tanh_rnn()
    tangents = random_tangents(params, 2)
    with pytest.raises(ValueError, match=r"weights must have shape \(11,\), got \(10,\)"):
        sketch_scan(step, share, init, params, tangents, xs, labels, weights=jnp.ones(10))
    with pytest.raises(ValueError, match=r"one number of steps between them, got \[4, 11\]"):
        sketch_scan(step, share, init, params, tangents, xs, labels[:4])
    with pytest.raises(ValueError, match="chunk_size"):
        sketch_scan(step, share, init, params, tangents, xs, labels, chunk_size=0)
    with pytest.raises(ValueError, match="sum of marked losses"):
        sketch_marked(lambda p: jnp.sum(p), jnp.ones(3), jnp.ones((1, 3)))
