"""Conformal scales of grid modules, which have them in closed form."""

import numpy as np
import pytest

from neurosim.analysis.conformal_scale import conformal_scale_fit
from neurosim.kernels.ideal_grid import grid_wave_vectors, ideal_grid_module

SPACING, H = 0.3, 0.01
X = np.stack(np.meshgrid(*[H * np.arange(30)] * 2, indexing="ij"), axis=-1)
GRIDS = ideal_grid_module(X, n_per_side=4, spacing=SPACING)


def test_changes_of_a_grid_module():
    found = conformal_scale_fit(GRIDS, bin_size=H, max_distance=0.15 * SPACING)
    # |r(x + d) - r(x)|^2 = 4 N / 81 sum_i (1 - cos k_i . d), for all x.
    k = grid_wave_vectors(spacing=SPACING)
    known = np.sqrt(4 * 16 / 81 * np.sum(1 - np.cos(found.displacements @ k.T), axis=1))
    np.testing.assert_allclose(found.changes, known, atol=1e-12)
    # Both halves of the plane would count each pair twice.
    assert len(found.changes) == 34
    assert found.n_pairs.max() == 29 * 30
    factor = 4 * np.pi * 16**0.5 / (9 * SPACING)
    assert 0.96 < found.scale / factor < 1
    assert found.relative_residual < 0.03
    near = conformal_scale_fit(GRIDS, bin_size=H, max_distance=H)
    assert near.scale / factor == pytest.approx(1, abs=0.01)


def test_spacing_from_the_scale_of_codes_of_length_one():
    unit = GRIDS / np.linalg.norm(GRIDS, axis=0)
    s = conformal_scale_fit(unit, bin_size=H, max_distance=H).scale
    assert 4 * np.pi / (15**0.5 * s) == pytest.approx(SPACING, rel=0.01)
    assert 3.2446 / s == pytest.approx(SPACING, rel=0.01)


def test_an_exact_scale_with_unvisited_bins():
    # Two cells that are twice the position: a code without curvature.
    x = np.stack(np.meshgrid(0.1 * np.arange(6), 0.2 * np.arange(5), indexing="ij"))
    code = 2 * x
    code[0, 2, 2] = np.nan
    found = conformal_scale_fit(code, bin_size=(0.1, 0.2), max_distance=0.4)
    assert found.scale == pytest.approx(2)
    assert found.residual == pytest.approx(0, abs=1e-12)
    # One bin less takes two pairs of neighbours along an axis.
    beside = np.flatnonzero((np.abs(found.displacements - [0.1, 0]) < 1e-9).all(axis=1))
    assert found.n_pairs[beside].item() == 5 * 5 - 2
    constant = conformal_scale_fit(np.ones((2, 3, 3)), bin_size=1, max_distance=1)
    assert constant.scale == 0
    assert np.isnan(constant.relative_residual)


@pytest.mark.parametrize(
    ("maps", "distance", "said"),
    [
        (GRIDS[0], 0.1, r"maps must be \(cell, bins, bins\)"),
        (GRIDS, 0.005, "at least one bin"),
        (GRIDS, np.inf, "finite"),
        (np.full((2, 3, 3), np.nan), 0.1, "both known"),
    ],
)
def test_bad_input(maps, distance, said):
    with pytest.raises(ValueError, match=said):
        conformal_scale_fit(maps, bin_size=H, max_distance=distance)
