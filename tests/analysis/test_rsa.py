"""Comparisons of dissimilarities against their definitions, written out pair by pair."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, spearmanr

from neurosim.analysis.cka import cka
from neurosim.analysis.rdm import rdm
from neurosim.analysis.rsa import compare_rdms, rdm_shuffle_test

MEASURES = ("cosine", "pearson", "spearman", "kendall_tau_a", "whitened_cosine")
RNG = np.random.default_rng(0)
P, Q = RNG.normal(size=(2, 6, 4))
A, B = pdist(P) ** 2, pdist(Q) ** 2


def test_textbook_measures():
    assert compare_rdms(A, B) == pytest.approx(A @ B / np.linalg.norm(A) / np.linalg.norm(B))
    assert compare_rdms(A, B, measure="pearson") == pytest.approx(pearsonr(A, B).statistic)
    a, b = A.round(), B.round()
    for x, y in ((A, B), (a, b)):
        assert compare_rdms(x, y, measure="spearman") == pytest.approx(spearmanr(x, y).statistic)
        signs = [np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i, j in combinations(range(15), 2)]
        found = compare_rdms(x, y, measure="kendall_tau_a")
        assert found == pytest.approx(np.sum(signs) / 105)
    # Ties keep it below 1 even for equal matrices, so a model with many gains nothing by them.
    ties = np.repeat([1.0, 2, 3], 5)
    assert compare_rdms(ties, ties, measure="kendall_tau_a") == pytest.approx(1 - 3 * 10 / 105)


def test_whitened_cosine_takes_out_the_covariance_of_dissimilarities():
    """Errors of (c_ab^T S c_cd)^2, the inverse of which weighs the cosine."""
    pairs = list(combinations(range(6), 2))
    C = np.array([np.eye(6)[i] - np.eye(6)[j] for i, j in pairs])
    covariance = np.cov(RNG.normal(size=(6, 20)))
    variances = 1 / np.array([3.0, 4, 5, 6, 7, 8])
    for S, noise in ((np.eye(6), None), (covariance, covariance), (np.diag(variances), variances)):
        inverse = np.linalg.inv((C @ S @ C.T) ** 2)
        expected = A @ inverse @ B / np.sqrt((A @ inverse @ A) * (B @ inverse @ B))
        found = compare_rdms(A, B, measure="whitened_cosine", condition_noise=noise)
        assert found == pytest.approx(expected)
    # With equal errors it is the alignment of the patterns.
    assert compare_rdms(A, B, measure="whitened_cosine") == pytest.approx(cka(P, Q, debiased=False))


@pytest.mark.parametrize("measure", MEASURES)
def test_what_a_measure_is_and_is_not_changed_by(measure):
    value = compare_rdms(A, B, measure=measure)
    square, matrix = squareform(A), squareform(B)
    assert compare_rdms(square, matrix, measure=measure) == pytest.approx(value)
    order = RNG.permutation(6)
    both = (x[np.ix_(order, order)] for x in (square, matrix))
    assert compare_rdms(*both, measure=measure) == pytest.approx(value)
    assert compare_rdms(3 * A, B, measure=measure) == pytest.approx(value)
    assert compare_rdms(B, A, measure=measure) == pytest.approx(value)
    assert compare_rdms(A, A, measure=measure) == pytest.approx(1)
    # A constant is no matter to correlations and ranks, a monotone map to ranks only.
    shifted = abs(compare_rdms(A + 50, B, measure=measure) - value)
    bent = abs(compare_rdms(np.exp(A / 3), B, measure=measure) - value)
    assert (shifted < 1e-9) == (measure in ("pearson", "spearman", "kendall_tau_a"))
    assert (bent < 1e-9) == (measure in ("spearman", "kendall_tau_a"))


def test_shuffles_of_conditions():
    ring = np.exp(2j * np.pi * np.arange(12) / 12)
    patterns = np.c_[ring.real, ring.imag]
    noisy = rdm(patterns + 0.1 * RNG.normal(size=(12, 2)))
    found = rdm_shuffle_test(rdm(patterns), noisy, measure="spearman", n_shuffles=199)
    assert found.p_value == 1 / 200
    assert found.value == compare_rdms(rdm(patterns), noisy, measure="spearman")
    assert found.null.shape == (199,)
    assert abs(found.null.mean()) < 0.05
    again = rdm_shuffle_test(rdm(patterns), noisy, measure="spearman", n_shuffles=199)
    np.testing.assert_array_equal(again.null, found.null)
    unrelated = rdm_shuffle_test(A, B, measure="whitened_cosine", n_shuffles=99, random_state=1)
    assert unrelated.p_value > 0.05
    # Of three conditions any shuffle but one in six is another matrix.
    few = rdm_shuffle_test(np.array([1.0, 2, 3]), np.array([1.0, 2, 3]), n_shuffles=600)
    assert few.p_value == pytest.approx(1 / 6, abs=0.05)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="measure must be one of 'cosine'"):
        compare_rdms(A, B, measure="euclidean")
    with pytest.raises(ValueError, match="14 entries, which is no number of pairs"):
        compare_rdms(A[:-1], B)
    with pytest.raises(ValueError, match="same conditions, got 6 and 5"):
        compare_rdms(A, B[:10])
    with pytest.raises(ValueError, match="three are needed"):
        compare_rdms(A[:1], B[:1])
    with pytest.raises(ValueError, match="symmetric"):
        compare_rdms(squareform(A) + np.triu(np.ones((6, 6)), 1), B)
    with pytest.raises(ValueError, match="zeros on the diagonal"):
        compare_rdms(squareform(A) + np.eye(6), B)
    with pytest.raises(ValueError, match=r"must be \(condition, condition\)"):
        compare_rdms(np.ones((2, 3)), B)
    with pytest.raises(ValueError, match="second holds 1 dissimilarities that are not finite"):
        compare_rdms(A, np.where(B[3] == B, np.nan, B))
    with pytest.raises(ValueError, match="all dissimilarities of a matrix are 0"):
        compare_rdms(0 * A, B)
    for measure in ("pearson", "spearman", "kendall_tau_a"):
        with pytest.raises(ValueError, match="all dissimilarities of a matrix are equal"):
            compare_rdms(np.ones(15), B, measure=measure)
    with pytest.raises(ValueError, match="condition_noise is for 'whitened_cosine'"):
        compare_rdms(A, B, condition_noise=np.ones(6))
    for noise, message in ((np.ones(5), r"\(6,\) or \(6, 6\)"), (-np.ones(6), "positive definite")):
        with pytest.raises(ValueError, match=message):
            compare_rdms(A, B, measure="whitened_cosine", condition_noise=noise)
    named = [rdm(P, labels) for labels in (list("abcdef"), list("fabcde"))]
    flipped = named[1]._replace(conditions={"label": np.array(list("fedcba"))})
    with pytest.raises(ValueError, match="conditions differ in 'label'"):
        compare_rdms(named[0], flipped)
    with pytest.raises(TypeError, match="a comparison of RDMs is computed in NumPy"):
        jax.jit(lambda a: compare_rdms(a, B))(jnp.asarray(A))
    with pytest.raises(ValueError, match="n_shuffles must be at least 1"):
        rdm_shuffle_test(A, B, n_shuffles=0)
