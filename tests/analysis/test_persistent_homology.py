"""Loops of clouds of points whose scales are known."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.persistent_homology import ring_persistence

RNG = np.random.default_rng(0)


def polygon(n, radius=1.0):
    angle = 2 * np.pi * np.arange(n) / n
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def noisy_circle(n, noise):
    angle = RNG.uniform(0, 2 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) + noise * RNG.normal(size=(n, 2))


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e60, 1e-180])
def test_a_regular_polygon_is_a_loop_from_its_side_to_its_inner_triangle(scale):
    ring = ring_persistence(polygon(30) * scale)
    side, triangle = 2 * np.sin(np.pi / 30), 3**0.5
    # In single precision, as ripser computes.
    assert ring.birth / scale == pytest.approx(side, rel=1e-6)
    assert ring.death / scale == pytest.approx(triangle, rel=1e-6)
    assert ring.length / scale == pytest.approx(triangle - side, rel=1e-6)
    assert ring.ratio == np.inf
    assert ring.bars.shape == (1, 2)
    assert ring.covering_radius == 0
    np.testing.assert_array_equal(ring.landmarks, np.arange(30))


def test_two_rings_apart_are_two_loops():
    points = np.concatenate([polygon(30, 3.0), polygon(12) + 20])
    # The ring lies in a plane of a space of five dimensions, far from its origin.
    points = np.pad(points, ((0, 0), (0, 3))) @ np.linalg.qr(RNG.normal(size=(5, 5)))[0] + 100
    ring = ring_persistence(jnp.asarray(points))
    assert ring.length == pytest.approx(3 * (3**0.5 - 2 * np.sin(np.pi / 30)), rel=1e-4)
    second = 3**0.5 - 2 * np.sin(np.pi / 12)
    assert ring.ratio == pytest.approx(ring.length / second, rel=1e-4)


def test_a_noisy_circle_of_300_points_has_one_long_loop():
    ring = ring_persistence(noisy_circle(300, 0.01))
    assert ring.birth == pytest.approx(0.16, abs=0.06)
    assert ring.death == pytest.approx(1.73, abs=0.05)
    assert ring.ratio > 10


def test_a_cloud_and_a_line_have_no_long_loop():
    cloud = ring_persistence(RNG.normal(size=(200, 5)))
    assert cloud.ratio < 3
    assert cloud.length < 1
    line = ring_persistence(np.outer(np.arange(20.0), [1, 2]))
    assert line.length == 0
    assert np.isnan([line.birth, line.death, line.ratio]).all()
    assert line.bars.shape == (0, 2)


def test_fifteen_thousand_points_are_represented_by_landmarks():
    points = noisy_circle(15_000, 0.02)
    ring = ring_persistence(points, n_landmarks=100)
    assert len(np.unique(ring.landmarks)) == 100
    chosen = points[ring.landmarks]
    nearest = np.linalg.norm(points[:, None] - chosen, axis=2).min(axis=1)
    assert ring.covering_radius == pytest.approx(nearest.max())
    # Landmarks are at least that far apart from one another, each farthest from those before.
    apart = np.linalg.norm(chosen[:, None] - chosen, axis=2) + 10 * np.eye(100)
    assert apart.min() >= ring.covering_radius
    # All points together are a circle with hardly a gap: birth near 0, death near sqrt(3).
    slack = 2 * ring.covering_radius
    assert ring.birth <= slack + 0.05
    assert abs(ring.death - 3**0.5) <= slack + 0.05
    assert ring.ratio > 10
    with pytest.raises(ValueError, match=r"15,000 points may need 1,969 GB.*n_landmarks"):
        ring_persistence(points, n_landmarks=None)
    with pytest.raises(ValueError, match="the loops of 2,000 points may need 5 GB"):
        ring_persistence(points, n_landmarks=2000)


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (np.zeros(5), {}, r"points must be \(point, dimension\), got shape \(5,\)"),
        (polygon(3), {}, "at least four points"),
        (np.full((10, 2), 0.1), {}, "all points are equal"),
        (np.where(polygon(9) > 0.9, np.nan, polygon(9)), {}, "not finite"),
        (np.ma.masked_less(polygon(9), 0), {}, "points is a masked array"),
        (polygon(9), {"n_landmarks": 3}, "at least four landmarks"),
    ],
)
def test_bad_points_are_refused(points, options, message):
    with pytest.raises(ValueError, match=message):
        ring_persistence(points, **options)


def test_a_missing_ripser_is_told_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ripser", None)
    with pytest.raises(ValueError, match=r"needs the package ripser.*neurosim-toolkit\[topology\]"):
        ring_persistence(polygon(9))


def test_values_that_are_not_known_yet_are_refused():
    with pytest.raises(TypeError, match="ring_persistence is computed in NumPy"):
        jax.jit(lambda x: ring_persistence(x).length)(jnp.ones((5, 2)))
