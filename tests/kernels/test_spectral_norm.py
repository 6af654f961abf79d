"""The largest singular value against NumPy, and its derivative where vectors are not unique."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels.spectral_norm import spectral_norm, spectrally_normalized


def test_the_largest_singular_value_has_a_derivative(double_precision):
    matrix = np.random.default_rng(3).normal(size=(5, 3))
    u, s, v = np.linalg.svd(matrix)
    value, gradient = jax.value_and_grad(spectral_norm)(jnp.asarray(matrix))
    assert value == pytest.approx(s[0], rel=1e-12)
    np.testing.assert_allclose(gradient, np.outer(u[:, 0], v[0]), atol=1e-10)
    # Where all are equal, and where all are 0.
    rotation = jnp.linalg.qr(jnp.asarray(np.random.default_rng(4).normal(size=(6, 6))))[0]
    value, gradient = jax.value_and_grad(spectral_norm)(rotation)
    assert value == pytest.approx(1, abs=1e-12)
    assert np.linalg.norm(gradient) == pytest.approx(1)
    value, gradient = jax.value_and_grad(spectral_norm)(jnp.zeros((3, 3)))
    assert value == 0
    assert np.all(np.isfinite(gradient))
    with jax.enable_x64(False):
        single = jnp.asarray(matrix, jnp.float32)
        for size in (1e-30, 1e-12, 1e30):
            assert spectral_norm(size * single) == pytest.approx(size * s[0], rel=1e-5)


def test_a_matrix_over_its_norm_has_norm_1():
    matrix = np.random.default_rng(5).normal(size=(4, 4))
    scaled = np.asarray(spectrally_normalized(jnp.asarray(matrix, jnp.float32)))
    np.testing.assert_allclose(scaled, matrix / np.linalg.norm(matrix, 2), rtol=1e-5)
    assert np.all(np.asarray(spectrally_normalized(jnp.zeros((2, 2)))) == 0)
