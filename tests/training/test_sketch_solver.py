"""Damped steps in a subspace against exact ones, optima and numbers computed by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sketch_problems import TARGET, THETA, V, X, flat, one_row, squared_error, tanh_rnn

from neurosim.training.sketch import sketch
from neurosim.training.sketch_solver import (
    combine_tangents,
    gram_matrix,
    orthonormalise,
    solve_sketch,
)

pytestmark = pytest.mark.usefixtures("double_precision")

RNG = np.random.default_rng(0)


def frame(k, p, rng=RNG):
    return np.linalg.qr(rng.normal(size=(p, k)))[0].T


def stepped(tangents, rate=1.0, **options):
    found = sketch(lambda p: X @ p, squared_error, THETA, tangents)
    z = solve_sketch(found.ggn, found.gradient, **options).coefficients
    return THETA - rate * np.asarray(combine_tangents(tangents, z))


def test_numbers():
    undamped = stepped(V, damping=0.0)
    np.testing.assert_allclose(undamped, [0.5226133013, -0.5828295567, -0.1188014770], atol=1e-10)
    assert squared_error(X @ undamped) == pytest.approx(0.2045963022, abs=1e-10)
    orthonormal = orthonormalise(V)
    relative = [0.3590129647, -0.2371983135, -0.1095861920]
    np.testing.assert_allclose(stepped(orthonormal, 0.5, damping=1e-2), relative, atol=1e-10)
    whitened = stepped(V, 0.5, damping=1e-2, gram=gram_matrix(V))
    np.testing.assert_allclose(whitened, relative, atol=1e-10)
    unit = V / np.linalg.norm(V, axis=1, keepdims=True)
    np.testing.assert_allclose(
        stepped(unit, 0.5, damping=1e-2), [0.3564523400, -0.2340007901, -0.1105480551], atol=1e-10
    )
    np.testing.assert_allclose(
        stepped(orthonormal, damping=0.05, damping_mode="absolute"),
        [0.5062204994, -0.5525848945, -0.1200719479],
        atol=1e-10,
    )
    found = sketch(lambda p: X @ p, squared_error, THETA, orthonormal)
    spectrum = solve_sketch(found.ggn, found.gradient).spectrum
    np.testing.assert_allclose(spectrum, [1.0163742054, 1.3484988639], atol=1e-10)


@pytest.mark.parametrize("square", ["identity", "random"])
def test_one_step_solves_least_squares(square):
    tangents = np.eye(3) if square == "identity" else RNG.normal(size=(3, 3))
    best = np.linalg.lstsq(X, TARGET, rcond=None)[0]
    np.testing.assert_allclose(stepped(tangents, damping=0.0), best, atol=1e-12)


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
def test_a_full_frame_gives_the_damped_gauss_newton_step(gamma):
    params, *_, outputs, loss = tanh_rnn()
    size = sum(x.size for x in jax.tree.leaves(params))
    leaves, structure = jax.tree.flatten(params)
    rows, start = [], 0
    basis = frame(size, size)
    for leaf in leaves:
        rows.append(basis[:, start : start + leaf.size].reshape(size, *leaf.shape))
        start += leaf.size
    tangents = jax.tree.unflatten(structure, rows)
    n = outputs(params).size
    jacobian = jax.jacrev(outputs)(params)
    J = flat(jax.tree.map(lambda j, p: j.reshape(n, *p.shape), jacobian, params), n)
    G = J.T @ jax.hessian(loss)(outputs(params)).reshape(n, n) @ J
    gradient = flat(
        jax.tree.map(lambda x: x[None], jax.grad(lambda p: loss(outputs(p)))(params)), 1
    )
    found = sketch(outputs, loss, params, tangents)
    for mode, damping in (("absolute", gamma), ("relative_max", gamma)):
        exact = gamma if mode == "absolute" else gamma * np.linalg.eigvalsh(G)[-1]
        z = solve_sketch(found.ggn, found.gradient, damping=damping, damping_mode=mode)
        step = flat(one_row(combine_tangents(tangents, z.coefficients)), 1)
        expected = np.linalg.solve(G + exact * np.eye(size), gradient[0])
        np.testing.assert_allclose(step[0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_a_quadratic_falls_as_foretold_and_to_its_least_in_the_subspace(rate):
    A = RNG.normal(size=(30, 12))
    b = RNG.normal(size=30)
    theta = RNG.normal(size=12)
    tangents = RNG.normal(size=(5, 12))

    def loss(y):
        return jnp.sum((y - b) ** 2)

    found = sketch(lambda p: A @ p, loss, theta, tangents)
    z = np.asarray(solve_sketch(found.ggn, found.gradient, damping=0.0).coefficients)
    new = theta - rate * np.asarray(combine_tangents(tangents, z))
    C, G = np.asarray(found.gradient), np.asarray(found.ggn)
    drop = float(loss(A @ theta) - loss(A @ new))
    assert drop == pytest.approx(rate * C @ z - rate**2 / 2 * z @ G @ z, rel=1e-11)
    if rate == 1:
        assert drop == pytest.approx(C @ np.linalg.solve(G, C) / 2, rel=1e-11)
        slope = tangents @ jax.grad(lambda p: loss(A @ p))(new)
        np.testing.assert_allclose(slope, 0, atol=1e-11 * np.abs(C).max())


def test_the_step_depends_on_the_span_alone_where_tangents_are_orthonormal():
    mixed = RNG.normal(size=(2, 2)) @ V
    one = stepped(orthonormalise(V), damping=1e-2)
    np.testing.assert_allclose(stepped(orthonormalise(mixed), damping=1e-2), one, atol=1e-13)
    gram = {"gram": gram_matrix(mixed)}
    np.testing.assert_allclose(stepped(mixed, damping=1e-2, **gram), one, atol=1e-13)
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (V, mixed)]
    apart = [stepped(v, damping=0.3) for v in unit]
    assert np.abs(apart[0] - apart[1]).max() > 1e-3


def test_damping_modes_and_powers_of_a_diagonal():
    ggn, gradient = jnp.diag(jnp.array([4.0, 1.0])), jnp.array([8.0, 3.0])

    def z(**options):
        return np.asarray(solve_sketch(ggn, gradient, **options).coefficients)

    np.testing.assert_allclose(z(damping=0.5), [8 / 6, 3 / 3])
    np.testing.assert_allclose(z(damping=0.5, damping_mode="relative_min"), [8 / 4.5, 3 / 1.5])
    np.testing.assert_allclose(z(damping=0.5, damping_mode="absolute"), [8 / 4.5, 3 / 1.5])
    np.testing.assert_allclose(
        z(damping=5.0, damping_mode="absolute", power=0.5), [8 / 3, 3 / 6**0.5]
    )
    np.testing.assert_allclose(z(damping=0.0), [2, 3])
    # Without curvature the slopes themselves.
    np.testing.assert_allclose(z(damping=0.5, power=0.0), [8, 3])


def test_a_singular_curvature_without_damping_is_a_pseudo_inverse():
    v = np.array([[1.0, 2.0, 2.0]]) / 3
    ggn, gradient = 4 * v.T @ v, 2 * v[0]
    z = solve_sketch(jnp.asarray(ggn), jnp.asarray(gradient), damping=0.0).coefficients
    np.testing.assert_allclose(z, 0.5 * v[0], atol=1e-14)


def test_spurious_negative_eigenvalues_count_as_zero():
    found = solve_sketch(jnp.diag(jnp.array([1.0, -1e-9])), jnp.ones(2), damping=1e-3)
    np.testing.assert_allclose(found.coefficients, [1 / 1.001, 1000])
    np.testing.assert_allclose(found.spectrum, [-1e-9, 1])


@pytest.mark.parametrize(("k", "p"), [(1, 5), (5, 40), (5, 41), (3, 200), (40, 40)])
def test_orthonormal_tangents_of_the_same_span(k, p):
    raw = {"a": RNG.normal(size=(k, p - 1)), "b": RNG.normal(size=(k, 1))}
    turned = orthonormalise(raw)
    Q, R = flat(turned, k), flat(raw, k)
    np.testing.assert_allclose(Q @ Q.T, np.eye(k), atol=1e-13)
    np.testing.assert_allclose(R @ Q.T @ Q, R, atol=1e-11)
    # The nearest orthonormal set is the polar factor.
    u, _, vt = np.linalg.svd(R, full_matrices=False)
    np.testing.assert_allclose(Q, u @ vt, atol=1e-8)


@pytest.mark.parametrize("p", [64, 90, 600])
def test_orthonormal_in_single_precision(p):
    with jax.enable_x64(False):
        for _ in range(5):
            Q = np.asarray(orthonormalise(jnp.asarray(RNG.normal(size=(64, p)), jnp.float32)))
            np.testing.assert_allclose(Q @ Q.T, np.eye(64), atol=5e-6)
