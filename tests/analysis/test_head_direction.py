"""Tuning to heading against von Mises tuning, whatever headings were held for how long."""

from math import tau

import numpy as np
import pytest
from scipy.special import i0, i1
from scipy.stats import vonmises

from neurosim.analysis.head_direction import head_direction_tuning, rayleigh_p
from neurosim.analysis.random_foraging import poisson_spikes, random_foraging


def test_von_mises_tuning_is_recovered():
    path = random_foraging(1800, 0.05, box=(0, 360), speed=120, wrap=True, random_state=0)
    heading = path.positions[:, 0]

    def rates(x):
        turn = np.deg2rad(x)
        kappas, preferred = np.array([4.0, 1, 0]), np.deg2rad([10, 200, 0])
        return 8 * np.exp(kappas * (np.cos(turn - preferred) - 1)) * np.array([2, 1, 1])

    spikes = poisson_spikes(rates, path.times, heading, random_state=1)
    found = head_direction_tuning([*spikes, []], path.times, heading, period=360)
    # The mean vector of exp(kappa cos) is I1 / I0.
    expected = [i1(4) / i0(4), i1(1) / i0(1), 0]
    np.testing.assert_allclose(found.mean_vector_length[:3], expected, atol=0.03)
    np.testing.assert_allclose(found.preferred_direction[:2], [10, 200], atol=3)
    assert found.peak_rate[0] == pytest.approx(16, rel=0.2)
    assert (found.rayleigh_p[:2] < 1e-10).all()
    for values in (found.mean_vector_length, found.preferred_direction, found.rayleigh_p):
        assert np.isnan(values[3])
    # Headings that are held longer do not pull the mean vector.
    held = np.concatenate([np.full(6000, 100.0), heading])
    times = np.arange(len(held)) * 0.05
    spikes = poisson_spikes(rates, times, held, random_state=2)
    biased = head_direction_tuning(spikes, times, held, period=360)
    np.testing.assert_allclose(biased.mean_vector_length, expected, atol=0.03)
    smooth = head_direction_tuning(spikes, times, held, period=360, sigma=10)
    np.testing.assert_allclose(smooth.mean_vector_length, biased.mean_vector_length)
    assert smooth.rates.std() < biased.rates.std()
    radians = head_direction_tuning(spikes, times, np.deg2rad(held))
    np.testing.assert_allclose(radians.preferred_direction * 360 / tau, biased.preferred_direction)


def test_rayleigh_p_is_uniform_for_even_angles():
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, tau, (4000, 40))
    p = rayleigh_p(np.abs(np.exp(1j * angles).mean(axis=1)), 40)
    for level in (0.01, 0.05, 0.5):
        assert np.mean(p < level) == pytest.approx(level, abs=4 * np.sqrt(level / 4000))
    gathered = vonmises.rvs(2.0, size=40, random_state=1)
    assert rayleigh_p(np.abs(np.exp(1j * gathered).mean()), 40) < 1e-3
    # Zar (2010), example 27.1: n = 8, r = .82522 has p < .002 by table.
    assert 0.001 < rayleigh_p(0.82522, 8) < 0.002


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 2}, "n_bins must be at least 3"),
        ({"n_bins": 6.5}, "n_bins must be a whole number"),
        ({"period": 0}, "period must be positive"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        head_direction_tuning([1.0], np.arange(9.0), np.arange(9.0), **options)
