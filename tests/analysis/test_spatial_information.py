"""Information, sparsity, selectivity and coherence against closed forms, and tests by shifts."""

import numpy as np
import pytest

from neurosim.analysis.random_foraging import poisson_spikes, random_foraging
from neurosim.analysis.rate_maps import rate_maps
from neurosim.analysis.spatial_information import (
    selectivity,
    sparsity,
    spatial_coherence,
    spatial_information,
)
from neurosim.analysis.spatial_information_test import spatial_information_test
from neurosim.kernels.ideal_grid import grid_lattice_vectors, ideal_grid_map

RATES = np.array([1.0, 2, 3, 4])
P = np.array([0.4, 0.3, 0.2, 0.1])


def test_example_of_four_bins():
    bits = spatial_information(RATES, P)
    # With the logarithm cut off below the mean it would be .3755.
    assert bits.bits_per_spike == pytest.approx(0.17548875, abs=1e-8)
    assert bits.bits_per_second == pytest.approx(0.3509775, abs=1e-7)
    assert sparsity(RATES, P) == pytest.approx(0.8)
    assert selectivity(RATES, P) == pytest.approx(2)
    # Occupancy in any unit, and cells at once.
    both = spatial_information(np.stack([RATES, 3 * RATES]), 70 * P)
    np.testing.assert_allclose(both.bits_per_spike, bits.bits_per_spike)
    np.testing.assert_allclose(both.bits_per_second, np.array([1, 3]) * bits.bits_per_second)


def test_uniform_and_confined_rates():
    assert spatial_information(np.full(7, 3.0), np.arange(1, 8)).bits_per_spike == 0
    for share in (0.5, 0.25, 0.1):
        confined = np.where(np.arange(20) < 20 * share, 8.0, 0)
        assert spatial_information(confined, np.ones(20)).bits_per_spike == pytest.approx(
            np.log2(1 / share)
        )
        assert sparsity(confined, np.ones(20)) == pytest.approx(share)
        assert selectivity(confined, np.ones(20)) == pytest.approx(1 / share)


def test_gaussian_fields():
    s = 0.05
    x = (np.arange(2000) + 0.5) / 2000
    field = np.exp(-((x - 0.5) ** 2) / (2 * s**2))
    assert spatial_information(field, np.ones(2000)).bits_per_spike == pytest.approx(
        2.2748325, abs=1e-6
    )
    assert sparsity(field, np.ones(2000)) == pytest.approx(0.17724539, abs=1e-7)
    square = np.multiply.outer(field[5::10], field[5::10])
    one = np.ones((200, 200))
    assert spatial_information(square, one).bits_per_spike == pytest.approx(4.549665, abs=1e-3)
    assert sparsity(square, one) == pytest.approx(4 * np.pi * s**2, rel=1e-3)


def test_ideal_grid_cell():
    steps = np.stack(np.meshgrid(*[np.arange(240) / 240] * 2, indexing="ij"), axis=-1)
    rates = ideal_grid_map(steps @ grid_lattice_vectors(spacing=0.3), spacing=0.3)
    everywhere = np.ones(rates.shape)
    bits = spatial_information(rates, everywhere).bits_per_spike
    assert bits == pytest.approx(0.47540, abs=1e-5)
    assert sparsity(rates, everywhere) == pytest.approx(0.6, abs=1e-12)


def test_unvisited_bins_do_not_count():
    holed = np.insert(RATES, 2, [np.nan, 7.0])
    p = np.insert(P, 2, [0.3, 0.0])
    assert spatial_information(holed, p).bits_per_spike == pytest.approx(0.17548875)
    p[3] = np.nan
    assert sparsity(holed, p) == pytest.approx(0.8)
    silent = np.stack([RATES, np.zeros(4), np.full(4, np.nan)])
    for values in (*spatial_information(silent, P), sparsity(silent, P), selectivity(silent, P)):
        assert np.isnan(values).tolist() == [False, True, True]


def test_epoch_mean_rate():
    # r = 4 in place of 2: sum p (r/4) log2(r/4).
    found = spatial_information(RATES, P, mean_rate=4.0)
    expected = np.sum(P * RATES / 4 * np.log2(RATES / 4))
    assert found.bits_per_spike == pytest.approx(expected)
    assert found.bits_per_second == pytest.approx(4 * expected)


@pytest.mark.parametrize(("n_spikes", "bias"), [(1000, 0.0353), (200, 0.177)])
def test_bias_of_limited_data(n_spikes, bias):
    rng = np.random.default_rng(0)
    counts = rng.multinomial(n_spikes, np.ones(50) / 50, size=2000).astype(float)
    raw = spatial_information(counts, np.ones(50)).bits_per_spike
    corrected = spatial_information(
        counts, np.ones(50), correct_bias=True, n_spikes=n_spikes
    ).bits_per_spike
    np.testing.assert_allclose(raw - corrected, 49 / (2 * n_spikes * np.log(2)))
    assert np.mean(raw - corrected) == pytest.approx(bias, rel=5e-3)
    # The expansion is the first order in 1 / n, and MC of the second case is .190.
    assert np.mean(raw) == pytest.approx({1000: 0.0357, 200: 0.190}[n_spikes], rel=0.03)
    # Counts of an occupancy in s are what is taken without being told.
    seconds = np.full(50, 10.0)
    np.testing.assert_allclose(
        spatial_information(counts / 10, seconds, correct_bias=True).bits_per_spike, corrected
    )
    # Neither the time nor the spikes in bins that are not valid count.
    more = np.pad(counts / 10, [(0, 0), (0, 50)], constant_values=np.nan)
    np.testing.assert_allclose(
        spatial_information(more, np.full(100, 10.0), correct_bias=True).bits_per_spike, corrected
    )


def test_coherence():
    ramp = np.add.outer(np.arange(9.0), 2 * np.arange(8.0))
    z = spatial_coherence(ramp, fisher_z=True, d=2)
    assert np.tanh(z) == pytest.approx(spatial_coherence(ramp, d=2))
    # Means over neighbours of a plane are the plane away from walls: those only are NaN here.
    assert spatial_coherence(ramp, d=2) > 0.97
    line = np.array([1.0, 2, np.nan, 5, 3, 4])
    neighbours = [2.0, 1, 3, 4.5, 3]
    r = np.corrcoef([1, 2, 5, 3, 4], neighbours)[0, 1]
    assert spatial_coherence(line) == pytest.approx(r)
    wave = np.sin(2 * np.pi * np.arange(12) / 12) + 2
    assert spatial_coherence(wave, wrap=True) == pytest.approx(1)
    assert spatial_coherence(wave) < 1
    noise = np.random.default_rng(0).random((200, 20, 20))
    assert abs(spatial_coherence(noise).mean()) < 4 / np.sqrt(200 * 400)
    # The 8 neighbours, by hand.
    rates = noise[0]
    padded = np.pad(rates, 1, constant_values=np.nan)
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    mean = np.nanmean([padded[i : i + 20, j : j + 20] for i, j in shifts], axis=0)
    expected = np.corrcoef(rates.ravel(), mean.ravel())[0, 1]
    assert spatial_coherence(rates, d=2) == pytest.approx(expected)
    assert np.isnan(spatial_coherence(np.full(9, 0.1)))
    assert np.isnan(spatial_coherence(np.array([1.0, 2.0])))


@pytest.fixture(scope="module")
def session():
    path = random_foraging(900, 0.05, box=(0, 1), speed=0.2, random_state=0)

    def rates(x):
        tuned = 0.3 + 10 * np.exp(-((x[:, :1] - 0.3) ** 2) / (2 * 0.08**2))
        return np.concatenate([tuned, np.full((len(x), 40), 2.0)], axis=1)

    return poisson_spikes(rates, path.times, path.positions, random_state=1), path


def test_shifts_find_the_cell_that_is_tuned(session):
    spikes, path = session
    options = {"bin_size": 0.05, "extent": (0, 1), "sigma": 0.05, "n_shuffles": 99}
    found = spatial_information_test([*spikes, np.zeros(0)], path.times, path.positions, **options)
    assert found.p_value[0] == 0.01
    assert found.z_score[0] > 10
    # Untuned cells: p values are uniform.
    assert np.mean(found.p_value[1:41]) == pytest.approx(0.5, abs=4 / np.sqrt(12 * 40))
    assert np.isnan(found.p_value[41])
    assert np.isnan(found.bits_per_spike[41])
    expected = spatial_information(found.maps)
    np.testing.assert_allclose(found.bits_per_spike, expected.bits_per_spike)
    # A cell's shifts are its own.
    alone = spatial_information_test(spikes[:2], path.times, path.positions, **options)
    np.testing.assert_allclose(alone.null, found.null[:, :2])


def test_shifts_keep_to_the_time_that_counts(session):
    spikes, path = session
    lost = path.positions.copy()
    lost[2000:6000] = np.nan
    found = spatial_information_test(
        spikes[:2], path.times, lost, bin_size=0.1, extent=(0, 1), n_shuffles=3,
        min_speed=0.05, epochs=[[0, 300], [500, 800]],
    )  # fmt: skip
    assert np.isfinite(found.null).all()
    assert found.maps.occupancy.sum() < 500
    # All mass in one bin of a rate that never changes has information whatever the shift.
    with pytest.raises(ValueError, match="min_shift must be from 0 to half"):
        spatial_information_test(spikes, path.times, lost, bin_size=0.1, min_shift=400)
    with pytest.raises(ValueError, match="n_shuffles"):
        spatial_information_test(spikes, path.times, lost, bin_size=0.1, n_shuffles=0)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: spatial_information(RATES, P[:3]), r"got maps \(4,\), occupancy \(3,\)"),
        (lambda: spatial_information(RATES), r"occupancy \(\*bins,\) is needed"),
        (lambda: spatial_information(-RATES, P), "map 0 has -1.0 in bin"),
        (lambda: spatial_information(RATES * np.inf, P), "finite and not negative"),
        (lambda: spatial_information(RATES, -P), "occupancy must be finite and not negative"),
        (lambda: spatial_information(RATES, 0 * P), "0 in every bin"),
        (lambda: spatial_information(RATES * np.nan, P), "NaN in every bin"),
        (lambda: spatial_information(RATES, P, mean_rate=[1, 2]), "mean_rate must be a number"),
        (lambda: spatial_information(RATES, P, n_spikes=3), "goes with correct_bias"),
        (lambda: sparsity(np.zeros((2, 3, 4, 5)), np.ones((4, 5))), "1 or 2 axes"),
        (lambda: spatial_coherence(np.zeros((2, 3, 4, 5))), "1 or 2 axes"),
    ],
)
def test_bad_input(run, message):
    with pytest.raises(ValueError, match=message):
        run()


def test_maps_of_a_session_need_no_occupancy():
    t = np.arange(0, 100, 0.1)
    x = 0.5 + 0.4 * np.sin(t / 7)
    spikes = np.arange(0, 90, 0.9)
    maps = rate_maps([spikes], t, x, bin_size=0.1, extent=(0, 1), sigma=0.1)
    assert np.array_equal(sparsity(maps), sparsity(maps.rates, maps.occupancy))
    n_bins = np.sum(maps.occupancy > 0)
    raw, corrected = (
        spatial_information(maps, correct_bias=c).bits_per_spike for c in (False, True)
    )
    np.testing.assert_allclose(raw - corrected, (n_bins - 1) / (2 * np.log(2) * maps.counts.sum()))
    assert spatial_coherence(maps) == pytest.approx(spatial_coherence(maps.raw_rates))
    longest = np.sort(maps.occupancy)[-2:]
    few = rate_maps([spikes], t, x, bin_size=0.1, extent=(0, 1), min_occupancy=longest[0])
    raw, corrected = (
        spatial_information(few, correct_bias=c).bits_per_spike for c in (False, True)
    )
    n = few.counts[:, few.occupancy >= longest[0]].sum()
    np.testing.assert_allclose(raw - corrected, 1 / (2 * np.log(2) * n))
