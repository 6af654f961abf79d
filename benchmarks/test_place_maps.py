"""Rate maps and decoding against what is at hand: loops over NumPy, and pynapple, in one process.

Rates of 100 cells over an hour at 50 Hz in 40 x 40 bins; 20 min decoded in windows of 50 ms from
such maps. pynapple makes an array of windows x bins x cells, 31 GB here: it is given one twelfth of
the windows, 2.6 GB, and its time is taken twelve times.
"""

import statistics
import time

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from neurosim.analysis.position_decoding import decode_position
from neurosim.analysis.random_foraging import poisson_spikes, random_foraging
from neurosim.analysis.rate_maps import rate_maps

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
