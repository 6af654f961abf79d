"""Rate maps and decoding against what is at hand, and the cost of a capacity of place cells.

Rates of 100 cells over an hour at 50 Hz in 40 x 40 bins, against loops over NumPy; 20 min decoded
in windows of 50 ms from such maps, against pynapple in the same process. pynapple makes an array of
windows x bins x cells, 31 GB here: it is given one twelfth of the windows, 2.6 GB, and its time is
taken twelve times.

One capacity is that of 800 cells on a track, from 1000 pairs of maps, compilation included. The
search for the nearest pair of positions is compared with the contact function at all of them.
"""

import statistics
import time

import jax
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from neurosim.analysis.capacity_exponent import distance_moments, gaussian_log_overlap
from neurosim.analysis.context_capacity import log_context_capacity
from neurosim.analysis.position_decoding import decode_position
from neurosim.analysis.random_foraging import poisson_spikes, random_foraging
from neurosim.analysis.rate_maps import rate_maps
from neurosim.kernels import contact_function, min_distance
from neurosim.models import Environment, FieldStatistics, PlaceMapEnsemble, sample_place_map

ROUNDS = 5
N_CELLS, N_BINS = 100, 40
EDGES = np.linspace(0, 1, N_BINS + 1)


def _timed(run, rounds=ROUNDS):
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


@pytest.fixture(scope="module")
def session():
    rng = np.random.default_rng(0)
    path = random_foraging(3600, 0.02, box=((0, 1), (0, 1)), speed=0.15, random_state=0)
    centres, peaks = rng.random((N_CELLS, 2)), rng.uniform(5, 30, N_CELLS)

    def rates(x):
        distance = np.sum((x[:, None] - centres) ** 2, axis=2)
        return 0.1 + peaks * np.exp(-distance / (2 * 0.12**2))

    return poisson_spikes(rates, path.times, path.positions, random_state=1), path


def _map_of(spikes, t, x):
    """One cell: histograms of spikes and of samples, smoothed, divided."""
    fired = np.histogram2d(
        np.interp(spikes, t, x[:, 0]), np.interp(spikes, t, x[:, 1]), bins=[EDGES, EDGES]
    )[0]
    spent = np.histogram2d(x[:, 0], x[:, 1], bins=[EDGES, EDGES])[0] * np.median(np.diff(t))
    sums = [gaussian_filter(a, 2, mode="constant", truncate=5) for a in (fired, spent)]
    return np.where(spent > 0, sums[0] / np.where(sums[1] > 0, sums[1], 1), np.nan)


def test_rate_maps_of_many_cells(session):
    spikes, path = session
    t, x = path.times, path.positions

    def ours():
        return rate_maps(spikes, t, x, edges=(EDGES, EDGES), sigma=0.05)

    def loop():
        return np.stack([_map_of(s, t, x) for s in spikes])

    maps = ours()
    # Theirs counts samples, ours the time on the way between them.
    assert np.corrcoef(maps.rates.ravel(), loop().ravel())[0, 1] > 0.999
    taken, theirs = _timed(ours), _timed(loop, 3)
    print(f"\nrate maps: {1e3 * taken:.0f} ms, loop {1e3 * theirs:.0f} ms, {theirs / taken:.1f}x")
    assert theirs / taken >= 5


def test_decoding_against_pynapple(session):
    nap = pytest.importorskip("pynapple")
    xarray = pytest.importorskip("xarray")
    spikes, path = session
    maps = rate_maps(spikes, path.times, path.positions, edges=(EDGES, EDGES), sigma=0.05)
    assert np.isfinite(maps.rates).all()
    n, dt, share = 24_000, 0.05, 12
    rng = np.random.default_rng(2)
    place = rng.integers(N_BINS**2, size=n)
    counts = rng.poisson(dt * maps.rates.reshape(N_CELLS, -1)[:, place].T)
    x, y = maps.centres
    curves = xarray.DataArray(
        np.maximum(maps.rates, 1e-3),
        dims=("unit", "x", "y"),
        coords={"unit": np.arange(N_CELLS), "x": x, "y": y},
    )
    some = counts[: n // share]
    frame = nap.TsdFrame(t=dt * (np.arange(len(some)) + 0.5), d=some.astype(float))

    def theirs():
        return nap.decode_bayes(curves, frame, epochs=frame.time_support, bin_size=dt)[1]

    ours = decode_position(counts, maps, dt)
    start = time.perf_counter()
    posterior = theirs()
    their_time = share * (time.perf_counter() - start)
    difference = np.abs(posterior.values - ours.posterior[: len(some)]).max()
    taken = _timed(lambda: decode_position(counts, maps, dt), 3)
    print(
        f"\ndecoding 20 min: {taken:.2f} s, pynapple {their_time:.0f} s, "
        f"{their_time / taken:.0f}x; greatest difference of posteriors {difference:.1g}"
    )
    assert difference < 1e-9
    assert their_time / taken >= 20


def _sampler(n_cells):
    """Batches of maps, of fields of 1/3 m on a track of 1 m, `(map, position, cell)`."""
    track = Environment(1.0)
    ensemble = PlaceMapEnsemble(track, FieldStatistics.preset("rooke2024_1d"), width=1 / 3)
    x = track.grid(101)
    return jax.jit(jax.vmap(lambda key: sample_place_map(key, n_cells, ensemble)(x)))


@pytest.mark.parametrize(("noise", "level"), [("constant", 2.0), ("poisson", 0.5)])
def test_a_capacity(noise, level):
    n_cells, n_pairs, batch = 800, 1000, 20
    start = time.perf_counter()
    sample, distances = _sampler(n_cells), []
    for key in jax.random.split(jax.random.key(0), 2 * n_pairs // batch):
        maps = np.asarray(sample(jax.random.split(key, batch)))
        distances += [min_distance(a, b, noise).value for a, b in zip(maps[::2], maps[1::2])]
    mu, lam = distance_moments(np.array(distances), n_cells, noise=noise)
    overlap = gaussian_log_overlap(mu, lam, n_cells, noise=noise, level=level, q=0.0)
    log_M = float(log_context_capacity(overlap))
    taken = time.perf_counter() - start
    print(f"\none capacity, {noise}: {taken:.1f} s; mu {mu:.2f}, lam {lam:.2f}, ln M {log_M:.1f}")
    if noise == "constant":
        # Of another 1000 pairs; three standard errors of the difference.
        assert abs(mu - 8.42) < 1.3 / n_cells**0.5
        assert abs(lam - 9.70) < 0.9
    assert taken < 60


@pytest.mark.parametrize("n_cells", [200, 800])
def test_contact_search_against_all_pairs(n_cells):
    maps = np.asarray(_sampler(n_cells)(jax.random.split(jax.random.key(1), 20)), np.float64)
    pairs = list(zip(maps[::2], maps[1::2]))

    def everywhere(a, b):
        return min(float(contact_function(row, b)[0].min()) for row in a)

    found = [min_distance(a, b, "poisson").value for a, b in pairs]
    for value, (a, b) in zip(found[:3], pairs):
        assert abs(value - everywhere(a, b)) < 1e-10 * max(value, 1)
    taken = _timed(lambda: [min_distance(a, b, "poisson") for a, b in pairs]) / len(pairs)
    theirs = _timed(lambda: everywhere(*pairs[0]), 1)
    print(
        f"\ncontact search, N = {n_cells}, 101 x 101 positions: {1e3 * taken:.1f} ms, all pairs "
        f"{1e3 * theirs:.0f} ms, {theirs / taken:.0f}x"
    )
    assert theirs / taken >= 10
