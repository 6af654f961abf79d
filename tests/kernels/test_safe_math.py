"""Safe roots, norms, deviations and cosines: textbook values, and derivatives at rest."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels import entropy_of_shares, safe_cosine, safe_norm, safe_sqrt, safe_std

#: Losses of a silent population of shape (time, unit).
LOSSES = {
    "norm": lambda rates: jnp.sum(safe_norm(rates)),
    "squared norm": lambda rates: jnp.sum(safe_norm(rates) ** 2),
    "cosine to ones": lambda rates: jnp.sum(safe_cosine(rates, jnp.ones_like(rates))),
    "deviation over time": lambda rates: jnp.sum(safe_std(rates, axis=0)),
    "root": lambda rates: jnp.sum(safe_sqrt(rates)),
}


@pytest.fixture(params=[False, True], ids=["float32", "float64"])
def precision(request):
    with jax.enable_x64(request.param):
        yield jnp.float64 if request.param else jnp.float32


@pytest.mark.parametrize("name", LOSSES)
def test_silent_population_has_finite_derivatives(name, precision):
    loss, rates = LOSSES[name], jnp.zeros((3, 2), precision)
    value, gradient = jax.value_and_grad(loss)(rates)
    assert gradient.dtype == value.dtype == precision
    assert value == 0
    np.testing.assert_array_equal(gradient, 0)
    tangents = jnp.stack([jnp.ones_like(rates), jnp.arange(6.0).reshape(3, 2).astype(precision)])
    values, directional = jax.vmap(lambda v: jax.jvp(loss, (rates,), (v,)))(tangents)
    np.testing.assert_array_equal(values, 0)
    np.testing.assert_array_equal(directional, 0)


def test_one_silent_row_leaves_the_others_alone(precision):
    rates = jnp.array([[0.0, 0.0], [3.0, 4.0]], precision)
    gradient = jax.grad(LOSSES["norm"])(rates)
    np.testing.assert_allclose(gradient, [[0, 0], [0.6, 0.8]], rtol=1e-6)
    _, slope = jax.jvp(LOSSES["norm"], (rates,), (jnp.ones_like(rates),))
    np.testing.assert_allclose(slope, 1.4, rtol=1e-6)


def test_values(precision):
    tolerance = 1e-14 if precision == jnp.float64 else 1e-6
    x = jnp.array([[3.0, 4.0], [1.0, -1.0]], precision)
    np.testing.assert_allclose(safe_norm(x), [5, 2**0.5], rtol=tolerance)
    np.testing.assert_allclose(safe_norm(x, axis=0), [10**0.5, 17**0.5], rtol=tolerance)
    np.testing.assert_allclose(safe_std(x), [0.5, 1], rtol=tolerance)
    y = jnp.array([[4.0, 3.0], [1.0, 1.0]], precision)
    np.testing.assert_allclose(safe_cosine(x, y), [0.96, 0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        safe_sqrt(jnp.array([4.0, 2.0, 0.0, -1.0], precision)), [2, 2**0.5, 0, 0], rtol=tolerance
    )


def test_derivatives_are_the_textbook_ones_away_from_rest():
    with jax.enable_x64(True):
        x = jnp.array([1.0, -2.0, 2.0])
        y = jnp.array([2.0, 0.5, 1.0])
        np.testing.assert_allclose(jax.grad(safe_norm)(x), x / 3, rtol=1e-14)
        np.testing.assert_allclose(jax.grad(safe_sqrt)(jnp.array(4.0)), 0.25, rtol=1e-14)
        centred = x - x.mean()
        deviation = jnp.sqrt(jnp.mean(centred**2))
        np.testing.assert_allclose(jax.grad(safe_std)(x), centred / (3 * deviation), rtol=1e-14)
        ny = jnp.linalg.norm(y)
        expected = y / (3 * ny) - (x @ y) * x / (27 * ny)
        np.testing.assert_allclose(jax.grad(safe_cosine)(x, y), expected, rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_small_and_large_scales(scale, precision):
    x = jnp.array([3.0, 4.0], precision) * scale
    tolerance = 1e-14 if precision == jnp.float64 else 2e-6
    np.testing.assert_allclose(safe_norm(x), 5 * scale, rtol=tolerance)
    np.testing.assert_allclose(safe_cosine(x, x), 1, rtol=tolerance)
    gradient = jax.grad(safe_norm)(x)
    np.testing.assert_allclose(gradient, [0.6, 0.8], rtol=tolerance)


@pytest.mark.parametrize("xp", [np, jnp])
def test_entropy_of_shares(xp):
    """ln 8 for eight alike, whatever stands beside them with nothing; 1.5 ln 2 for (2, 1, 1)."""
    alike = xp.asarray([3.0] * 8 + [0.0] * 4)
    assert float(entropy_of_shares(alike, xp)) == pytest.approx(np.log(8), rel=1e-6)
    halves = xp.asarray([2.0, 1.0, 1.0])
    assert float(entropy_of_shares(halves, xp)) == pytest.approx(1.5 * np.log(2), rel=1e-6)
    slope = jax.grad(entropy_of_shares)(jnp.asarray([1.0, 1.0, 0.0]))
    # An entry that is there moves nothing; of one at zero only what it takes from the others.
    np.testing.assert_allclose(slope, [0, 0, (1 - np.log(2)) / 2], atol=1e-6)
