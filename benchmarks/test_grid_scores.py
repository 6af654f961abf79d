"""Grid scores of 1,000 maps of 40 x 40 bins over the published scorer, map by map.

The loop is the published definition with SciPy's functions as they stand: six full convolutions
for an autocorrelogram, seven rotated images, and twenty rings. It is timed over some of the maps.
Both sides have one thread for linear algebra.
"""

import time

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

from neurosim.analysis.grid_score import grid_score
from neurosim.kernels.ideal_grid import ideal_grid_map

# Comes with scikit-learn.
threadpoolctl = pytest.importorskip("threadpoolctl")

N_MAPS, N_LOOPED, N = 1000, 100, 40
ANGLES = (30, 45, 60, 90, 120, 135, 150)


def _maps():
    rng = np.random.default_rng(0)
    centres = (np.arange(N) + 0.5) / N
    x = np.stack(np.meshgrid(centres, centres, indexing="ij"), axis=-1)
    maps = [
        ideal_grid_map(x, spacing=rng.uniform(0.2, 0.6), orientation=rng.uniform(0, 1))
        for _ in range(N_MAPS)
    ]
    return np.stack(maps) + rng.uniform(0, 1, size=(N_MAPS, 1, 1)) * rng.normal(size=(N_MAPS, N, N))


def _autocorrelogram(one):
    def correlate(a, b):
        return scipy.signal.convolve2d(a, b[::-1, ::-1])

    ones = np.ones_like(one)
    n = correlate(ones, ones)
    product, first, second = correlate(one, one), correlate(one, ones), correlate(ones, one)
    variances = [
        correlate(a**2, b**2) / n - (total / n) ** 2
        for a, b, total in ((one, ones, first), (ones, one, second))
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (product / n - first * second / n**2) / np.sqrt(variances[0] * variances[1])
    return np.nan_to_num(np.where(n >= 2, r, 0))


def _looped(maps, rings):
    scores = np.empty((len(maps), 2))
    for i, one in enumerate(maps):
        sac = _autocorrelogram(one)
        turned = {a: scipy.ndimage.rotate(sac, a, reshape=False) for a in ANGLES}
        best = np.full(2, -np.inf)
        for ring in rings:
            area = ring.sum()
            mean = np.sum(sac * ring) / area
            centred = (sac - mean) * ring
            variance = np.sum(centred**2) / area + 1e-5
            c = {
                a: np.sum(centred * (image - mean) * ring) / area / variance
                for a, image in turned.items()
            }
            hexagon = (c[60] + c[120]) / 2 - (c[30] + c[90] + c[150]) / 3
            best = np.maximum(best, [hexagon, c[90] - (c[45] + c[135]) / 2])
        scores[i] = best
    return scores


def _seconds(run):
    start = time.perf_counter()
    value = run()
    return value, time.perf_counter() - start


def test_over_the_published_scorer_one_map_after_the_other():
    maps = _maps()
    at = np.arange(1 - N, N)
    radius = np.hypot(at[:, None], at)
    rings = [
        ((radius <= r * N) & (radius > 0.1 * N)).astype(float) for r in np.linspace(0.2, 1.4, 20)
    ]
    grid_score(maps[:2])
    with threadpoolctl.threadpool_limits(1):
        expected, theirs = _seconds(lambda: _looped(maps[:N_LOOPED], rings))
        runs = [_seconds(lambda: grid_score(maps)) for _ in range(5)]
    theirs *= N_MAPS / N_LOOPED
    found, ours = runs[0][0], float(np.median([seconds for _, seconds in runs]))
    worst = max(
        np.abs(found.score_60[:N_LOOPED] - expected[:, 0]).max(),
        np.abs(found.score_90[:N_LOOPED] - expected[:, 1]).max(),
    )
    print(
        f"\n1,000 maps: {ours:.2f} s, the loop {theirs:.0f} s, {theirs / ours:.0f} times; scores "
        f"differ by {worst:.1e} at most"
    )
    assert worst < 1e-5
    assert theirs / ours >= 30
