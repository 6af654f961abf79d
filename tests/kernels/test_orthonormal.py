"""Orthonormal columns: span, signs and derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden_network import golden_weights

from neurosim.kernels import orthonormal_columns


@pytest.mark.parametrize(("double", "tolerance"), [(True, 1e-14), (False, 1e-6)])
def test_columns_are_orthonormal_in_the_same_span_with_a_positive_triangle(double, tolerance):
    matrix = np.random.default_rng(0).normal(size=(9, 4))
    with jax.enable_x64(double):
        q = np.asarray(orthonormal_columns(jnp.asarray(matrix)))
        np.testing.assert_allclose(q.T @ q, np.eye(4), atol=tolerance)
        triangle = q.T @ matrix
        np.testing.assert_allclose(q @ triangle, matrix, atol=10 * tolerance)
        np.testing.assert_allclose(triangle, np.triu(triangle), atol=10 * tolerance)
        assert np.all(np.diag(triangle) > 0)
        again = orthonormal_columns(jnp.asarray(q))
        np.testing.assert_allclose(again, q, atol=2 * tolerance)


def test_lapack_keeps_the_signs_of_the_routine():
    """The golden left factor has the triangle diagonal (-1.359, 1.071) under LAPACK."""
    with jax.enable_x64(True):
        L = jnp.asarray(golden_weights()["L"])
        q = orthonormal_columns(L, sign="lapack")
        np.testing.assert_allclose(np.diag(q.T @ L), [-1.359, 1.071], atol=5e-4)
        positive = orthonormal_columns(L, sign="positive")
        np.testing.assert_allclose(positive, q * np.array([-1, 1]), atol=1e-15)


def test_derivatives_agree_with_finite_differences_in_both_modes():
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        matrix, direction, weight = (jnp.asarray(rng.normal(size=(5, 2))) for _ in range(3))

        def probe(m):
            return jnp.sum(weight * orthonormal_columns(m))

        step = 1e-6
        expected = (probe(matrix + step * direction) - probe(matrix - step * direction)) / 2 / step
        _, forward = jax.jvp(probe, (matrix,), (direction,))
        reverse = jnp.sum(jax.grad(probe)(matrix) * direction)
        np.testing.assert_allclose([forward, reverse], expected, rtol=1e-8)
