"""Bilinear interpolation, and place fields, against functions that they equal exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels.lattice_interpolation import interpolate_lattice, lattice_points
from neurosim.kernels.place_field import place_field, place_field_map

pytestmark = pytest.mark.usefixtures("double_precision")


def bilinear(x):
    return jnp.stack([1 + 2 * x[..., 0], x[..., 0] * x[..., 1] - x[..., 1]], axis=-1)


def test_functions_that_are_bilinear_are_exact_between_points():
    values = jnp.moveaxis(bilinear(lattice_points(5)), -1, 0)
    x = np.random.default_rng(0).uniform(0, 4, (3, 7, 2))
    np.testing.assert_allclose(interpolate_lattice(values, x), bilinear(x), rtol=0, atol=1e-13)
    slope = jax.jacfwd(lambda x: interpolate_lattice(values, x))(jnp.asarray([1.25, 2.5]))
    np.testing.assert_allclose(slope, [[2, 0], [2.5, 0.25]], rtol=0, atol=1e-13)


def test_padding_takes_over_outside():
    values = 1 + jnp.arange(9.0).reshape(1, 3, 3)
    x = np.array([[-0.5, 1], [2.5, 2.5], [1, -0.25], [2, 2]])
    zero = interpolate_lattice(values, x, padding="zero")[:, 0]
    np.testing.assert_allclose(zero, [2 / 2, 9 / 4, 4 * 0.75, 9], rtol=0, atol=1e-14)
    edge = interpolate_lattice(values, x, padding="edge")[:, 0]
    np.testing.assert_allclose(edge, [2, 9, 4, 9], rtol=0, atol=1e-14)


def test_a_map_of_fields_is_the_field_of_every_bin():
    x = np.random.default_rng(1).uniform(0, 5, (4, 2))
    fields = place_field_map(x, width=1.7, n_bins=6)
    way = lattice_points(6) - x[:, None, None]
    np.testing.assert_allclose(fields, place_field(way, width=1.7), rtol=1e-13)
    assert place_field(jnp.asarray([0.0, 1.7]), width=1.7) == pytest.approx(np.exp(-0.5))
