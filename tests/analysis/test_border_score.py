"""Border scores of strips and spots, worked out by hand."""

import numpy as np
import pytest

from neurosim.analysis.border_score import border_score

STRIP = np.zeros((20, 20))
STRIP[:4] = 1.0
SPOT = np.zeros((20, 20))
SPOT[8:12, 8:12] = 2.0
BOX = {"bin_size": 0.05, "min_area": 0.02}


def test_a_strip_along_a_wall():
    # Bins of the strip are 1, 2, 3, 4 bins from the wall, but next to its ends; 2.25 on average.
    found = border_score(STRIP, **BOX)
    assert found.coverage == 1
    assert found.distance == pytest.approx(0.225, abs=1e-12)
    assert found.score == pytest.approx(0.632653, abs=5e-7)
    assert found.n_fields == 1
    assert found.reasons == ""
    for turned in (STRIP.T, STRIP[::-1], STRIP.T[:, ::-1], 7 * STRIP):
        assert border_score(turned, **BOX).score == pytest.approx(found.score, abs=1e-12)
    assert border_score(STRIP, bin_size=5, min_area=200).score == pytest.approx(found.score)


def test_all_fields_are_looked_at_whatever_their_order():
    # The spot comes first or last: the strip's wall counts, and distances are averaged.
    distance = (0.225 + 0.1 * np.mean([9, 9, 9, 9, 9, 10, 10, 9, 9, 10, 10, 9, 9, 9, 9, 9])) / 2
    for first in (STRIP + SPOT, (STRIP + SPOT)[::-1]):
        found = border_score(first, **BOX)
        assert found.n_fields == 2
        assert found.coverage == 1
        assert found.distance == pytest.approx(distance, abs=1e-12)


def test_fields_touch_by_sides_above_a_share_of_the_peak():
    corner_to_corner = np.zeros((20, 20))
    corner_to_corner[2:6, 2:6] = corner_to_corner[6:10, 6:10] = 1
    assert border_score(corner_to_corner, **BOX).n_fields == 2
    # 16 bins are 400 cm^2.
    for area, n in ((0.0399, 2), (0.04, 0)):
        found = border_score(corner_to_corner + STRIP, bin_size=0.05, min_area=area)
        assert found.n_fields == 1 + n - (n == 2)
    faint = STRIP.copy()
    faint[10:15] = 0.3
    assert border_score(faint, **BOX).n_fields == 1
    faint[10:15] = 0.31
    assert border_score(faint, **BOX).n_fields == 2


def test_in_the_middle_it_is_negative_and_for_all_cells_at_once():
    maps = np.stack([STRIP, SPOT, STRIP + SPOT])
    found = border_score(maps, **BOX)
    assert found.score[1] == -1
    for i, one in enumerate(maps):
        assert found.score[i] == pytest.approx(border_score(one, **BOX).score, abs=1e-14)


def test_unvisited_bins_are_in_no_wall():
    lost = STRIP.copy()
    lost[:, 15:] = np.nan
    assert border_score(lost, **BOX).coverage == 1
    gap = STRIP.copy()
    gap[:4, 15:] = 0
    assert border_score(gap, **BOX).coverage == 0.75


def test_a_long_box_is_measured_by_its_shorter_side():
    long = np.zeros((10, 40))
    long[:1] = 1.0
    found = border_score(long, bin_size=(0.1, 0.05), min_area=0.02)
    # One row, all at 0.1 m from the long wall or nearer to the ends, over half of 1 m.
    near = np.minimum(0.1, 0.05 * np.minimum(np.arange(40) + 1, 40 - np.arange(40)))
    assert found.distance == pytest.approx(near.mean() / 0.5, abs=1e-12)


def test_no_field_is_nan_with_a_reason():
    maps = np.stack([0 * STRIP, np.nan * STRIP, np.eye(20), STRIP])
    with pytest.warns(UserWarning, match=r"border score is NaN for 3 of 4 map\(s\)"):
        found = border_score(maps, **BOX)
    assert list(found.reasons[:2]) == ["the map is constant", "every bin is NaN"]
    assert found.reasons[2] == "no field is larger than 0.02"
    for part in found[:3]:
        assert np.isnan(part[:3]).all()
    assert found.n_fields.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("maps", "settings", "message"),
    [
        (STRIP, {"bin_size": 0.05, "min_area": -1}, "min_area must be finite and not negative"),
        (STRIP, {"bin_size": -1, "min_area": 0}, "bin_size must be a positive number"),
        (STRIP, {**BOX, "threshold": 1.0}, "threshold must be between 0 and 1"),
        (-STRIP, BOX, "rates must not be negative"),
        (STRIP[0], BOX, r"must be \(cell, bins, bins\)"),
    ],
)
def test_bad_input(maps, settings, message):
    with pytest.raises(ValueError, match=message):
        border_score(maps, **settings)
