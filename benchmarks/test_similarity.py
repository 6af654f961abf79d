"""Time and peak memory of similarities for 5,000 samples of 1,000 units, beyond the input."""

import time
import tracemalloc

import numpy as np
import pytest

from neurosim.analysis.cka import cka
from neurosim.analysis.crossnobis import crossnobis

N_SAMPLES, N_UNITS, N_CONDITIONS = 5000, 1000, 50
MB = 1e6


def cka_by_kernels(X, Y):
    """Debiased alignment as it is written down, with both kernels, `(sample, sample)`."""
    n = len(X)
    kernels = [x @ x.T for x in (X, Y)]
    for kernel in kernels:
        np.fill_diagonal(kernel, 0)

    def inner(K, L):
        sums = K.sum() * L.sum() / ((n - 1) * (n - 2))
        return np.vdot(K, L) + sums - 2 / (n - 2) * K.sum(axis=0) @ L.sum(axis=0)

    K, L = kernels
    return inner(K, L) / np.sqrt(inner(K, K) * inner(L, L))


def _cost(run):
    """Seconds, and bytes at the peak beyond what is there before; timed without the tracing."""
    start = time.perf_counter()
    value = run()
    seconds = time.perf_counter() - start
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return value, seconds, peak


def test_debiased_cka():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, N_SAMPLES, N_UNITS))
    found, seconds, peak = _cost(lambda: cka(X, Y))
    expected, kernel_seconds, kernel_peak = _cost(lambda: cka_by_kernels(X, Y))
    print(
        f"\ndebiased CKA, 5,000 x 1,000: {seconds:.2f} s (bound 15 s), {peak / MB:.0f} MB (bound "
        f"150 MB); by kernels {kernel_seconds:.2f} s, {kernel_peak / MB:.0f} MB"
    )
    assert found == pytest.approx(expected, rel=1e-6)
    assert seconds < 15
    assert seconds < kernel_seconds
    assert peak < 150 * MB


@pytest.mark.parametrize(
    ("noise", "seconds_bound", "mb_bound"), [("shrinkage", 20, 100), ("diagonal", 10, 70)]
)
def test_crossnobis(noise, seconds_bound, mb_bound):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, N_UNITS))
    labels = np.arange(N_SAMPLES) % N_CONDITIONS
    found, seconds, peak = _cost(lambda: crossnobis(X, labels, noise=noise))
    print(
        f"\ncrossnobis, 5,000 x 1,000, {N_CONDITIONS} conditions, {noise} noise: {seconds:.2f} s "
        f"(bound {seconds_bound} s), {peak / MB:.0f} MB (bound {mb_bound} MB)"
    )
    off = found.dissimilarities[np.triu_indices(N_CONDITIONS, 1)]
    # No condition differs from another.
    assert abs(off.mean()) < 0.01
    assert seconds < seconds_bound
    assert peak < mb_bound * MB
