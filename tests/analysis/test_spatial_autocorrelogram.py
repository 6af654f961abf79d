"""Correlograms against sums over the overlap, shift by shift."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from neurosim.analysis.rate_maps import rate_maps
from neurosim.analysis.spatial_autocorrelogram import (
    spatial_autocorrelogram,
    spatial_crosscorrelogram,
)

RNG = np.random.default_rng(0)
MAPS = 5 + gaussian_filter(RNG.normal(size=(4, 9, 12)), (0, 1, 1))
HOLES = np.where(RNG.random(MAPS.shape) < 0.2, np.nan, MAPS)


def by_definition(a, b, least):
    """Pearson correlation of a(x) with b(x + s) over bins known in both."""
    rows, columns = a.shape
    found = np.full((2 * rows - 1, 2 * columns - 1), np.nan)
    for i in range(1 - rows, rows):
        for j in range(1 - columns, columns):
            x = a[max(0, -i) : rows - max(0, i), max(0, -j) : columns - max(0, j)]
            y = b[max(0, i) : rows + min(0, i), max(0, j) : columns + min(0, j)]
            known = np.isfinite(x) & np.isfinite(y)
            if known.sum() >= least:
                found[rows - 1 + i, columns - 1 + j] = np.corrcoef(x[known], y[known])[0, 1]
    return found


@pytest.mark.parametrize("maps", [MAPS, HOLES], ids=["whole", "with holes"])
@pytest.mark.parametrize("least", [2, 20])
def test_autocorrelogram_by_definition(maps, least):
    found = spatial_autocorrelogram(maps, min_overlap=least)
    assert found.shape == (4, 17, 23)
    for one, values in zip(maps, found):
        np.testing.assert_allclose(values, by_definition(one, one, least), atol=1e-11)
    np.testing.assert_allclose(found[:, 8, 11], 1, atol=1e-14)
    np.testing.assert_allclose(found, found[:, ::-1, ::-1], atol=1e-12)
    np.testing.assert_array_equal(spatial_autocorrelogram(maps[1], min_overlap=least), found[1])


@pytest.mark.parametrize("least", [2, 20])
def test_crosscorrelogram_by_definition(least):
    found = spatial_crosscorrelogram(HOLES, MAPS[::-1], min_overlap=least)
    for a, b, values in zip(HOLES, MAPS[::-1], found):
        np.testing.assert_allclose(values, by_definition(a, b, least), atol=1e-11)
    # One against several, and against itself.
    one = spatial_crosscorrelogram(HOLES[0], MAPS, min_overlap=least)
    np.testing.assert_allclose(one[2], by_definition(HOLES[0], MAPS[2], least), atol=1e-11)
    same = spatial_crosscorrelogram(HOLES[0], HOLES[0], min_overlap=least)
    auto = spatial_autocorrelogram(HOLES[0], min_overlap=least)
    np.testing.assert_allclose(same, auto, atol=1e-12)


def test_a_moved_map_peaks_at_its_shift():
    wide = gaussian_filter(RNG.normal(size=(30, 30)), 1.5)
    a, b = wide[5:25, 5:25], wide[2:22, 9:29]
    # b(x + s) = a(x) for s = (3, -4).
    found = spatial_crosscorrelogram(a, b)
    assert found[19 + 3, 19 - 4] == pytest.approx(1, abs=1e-12)
    assert np.nanargmax(found) == (19 + 3) * 39 + 19 - 4


def test_scale_and_offset_do_not_matter():
    found = spatial_autocorrelogram(HOLES)
    # So that sums, or their squares, would overflow, vanish, or cancel.
    for scaled in (1e200 * HOLES, 1e-200 * HOLES, -HOLES):
        np.testing.assert_allclose(spatial_autocorrelogram(scaled), found, atol=1e-9)
    np.testing.assert_allclose(spatial_autocorrelogram(HOLES + 1e6), found, atol=1e-6)


def test_unvisited_is_not_silent():
    lost = MAPS[0].copy()
    lost[:4] = np.nan
    whole = spatial_autocorrelogram(MAPS[0, 4:])
    np.testing.assert_allclose(spatial_autocorrelogram(lost)[4:-4], whole, atol=1e-11)
    assert np.isnan(spatial_autocorrelogram(lost)[:4]).all()
    taken_for_silent = spatial_autocorrelogram(np.nan_to_num(lost))
    assert np.nanmax(np.abs(taken_for_silent[4:-4] - whole)) > 0.1


def test_parts_without_variance_are_nan():
    spot = np.zeros((12, 12))
    spot[2:4, 2:4] = [[1, 2], [3, 4]]
    found = spatial_autocorrelogram(spot, min_overlap=2)
    # Farther shifts leave only zeros of one of the two.
    assert np.isnan(found[11 + 4, 11])
    assert np.isfinite(found[11 + 3, 11])


def test_maps_without_pattern_are_nan_with_a_warning():
    maps = np.stack([MAPS[0], np.full((9, 12), 3.1), np.full((9, 12), np.nan), MAPS[1]])
    with pytest.warns(UserWarning, match=r"is NaN for 2 of 4 map\(s\); of map 1: the map is const"):
        found = spatial_autocorrelogram(maps)
    assert np.isnan(found[1:3]).all()
    np.testing.assert_allclose(found[3], spatial_autocorrelogram(MAPS[1]), atol=1e-12)
    with pytest.warns(UserWarning, match="fewer than 20 bins are known"):
        assert np.isnan(spatial_autocorrelogram(RNG.normal(size=(3, 3)))).all()
    with pytest.warns(UserWarning, match="every bin is NaN"):
        assert np.isnan(spatial_crosscorrelogram(MAPS[0], np.nan * MAPS[0])).all()
    with pytest.warns(UserWarning, match="the map is constant"):
        spatial_autocorrelogram(np.ones((1, 1)), min_overlap=2)


def test_rate_maps_go_in_as_they_are():
    t = np.arange(0, 200, 0.1)
    path = np.stack([np.sin(t) / 2 + 0.5, np.sin(1.618 * t) / 2 + 0.5], axis=1)
    maps = rate_maps([t[::3], t[::7]], t, path, bin_size=0.1, extent=(0, 1))
    found = spatial_autocorrelogram(maps)
    np.testing.assert_array_equal(found, spatial_autocorrelogram(maps.rates))
    line = rate_maps([t[::3]], t, path[:, 0], bin_size=0.1, extent=(0, 1))
    with pytest.raises(ValueError, match="maps over a plane; got RateMaps over a line"):
        spatial_autocorrelogram(line)


@pytest.mark.parametrize(
    ("maps", "settings", "message"),
    [
        (np.ones(5), {}, r"must be \(cell, bins, bins\) or \(bins, bins\)"),
        (np.ones((0, 5, 5)), {}, "and not empty"),
        (np.where(MAPS[2, 3, 4] == MAPS, np.inf, MAPS), {}, r"map 2 has inf in bin \(3, 4\)"),
        (MAPS, {"min_overlap": 1}, "min_overlap must be at least 2"),
        (MAPS + 1j, {}, "must hold real numbers"),
    ],
)
def test_bad_input(maps, settings, message):
    with pytest.raises(ValueError, match=message):
        spatial_autocorrelogram(maps, **settings)


def test_bad_pairs():
    for other in (MAPS[:, :5], MAPS[:3]):
        with pytest.raises(ValueError, match="the same bins, and as many cells or one"):
            spatial_crosscorrelogram(MAPS, other)


def test_few_bins_of_little_variance():
    # Far from the peak of a smooth map, small differences are all there is.
    at = np.arange(20)
    hill = np.exp(-((at[:, None] - 9) ** 2 + (at - 10) ** 2) / 40)
    found, expected = spatial_autocorrelogram(hill, min_overlap=4), by_definition(hill, hill, 4)
    for n in range(2, 5):
        for i, j in ((19 - (n - 1), 19 - (n - 1)), (n - 1, 19 + 20 - n)):
            assert found[i, j] == pytest.approx(expected[i, j], abs=1e-12)
    corner = (2, 2)
    assert found[corner] == pytest.approx(expected[corner], abs=1e-11)
    # Less than a millionth of the range passes for none, in sums as in transforms.
    faint = np.where(hill > 0.5, hill, 1e-7 * at)
    assert np.isnan(spatial_autocorrelogram(faint, min_overlap=2)[[2, 36, 2], [2, 36, 20]]).all()
