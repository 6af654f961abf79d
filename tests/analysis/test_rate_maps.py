"""Rate maps: case of unvisited bins, exact time in bins, filters on both sides, recovered rates."""

import time

import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.adaptive_rate_maps import adaptive_rate_maps
from neurosim.analysis.io.nwb_series import NWBSeries
from neurosim.analysis.map_smoothing import smooth_maps
from neurosim.analysis.random_foraging import poisson_spikes, random_foraging
from neurosim.analysis.rate_maps import rate_maps
from neurosim.analysis.spatial_information import spatial_information

T = np.arange(0, 100.01, 0.1)
#: To and fro on [0.2, 0.8] at 0.06 per s, so ten times each way.
SWEEP = 0.2 + 0.6 * np.abs(np.mod(T / 10, 2) - 1)
TRACK = {"bin_size": 0.1, "extent": (0, 1)}


def test_unvisited_bins_are_nan_and_the_rest_have_the_true_rate():
    spikes = np.arange(0.0025, 100, 0.005)  # 200 Hz throughout
    for sigma in (0.0, 0.05):
        maps = rate_maps(spikes, T, SWEEP, sigma=sigma, **TRACK)
        assert np.isnan(maps.rates[0, [0, 1, 8, 9]]).all()
        np.testing.assert_allclose(maps.rates[0, 2:8], 200, rtol=0.005)
        assert maps.occupancy[[0, 1, 8, 9]].sum() == 0
    np.testing.assert_allclose(maps.occupancy[2:8], 100 / 6, rtol=1e-9)
    information = spatial_information(maps.rates, np.ones(10))
    assert information.bits_per_spike[0] == pytest.approx(0, abs=1e-3)
    assert "60% visited" in repr(maps)


def test_time_in_bins_is_exact_however_coarse_the_samples():
    # One step of 1 s through ten bins, and back along a diagonal.
    times, positions = [0.0, 1, 3], np.array([[0.0, 0.5], [1, 0.5], [0, 1.5]])
    maps = rate_maps([0.25, 2.5], times, positions, bin_size=0.1, extent=((0, 1), (0, 2)))
    np.testing.assert_allclose(maps.occupancy[:, 5], 0.1 + 0.2 * (np.arange(10) == 9), atol=1e-12)
    assert maps.occupancy.sum() == pytest.approx(3)
    # Spikes at their own positions: (0.25, 0.5), and (0.25, 1.25) three quarters of the way back.
    assert np.argwhere(maps.counts[0]).tolist() == [[2, 5], [2, 12]]


def test_counts_and_occupancy_go_through_the_same_filters():
    rng = np.random.default_rng(0)
    spikes = np.sort(rng.uniform(0, 100, 3000))
    rate = 30 * np.ones(6)
    still = SWEEP.copy()
    still[300:500] = SWEEP[300]  # 20 s in one place
    lost = SWEEP.copy()
    lost[300:500] = np.nan
    given_speed = np.abs(np.gradient(still, T))
    gap = np.delete(np.arange(len(T)), np.arange(300, 500))
    for given, counted in (
        ({"times": T, "positions": still, "min_speed": 0.03}, 80),
        ({"times": T, "positions": still, "min_speed": 0.03, "speed": given_speed}, 80),
        ({"times": T, "positions": lost}, 79.9),
        ({"times": T[gap], "positions": SWEEP[gap]}, 79.9),
        ({"times": T, "positions": SWEEP, "epochs": [[0, 20], [10, 30], [30, 40]]}, 40),
    ):  # fmt: skip
        maps = rate_maps(spikes, **given, **TRACK)
        assert maps.occupancy.sum() == pytest.approx(counted, abs=0.2)
        assert maps.counts.sum() + maps.n_left_out[0] == 3000
        assert maps.counts.sum() == pytest.approx(30 * counted, rel=0.05)
        np.testing.assert_allclose(maps.rates[0, 2:8], rate, rtol=0.2)
        assert maps.mean_rates[0] == pytest.approx(maps.counts.sum() / maps.occupancy.sum())
    # A gap that is allowed counts.
    whole = rate_maps(spikes, T[gap], SWEEP[gap], max_gap=30, **TRACK)
    assert whole.occupancy.sum() == pytest.approx(100)


def test_edges_of_epochs_are_half_open_and_spikes_outside_are_reported():
    maps = rate_maps([1.0, 2.0, 3.0, 250.0], T, SWEEP, epochs=[[1, 3]], **TRACK)
    assert (maps.counts.sum(), maps.n_left_out[0]) == (2, 2)
    # The last sample is part of the path.
    assert rate_maps([0.0, T[-1]], T, SWEEP, **TRACK).counts.sum() == 2


def test_recovers_the_rates_of_a_simulated_session():
    def field(x):
        return 1 + 19 * np.exp(-np.sum((x - [0.3, 0.6]) ** 2, axis=1) / (2 * 0.15**2))

    path = random_foraging(3600, 0.04, box=((0, 1), (0, 1)), speed=0.3, random_state=1)
    spikes = poisson_spikes(field, path.times, path.positions, random_state=2)
    maps = rate_maps(spikes, path.times, path.positions, bin_size=0.1, extent=(0, 1))
    centres = np.stack(np.meshgrid(*maps.centres, indexing="ij"), axis=-1)
    true = field(centres.reshape(-1, 2)).reshape(10, 10)
    error = (maps.counts[0] - true * maps.occupancy) / np.sqrt(true * maps.occupancy)
    assert np.sqrt(np.mean(error**2)) < 1.5
    smooth = rate_maps(spikes, path.times, path.positions, bin_size=0.05, extent=(0, 1), sigma=0.05)
    assert np.unravel_index(smooth.rates[0].argmax(), (20, 20)) == pytest.approx((5.5, 11.5), abs=1)
    adaptive = adaptive_rate_maps(spikes, path.times, path.positions, bin_size=0.1, extent=(0, 1))
    np.testing.assert_allclose(adaptive.rates[0], true, rtol=0.35, atol=0.6)


def test_maps_that_wrap():
    heading = np.mod(350 + 7 * np.arange(2000), 360.0)
    times = np.arange(2000) / 10
    spikes = times[:-1][(heading[:-1] > 355) | (heading[:-1] < 3)] + 0.01
    maps = rate_maps(spikes, times, heading, edges=np.arange(0, 361, 10), wrap=True)
    np.testing.assert_allclose(maps.occupancy, 199.9 / 36, rtol=0.03)
    assert set(np.flatnonzero(maps.counts[0])) == {0, 35}
    turned = rate_maps(spikes, times, heading + 720, edges=np.arange(0, 361, 10), wrap=True)
    assert np.array_equal(turned.counts, maps.counts)
    smooth = rate_maps(spikes, times, heading, edges=np.arange(0, 361, 10), wrap=True, sigma=10)
    assert smooth.rates[0, 35] > 0.5 * smooth.rates[0, 0] > 1
    np.testing.assert_allclose(smooth.rates[0, 18], 0, atol=1e-6)


def test_smoothing_leaves_constants_alone_and_spreads_a_spike():
    holed = np.full((12, 9), 3.0)
    holed[3:5, 4] = np.nan
    np.testing.assert_allclose(smooth_maps(holed, sigma=1.5), holed)
    spike = np.zeros(41)
    spike[20] = 1
    k = np.arange(41) - 20
    np.testing.assert_allclose(
        smooth_maps(spike, sigma=2), np.exp(-(k**2) / 8) / np.sqrt(8 * np.pi), atol=1e-5
    )
    ring = smooth_maps(np.roll(spike, -20), sigma=2, wrap=True)
    np.testing.assert_allclose(np.roll(ring, 20), smooth_maps(spike, sigma=2), atol=1e-7)
    # Wider than the circle: all the same.
    np.testing.assert_allclose(smooth_maps(spike, sigma=200, wrap=True), 1 / 41, rtol=1e-6)
    assert smooth_maps(np.ones((3, 5)), sigma=1, d=1).shape == (3, 5)
    with pytest.raises(ValueError, match="sigma must be finite and not negative"):
        smooth_maps(spike, sigma=-1)
    with pytest.raises(ValueError, match="must be finite, or NaN"):
        smooth_maps(np.full(4, np.inf), sigma=1)


def test_adaptive_discs_follow_the_definition():
    rng = np.random.default_rng(4)
    spikes = [np.sort(rng.uniform(0, 100, 400)), np.zeros(0)]
    maps = adaptive_rate_maps(spikes, T, SWEEP, alpha=3e6, **TRACK)
    for k in range(2, 8):
        for r in range(1, 10):
            disc = slice(max(0, k - r), k + r + 1)
            n, s = maps.counts[0, disc].sum(), maps.occupancy[disc].sum()
            if n * (10 * s * r) ** 2 >= 3e6:
                break
        assert maps.rates[0, k] == pytest.approx(n / s)
    assert np.array_equal(np.isnan(maps.rates[0]), maps.occupancy == 0)
    assert (maps.rates[1, 2:8] == 0).all()
    # In two dimensions the disc of radius 1 is a cross of five bins.
    walk = random_foraging(300, 0.1, box=((0, 1), (0, 1)), speed=0.4, random_state=0)
    maps = adaptive_rate_maps(
        np.sort(rng.uniform(0, 300, 5000)), walk.times, walk.positions, bin_size=0.1,
        extent=(0, 1), alpha=1e-9,
    )  # fmt: skip
    around = [(3, 4), (2, 4), (4, 4), (3, 3), (3, 5)]
    n, s = (sum(x[i] for i in around) for x in (maps.counts[0], maps.occupancy))
    assert maps.rates[0, 3, 4] == pytest.approx(n / s)
    ring = adaptive_rate_maps(
        [np.sort(rng.uniform(0, 100, 900))], T, T, edges=np.arange(0, 11), wrap=True, alpha=1e-9
    )
    n, s = (x[[9, 0, 1]].sum() for x in (ring.counts[0], ring.occupancy))
    assert ring.rates[0, 0] == pytest.approx(n / s)
    # On a torus a disc that meets itself counts each bin once: grown to the end, all of them.
    whole = adaptive_rate_maps(
        np.sort(rng.uniform(0, 300, 5000)), walk.times, walk.positions,
        edges=[np.arange(8) / 7] * 2, wrap=(True, False), alpha=1e30,
    )  # fmt: skip
    np.testing.assert_allclose(whole.rates, 5000 / 300)
    for bad, message in (({"alpha": 0}, "alpha"), ({"max_radius": 0}, "max_radius"),
                         ({"sampling_rate": 0}, "sampling_rate")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            adaptive_rate_maps(spikes, T, SWEEP, **TRACK, **bad)


def test_pynapple_objects():
    nap = pytest.importorskip("pynapple")
    spikes = {3: np.arange(0.5, 90, 0.7), 5: np.arange(1, 90, 3.0)}
    group = nap.TsGroup({k: nap.Ts(v) for k, v in spikes.items()})
    track = nap.Tsd(T, SWEEP)
    maps = rate_maps(group, track, track, epochs=nap.IntervalSet(0, 50), **TRACK)
    plain = rate_maps(list(spikes.values()), T, SWEEP, epochs=[0, 50], **TRACK)
    assert np.array_equal(maps.counts, plain.counts)
    assert maps.unit_ids.tolist() == [3, 5]


def test_a_series_of_an_nwb_file():
    series = NWBSeries(SWEEP[:, None], T, "meters", None, "")
    maps = rate_maps([5.0, 6.0], series, series, **TRACK)
    assert np.array_equal(maps.occupancy, rate_maps([5.0, 6.0], T, SWEEP, **TRACK).occupancy)


def test_walls_hold_in_single_precision():
    # 0.3 is more than 0.3 there.
    wall = np.minimum(SWEEP, 0.3).astype(np.float32)
    maps = rate_maps([5.0, 6.0], T, wall, bin_size=0.1, extent=(0.1, 0.3))
    assert maps.occupancy.sum() == pytest.approx(100)
    assert maps.occupancy[1] > 99


def test_a_moment_far_off_is_looked_up_as_fast():
    # All but one time share a slot of an even table; one by one this takes minutes.
    times = np.append(np.arange(300_000) / 100, 1e9)
    spikes = np.arange(0, 2999, 0.5) + 0.001
    begin = time.perf_counter()
    maps = rate_maps(spikes, times, np.mod(times, 1), edges=np.linspace(0, 1, 11), wrap=True)
    assert time.perf_counter() - begin < 10
    assert maps.counts[0, [0, 5]].tolist() == [2999, 2999]


def test_edges_in_one_array():
    edges = np.array([[0, 0.5, 1], [0, 0.5, 1]])
    both = np.stack([SWEEP, SWEEP], axis=1)
    maps = rate_maps([5.0, 6.0], T, both, edges=edges)
    assert np.array_equal(maps.rates, rate_maps([5.0, 6.0], T, both, edges=list(edges)).rates, True)


def test_cells_without_spikes_and_repeated_spikes():
    maps = rate_maps([[], [5.0, 6.0]], T, SWEEP, **TRACK)
    assert (maps.rates[0, 2:8] == 0).all()
    assert np.isnan(maps.rates[0, 0])
    with pytest.warns(UserWarning, match=r"1 spike\(s\) come at the time of another.*unit 0 at 5"):
        assert rate_maps([[5.0, 5.0]], T, SWEEP, **TRACK).counts.sum() == 2


BACK = T.copy()
BACK[50] = T[40]
TWICE = T.copy()
TWICE[50] = T[49]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": BACK}, r"times must increase: sample 50 \(4\) comes before sample 49"),
        ({"times": TWICE}, r"sample 50 \(4.9\) is at the same time as sample 49"),
        ({"times": np.where(np.arange(len(T)) == 3, np.nan, T)}, "times must be finite: sample 3"),
        ({"times": T[:-1]}, r"times must be \(sample,\)"),
        ({"positions": np.zeros((len(T), 3))}, "1 or 2"),
        ({"positions": SWEEP + 0.3}, r"outside of the bins on axis 0, which go from 0 to 1"),
        ({"positions": np.where(T > 3, np.inf, SWEEP)}, "finite, or NaN where lost: sample 31"),
        ({"positions": np.full(len(T), np.nan)}, "no time is left: of 1000 steps 1000 lack"),
        ({"positions": np.full(len(T), np.nan), "extent": None}, "every one is NaN"),
        ({"min_speed": 5}, "1000 are slower than min_speed"),
        ({"min_speed": -1}, "min_speed must be finite"),
        ({"min_speed": 1, "speed": np.ones(4)}, r"speed must be \(sample,\), 1001 values"),
        ({"speed": np.ones(1001)}, "speed goes with min_speed"),
        ({"max_gap": 0}, "max_gap must be positive"),
        ({"max_gap": 0.01}, "1000 are longer than max_gap"),
        ({"epochs": [[500, 600]]}, "the rest lie outside of epochs"),
        ({"min_occupancy": 1e3}, "no bin was visited for min_occupancy"),
        ({"min_occupancy": -1}, "min_occupancy must be finite"),
        ({"sigma": -1}, "sigma must be finite"),
        ({"sigma": (0.1, 0.1)}, "sigma must be a number"),
        ({"sigma": None}, "sigma must be a number"),
        ({"spike_times": [3.0, 1.0]}, "not sorted"),
        ({"spike_times": [3.0, np.nan]}, "spike 1 is nan"),
        ({"spike_times": [1e4, 2e4]}, "no spike falls within the time of the positions"),
        ({"bin_size": 0}, "bin_size must be positive"),
        ({"bin_size": None}, "give either edges, or bin_size"),
        ({"edges": [0, 1]}, "give either edges, or bin_size"),
        ({"edges": [0, 1], "bin_size": None}, "extent goes with bin_size"),
        ({"edges": [0, 1, 1], "bin_size": None, "extent": None}, "finite and increase"),
        ({"edges": [[0, 1], [0, 1]], "bin_size": None, "extent": None}, r"for each of 1 dim"),
        ({"edges": [0, 0.1, 1], "bin_size": None, "extent": None, "sigma": 1}, "bins of one width"),
        ({"extent": (1, 0)}, "low < high"),
        ({"wrap": (True, False)}, "one for each of 1 axes"),
        ({"wrap": True, "extent": None}, "its period is unknown"),
        ({"wrap": True, "bin_size": 0.3}, "does not divide the period"),
    ],
)
def test_bad_input(change, message):
    given = {"spike_times": [5.0, 6.0], "times": T, "positions": SWEEP, **TRACK} | change
    with pytest.raises(ValueError, match=message):
        rate_maps(given.pop("spike_times"), given.pop("times"), given.pop("positions"), **given)


def test_jax_arrays_are_computed_in_double_precision():
    maps = rate_maps([jnp.array([5.0, 6.0])], jnp.asarray(T), jnp.asarray(SWEEP), **TRACK)
    assert maps.rates.dtype == maps.occupancy.dtype == np.float64
    bits = spatial_information(jnp.array([1.0, 2, 3, 4]), jnp.array([0.4, 0.3, 0.2, 0.1]))
    assert bits.bits_per_spike == pytest.approx(0.17548875, abs=1e-7)
