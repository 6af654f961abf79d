"""Contact of ellipsoids against closed forms, and the nearest pair against all pairs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from neurosim.kernels.contact import contact_function, min_distance

A, B = np.array([0.1, 30, 5, 12, 0.1]), np.array([20, 0.1, 5, 3, 0.1])


def test_contact_has_its_closed_forms():
    for a, b, value, place in (([9.0], [1.0], 4.0, 0.25), ([0.0], [2.0], 2.0, 1.0)):
        g, s = contact_function(a, b)
        np.testing.assert_allclose([g, s], [value, place], rtol=1e-11)
    g, s = contact_function(A, B)
    assert g == pytest.approx(30.223807, abs=1e-6)
    assert s == pytest.approx(0.169840, abs=1e-6)
    assert contact_function(B, A)[1] == pytest.approx(1 - s, abs=1e-12)
    assert 27.401659 < g < 46.907471
    assert contact_function(3 * A, 3 * B)[0] == pytest.approx(3 * g, rel=1e-12)
    assert contact_function(np.zeros(3), np.zeros(3))[0] == 0


def test_contact_is_the_maximum_and_within_its_bounds():
    rng = np.random.default_rng(0)
    a, b = rng.gamma(1, 10, (2, 20, 6))
    for x, y, g in zip(a, b, contact_function(a, b)[0], strict=True):
        found: Any = minimize_scalar(
            lambda s, x=x, y=y: -np.sum((y - x) ** 2 / (x / (1 - s) + y / s)),
            bounds=(1e-9, 1 - 1e-9),
            method="bounded",
            options={"xatol": 1e-12},
        )
        assert g == pytest.approx(-found.fun, rel=1e-10)
        assert np.sum((x - y) ** 2 / (x + y)) / 2 <= g <= np.sum((np.sqrt(x) - np.sqrt(y)) ** 2)


@pytest.mark.usefixtures("double_precision")
def test_derivatives_are_those_of_the_maximum():
    a, b, shift = jnp.asarray(A), jnp.asarray(B), np.eye(5)[0] * 1e-5
    for part in (0, 1):
        slope = jax.grad(lambda y, part=part: contact_function(a, y)[part])(b)[0]
        ends = [contact_function(A, B + sign * shift)[part] for sign in (1, -1)]
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    rest = jax.grad(lambda y: contact_function(y, jnp.zeros(5))[0])(jnp.zeros(5))
    np.testing.assert_array_equal(rest, 0)
    assert np.isfinite(jax.grad(lambda y: contact_function(a, y)[0])(a)).all()


def test_single_precision_of_jax():
    g, s = jax.jit(contact_function)(jnp.asarray(A, jnp.float32), jnp.asarray(B, jnp.float32))
    np.testing.assert_allclose([g, s], [30.223807, 0.16984], rtol=2e-5)


def test_nearest_pair_is_that_of_all_pairs():
    rng = np.random.default_rng(1)
    for _ in range(400):
        m, n, cells = rng.integers(1, 7, 3)
        FA, FB = (rng.gamma(0.5, 10, (q, cells)) + rng.choice([0, 0.1]) for q in (m, n))
        FA[rng.random(FA.shape) < 0.3] = 0
        surface = contact_function(FA[:, None], FB[None])[0]
        found = min_distance(FA, FB, "poisson")
        np.testing.assert_allclose(found.value, surface.min(), rtol=1e-10, atol=1e-10)
        delta = np.linalg.norm(FA[:, None] - FB[None], axis=-1)
        np.testing.assert_allclose(min_distance(FA, FB).value, delta.min(), atol=1e-10)


@pytest.mark.parametrize("noise", ["constant", "poisson"])
def test_invariances_of_the_nearest_pair(noise):
    rng = np.random.default_rng(2)
    FA, FB = rng.gamma(1, 10, (2, 30, 25))
    found = min_distance(FA, FB, noise)
    cells = rng.permutation(25)
    assert min_distance(FA[:, cells], FB[:, cells], noise).value == pytest.approx(found.value)
    other = min_distance(FB, FA, noise)
    assert other.value == pytest.approx(found.value, rel=1e-12)
    assert (other.index_a, other.index_b) == (found.index_b, found.index_a)
    assert other.s == pytest.approx(1 - found.s, abs=1e-9)
    assert min_distance(FA, FA, noise).value == 0
    assert min_distance(5 * FA, 5 * FB, noise).value == pytest.approx(5 * found.value)
    assert min_distance(FA[:, 1:], FB[:, 1:], noise).value <= found.value
    assert min_distance(FA[::2], FB, noise).value >= found.value


def test_constant_noise_of_five_cells():
    assert min_distance(A[None], B[None]).value == pytest.approx(37.027287, abs=1e-6)


@pytest.mark.parametrize(
    ("FA", "FB", "noise", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 4)), "constant", "same cells"),
        (np.ones(3), np.ones(3), "constant", "FA must be"),
        (-np.ones((2, 3)), np.ones((2, 3)), "poisson", "FA must hold rates"),
        (np.ones((2, 3)), np.full((2, 3), np.nan), "poisson", "FB must hold rates"),
        (np.ones((2, 3)), np.ones((2, 3)), "gamma", "noise must be"),
    ],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_refused(FA, FB, noise, message):
    with pytest.raises(ValueError, match=message):
        min_distance(FA, FB, noise)


def test_negative_rates_of_jax_are_refused():
    with pytest.raises(ValueError, match="b must hold rates"):
        contact_function(jnp.ones(2), -jnp.ones(2))
