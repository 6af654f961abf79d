"""Numbers do not depend on how many threads multiply matrices."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from neurosim.analysis import PCA, effective_rank, participation_ratio
from neurosim.analysis.cca import cca
from neurosim.analysis.cka import cka
from neurosim.analysis.cross_temporal_decoding import cross_temporal_decode
from neurosim.analysis.crossnobis import crossnobis
from neurosim.analysis.cvpca import cross_validated_spectrum
from neurosim.analysis.dmd import DMD
from neurosim.analysis.dpca import DPCA
from neurosim.analysis.dsa import dsa
from neurosim.analysis.jpca import JPCA
from neurosim.analysis.procrustes import procrustes_distance

# Large enough for products to be dealt out to threads.
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 400, 150)) * np.linspace(1, 3, 150)
TRIALS, LABELS = X.reshape(40, 10, 150), np.arange(40) % 4
A, B = RNG.normal(size=(2, 6, 6))

RESULTS = {
    "PCA": lambda: PCA(5).fit(X).components_,
    "participation_ratio": lambda: participation_ratio(X, bias_corrected=True),
    "effective_rank": lambda: effective_rank(X, kind="covariance"),
    "cross_validated_spectrum": lambda: cross_validated_spectrum(np.stack([X, Y])).variance,
    "DPCA": lambda: DPCA(ridge=0.1, n_components=2).fit(TRIALS, {"stimulus": LABELS}).score(X),
    "cca": lambda: cca(X, Y).correlations,
    "cka": lambda: cka(X, Y),
    "procrustes_distance": lambda: procrustes_distance(X, Y),
    "crossnobis": lambda: crossnobis(TRIALS, LABELS).dissimilarities,
    "cross_temporal_decode": lambda: cross_temporal_decode(TRIALS, LABELS).accuracy,
    "JPCA": lambda: JPCA(4).fit(TRIALS).frequencies_,
    "DMD": lambda: DMD(rank=5).fit(TRIALS).eigenvalues_,
    "dsa": lambda: dsa(A, B, n_starts=2).distance,
}


@pytest.mark.parametrize("name", list(RESULTS))
def test_one_thread_and_two_agree(name):
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            used = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
            assert max(used, default=1) <= n_threads
            found.append(RESULTS[name]())
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-10)
