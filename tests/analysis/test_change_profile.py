"""Changes that are local, and changes that are not."""

import numpy as np
import pytest
from scipy.special import erf

from neurosim.analysis.change_profile import change_profile
from neurosim.analysis.rate_maps import rate_maps

N = 40
X = np.stack(np.meshgrid(*[(np.arange(N) + 0.5) / N] * 2, indexing="ij"), axis=-1)
RHO = np.linalg.norm(X - 0.5, axis=-1)
BEFORE = np.random.default_rng(0).uniform(1, 2, size=(4, N, N))
PLACE = {"center": (0.5, 0.5), "bin_size": 1 / N}


def test_a_change_that_falls_off():
    # Length 1 in each bin, over 4 cells, times a Gaussian of the distance.
    after = BEFORE + 0.5 * np.exp(-(RHO**2) / (2 * 0.15**2))
    found = change_profile(BEFORE, after, **PLACE)
    np.testing.assert_allclose(found.magnitude, np.exp(-(RHO**2) / 0.045), atol=1e-12)
    np.testing.assert_allclose(found.edges, 0.1 * np.arange(8))
    assert found.counts.sum() == N * N
    for i in range(7):
        ring = (found.edges[i] <= RHO) & (found.edges[i + 1] > RHO)
        assert found.profile[i] == pytest.approx(np.exp(-(RHO[ring] ** 2) / 0.045).mean())
    # Means over a disk, and over what the disk leaves of the square, in closed form.
    assert found.near == pytest.approx(4.5 * (1 - np.exp(-1 / 4.5)), rel=0.01)
    square, disk = erf(0.5 / 0.045**0.5) ** 2, 1 - np.exp(-0.16 / 0.045)
    far = 0.045 * np.pi * (square - disk) / (1 - np.pi * 0.4**2)
    assert found.far == pytest.approx(far, rel=0.05)
    assert found.globality == pytest.approx(found.far / found.near)


def test_a_change_that_is_the_same_everywhere():
    found = change_profile(BEFORE, BEFORE + 1, **PLACE, edges=(0, 0.2, 0.3, 5, 6))
    np.testing.assert_allclose(found.profile, [2, 2, 2, np.nan])
    assert found.globality == pytest.approx(1)
    assert np.isnan(change_profile(BEFORE, BEFORE, **PLACE).globality)


def test_lines_rate_maps_and_unvisited_bins():
    line = np.ones((2, 10))
    after = line.copy()
    after[0, 2:] += 1
    after[0, 9] = np.nan
    found = change_profile(line, after, center=0.0, bin_size=0.1, near=0.2, far=0.5)
    np.testing.assert_allclose(found.profile, [0, 1, 1, 1, 1])
    assert found.counts.tolist() == [2, 2, 2, 2, 1]
    # Bins that begin elsewhere than at 0, as rate maps know.
    ts = np.arange(0, 40, 0.01)
    path = np.stack([2 + (0.1 * ts) % 1, 3 + 0.5 * (1 + np.sin(ts / 2))], axis=1)
    maps = rate_maps([np.arange(1, 39, 0.1)], ts, path, bin_size=0.25, extent=((2, 3), (3, 4)))
    moved = change_profile(maps, np.asarray(maps.rates) + 1, center=(2.5, 3.5), near=0.2, far=0.4)
    np.testing.assert_allclose(moved.profile[np.isfinite(moved.profile)], 1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"center": 0.5}, "center must be 2 finite"),
        ({"center": (0.5, np.nan)}, "center must be 2 finite"),
        ({"center": (5.0, 5.0)}, "known bins nearer to center than 0.1"),
        ({"far": 0.9}, "farther than 0.9"),
        ({"near": 0.0}, "near must be positive"),
        ({"far": 0.05}, "no more than far"),
        ({"edges": (0.3, 0.2)}, "increasing"),
        ({"bin_size": None}, "bin_size is needed"),
        ({"bin_size": -1.0}, "bin_size must be"),
    ],
)
def test_bad_input(changes, said):
    with pytest.raises(ValueError, match=said):
        change_profile(BEFORE, BEFORE + 1, **PLACE | changes)
