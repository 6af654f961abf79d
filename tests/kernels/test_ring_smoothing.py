"""Smoothing along the angle, against Bessel functions and harmonics of the circle."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import j0

from neurosim.kernels.ideal_grid import grid_wave_vectors, ideal_grid_map
from neurosim.kernels.ring_smoothing import ring_smoothed_rates

CENTER = np.array([0.5, 0.4])
POINTS = np.random.default_rng(0).uniform(0, 1, size=(7, 2))
AWAY = POINTS - CENTER
RHO, ANGLE = np.hypot(*AWAY.T), np.arctan2(AWAY[:, 1], AWAY[:, 0])


def test_the_mean_of_the_circle_is_a_bessel_function():
    grid = {"spacing": 0.3, "orientation": 0.1, "phase": (0.12, 0.2)}
    k = grid_wave_vectors(spacing=0.3, orientation=0.1)
    at_center = np.cos(k @ (CENTER - grid["phase"])).sum()
    known = 1 / 3 + 2 / 9 * j0(np.linalg.norm(k[0]) * RHO) * at_center
    for width in (math.inf, 7.0):
        found = ring_smoothed_rates(
            lambda y: ideal_grid_map(y, **grid), POINTS, center=CENTER, width=width
        )
        np.testing.assert_allclose(found, known, atol=1e-8)


@pytest.mark.parametrize("width", [0.1, 0.8, 3.0])
def test_harmonics_of_the_angle_are_attenuated(width):
    # The third harmonic keeps exp(-9 width^2 / 2), whatever the radius.
    def rates(y):
        x = y - CENTER
        return np.cos(3 * np.arctan2(x[..., 1], x[..., 0])) * np.hypot(x[..., 0], x[..., 1])

    found = ring_smoothed_rates(rates, POINTS, center=CENTER, width=width)
    np.testing.assert_allclose(found, np.exp(-4.5 * width**2) * rates(POINTS), atol=1e-8)


def test_smoothing_about_one_circle_only():
    cells = np.array([[0.2, 0.3], [0.6, 0.6]])

    def rates(y):
        return ideal_grid_map(y, spacing=0.3, phase=cells)

    everywhere = ring_smoothed_rates(rates, POINTS, center=CENTER, width=0.5)
    assert everywhere.shape == (2, 7)
    ring = {"center": CENTER, "width": 0.5, "radius": 0.2, "reach": 0.05}
    found = ring_smoothed_rates(rates, POINTS, **ring)
    share = np.exp(-((RHO - 0.2) ** 2) / (2 * 0.05**2))
    np.testing.assert_allclose(found, share * everywhere + (1 - share) * rates(POINTS))
    on_it = CENTER + 0.2 * np.array([[0.6, 0.8]])
    np.testing.assert_allclose(
        ring_smoothed_rates(rates, on_it, **ring),
        ring_smoothed_rates(rates, on_it, center=CENTER, width=0.5),
    )
    smooth = jax.jit(lambda x: ring_smoothed_rates(rates, x, n_angles=20, **ring))
    np.testing.assert_allclose(smooth(jnp.asarray(POINTS)), found, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"positions": np.ones(3)}, "positions must be"),
        ({"center": 0.5}, "center must be"),
        ({"positions": POINTS * np.nan}, "must be finite"),
        ({"width": 0.0}, "width must be positive"),
        ({"width": 0.05}, "at least 126 are needed"),
        ({"radius": 0.2}, "go together"),
        ({"radius": 0.2, "reach": 0.0}, "reach positive"),
        ({"n_angles": 4}, "n_angles"),
    ],
)
def test_bad_rings(changes, said):
    given = {"positions": POINTS, "center": CENTER, "width": 0.5} | changes
    with pytest.raises(ValueError, match=said):
        ring_smoothed_rates(lambda y: y[..., 0], **given)
