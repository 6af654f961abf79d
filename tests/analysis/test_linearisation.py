import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.linearisation import linearise

LINE = np.array([[0.8, 0.2], [0.2, 0.8]])


def test_line_attractor():
    local = linearise(lambda x: LINE @ x, np.array([1.0, 1.0]), kind="map")
    np.testing.assert_allclose(local.eigenvalues, [1, 0.6], atol=1e-14)
    assert local.time_constants[0] == np.inf
    np.testing.assert_allclose(local.time_constants[1], 1.957615, atol=5e-7)
    np.testing.assert_allclose(local.right_vectors[0], [0.5**0.5] * 2, atol=1e-14)
    np.testing.assert_allclose(local.value, [1, 1])
    assert local.condition == pytest.approx(1)
    assert local.henrici == pytest.approx(0, abs=1e-14)
    assert local.input_jacobian is None
    slow = linearise(lambda x: LINE @ x, np.zeros(2), kind="map", dt=0.01)
    np.testing.assert_allclose(slow.time_constants[1], 0.01957615, atol=5e-9)


@pytest.mark.parametrize(
    ("w", "point", "slope"),
    [
        (1.5, 0.8585596366, 0.3943130255),
        (2.0, 0.9575040241, 0.1663720878),
        (3.0, 0.9949015284, 0.0305128460),
    ],
)
def test_slopes_of_a_saturating_unit(w, point, slope):
    # In float64 though JAX is in float32.
    at_point = linearise(lambda x: jnp.tanh(w * x), np.array([point]), kind="map")
    np.testing.assert_allclose(at_point.jacobian, [[slope]], atol=2e-10)
    np.testing.assert_allclose(at_point.value, [point], atol=2e-10)
    at_zero = linearise(lambda x: jnp.tanh(w * x), np.zeros(1), kind="map")
    np.testing.assert_allclose(at_zero.eigenvalues, [w])
    assert at_zero.time_constants[0] < 0


def test_flow_with_oscillation_and_input():
    A = np.array([[-0.5, -3.0], [3.0, -0.5]])
    B = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]])
    local = linearise(lambda x, u: A @ x + B @ u, np.zeros(2), np.ones(3), kind="flow")
    np.testing.assert_allclose(local.input_jacobian, B)
    np.testing.assert_allclose(local.value, [3, -1])
    np.testing.assert_allclose(local.eigenvalues, [-0.5 - 3j, -0.5 + 3j])
    np.testing.assert_allclose(local.time_constants, [2, 2])
    np.testing.assert_allclose(local.frequencies, np.array([-3, 3]) / (2 * np.pi))


def test_rotation_of_a_map():
    angle = 0.3
    R = 0.9 * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    local = linearise(lambda x: R @ x, np.zeros(2), kind="map", dt=0.5)
    np.testing.assert_allclose(local.frequencies, np.array([-0.3, 0.3]) / (2 * np.pi * 0.5))
    np.testing.assert_allclose(local.time_constants, [-0.5 / np.log(0.9)] * 2)


def test_selection_vectors_and_non_normality():
    # Eigenvalues .9 and .5, right vectors (1, 0) and (-5, 1) up to length.
    A = np.array([[0.9, 2.0], [0.0, 0.5]])
    local = linearise(lambda x: A @ x, np.zeros(2), kind="map")
    np.testing.assert_allclose(local.left_vectors @ local.right_vectors.T, np.eye(2), atol=1e-14)
    # The slow mode is read out along (1, 5), though it moves along (1, 0).
    np.testing.assert_allclose(local.left_vectors[0], [1, 5], rtol=1e-12)
    np.testing.assert_allclose(local.right_vectors[1], np.array([5, -1]) / 26**0.5, rtol=1e-12)
    assert local.henrici == pytest.approx(2)
    # Of unit vectors at cosine c: sqrt((1 + c) / (1 - c)).
    c = 5 / 26**0.5
    assert local.condition == pytest.approx(np.sqrt((1 + c) / (1 - c)))


def test_feed_forward_chain_is_defective():
    chain = np.diag([1.0, 1.0], -1)
    local = linearise(lambda x: chain @ x, np.zeros(3), kind="map")
    assert local.left_vectors is None
    assert local.condition == np.inf
    assert local.henrici == pytest.approx(2**0.5)
    np.testing.assert_array_equal(local.time_constants, 0)


def test_invariant_under_orthogonal_maps_only():
    rng = np.random.default_rng(0)
    A, Q = rng.normal(size=(4, 4)), np.linalg.qr(rng.normal(size=(4, 4)))[0]
    S = rng.normal(size=(4, 4))

    def of(matrix):
        return linearise(lambda x: matrix @ x, np.zeros(4), kind="flow")

    given, rotated, sheared = of(A), of(Q @ A @ Q.T), of(S @ A @ np.linalg.inv(S))
    for other in (rotated, sheared):
        np.testing.assert_allclose(other.eigenvalues, given.eigenvalues, atol=1e-10)
    assert rotated.henrici == pytest.approx(given.henrici)
    assert rotated.condition == pytest.approx(given.condition)
    assert abs(sheared.henrici - given.henrici) > 0.1


def test_centre_neither_grows_nor_decays():
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for kind in ("flow", "map"):
        local = linearise(lambda x: turn @ x, np.zeros(2), kind=kind)
        np.testing.assert_array_equal(local.time_constants, np.inf)


@pytest.mark.usefixtures("double_precision")
def test_jax_state_in_double_precision():
    local = linearise(lambda x: jnp.tanh(2 * x), jnp.array([0.9575040241]), kind="map")
    np.testing.assert_allclose(local.jacobian, [[0.1663720878]], atol=2e-10)


def test_jax_state_in_single_precision():
    local = linearise(lambda x: jnp.asarray(LINE, x.dtype) @ x, jnp.ones(2), kind="map")
    assert local.jacobian.dtype == np.float64
    assert local.time_constants[0] == np.inf


def test_refusals():
    zeros = np.zeros(2)
    with pytest.raises(ValueError, match="kind"):
        linearise(lambda x: x, zeros, kind="ode")
    with pytest.raises(ValueError, match="a flow has none"):
        linearise(lambda x: x, zeros, kind="flow", dt=0.1)
    with pytest.raises(ValueError, match="dt must be a positive"):
        linearise(lambda x: x, zeros, kind="map", dt=0)
    with pytest.raises(ValueError, match="one vector"):
        linearise(lambda x: x, np.zeros((2, 2)), kind="map")
    with pytest.raises(ValueError, match="not finite at entry 1"):
        linearise(lambda x: x, np.array([0, np.nan]), kind="map")
    with pytest.raises(ValueError, match="shape of the state"):
        linearise(lambda x: x[:1], zeros, kind="map")
    with pytest.raises(ValueError, match="cannot take one state"):
        linearise(lambda x: np.eye(3) @ x, zeros, kind="map")
    with pytest.raises(ValueError, match="derivative is not finite"):
        linearise(lambda x: 1 / x, zeros, kind="map")
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda x: linearise(lambda s: s, x, kind="map").jacobian)(jnp.zeros(2))
