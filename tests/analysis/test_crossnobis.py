"""Cross-validated distances: without noise, under noise alone, and with trials missing."""

from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.crossnobis import crossnobis
from neurosim.analysis.noise_precision import noise_precision
from neurosim.analysis.rdm import rdm


def test_without_noise_it_is_the_squared_distance_over_units():
    """3 for conditions that differ by (1, 2, 2): 9 over three units."""
    X = np.tile([[0.0, 0, 0], [1, 2, 2]], (2, 1))
    found = crossnobis(X, [0, 1, 0, 1], folds=[0, 0, 1, 1], noise="identity")
    np.testing.assert_allclose(found.dissimilarities, [[0, 3], [3, 0]])
    in_jax = crossnobis(jnp.asarray(X), [0, 1, 0, 1], folds=[0, 0, 1, 1], noise=jnp.eye(3))
    np.testing.assert_allclose(in_jax.dissimilarities, [[0, 3], [3, 0]])


def test_without_noise_it_is_the_mahalanobis_distance():
    rng = np.random.default_rng(0)
    patterns, L = rng.normal(size=(5, 4)), rng.normal(size=(4, 4))
    X, labels = np.tile(patterns, (6, 1)), np.tile(np.arange(5), 6)
    for noise in (L @ L.T, rng.uniform(1, 2, 4)):
        found = crossnobis(X, labels, folds=3, noise=noise)
        expected = rdm(patterns, metric="mahalanobis", noise=noise)
        np.testing.assert_allclose(found.dissimilarities, expected.dissimilarities, atol=1e-12)
    assert found.counts.tolist() == [6] * 5


@pytest.mark.parametrize("noise", ["identity", "shrinkage", "diagonal"])
def test_noise_alone_averages_zero(noise):
    """Also where the precision is taken from the same trials, about the means of the cells."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(6, 6))
    labels = np.tile(np.arange(4), 6)
    values = []
    for _ in range(200):
        X = rng.normal(size=(24, 6)) @ mixing
        values.append(crossnobis(X, labels, folds=3, noise=noise).dissimilarities[0, 1])
    values = np.array(values)
    assert abs(values.mean()) < 3 * values.std() / 200**0.5
    # As many below 0 as above: they are kept.
    assert (values < 0).mean() == pytest.approx(0.5, abs=0.15)


def test_a_true_distance_is_not_inflated():
    rng = np.random.default_rng(0)
    labels, difference = np.repeat([0, 1], 6), np.array([1.0, 0, -1, 0.5])
    draws = [rng.normal(size=(12, 4)) * 2 + labels[:, None] * difference for _ in range(300)]
    found = np.array([
        crossnobis(X, labels, folds=3, noise="identity").dissimilarities[0, 1] for X in draws
    ])  # fmt: skip
    truth = np.sum(difference**2) / 4
    assert abs(found.mean() - truth) < 3 * found.std() / 300**0.5
    plain = np.mean([rdm(X, labels).dissimilarities[0, 1] for X in draws])
    # Two means of six trials: twice the variance over six.
    assert plain == pytest.approx(truth + 2 * 4 / 6, rel=0.05)


def by_hand(X, labels, folds, precision_of):
    """The definition, pair of folds by pair of folds, over the folds that have both."""
    names = np.unique(labels)
    found = np.zeros((len(names),) * 2)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if i == j:
                continue
            d = {}
            for m in np.unique(folds):
                A, B = (X[(labels == c) & (folds == m)] for c in (a, b))
                if len(A) and len(B):
                    d[m] = A.mean(axis=0) - B.mean(axis=0)
            products = [d[m] @ precision_of(m, n) @ d[n] for m, n in permutations(d, 2)]
            found[i, j] = np.mean(products) / X.shape[1]
    return found


def test_unbalanced_designs():
    """Conditions with one to five trials in a fold, and some missing from it."""
    rng = np.random.default_rng(0)
    folds, labels = np.repeat(np.arange(4), 12), rng.integers(5, size=48)
    keep = ~((folds == 1) & (labels == 2)) & ~((folds == 3) & (labels == 0))
    folds, labels = folds[keep], labels[keep]
    X = rng.normal(size=(len(folds), 3)) + 3 * folds[:, None] + labels[:, None]
    P = np.diag([1.0, 2, 3]) + 0.5
    found = crossnobis(X, labels, folds=folds, noise=P)
    np.testing.assert_allclose(
        found.dissimilarities, by_hand(X, labels, folds, lambda m, n: P), atol=1e-10
    )
    # What a fold has in common, as an electrode that moved, makes no difference.
    moved = X + rng.normal(size=(4, 3))[folds] * 1e6
    np.testing.assert_allclose(
        crossnobis(moved, labels, folds=folds, noise=P).dissimilarities,
        found.dissimilarities,
        atol=1e-6,
    )
    order = rng.permutation(len(folds))
    names = np.array(["d", "c", "b", "a"])[folds]
    again = crossnobis(X[order], labels[order], folds=names[order], noise=P)
    np.testing.assert_allclose(again.dissimilarities, found.dissimilarities)
    # The precision from the same trials is that about the mean of each condition in its fold.
    cells = {"fold": folds, "label": labels}
    np.testing.assert_allclose(
        crossnobis(X, labels, folds=folds).dissimilarities,
        crossnobis(X, labels, folds=folds, noise=noise_precision(X, cells)).dissimilarities,
    )


def test_a_precision_for_each_fold():
    rng = np.random.default_rng(0)
    folds, labels = np.repeat(np.arange(3), 8), np.tile(np.arange(4), 6)
    X = rng.normal(size=(24, 3))
    covariances = [np.diag(rng.uniform(1, 4, 3)) + 0.3 for _ in range(3)]
    precisions = [np.linalg.inv(S) for S in covariances]
    found = crossnobis(X, labels, folds=folds, noise=precisions)

    def of_pair(m, n):
        return np.linalg.inv((covariances[m] + covariances[n]) / 2)

    np.testing.assert_allclose(
        found.dissimilarities, by_hand(X, labels, folds, of_pair), atol=1e-12
    )
    vectors = [rng.uniform(1, 4, 3) for _ in range(3)]
    np.testing.assert_allclose(
        crossnobis(X, labels, folds=folds, noise=vectors).dissimilarities,
        crossnobis(X, labels, folds=folds, noise=[np.diag(v) for v in vectors]).dissimilarities,
        atol=1e-12,
    )
    with pytest.raises(ValueError, match="list of 2 precisions, but there are 3 folds"):
        crossnobis(X, labels, folds=folds, noise=vectors[:2])
    with pytest.raises(ValueError, match="not of methods"):
        crossnobis(X, labels, folds=folds, noise=["diagonal"] * 3)


def test_the_same_seed_deals_the_same_folds():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(40, 3)), {"a": np.arange(40) % 2, "b": np.arange(40) // 20}
    first, again, other = (
        crossnobis(X, labels, random_state=seed).dissimilarities for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    np.testing.assert_array_equal(np.diagonal(first), 0)
    np.testing.assert_allclose(first, first.T)


def test_bad_input_is_refused():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(12, 3)), np.arange(12) % 3
    with pytest.raises(ValueError, match="too few for 5 folds"):
        crossnobis(X, labels)
    with pytest.raises(ValueError, match="n_folds must be at least 2"):
        crossnobis(X, labels, folds=1)
    with pytest.raises(ValueError, match="no repeats to take the noise from"):
        crossnobis(X, labels, folds=4)
    with pytest.raises(ValueError, match="one label for each of the 12 trials"):
        crossnobis(X, labels, folds=np.arange(11))
    with pytest.raises(ValueError, match=r"0 and label = 1 are both in 1 fold\(s\) of 2.*2 pairs"):
        crossnobis(X, labels, folds=(np.arange(12) >= 6) & (labels > 0))
    with pytest.raises(ValueError, match="one condition"):
        crossnobis(X, np.zeros(12), folds=3)
    with pytest.raises(ValueError, match="trial 3, time 0, unit 1"):
        crossnobis(np.where(X[3, 1] == X, np.nan, X), labels, folds=2)
    with pytest.raises(TypeError, match="a crossnobis distance is computed in NumPy"):
        jax.jit(lambda X: crossnobis(X, labels, folds=2).dissimilarities)(jnp.asarray(X))
