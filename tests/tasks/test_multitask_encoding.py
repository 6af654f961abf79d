"""Angles on channels: the bump's height, half-width and symmetry, and the unit circle."""

from math import log, pi, sqrt, tau

import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks.multitask_encoding import encode_angle, preferred_angles


def test_preferred_angles():
    np.testing.assert_allclose(preferred_angles(4), [0, pi / 2, pi, 3 * pi / 2], rtol=1e-15)


@pytest.mark.usefixtures("double_precision")
def test_the_bump_is_highest_at_its_angle_and_half_as_high_at_its_half_width():
    ring = preferred_angles(32)
    at_peak = encode_angle(jnp.asarray(ring), encoding="ring", n_ring=32)
    np.testing.assert_allclose(np.diag(at_peak), 0.8, rtol=1e-12)
    assert np.array_equal(np.argmax(at_peak, axis=1), np.arange(32))
    # exp(-x^2 / 2) is a half at x = sqrt(2 log 2), here in units of pi/8, to either side.
    half = pi / 8 * sqrt(2 * log(2))
    for side in (half, tau - half):
        code = encode_angle(jnp.asarray(side), encoding="ring", n_ring=32)
        np.testing.assert_allclose(code[0], 0.4, rtol=1e-12)
    # Two channels of 32 are one standard deviation apart.
    np.testing.assert_allclose(at_peak[0, 2], 0.8 * np.exp(-0.5), rtol=1e-12)


@pytest.mark.usefixtures("double_precision")
def test_the_ring_is_closed():
    angles = jnp.linspace(0, tau, 50)
    there = encode_angle(angles, encoding="ring", n_ring=16)
    back = encode_angle(tau - angles, encoding="ring", n_ring=16)
    mirrored = np.roll(np.asarray(back)[:, ::-1], 1, axis=1)
    np.testing.assert_allclose(there, mirrored, atol=1e-12)
    np.testing.assert_allclose(there[0], there[-1], atol=1e-12)


def test_sine_comes_before_cosine():
    code = encode_angle(jnp.asarray([0.0, pi / 2]), encoding="sincos", n_ring=32)
    np.testing.assert_allclose(code, [[0, 1], [1, 0]], atol=1e-6)
