"""The normalization equation against the rest of the flow, published forms and derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.normalization_equation import (
    normalization_equation,
    normalization_first_order,
)
from neurosim.kernels.divisive_normalization import normalization_flow, normalized_response

rng = np.random.default_rng(0)
Z, W = rng.normal(size=(5, 4)), rng.uniform(size=(4, 4))
GAINS = {name: rng.uniform(0.2, 1, size=4) for name in ("b", "b0", "sigma")}
PAIR = {"W": [[1, 0.5], [0.25, 2]], "b": (0.6, 0.8), "b0": (0.5, 0.7), "sigma": (0.2, 0.3)}


def test_two_units():
    y, a = normalization_equation((1, -0.5), **PAIR)
    np.testing.assert_allclose(a, [0.45, 0.4541], rtol=1e-12)
    np.testing.assert_allclose(y, [0.894427191, -0.593586807799], rtol=1e-9)


def test_one_contrast():
    c = np.array([0.05, 0.1, 0.25, 1.0])
    y = normalization_equation(c[:, None], W=[[1.0]], sigma=0.1, b=0.5).y
    np.testing.assert_allclose(y[:, 0] ** 2, [0.2, 0.5, 0.8620689655, 0.9900990099], rtol=1e-9)


def test_negative_drive_of_a_rectified_circuit_is_not_normalized():
    given = {"W": np.ones((4, 4)), "b": 0.5, "b0": 0.4, "sigma": 0.1, "rectify": "inner"}
    y, a = normalization_equation((0.8, -0.6, 0.3, -0.2), **given)
    np.testing.assert_allclose(a, 0.1841, rtol=1e-12)
    np.testing.assert_allclose(y, [0.9322515134, -0.3, 0.3495943175, -0.1], rtol=1e-9)
    assert np.array_equal(normalization_equation(Z, **given | {"rectify": "outer"}).a,
                          normalization_equation(Z, **given).a)  # fmt: skip


@pytest.mark.parametrize("rectify", ["none", "inner"])
def test_each_of_a_batch_is_at_rest(rectify, double_precision):
    y, a = normalization_equation(Z, W=W, rectify=rectify, **GAINS)
    for z, y_s, a_s in zip(Z, y, a):
        given = {"W_r": None, "W": jnp.asarray(W), "rectify": rectify} | GAINS
        dy, da = normalization_flow(jnp.asarray(y_s), jnp.asarray(a_s), jnp.asarray(z), **given)
        np.testing.assert_allclose(dy, 0, atol=1e-14)
        np.testing.assert_allclose(da, 0, atol=1e-14)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3.0])
def test_general_exponent(p):
    """Of one common gain, whatever it is."""
    expected = np.abs(Z) ** p / (0.3**p + np.abs(Z) ** p @ W.T)
    for b in (0.2, 1.0):
        y = normalization_equation(Z, W=W, sigma=0.3, b=b, exponent=p).y
        np.testing.assert_allclose(np.abs(y) ** p, expected, rtol=1e-12)
        assert np.array_equal(np.sign(y), np.sign(Z))


def test_jax_in_jax_out_and_as_the_kernel():
    z = jnp.asarray(Z[0], jnp.float32)
    given = {"W": jnp.asarray(W, jnp.float32), "b": 0.5, "b0": 0.4, "sigma": 0.1}
    y, a = jax.jit(lambda z: normalization_equation(z, **given))(z)
    assert y.dtype == jnp.float32
    expected = normalized_response(z, **given)
    np.testing.assert_allclose(y, expected[0], rtol=1e-5)
    np.testing.assert_allclose(a, expected[1], rtol=1e-5)


K3 = np.array([[0, 1, 0.5], [-0.5, 0.3, 1], [0.2, -0.4, 0.1]])
THREE = {
    "W": np.array([[1, 0.2, 0.1], [0.3, 1, 0.4], [0.5, 0.6, 1]]),
    "b": np.array([0.9, 0.5, 0.7]),
    "b0": np.array([0.4, 0.6, 0.8]),
    "sigma": np.array([0.3, 0.5, 0.2]),
}
Z3 = np.array([0.6, -0.64, 0.48])


def test_first_order_response_to_recurrent_weights():
    y1, a1 = normalization_first_order(Z3, K3, **THREE)
    np.testing.assert_allclose(y1, [-0.049602720264, -0.019359333897, 0.263715391286], rtol=1e-9)
    np.testing.assert_allclose(a1, [-0.108317418176, 0.031305330163, 0.077264995106], rtol=1e-9)
    batch = normalization_first_order(np.stack([Z3, 2 * Z3]), K3, **THREE)
    np.testing.assert_allclose(batch.y[0], y1)


def test_first_order_response_is_the_slope_of_the_rest_point():
    def rest(eps):
        a = normalization_equation(Z3, **THREE).a
        for _ in range(200):
            matrix = np.eye(3) - (1 - np.sqrt(a))[:, None] * (np.eye(3) + eps * K3)
            y = np.linalg.solve(matrix, THREE["b"] * Z3)
            a = (THREE["b0"] * THREE["sigma"]) ** 2 + THREE["W"] @ (a * y**2)
        return y, a

    h = 1e-5
    ahead, behind = rest(h), rest(-h)
    for slope, up, down in zip(normalization_first_order(Z3, K3, **THREE), ahead, behind):
        np.testing.assert_allclose(slope, (up - down) / (2 * h), rtol=1e-7)


GOOD = {"z": [1.0, 2], "W": np.ones((2, 2)), "sigma": 0.1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W": -np.eye(2)}, "W must be without negative entries, got -1 at index"),
        ({"W": np.ones((3, 3))}, r"W must be \(\.\.\., n, n\) with n = 2"),
        ({"sigma": 0.0}, "sigma must be positive, got 0"),
        ({"b": [0.5, -0.5]}, r"b must be positive, got -0.5 at index \(1,\)"),
        ({"b0": np.ones(3)}, "b0 must be a number or"),
        ({"z": [1.0, np.nan]}, "z must be finite"),
        ({"z": 1.0}, r"z must be \(\.\.\., n\) and not empty"),
        ({"z": np.ones((2, 2)), "b": np.ones((3, 2))}, "leading axes do not fit"),
        ({"exponent": 0.0}, "exponent must be positive"),
        ({"rectify": "both"}, "rectify must be 'none'"),
        ({"W": None}, "W is needed"),
    ],
)
def test_bad_input(change, message):
    given = GOOD | change
    with pytest.raises(ValueError, match=message):
        normalization_equation(given.pop("z"), **given)


def test_perturbation_of_another_shape():
    with pytest.raises(ValueError, match=r"perturbation must be \(\.\.\., n, n\) with n = 3"):
        normalization_first_order(Z3, np.eye(2), **THREE)
