"""Dynamical similarity over the package dsa-metric: the search for the orthogonal matrix alone.

Both sides get the same matrices, and look for the least angle. The package is taken at the
defaults of its class `DSA`: 1,500 iterations at a rate of 0.005, from one random start and one
with two coordinates swapped. Its second default, that of the inner class, is 200 at 0.01.

Where one system is the other turned, ours stops at its lower bound. Two systems have no such sign,
so all 40 starts of an even size are tried, and reflections of the best. Both sides take turns, in
either order, with one thread each.
"""

import time

import numpy as np
import pytest

from neurosim.analysis.dsa import dsa

torch = pytest.importorskip("torch")
package = pytest.importorskip("DSA", reason="needs dsa-metric 2.0.2")
# Comes with scikit-learn, which the package needs.
threadpoolctl = pytest.importorskip("threadpoolctl")

N_PAIRS = 6


def _pairs(n, same):
    """Damped rotations with transients; the second is the first turned, or another."""
    rng = np.random.default_rng(n)

    def system():
        return 0.9 * np.linalg.qr(rng.normal(size=(n, n)))[0] + rng.normal(size=(n, n)) / 3 / n**0.5

    for _ in range(N_PAIRS):
        a = system()
        turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
        yield a, turn @ a @ turn.T if same else system()


def _angle(a, b, C):
    """In float64 whatever `C` was found in, and for the nearest orthogonal matrix."""
    left, _, right = np.linalg.svd(np.asarray(C, np.float64))
    turned = left @ right @ b @ (left @ right).T
    a, turned = a / np.linalg.norm(a), turned / np.linalg.norm(turned)
    return 2 * np.arctan2(np.linalg.norm(a - turned), np.linalg.norm(a + turned))


def _package(a, b, **settings):
    search = package.SimilarityTransformDist(score_method="angular", **settings)
    # It divides what it is given by its norm, in place.
    search.fit(*(torch.from_numpy(m.astype(np.float32)) for m in (a, b)))
    return _angle(a, b, search.C_star)


def _timed(run, a, b):
    """Distance, and seconds."""
    start = time.perf_counter()
    distance = run(a, b)
    return distance, time.perf_counter() - start


@pytest.mark.parametrize("same", [True, False], ids=["one system turned", "two systems"])
@pytest.mark.parametrize("n", [10, 20])
def test_over_the_package(n, same):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    runs = {
        "ours": lambda a, b: dsa(a, b).distance,
        "package": lambda a, b: _package(a, b, iters=1500, lr=5e-3),
        "package, 200 iterations": lambda a, b: _package(a, b, iters=200, lr=0.01),
    }
    found = {name: [] for name in runs}
    with threadpoolctl.threadpool_limits(1):
        for k, pair in enumerate(_pairs(n, same)):
            for name in list(runs)[:: 1 if k % 2 == 0 else -1]:
                found[name].append(_timed(runs[name], *pair))
    found = {name: np.array(pairs) for name, pairs in found.items()}
    for name, pairs in found.items():
        distance, seconds = np.median(pairs, axis=0)
        print(f"\n{n} x {n}, {name}: {distance:.2g} rad in {1e3 * seconds:.1f} ms")
    ours, theirs = found["ours"], found["package"]
    ratios = theirs[:, 1] / ours[:, 1]
    print(f"{np.median(ratios):.1f} times ({ratios.min():.1f} to {ratios.max():.1f})")
    assert (ours[:, 0] <= theirs[:, 0] + 1e-6).all()
    assert np.median(ratios) >= 10
