"""Chance levels of similarities: of known distribution, and of trials kept whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.cka import cka
from neurosim.analysis.procrustes import procrustes_distance
from neurosim.analysis.shuffle_test import shuffle_test


def correlation(X, Y):
    return np.corrcoef(X[:, 0], Y[:, 0])[0, 1]


def test_null_of_a_correlation():
    """Over all orders it has mean 0 and variance 1 / (n - 1)."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 50, 1))
    found = shuffle_test(correlation, X, Y, n_shuffles=2000)
    assert found.value == correlation(X, Y)
    assert found.null.mean() == pytest.approx(0, abs=4 / (49 * 2000) ** 0.5)
    assert found.null.var() == pytest.approx(1 / 49, rel=0.15)
    as_large = 1 + np.sum(found.null >= found.value)
    assert found.p_value == as_large / 2001
    less = shuffle_test(correlation, X, Y, n_shuffles=2000, alternative="less")
    assert less.p_value == pytest.approx(1 - found.p_value, abs=2 / 2001)


def test_similarities_and_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    Y = X @ rng.normal(size=(4, 6)) + rng.normal(size=(30, 6))
    assert shuffle_test(cka, X, Y, n_shuffles=99).p_value == 1 / 100
    assert shuffle_test(cka, X, rng.normal(size=(30, 6)), n_shuffles=99).p_value > 0.05
    near = shuffle_test(procrustes_distance, X, Y, n_shuffles=99, alternative="less")
    assert near.p_value == 1 / 100
    both = shuffle_test(lambda X, Y: [cka(X, Y), 0.0], X, Y, n_shuffles=9)
    assert both.null.shape == (9, 2)
    # What never changes is as large as all its shuffles.
    np.testing.assert_allclose(both.p_value, [0.1, 1])
    in_jax = shuffle_test(jax.jit(cka), jnp.asarray(X, jnp.float32), Y, n_shuffles=9)
    assert in_jax.value == pytest.approx(cka(X, Y), abs=1e-4)
    assert isinstance(in_jax.null, np.ndarray)


def test_trials_are_shuffled_whole():
    """Slow activity: shuffles of single samples find a similarity where there is none."""
    rng = np.random.default_rng(0)
    X, Y = np.cumsum(rng.normal(size=(2, 20, 40, 3)), axis=2)
    seen = []

    def watched(X, Y):
        seen.append(Y)
        return cka(X, Y)

    whole = shuffle_test(watched, X, Y, n_shuffles=30)
    assert all(any(np.array_equal(trial, given) for given in Y) for trial in seen[-1])
    listed = shuffle_test(cka, list(X), list(Y), n_shuffles=30)
    np.testing.assert_allclose(listed.null, whole.null)
    single = shuffle_test(cka, X.reshape(-1, 3), Y.reshape(-1, 3), n_shuffles=30)
    assert whole.null.std() > 5 * single.null.std()


def test_bad_input_is_refused():
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.raises(ValueError, match="alternative must be 'greater' or 'less'"):
        shuffle_test(cka, X, X, alternative="two-sided")
    with pytest.raises(ValueError, match="n_shuffles must be at least 1"):
        shuffle_test(cka, X, X, n_shuffles=0)
    with pytest.raises(ValueError, match="same samples"):
        shuffle_test(cka, X, X[1:])
    with pytest.raises(ValueError, match="unequal length"):
        shuffle_test(cka, [X[:4], X[4:]], [X[:4], X[4:]])
    with pytest.raises(ValueError, match="one trial cannot be shuffled"):
        shuffle_test(cka, X[None], X[None])
    with pytest.raises(ValueError, match="measure must be finite"):
        shuffle_test(lambda X, Y: np.nan, X, X)
    with pytest.raises(TypeError, match="a shuffle test is computed in NumPy"):
        jax.jit(lambda X: shuffle_test(cka, X, X).value)(jnp.asarray(X))
