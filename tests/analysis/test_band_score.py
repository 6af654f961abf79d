"""Band scores of waves of which the share in a map is known."""

import numpy as np
import pytest

from neurosim.analysis.band_score import band_power_share, band_score
from neurosim.kernels.ideal_grid import ideal_grid_map

RNG = np.random.default_rng(0)
ENDS = np.linspace(0, 1, 20)
WAVE = np.cos(2 * np.pi * (0.5 * ENDS[:, None] + 1.3 * ENDS))


def test_a_published_wave_has_one():
    assert band_score(WAVE, bin_size=0.05) == pytest.approx(1, abs=1e-12)
    assert band_score(3 + 2 * WAVE, bin_size=0.05) == pytest.approx(1, abs=1e-12)
    # Bands that fall the other way, or that are shifted, have less.
    assert band_score(WAVE[:, ::-1], bin_size=0.05) < 0.7
    shifted = np.cos(2 * np.pi * (0.5 * ENDS[:, None] + 1.3 * ENDS) + np.pi / 2)
    assert band_score(shifted, bin_size=0.05) < 0.85


def test_by_definition_with_holes():
    maps = RNG.normal(size=(3, 12, 15))
    maps[RNG.random(maps.shape) < 0.2] = np.nan
    x, y = np.linspace(0, 1.2, 12), np.linspace(0, 0.75, 15)
    expected = []
    for one in maps:
        known = np.isfinite(one)
        r = [
            np.corrcoef(np.cos(2 * np.pi * (k * x[:, None] + l * y))[known], one[known])[0, 1]
            for k in np.arange(20) / 10
            for l in np.arange(20) / 10
            if (k, l) != (0, 0)
        ]
        expected.append(max(r))
    np.testing.assert_allclose(band_score(maps, bin_size=(0.1, 0.05)), expected, atol=1e-12)


def test_share_of_the_strongest_wave_over_whole_periods():
    x = np.stack(np.meshgrid(np.arange(32) / 32, np.arange(32) / 32, indexing="ij"), axis=-1)
    phase = (0.03, 0.1)
    band, square = (
        ideal_grid_map(x, spacing=0.25, phase=phase, lattice=kind) for kind in ("band", "square")
    )
    # A hexagonal lattice has whole periods in a box of 1 to sqrt(3).
    y = np.stack(np.meshgrid(np.arange(30) / 30, np.arange(52) / 52 * 3**0.5, indexing="ij"), -1)
    assert band_power_share(band) == pytest.approx(1, abs=1e-12)
    assert band_power_share(square) == pytest.approx(1 / 2, abs=1e-12)
    hexagons = ideal_grid_map(y, spacing=1 / 3, phase=phase)
    assert band_power_share(hexagons) == pytest.approx(1 / 3, abs=1e-12)
    # Whatever the phase and direction, scale and offset.
    np.testing.assert_allclose(band_power_share(np.stack([band.T, 5 - band, 1e200 * band])), 1)
    # A wave at half the sampling rate is its own opposite.
    fast = np.broadcast_to((-1.0) ** np.arange(32), (32, 32))
    assert band_power_share(fast) == pytest.approx(1, abs=1e-12)
    assert band_power_share(fast + fast.T) == pytest.approx(1 / 2, abs=1e-12)


def test_maps_without_information_are_nan_with_a_warning():
    maps = np.stack([0 * WAVE, 0.1 + 0 * WAVE, np.nan * WAVE, WAVE])
    with pytest.warns(UserWarning, match=r"band score is NaN for 3 of 4 map\(s\)"):
        score = band_score(maps, bin_size=0.05)
    with pytest.warns(UserWarning, match=r"strongest wave is NaN for 3 of 4 map\(s\)"):
        share = band_power_share(maps)
    for found in (score, share):
        assert np.isnan(found).tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: band_score(WAVE, bin_size=0.0), "bin_size must be a positive number"),
        (lambda: band_score(WAVE, bin_size=1, wave_numbers=[np.inf]), r"must be \(wave,\), finite"),
        (lambda: band_score(WAVE[:1], bin_size=1), "a wave needs two bins"),
        (lambda: band_score(WAVE + np.inf, bin_size=1), "maps must be finite"),
        (lambda: band_power_share(WAVE[0]), r"must be \(cell, bins, bins\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
