"""Velocity and displacement of an Ornstein-Uhlenbeck path, and walls, against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels.integrated_ornstein_uhlenbeck import reflect, velocity_step

TAU = 0.7


@pytest.mark.parametrize("t", [1e-3, 0.02, 0.34, 0.36, 3.0])
def test_law_of_a_step(t):
    # In long double, where differences of exponentials keep their digits.
    h = np.longdouble(t) / np.longdouble(TAU)
    variance = float(TAU**2 * (2 * h - 3 + 4 * np.exp(-h) - np.exp(-2 * h)))
    of_v, covariance = float(1 - np.exp(-2 * h)), float(TAU * (1 - np.exp(-h)) ** 2)
    law = velocity_step(t, coherence_time=TAU, speed=1.0)
    assert law.kick**2 == pytest.approx(of_v, rel=1e-12)
    assert law.kick * law.share == pytest.approx(covariance, rel=1e-10)
    assert law.share**2 + law.rest**2 == pytest.approx(variance, rel=1e-7)
    single = velocity_step(jnp.float32(t), coherence_time=TAU, speed=1.0)
    np.testing.assert_allclose(np.asarray(single), law, rtol=1e-4)


def test_reflection():
    x, turned = reflect(np.array([0.25, 1.25, -0.25, 2.25, -1.5]), 0.0, 1.0)
    np.testing.assert_allclose(x, [0.25, 0.75, 0.25, 0.25, 0.5])
    np.testing.assert_array_equal(turned, [False, True, True, False, False])
