"""Dissimilarities written out by hand, their conventions, and noise precisions in closed form."""

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.noise_precision import noise_precision
from neurosim.analysis.rdm import rdm


def test_squared_distances_are_over_the_number_of_units():
    patterns = np.array([[0.0, 0, 0], [1, 2, 2], [1, 2, -1]])
    found = rdm(patterns)
    np.testing.assert_allclose(found.dissimilarities, [[0, 3, 2], [3, 0, 3], [2, 3, 0]])
    assert found.n_units == 3
    np.testing.assert_array_equal(found.conditions["row"], [0, 1, 2])
    # An offset of all patterns costs no digits but those of the patterns themselves.
    far = rdm(patterns / 10 + 1e7).dissimilarities
    np.testing.assert_allclose(100 * far, found.dissimilarities, atol=1e-5)
    in_jax = rdm(jnp.asarray(patterns, jnp.float32)).dissimilarities
    assert isinstance(in_jax, np.ndarray)
    np.testing.assert_allclose(in_jax, found.dissimilarities)


def test_correlation_distances():
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(5, 30))
    found = rdm(patterns, metric="correlation").dissimilarities
    np.testing.assert_allclose(found, 1 - np.corrcoef(patterns), atol=1e-12)
    np.testing.assert_array_equal(np.diagonal(found), 0)
    scaled = rdm(patterns * rng.uniform(1, 9, (5, 1)) + 4, metric="correlation")
    np.testing.assert_allclose(scaled.dissimilarities, found, atol=1e-12)
    with pytest.raises(ValueError, match="row = 2 is the same in all units"):
        rdm(np.where(np.arange(5)[:, None] == 2, 0.1, patterns), metric="correlation")


def test_trials_are_averaged_by_condition_whatever_their_number():
    rng = np.random.default_rng(0)
    labels = np.array(["b", "a", "a", "c", "b", "a"])
    X = rng.normal(size=(6, 4))
    found = rdm(X, labels)
    means = np.stack([X[labels == name].mean(axis=0) for name in "abc"])
    np.testing.assert_allclose(found.dissimilarities, rdm(means).dissimilarities)
    assert found.conditions["label"].tolist() == ["a", "b", "c"]
    assert found.counts.tolist() == [3, 2, 1]
    order = rng.permutation(6)
    np.testing.assert_allclose(rdm(X[order], labels[order]).dissimilarities, found.dissimilarities)
    # Times of a trial are averaged; several labels by name make conditions of those that occur.
    timed = np.stack([X - 1, X, X + 1], axis=1)
    np.testing.assert_allclose(rdm(timed, labels).dissimilarities, found.dissimilarities)
    listed = [trial[: 1 + 2 * (i % 2)] + (1 - i % 2) for i, trial in enumerate(timed)]
    np.testing.assert_allclose(rdm(listed, labels).dissimilarities, found.dissimilarities)
    named = rdm(X, {"letter": labels, "vowel": labels == "a"})
    np.testing.assert_allclose(named.dissimilarities, found.dissimilarities)
    assert named.conditions["vowel"].tolist() == [True, False, False]


def test_mahalanobis_distances():
    rng = np.random.default_rng(0)
    patterns, L = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    P = L @ L.T
    found = rdm(patterns, metric="mahalanobis", noise=P).dissimilarities
    for a in range(4):
        for b in range(4):
            d = patterns[a] - patterns[b]
            assert found[a, b] == pytest.approx(d @ P @ d / 3)
    diagonal = rdm(patterns, metric="mahalanobis", noise=np.array([1.0, 2, 3])).dissimilarities
    np.testing.assert_allclose(diagonal, rdm(patterns * np.sqrt([1, 2, 3])).dissimilarities)
    plain = rdm(patterns, metric="mahalanobis", noise="identity").dissimilarities
    np.testing.assert_allclose(plain, rdm(patterns).dissimilarities)
    # Estimated from the trials, it does not depend on the unit of each unit's activity.
    X, labels = rng.normal(size=(40, 3)), np.arange(40) % 4
    estimated = rdm(X, labels, metric="mahalanobis").dissimilarities
    scaled = rdm(X * [1e-3, 1, 1e3], labels, metric="mahalanobis").dissimilarities
    np.testing.assert_allclose(scaled, estimated)
    same = noise_precision(X, labels)
    given = rdm(X, labels, metric="mahalanobis", noise=same).dissimilarities
    np.testing.assert_allclose(given, estimated)


def test_noise_precision_in_closed_form():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [5, 30, 7])
    X = rng.normal(size=(42, 4)) @ rng.normal(size=(4, 4)) + 10 * labels[:, None]
    residuals = np.concatenate([X[labels == i] - X[labels == i].mean(axis=0) for i in range(3)])
    S = residuals.T @ residuals / 39
    full = noise_precision(X, labels, method="full")
    np.testing.assert_allclose(full.precision, np.linalg.inv(S))
    assert (full.shrinkage, full.degrees_of_freedom) == (0, 39)
    diagonal = noise_precision(X, labels, method="diagonal")
    np.testing.assert_allclose(diagonal.precision, 1 / np.diag(S))
    # Shrinkage by its definition, a sum over trials of outer products.
    z = residuals / np.sqrt(np.diag(S))
    products = z[:, :, None] * z[:, None, :]
    off = ~np.eye(4, dtype=bool)
    variance = 42 / 39**3 * np.sum((products - products.mean(axis=0)) ** 2, axis=0)
    share = variance[off].sum() / np.sum((products.sum(axis=0) / 39)[off] ** 2)
    shrunk = noise_precision(X, labels)
    assert 0 < share < 1
    assert shrunk.shrinkage == pytest.approx(share)
    np.testing.assert_allclose(shrunk.precision, np.linalg.inv(S * (1 - share * off)))


def test_shrinkage_follows_the_data():
    rng = np.random.default_rng(0)
    n, labels = 60, np.zeros(60, int)
    # Independent units: all correlation is chance, of variance 1 / dof.
    independent = noise_precision(rng.normal(size=(n, 50)), labels)
    assert independent.shrinkage > 0.8
    # A common factor: nearly none is.
    shared = rng.normal(size=(n, 1)) * 3 + rng.normal(size=(n, 50))
    assert noise_precision(shared, labels).shrinkage < 0.05
    # More units than trials: an inverse all the same, also of residuals that repeat.
    wide = noise_precision(rng.normal(size=(10, 200)), np.arange(10) % 5)
    assert np.linalg.eigvalsh(wide.precision)[0] > 0


def test_a_diagonal_needs_no_room_for_pairs_of_units():
    """Pairs of 7,000 units would take 392 MB, and a pair for each trial 40 times that."""
    X = np.random.default_rng(0).normal(size=(40, 7000))
    tracemalloc.start()
    found = noise_precision(X, np.arange(40) % 8, method="diagonal")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.precision.shape == (7000,)
    assert peak < 5 * X.nbytes


def test_missing_values_are_refused_or_left_out_as_said():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(12, 4)), np.arange(12) % 3
    broken = X.copy()
    broken[5, 2] = np.nan
    with pytest.raises(ValueError, match="trial 5, time 0, unit 2"):
        rdm(broken, labels)
    with pytest.warns(UserWarning, match="left out 1 of 4 units"):
        found = rdm(broken, labels, metric="mahalanobis", nan_policy="omit_units")
    assert found.n_units == 3
    kept = rdm(X[:, [0, 1, 3]], labels, metric="mahalanobis").dissimilarities
    np.testing.assert_allclose(found.dissimilarities, kept)
    with pytest.warns(UserWarning, match="left out 1 of 12 trials"):
        found = rdm(broken, labels, nan_policy="omit_trials")
    others = np.arange(12) != 5
    np.testing.assert_allclose(
        found.dissimilarities, rdm(X[others], labels[others]).dissimilarities
    )
    assert found.counts.tolist() == [4, 4, 3]
    timed = np.stack([X, X + 1], axis=1)
    timed[3, 1] = np.nan  # the end of a trial
    fewer = np.stack([X, X + 1], axis=1).mean(axis=1)
    fewer[3] = X[3]
    np.testing.assert_allclose(
        rdm(timed, labels).dissimilarities, rdm(fewer, labels).dissimilarities
    )
    with pytest.raises(ValueError, match="nan_policy 'mask' is for arrays"):
        rdm(list(timed), labels, nan_policy="mask")


def test_bad_input_is_refused():
    X, labels = np.random.default_rng(0).normal(size=(12, 4)), np.arange(12) % 3
    with pytest.raises(ValueError, match="metric must be"):
        rdm(X, labels, metric="crossnobis")
    with pytest.raises(ValueError, match="all 12 trials are of one condition"):
        rdm(X, np.zeros(12))
    with pytest.raises(ValueError, match="one label for each of the 12 trials"):
        rdm(X, labels[:-1])
    with pytest.raises(ValueError, match="X must be"):
        rdm(X[0], labels)
    with pytest.raises(TypeError, match="an RDM is computed in NumPy"):
        jax.jit(lambda X: rdm(X).dissimilarities)(jnp.asarray(X))
    for noise, message in [
        (np.eye(3), r"a precision \(4, 4\) or \(4,\)"),
        (np.full((4, 4), np.nan), "finite"),
        (np.triu(np.ones((4, 4))), "symmetric"),
        (-np.eye(4), "not be negative"),
        ("ridge", "method must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            rdm(X, labels, metric="mahalanobis", noise=noise)
    with pytest.raises(ValueError, match="no repeats"):
        noise_precision(X, np.arange(12))
    with pytest.raises(ValueError, match=r"unit 1 does not vary among trials .*\(2 of 4"):
        noise_precision(np.c_[X[:, 0], 0.1 * labels, X[:, 1], 0 * labels], labels)
    with pytest.raises(ValueError, match="4 units from 2 degrees of freedom has numerical rank 2"):
        noise_precision(X[:5], labels[:5], method="full")
