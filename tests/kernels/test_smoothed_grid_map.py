"""Smoothed grid cells against closed forms: shrunken tori, and bands as the limit."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.map_smoothing import smooth_maps
from neurosim.analysis.persistent_homology import ring_persistence
from neurosim.kernels.ideal_grid import (
    grid_lattice_vectors,
    grid_wave_vectors,
    ideal_grid_map,
    ideal_grid_module,
)
from neurosim.kernels.smoothed_grid_map import smoothed_grid_map, wave_attenuation

SPACING, TURN = 0.3, 0.2
GRID: Any = {"spacing": SPACING, "orientation": TURN}
VECTORS = grid_lattice_vectors(**GRID)
STEPS = np.stack(np.meshgrid(*[np.arange(12) / 12] * 2, indexing="ij"), axis=-1)
CELL = STEPS @ VECTORS
PHASES = np.stack(np.meshgrid(*[np.arange(8) / 8] * 2, indexing="ij"), -1).reshape(-1, 2) @ VECTORS


@pytest.mark.parametrize(
    ("width", "modulation", "norms", "rates"),
    [(0.03, 0.768596, 0.914492, 0.845731), (0.05, 0.481388, 0.832282, 0.654259)],
)
def test_smoothing_shrinks_the_torus(width, modulation, norms, rates):
    before = ideal_grid_module(CELL, n_per_side=8, **GRID).reshape(64, -1)
    after = smoothed_grid_map(CELL, covariance=width**2, phase=PHASES, **GRID).reshape(64, -1)
    F = wave_attenuation(grid_wave_vectors(**GRID), covariance=width**2)
    np.testing.assert_allclose(F, np.exp(-8 * np.pi**2 * width**2 / (3 * SPACING**2)))
    np.testing.assert_allclose(F, modulation, atol=5e-7)
    # About the mean, the manifold is the same but for its size.
    means = [x.mean(axis=1, keepdims=True) for x in (before, after)]
    np.testing.assert_allclose(after - means[1], F[0] * (before - means[0]), atol=1e-12)
    np.testing.assert_allclose(means[1], 1 / 3)
    lengths = [np.linalg.norm(x, axis=0).max() for x in (after, before)]
    assert lengths[0] / lengths[1] == pytest.approx(norms, abs=1e-6)
    assert lengths[0] / lengths[1] == pytest.approx(((3 + 2 * F[0] ** 2) / 5) ** 0.5)
    # A cell's peak, which is at its phase.
    peaks = [x.max() for x in (after, before)]
    assert peaks[0] / peaks[1] == pytest.approx(rates, abs=1e-6)
    assert peaks[0] / peaks[1] == pytest.approx((1 + 2 * F[0]) / 3)


def test_smoothing_of_sampled_maps_agrees_away_from_walls():
    n, width = 60, 0.03
    x = np.stack(np.meshgrid(*[np.arange(n) / n] * 2, indexing="ij"), axis=-1)
    sampled = smooth_maps(ideal_grid_map(x, **GRID), sigma=width, bin_size=1 / n)
    inner = slice(10, -10)
    known = np.asarray(smoothed_grid_map(x, covariance=width**2, **GRID))
    np.testing.assert_allclose(sampled[inner, inner], known[inner, inner], atol=2e-6)


def test_walls_keep_more_of_sampled_maps():
    # Smoothed by 0.05 in an arena of 3.3 spacings: 0.516 of the size, not 0.4814.
    x = np.stack(np.meshgrid(*[np.arange(40) / 40] * 2, indexing="ij"), axis=-1)
    module = ideal_grid_module(x, n_per_side=4, spacing=SPACING)
    sampled = smooth_maps(module, sigma=0.05, bin_size=1 / 40, d=2)
    radii = [np.sqrt(maps.var(axis=(1, 2)).sum()) for maps in (sampled, module)]
    assert radii[0] / radii[1] == pytest.approx(0.516, abs=5e-4)


def test_bands_are_the_limit_of_smoothing_along_a_line_of_the_lattice():
    k = grid_wave_vectors(**GRID)
    along = np.array([-k[0, 1], k[0, 0]]) / np.linalg.norm(k[0])
    far = 100 * np.outer(along, along)
    np.testing.assert_allclose(wave_attenuation(k, covariance=far), [1, 0, 0], atol=1e-12)
    points = smoothed_grid_map(CELL, covariance=far, phase=PHASES, **GRID).reshape(64, -1)
    # A circle, of one radius everywhere, run through with wave number |k| in the plane of a band.
    radii = np.linalg.norm(points - points.mean(axis=1, keepdims=True), axis=0)
    np.testing.assert_allclose(radii, 2 / 9 * 32**0.5)
    singular = np.linalg.svd(points - 1 / 3, compute_uv=False)
    assert np.sum(singular > 1e-9) == 2
    # Twelve points evenly spread on a circle are one loop, which ends at sqrt(3) times its radius.
    loop = ring_persistence(np.unique(np.round(points.T, 9), axis=0))
    assert (len(loop.bars), loop.death) == (1, pytest.approx(2.177324, abs=1e-6))
    # Along any other direction nothing is left.
    other = 100 * np.outer(VECTORS[0] + 0.3 * VECTORS[1], VECTORS[0] + 0.3 * VECTORS[1])
    np.testing.assert_allclose(smoothed_grid_map(CELL, covariance=other, **GRID), 1 / 3, atol=1e-9)


def test_no_smoothing_and_other_kinds_of_arrays(double_precision):
    known = ideal_grid_map(CELL, phase=PHASES, **GRID)
    same = smoothed_grid_map(CELL, covariance=0, phase=PHASES, **GRID)
    np.testing.assert_allclose(same, known, atol=1e-14)
    traced = smoothed_grid_map(
        jnp.asarray(CELL), covariance=jnp.zeros((2, 2)), phase=PHASES, **GRID
    )
    np.testing.assert_allclose(traced, known, atol=1e-12)


@pytest.mark.parametrize(
    ("covariance", "said"),
    [
        (np.ones(2), r"covariance must be a number or \(2, 2\)"),
        (-1.0, "no negative eigenvalue"),
        ([[1.0, 0.5], [0.0, 1.0]], "symmetric"),
        (np.nan, "finite and symmetric"),
    ],
)
def test_bad_covariances(covariance, said):
    with pytest.raises(ValueError, match=said):
        smoothed_grid_map(CELL, covariance=covariance, **GRID)


def test_bad_waves():
    with pytest.raises(ValueError, match="wave_vectors must be"):
        wave_attenuation(np.ones(2), covariance=1.0)
