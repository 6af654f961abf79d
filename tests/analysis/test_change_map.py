"""Changes of populations that are known by place."""

import numpy as np
import pytest

from neurosim.analysis.change_map import change_map

RNG = np.random.default_rng(0)
BEFORE = RNG.uniform(1, 2, size=(5, 6, 7))


def test_a_change_in_one_place():
    after = BEFORE.copy()
    after[:2, 3, 4] += [3.0, -4.0]
    found = change_map(BEFORE, after)
    assert found.magnitude[3, 4] == pytest.approx(5)
    assert np.sum(found.magnitude > 1e-12) == 1
    assert found.relative[3, 4] == pytest.approx(5 / np.linalg.norm(BEFORE[:, 3, 4]))
    np.testing.assert_array_equal(found.differences, after - BEFORE)
    np.testing.assert_allclose(found.by_cell, np.array([3, 4, 0, 0, 0]) / 42**0.5, atol=1e-14)


def test_a_change_of_overall_rates_keeps_the_direction():
    found = change_map(BEFORE, 1.5 * BEFORE)
    np.testing.assert_allclose(found.alignment, 1)
    np.testing.assert_allclose(found.relative, 0.5)
    away = change_map(np.eye(2)[:, :, None], np.eye(2)[::-1, :, None])
    np.testing.assert_allclose(away.alignment, 0)


def test_unvisited_and_silent_bins():
    before, after = BEFORE.copy(), BEFORE + 1
    before[:, 0, 0], after[2, 1, 1], before[:, 2, 2] = np.nan, np.nan, 0
    found = change_map(before, after)
    assert np.isnan(found.magnitude[[0, 1], [0, 1]]).all()
    assert np.isnan(found.relative[2, 2])
    assert np.isnan(found.alignment[2, 2])
    assert found.magnitude[2, 2] == pytest.approx(np.linalg.norm(after[:, 2, 2]))
    assert np.isfinite(found.by_cell).all()
    line = change_map(BEFORE[:, 0], BEFORE[:, 1])
    assert line.magnitude.shape == (7,)


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (BEFORE[:4], "before and after must have the same cells and bins"),
        (BEFORE[0, 0], r"after must be \(cell, \*bins\)"),
        (np.nan * BEFORE, "no bin is known for all cells in both before and after: cell 0 is NaN"),
        (np.inf * BEFORE, r"after must be finite, or NaN .* cell 0 has inf in bin \(0, 0\)"),
    ],
)
def test_bad_input(after, message):
    with pytest.raises(ValueError, match=message):
        change_map(BEFORE, after)
