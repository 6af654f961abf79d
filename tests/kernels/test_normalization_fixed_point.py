"""The rest point of a circuit with any recurrent matrix, against published and derived values."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels.divisive_normalization import (
    normalization_flow,
    normalization_jacobian,
    normalized_response,
)
from neurosim.kernels.normalization_fixed_point import (
    normalization_fixed_point,
    normalization_guess,
    normalization_iterate,
)

# Three neurons, recurrent matrix of largest singular value 1.
K = np.array([[0, 1, 0.5], [-0.5, 0.3, 1], [0.2, -0.4, 0.1]])
Z = np.array([0.6, -0.64, 0.48])
THREE = {
    "W_r": K / 1.4669874523,
    "W": np.array([[1, 0.2, 0.1], [0.3, 1, 0.4], [0.5, 0.6, 1]]),
    "b": np.array([0.9, 0.5, 0.7]),
    "b0": np.array([0.4, 0.6, 0.8]),
    "sigma": np.array([0.3, 0.5, 0.2]),
}
Y, A = (
    [0.5279265701, -0.2582516197, 0.4747166992],
    [0.0231902587, 0.1026156855, 0.0425200986],
)


def on_device(circuit):
    return {name: jnp.asarray(value) for name, value in circuit.items()}


@functools.partial(jax.jit, static_argnames=("rectify", "max_steps"))
def rest_points(z, circuit, rectify="none", max_steps=500):
    def one(z, circuit):
        return normalization_fixed_point(z, rectify=rectify, max_steps=max_steps, **circuit)

    return jax.vmap(one)(z, circuit)


def random_circuits(n_draws, n, singular_value, seed=0):
    """The authors' sampling: parameters U(0, 1), a drive of length 1."""
    rng = np.random.default_rng(seed)
    z, W_r = rng.normal(size=(n_draws, n)), rng.normal(size=(n_draws, n, n))
    W_r *= singular_value / np.linalg.norm(W_r, 2, axis=(1, 2))[:, None, None]
    rest = {name: rng.uniform(size=(n_draws, n)) for name in ("b", "b0", "sigma")}
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return z, {"W_r": W_r, "W": rng.uniform(size=(n_draws, n, n)), **rest}


def by_numpy(z, c, n_rounds):
    """The iteration for a whole batch, from equations: `y` after each round."""
    floor = (c["b0"] * c["sigma"]) ** 2
    drive = (c["b"] * z)[..., None]
    a = floor + np.einsum("bij,bj->bi", c["W"], (c["W_r"] @ drive)[..., 0] ** 2)
    found = []
    for _ in range(n_rounds):
        matrix = np.eye(z.shape[1]) - (1 - np.sqrt(a))[..., None] * c["W_r"]
        found.append(np.linalg.solve(matrix, drive)[..., 0])
        a = floor + np.einsum("bij,bj->bi", c["W"], a * found[-1] ** 2)
    return found


def spectral_abscissas(y, a, circuit, rectify="none"):
    def jacobian(y, a, c):
        return normalization_jacobian(
            y, a, W_r=c["W_r"], W=c["W"], tau_y=1.0, tau_a=1.0, rectify=rectify
        )

    jacobians = jax.jit(jax.vmap(jacobian))(y, a, {k: circuit[k] for k in ("W_r", "W")})
    return np.linalg.eigvals(np.asarray(jacobians)).real.max(-1)


def one_neuron(z, w_r, b, b0, sigma, rectify="none"):
    circuit = {"W_r": np.full((1, 1), w_r), "W": np.ones((1, 1)), "b": np.array([b])}
    circuit |= {"b0": np.array([b0]), "sigma": np.array([sigma])}
    batch = jax.tree.map(lambda x: jnp.asarray(x)[None], circuit)
    found = rest_points(jnp.full((1, 1), float(z)), batch, rectify)
    return [np.asarray(x)[0] for x in found]


def test_three_neurons_rest_where_they_should(double_precision):
    circuit = on_device(THREE)
    batch = jax.tree.map(lambda x: x[None], (jnp.asarray(Z), circuit))
    y, a, residual, converged = (x[0] for x in rest_points(*batch))
    np.testing.assert_allclose(y, Y, rtol=0, atol=1e-10)
    np.testing.assert_allclose(a, A, rtol=0, atol=1e-10)
    assert converged
    assert residual < 1e-10
    guess = normalization_guess(jnp.asarray(Z), **circuit)
    np.testing.assert_allclose(guess, [0.0285968751, 0.1071486845, 0.0649931711], atol=1e-10)
    first, pooled = normalization_iterate(guess, jnp.asarray(Z), **circuit)
    np.testing.assert_allclose(first, [0.5234156766, -0.2623501302, 0.4661392468], atol=1e-10)
    np.testing.assert_allclose(by_numpy(Z[None], {k: v[None] for k, v in THREE.items()}, 1)[0][0],
                               first, atol=1e-12)  # fmt: skip
    # The next guess is pooled from it.
    expected = (THREE["b0"] * THREE["sigma"]) ** 2 + THREE["W"] @ np.asarray(guess * first**2)
    np.testing.assert_allclose(pooled, expected, rtol=1e-13)


def test_the_scheme_without_the_square_root_is_not_at_rest(double_precision):
    """A known slip: `1 - a` for `1 - sqrt(a)` in the solve. It must not pass for a rest point."""
    floor, a = (THREE["b0"] * THREE["sigma"]) ** 2, np.asarray(A)
    y = np.zeros(3)
    for _ in range(500):
        y = np.linalg.solve(np.eye(3) - (1 - a)[:, None] * THREE["W_r"], THREE["b"] * Z)
        a = floor + THREE["W"] @ (a * y**2)
    np.testing.assert_allclose(y, [0.5562634618, -0.2255672213, 0.5000201594], atol=1e-10)
    flow = normalization_flow(jnp.asarray(y), jnp.asarray(a), jnp.asarray(Z), **on_device(THREE))
    assert np.max(np.abs(flow)) == pytest.approx(0.0282, abs=5e-5)


def test_the_first_order_of_the_response_is_its_derivative(double_precision):
    """Forward mode through the rest point, at the identity: T9's y1 and a1."""
    circuit = on_device({**THREE, "W_r": np.eye(3)})

    def rest(W_r):
        return normalization_fixed_point(jnp.asarray(Z), **{**circuit, "W_r": W_r})[:2]

    (y, a), (y1, a1) = jax.jit(lambda K: jax.jvp(rest, (jnp.eye(3),), (K,)))(jnp.asarray(K))
    np.testing.assert_allclose(y1, [-0.049602720264, -0.019359333897, 0.263715391286], atol=1e-9)
    np.testing.assert_allclose(a1, [-0.108317418176, 0.031305330163, 0.077264995106], atol=1e-9)
    closed = {name: value for name, value in circuit.items() if name != "W_r"}
    for found, expected in zip((y, a), normalized_response(jnp.asarray(Z), **closed)):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_a_thousand_stable_circuits_are_solved(double_precision):
    z, circuit = random_circuits(1000, 10, 1.0)
    y, a, residual, converged = rest_points(jnp.asarray(z), on_device(circuit))
    assert np.all(converged)
    assert np.max(residual) < 1e-10
    assert np.max(spectral_abscissas(y, a, on_device(circuit))) < -0.2
    # How far the published iteration is from there after 1, 2, 5 and 10 rounds.
    iterates = by_numpy(z, circuit, 10)
    errors = [np.mean(np.linalg.norm(iterates[k - 1] - y, axis=1)) for k in (1, 2, 5, 10)]
    for error, published in zip(errors, (0.032, 0.0091, 4.4e-4, 1.1e-5)):
        assert published / 4 < error < published * 4


def test_beyond_singular_value_1_the_circuit_is_followed_to_a_stable_point(double_precision):
    z, circuit = random_circuits(100, 10, 2.0, seed=1)
    y, a, residual, converged = rest_points(jnp.asarray(z), on_device(circuit))
    assert np.all(converged)
    assert np.max(residual) < 1e-9
    assert np.max(spectral_abscissas(y, a, on_device(circuit))) < 0
    # The iteration alone does not reach all of them: 24 of 400 as published.
    apart = np.abs(by_numpy(z, circuit, 100)[-1] - np.asarray(y)).max(1) > 1e-6
    assert 0 < np.mean(apart) < 0.2


def test_one_neuron_takes_the_stable_of_three_rest_points(double_precision):
    for w_r, b0, sigma, y, a in (
        (0.5, 0.5, 0.1, 0.897970691393, 0.012909979815),
        (2.0, 0.5, 0.1, 0.997778605094, 0.563335187470),
        (2.0, 1.0, 1.0, 0.416647517576, 1.210060667869),
    ):
        for sign in (1, -1):
            found = one_neuron(sign, w_r, 0.5, b0, sigma)
            assert found[3]
            np.testing.assert_allclose(np.ravel(found[:2]), [sign * y, a], atol=1e-9)
    # Rectified and with negative drive it is silent, and does not recur on itself.
    y, a, _, converged = one_neuron(-1, 2.0, 0.5, 0.5, 0.1, "inner")
    assert converged
    np.testing.assert_allclose(np.ravel([y, a]), [-0.5, 0.0025], atol=1e-9)


def test_a_circuit_without_a_stable_rest_point_says_so(double_precision):
    """w_r = -1: the only rest point is a saddle, and the circuit diverges."""
    y, a, residual, converged = one_neuron(1.0, -1.0, 1.0, 1.0, 1.0)
    assert not converged
    assert residual > 1
    assert np.all(np.isfinite([y, a]))
    _, circuit = random_circuits(1, 3, 1.0)
    few = rest_points(jnp.ones((1, 3)), on_device(circuit), "inner", 3)
    assert not few[3][0]


@pytest.mark.parametrize("rectify", ["none", "outer"])
def test_derivatives_are_those_of_the_rest_point(double_precision, rectify):
    """In both modes and of second order, along one direction of all parameters at once."""
    weights = np.random.default_rng(2).normal(size=(2, 3))
    rng, start = np.random.default_rng(3), (jnp.asarray(Z), on_device(THREE))
    direction = jax.tree.map(lambda p: jnp.asarray(rng.normal(size=p.shape)), start)

    def value(point):
        z, circuit = point
        y, a, _, _ = normalization_fixed_point(z, rectify=rectify, **circuit)
        return jnp.sum(weights[0] * y) + jnp.sum(weights[1] * jnp.sqrt(a))

    def slope(point):
        return jax.jvp(value, (point,), (direction,))

    @jax.jit
    @jax.vmap
    def along(s):
        point = jax.tree.map(lambda p, d: p + s * d, start, direction)
        (value, forward), (gradient, curvature) = jax.jvp(slope, (point,), (direction,))
        return value, forward, gradient, curvature

    step = 1e-5
    values, forward, gradient, curvature = along(jnp.array([0.0, step, -step]))
    np.testing.assert_allclose(gradient[0], forward[0], rtol=1e-10)
    assert forward[0] == pytest.approx(float(values[1] - values[2]) / (2 * step), rel=1e-6)
    assert curvature[0] == pytest.approx(float(forward[1] - forward[2]) / (2 * step), rel=1e-6)
    reverse = jax.tree.map(lambda g, d: jnp.sum(g * d), jax.jit(jax.grad(value))(start), direction)
    assert sum(jax.tree.leaves(reverse)) == pytest.approx(float(forward[0]), rel=1e-10)


def test_single_precision_and_silence():
    circuit = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), THREE)
    batch = jax.tree.map(lambda x: x[None], (jnp.asarray(Z, jnp.float32), circuit))
    y, a, residual, converged = (x[0] for x in rest_points(*batch))
    assert y.dtype == a.dtype == residual.dtype == jnp.float32
    assert converged
    np.testing.assert_allclose(y, Y, atol=2e-5)
    # No drive and no floor: everything is silent, and no derivative is NaN.
    nothing = {**circuit, "sigma": jnp.zeros(3)}

    def silent(z, circuit):
        y, a, _, _ = normalization_fixed_point(z, **circuit)
        return jnp.sum(y + a)

    total, gradient = jax.jit(jax.value_and_grad(silent, argnums=(0, 1)))(jnp.zeros(3), nothing)
    assert total == 0
    assert all(np.all(np.isfinite(g)) for g in jax.tree.leaves(gradient))


@pytest.mark.parametrize("rectify", ["none", "inner"])
def test_the_response_to_weak_drive_is_exact_in_single_precision(rectify):
    # With c the floor, y = (I - (1 - sqrt(c)) W_r)^-1 b z to first order, of units with y > 0 alone
    # where rectified: here all are.
    sizes = jnp.asarray([1e-6, 1e-5, 1e-4, 1e-3, 3e-3], jnp.float32)
    W_r = jnp.asarray([[0.8, 0.3], [0.1, 0.7]], jnp.float32)
    circuit = {"W_r": W_r, "W": 0 * W_r, "b": 0.9, "b0": 0.5, "sigma": 0.1}
    direction = jnp.asarray([0.6, 0.8], jnp.float32)
    y = jax.vmap(lambda s: normalization_fixed_point(s * direction, rectify=rectify, **circuit)[0])(
        sizes
    )
    expected = np.linalg.solve(np.eye(2) - 0.95 * np.asarray(W_r, float), 0.9 * direction)
    np.testing.assert_allclose(y / sizes[:, None], np.tile(expected, (5, 1)), rtol=1e-4)
