"""Landmarks of clouds whose farthest points are known."""

import numpy as np
import pytest

from neurosim.analysis.max_min_landmarks import max_min_landmarks

LINE = np.stack([np.array([0.0, 1.0, 2.0, 3.0, 10.0]), np.zeros(5)], axis=1)


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_each_landmark_is_the_farthest_from_those_before(scale):
    # The mean is 3.2: first 10, then the other end, then what is farthest from both.
    chosen = max_min_landmarks(LINE * scale, 3)
    np.testing.assert_array_equal(chosen.indices, [4, 0, 3])
    # The points at 1 and 2 are left, each 1 from a landmark.
    assert chosen.covering_radius == pytest.approx(scale)
    everything = max_min_landmarks(LINE * scale, 5)
    assert sorted(everything.indices) == [0, 1, 2, 3, 4]
    assert everything.covering_radius == 0


def test_points_that_coincide_are_taken_once():
    chosen = max_min_landmarks(np.repeat(LINE, 3, axis=0), 15)
    assert len(chosen.indices) == 5
    assert len(np.unique(chosen.indices // 3)) == 5
    assert chosen.covering_radius == 0


@pytest.mark.parametrize(
    ("points", "n", "message"),
    [
        (LINE, 6, "n_landmarks is 6, but there are 5 points"),
        (LINE, 0, "n_landmarks must be at least 1"),
        (LINE[0], 1, r"points must be \(point, dimension\), got shape \(2,\)"),
        (np.where(LINE > 9, np.nan, LINE), 2, "not finite"),
    ],
)
def test_bad_input_is_refused(points, n, message):
    with pytest.raises(ValueError, match=message):
        max_min_landmarks(points, n)
