"""Demixed PCA over the package dPCA, in one process: 100 units, 6 x 2 conditions, 100 times.

The package finds its axes by a randomised decomposition, by default (`n_iter=0`) without the
iterations that make it accurate: components after the first few are then random. It is timed both
as it comes, and with as many iterations as give the same answer as the closed form. Both sides have
one thread for linear algebra: at this size more of them mostly wait.
"""

import contextlib
import io
import statistics
import time

import numpy as np
import pytest

from neurosim.analysis.dpca import DPCA

package = pytest.importorskip("dPCA.dPCA", reason="needs dPCA 1.0.5, numexpr and numba")
# Comes with scikit-learn, which the package needs.
threadpoolctl = pytest.importorskip("threadpoolctl")

ROUNDS = 31
N_COMPONENTS = 10
ACCURATE = 16
FACTORS = ("stimulus", "decision", "time")
PARTS = {"s": "stimulus", "d": "decision", "sd": "stimulus:decision", "t": "time"}
JOIN = {"s": ["s", "st"], "d": ["d", "dt"], "sd": ["sd", "sdt"]}


def _trials(n_trials=10):
    """`(trial, stimulus, decision, time, unit)`: a few components of each part, and noise."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 100)
    X = np.zeros((6, 2, 100, 100))
    for k in range(3):
        for levels, course in (
            (np.ones((1, 1)), (3 - k) * np.sin(3 * (k + 1) * t)),
            (rng.normal(size=(6, 1)), (1.5 - 0.5 * k) * t**k),
            (rng.normal(size=(1, 2)), (1 - 0.2 * k) * np.cos(k * t)),
            (rng.normal(size=(6, 2)), 0.3 * t ** (2 - k)),
        ):
            X += levels[..., None, None] * course[:, None] * rng.normal(size=100)
    return X + rng.normal(size=(n_trials, *X.shape))


def _quietly(fit):
    with contextlib.redirect_stdout(io.StringIO()):
        return fit()


def _ratio(name, ours, theirs, rounds=ROUNDS):
    times = [[], []]
    for run in (ours, theirs):
        run()
    for k in range(rounds):
        # In turns, either first.
        for run, taken in list(zip((ours, theirs), times))[:: 1 if k % 2 == 0 else -1]:
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    ours_s, theirs_s = (statistics.median(taken) for taken in times)
    ratio = theirs_s / ours_s
    print(f"\n{name}: {1e3 * ours_s:.1f} ms, dPCA {1e3 * theirs_s:.1f} ms, {ratio:.1f} times")
    return ratio


@pytest.fixture(autouse=True)
def one_thread():
    with threadpoolctl.threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def trials():
    return _trials()


def test_fit_with_a_fixed_penalty(trials):
    X = trials.mean(axis=0)
    X -= X.mean(axis=(0, 1, 2))
    unit_first = np.ascontiguousarray(np.moveaxis(X, -1, 0))
    penalty = 1e-6
    # Theirs is a fraction of |X|^2, ours of |X|.
    dpca = DPCA(FACTORS, n_components=N_COMPONENTS, ridge=penalty * float(np.linalg.norm(X)))

    def theirs(n_iter):
        model = package.dPCA(
            "sdt", join=JOIN, n_components=N_COMPONENTS, regularizer=penalty, n_iter=n_iter
        )
        return model.fit(unit_first)

    dpca.fit(X)
    for n_iter in (0, ACCURATE):
        model = theirs(n_iter)
        cosines = [abs(np.sum(model.P[k].T * dpca.encoders_[n], axis=1)) for k, n in PARTS.items()]
        print(f"\nn_iter={n_iter}: least |cosine| between encoders {np.min(cosines):.4f}")
    assert np.min(cosines) > 0.999
    as_it_comes = _ratio("fit", lambda: dpca.fit(X), lambda: theirs(0))
    accurate = _ratio("fit to the same answer", lambda: dpca.fit(X), lambda: theirs(ACCURATE))
    assert as_it_comes >= 3
    assert accurate >= 5


def test_fit_with_a_penalty_from_held_out_trials(trials):
    unit_first = np.ascontiguousarray(np.moveaxis(trials, -1, 1))
    mean = unit_first.mean(axis=0)
    # As many penalties and splits as the package tries.
    ridges = 1e-4 * 1.25 ** np.arange(45)
    dpca = DPCA(FACTORS, n_components=N_COMPONENTS, ridge=ridges, n_splits=3)

    def theirs():
        model = package.dPCA("sdt", join=JOIN, n_components=N_COMPONENTS, regularizer="auto")
        model.protect = ["t"]
        return model.fit(mean, unit_first.copy())

    dpca.fit(trials)
    ratio = _ratio(
        "fit with automatic penalty", lambda: dpca.fit(trials), lambda: _quietly(theirs), rounds=3
    )
    assert ratio >= 5
