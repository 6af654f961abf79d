"""Modules of ideal grids with noise are told apart."""

import numpy as np
import pytest

from neurosim.analysis.grid_modules import grid_modules
from neurosim.analysis.known_bin_correlation import (
    known_correlations,
    paired_known_correlations,
)
from neurosim.kernels.ideal_grid import ideal_grid_module

RNG = np.random.default_rng(0)
CENTRES = (np.arange(40) + 0.5) / 40
X = np.stack(np.meshgrid(CENTRES, CENTRES, indexing="ij"), axis=-1)
SPACINGS = 0.25 * 1.23 ** np.arange(6)
TURNS = np.deg2rad([20, 57, 34, 11, 48, 25])


def test_six_modules_of_sixteen_cells():
    maps = np.concatenate([
        ideal_grid_module(X, n_per_side=4, spacing=s, orientation=t)
        for s, t in zip(SPACINGS, TURNS)
    ])  # fmt: skip
    maps += 0.1 * RNG.normal(size=maps.shape)
    order = RNG.permutation(96)
    module = np.repeat(np.arange(6), 16)[order]
    found = grid_modules(maps[order], bin_size=1 / 40)
    np.testing.assert_array_equal(found.labels, module)
    np.testing.assert_array_equal(found.sizes, [16] * 6)
    np.testing.assert_allclose(found.spacings, SPACINGS, rtol=0.01)
    np.testing.assert_allclose(found.orientations, TURNS, atol=0.02)
    same = module[:, None] == module
    # Published for one draw of noise: at least 0.459 within, at most 0.118 between.
    assert found.similarity[same].min() > 0.4
    assert found.similarity[~same].max() < 0.2
    np.testing.assert_allclose(found.similarity, found.similarity.T, atol=1e-12)


def test_maps_that_say_nothing_and_cells_alone():
    pair = ideal_grid_module(X, n_per_side=2, spacing=0.3)[:2]
    spot = np.exp(-np.sum((X - 0.5) ** 2, axis=-1) / 0.02)
    maps = np.stack([spot, pair[0], 0 * spot, pair[1], np.nan * spot])
    with pytest.warns(
        UserWarning, match=r"module is NaN for 2 of 5 map\(s\); of map 2: the map is"
    ):
        found = grid_modules(maps, bin_size=1 / 40)
    # The spot has no spacing, and comes last.
    assert found.labels.tolist() == [1, 0, -1, 0, -1]
    assert found.spacings[0] == pytest.approx(0.3, abs=1e-3)
    assert np.isnan(found.spacings[1])
    assert found.sizes.tolist() == [2, 1]
    assert np.isnan(found.similarity[2]).all()
    alone = grid_modules(pair[:1], bin_size=1 / 40)
    assert alone.labels.tolist() == [0]
    # All are one module where nothing is too far apart.
    assert grid_modules(maps[:2], bin_size=1 / 40, cut=2.0).labels.tolist() == [0, 0]


def test_correlations_over_known_bins():
    a, b = RNG.normal(size=(2, 4, 30))
    a[RNG.random(a.shape) < 0.2] = np.nan
    b[RNG.random(b.shape) < 0.2] = np.nan
    a[3, np.isfinite(a[3])] = 0.1
    found = known_correlations(a, 1e200 * b)
    for i in range(3):
        for j in range(4):
            known = np.isfinite(a[i]) & np.isfinite(b[j])
            r = np.corrcoef(a[i, known], b[j, known])[0, 1]
            assert found[i, j] == pytest.approx(r, abs=1e-12)
    assert np.isnan(found[3]).all()
    for scale in (1.0, 1e200):
        paired = paired_known_correlations(a, scale * b)
        np.testing.assert_allclose(paired, np.diagonal(found), atol=1e-12)
    # Two shared bins say nothing.
    a[0, 2:], b[0, :2] = np.nan, [0.0, 1.0]
    assert np.isnan([known_correlations(a, b)[0, 0], paired_known_correlations(a, b)[0]]).all()


PAIR = ideal_grid_module(X, n_per_side=2, spacing=0.3)[:2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grid_modules(PAIR[0], bin_size=1), r"maps must be \(cell, bins, bins\)"),
        (
            lambda: grid_modules(0 * PAIR, bin_size=1),
            "no map has an autocorrelogram; the first: the",
        ),
        (lambda: grid_modules(PAIR, bin_size=1, cut=0), "cut must be positive"),
        (lambda: grid_modules(PAIR, bin_size=1, radius=-1), "radius must be positive"),
        (lambda: grid_modules(PAIR, bin_size=0), "bin_size must be a positive number"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
