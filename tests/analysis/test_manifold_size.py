"""Sizes of manifolds that are known in closed form."""

import numpy as np
import pytest

from neurosim.analysis.manifold_size import manifold_size, repeated_radius
from neurosim.kernels.ideal_grid import grid_lattice_vectors, ideal_grid_module
from neurosim.kernels.smoothed_grid_map import smoothed_grid_map

VECTORS = grid_lattice_vectors(spacing=0.3)
CELL = np.stack(np.meshgrid(*[np.arange(12) / 12] * 2, indexing="ij"), axis=-1) @ VECTORS
GRIDS = ideal_grid_module(CELL, n_per_side=8, spacing=0.3)


def test_a_grid_module():
    found = manifold_size(GRIDS)
    R = (2 * 64 / 27) ** 0.5
    assert found.radius == pytest.approx(R)
    assert found.diameter == pytest.approx(3**0.5 * R)
    assert found.largest_norm == pytest.approx((5 * 64 / 27) ** 0.5)
    assert found.largest_rate == pytest.approx(1)
    np.testing.assert_allclose(found.component_sizes[:6], R / 6**0.5)
    np.testing.assert_allclose(found.component_sizes[6:], 0, atol=1e-12)
    assert found.participation_ratio == pytest.approx(6)


def test_smoothing_shrinks_it():
    phases = np.stack(np.meshgrid(*[np.arange(8) / 8] * 2, indexing="ij"), -1).reshape(-1, 2)
    before = manifold_size(GRIDS)
    after = manifold_size(
        smoothed_grid_map(CELL, spacing=0.3, covariance=0.05**2, phase=phases @ VECTORS)
    )
    F = 0.481388
    assert after.radius / before.radius == pytest.approx(F, abs=1e-6)
    assert after.diameter / before.diameter == pytest.approx(F, abs=1e-6)
    assert after.largest_norm / before.largest_norm == pytest.approx(0.832282, abs=1e-6)
    assert after.largest_rate / before.largest_rate == pytest.approx(0.654259, abs=1e-6)
    assert after.participation_ratio == pytest.approx(6)


def test_lines_unvisited_bins_and_many_of_them():
    angles = 2 * np.pi * np.arange(2400) / 2400
    circle = 3 * np.stack([np.cos(angles), np.sin(angles)])
    found = manifold_size(circle)
    assert (found.radius, found.diameter) == pytest.approx((3, 6))
    assert found.participation_ratio == pytest.approx(2)
    with_holes = np.concatenate([circle, np.array([[np.nan, 50.0], [50.0, np.nan]])], axis=1)
    assert manifold_size(with_holes).diameter == pytest.approx(6)
    # The farthest two may be any two.
    far = np.concatenate([circle, np.array([[0.0, 0.0], [9.0, -9.0]])], axis=1)
    assert manifold_size(far).diameter == pytest.approx(18)
    still = manifold_size(np.ones((3, 4)))
    assert (still.radius, still.diameter) == (0, 0)
    assert np.isnan(still.participation_ratio)


def test_noise_adds_to_the_size_unless_repeated():
    rng = np.random.default_rng(0)
    first, second = (GRIDS + 0.3 * rng.normal(size=GRIDS.shape) for _ in range(2))
    R2 = 2 * 64 / 27
    # N s^2 (1 - 1 / bins): the noise of the mean is taken off.
    assert manifold_size(first).radius ** 2 == pytest.approx(R2 + 64 * 0.09 * (143 / 144), rel=0.02)
    assert repeated_radius(first, second) ** 2 == pytest.approx(R2, rel=0.03)
    assert repeated_radius(GRIDS, GRIDS) == pytest.approx(R2**0.5)
    assert repeated_radius(GRIDS, -GRIDS) == 0


@pytest.mark.parametrize(
    ("maps", "said"),
    [
        (np.ones(3), "maps must be"),
        (np.full((2, 3), np.inf), "must be finite"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "no bin is known for all cells"),
    ],
)
def test_bad_maps(maps, said):
    with pytest.raises(ValueError, match=said):
        manifold_size(maps)
    with pytest.raises(ValueError, match="same cells and bins"):
        repeated_radius(GRIDS, GRIDS[:5])
