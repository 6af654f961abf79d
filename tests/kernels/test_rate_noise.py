"""Variance, information and thresholds of noisy rates, against hand-computed numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels.distance_surface import distance_surface
from neurosim.kernels.rate_noise import (
    position_information,
    rate_noise_variance,
    separability_thresholds,
)

F, J = np.array([26.486657]), np.array([[131.933286]])


@pytest.mark.parametrize(
    ("noise", "level", "variance", "information", "thresholds"),
    [
        ("constant", 2.0, 4.0, 4351.5981, [20.0, 48.0]),
        ("poisson", 0.5, 13.2433285, 1326.7575, [12.5, 72.0]),
    ],
)
def test_one_cell(noise, level, variance, information, thresholds):
    options = {"noise": noise, "level": level}
    assert rate_noise_variance(F, **options) == pytest.approx(variance)
    assert position_information(F, J, **options)[0, 0] == pytest.approx(information, rel=1e-7)
    assert separability_thresholds([9, 100], q=2.0, **options) == pytest.approx(thresholds)
    single = position_information(jnp.asarray(F), J, **options)
    assert isinstance(single, jax.Array)
    assert float(single[0, 0]) == pytest.approx(information, rel=1e-5)


@pytest.mark.parametrize("noise", ["constant", "poisson"])
def test_surface_of_more_pairs_than_a_block_holds(noise):
    """Rates 9 and 1 alone are 8 apart, and 4 by the contact function; three cells add squares."""
    n = 6000
    a, b = np.full((2, 3), 9.0), np.ones((n, 3))
    b[-1] = 9
    surface = distance_surface(a, b, noise)
    assert surface.shape == (2, n)
    expected = 8 * 3**0.5 if noise == "constant" else 12
    np.testing.assert_allclose(surface[:, :-1], expected, rtol=1e-12)
    np.testing.assert_allclose(surface[:, -1], 0, atol=1e-6)


def test_bad_input_is_refused():
    for make, message in (
        (lambda: rate_noise_variance(F, noise="none", level=1.0), "noise must"),
        (lambda: rate_noise_variance(F, noise="poisson", level=-1.0), "level must"),
        (lambda: position_information(0 * F, J, noise="poisson", level=1.0), "rates must"),
        (lambda: position_information(F, J, noise="poisson", level=0.0), "level must"),
        (lambda: separability_thresholds(1, noise="poisson", level=1.0, q=-1.0), "q must"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
