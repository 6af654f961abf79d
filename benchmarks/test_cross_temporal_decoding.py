"""Cross-temporal decoding over scikit-learn's double loop: 200 trials of 100 times, 100 units.

The loop fits a scaler and a decoder at each time of each of 5 folds, and tests it at all times.
Both sides have one thread for linear algebra: at this size more of them mostly wait.
"""

import time

import numpy as np
import pytest

from neurosim.analysis.cross_temporal_decoding import cross_temporal_decode
from neurosim.analysis.grouped_folds import grouped_folds

discriminant_analysis = pytest.importorskip("sklearn.discriminant_analysis")
linear_model = pytest.importorskip("sklearn.linear_model")
preprocessing = pytest.importorskip("sklearn.preprocessing")
# Comes with scikit-learn.
threadpoolctl = pytest.importorskip("threadpoolctl")

N_TRIALS, N_TIMES, N_UNITS, N_FOLDS = 200, 100, 100, 5


def _population():
    rng = np.random.default_rng(0)
    y = np.arange(N_TRIALS) % 2
    angle = np.linspace(0, np.pi, N_TIMES)[:, None]
    plane = 0.3 * rng.normal(size=(2, N_UNITS))
    course = np.cos(angle) * plane[0] + np.sin(angle) * plane[1]
    noise = rng.normal(size=(N_TRIALS, N_TIMES, N_UNITS))
    return (2 * y[:, None, None] - 1) * course + noise, y


def _double_loop(X, y, make):
    accuracy = np.zeros((N_FOLDS, N_TIMES, N_TIMES))
    folds = grouped_folds(N_TRIALS, n_folds=N_FOLDS, random_state=0, labels=y)
    for f, (train, test) in enumerate(folds):
        for s in range(N_TIMES):
            scaler = preprocessing.StandardScaler().fit(X[train, s])
            model = make().fit(scaler.transform(X[train, s]), y[train])
            for t in range(N_TIMES):
                accuracy[f, s, t] = model.score(scaler.transform(X[test, t]), y[test])
    return accuracy


def _seconds(run):
    start = time.perf_counter()
    value = run()
    return value, time.perf_counter() - start


@pytest.mark.parametrize(("decoder", "penalty"), [("ridge", 1.0), ("lda", 0.1)])
def test_over_scikit_learn_one_pair_of_times_after_the_other(decoder, penalty):
    X, y = _population()

    def make():
        if decoder == "ridge":
            return linear_model.RidgeClassifier(alpha=penalty)
        return discriminant_analysis.LinearDiscriminantAnalysis("lsqr", shrinkage=penalty)

    with threadpoolctl.threadpool_limits(1):
        expected, theirs = _seconds(lambda: _double_loop(X, y, make))
        runs = [
            _seconds(lambda: cross_temporal_decode(X, y, decoder=decoder, penalty=penalty))
            for _ in range(5)
        ]
    found, ours = runs[0][0], float(np.median([seconds for _, seconds in runs]))
    print(f"\n{decoder}: {ours:.2f} s, scikit-learn {theirs:.1f} s, {theirs / ours:.0f} times")
    np.testing.assert_allclose(found.folds, expected, atol=1e-12)
    assert theirs / ours >= 20
