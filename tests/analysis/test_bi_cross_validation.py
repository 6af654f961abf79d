import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import PCA
from neurosim.analysis.bi_cross_validation import bi_cross_validation


def _low_rank(rank, noise, n_samples=60, n_neurons=30, seed=0):
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n_samples, rank)) @ rng.normal(size=(rank, n_neurons))
    return signal + noise * rng.normal(size=(n_samples, n_neurons)) + 5


@pytest.mark.parametrize("rank", [1, 3, 6])
@pytest.mark.parametrize("n_folds", [2, 3])
def test_finds_the_number_of_components(rank, n_folds):
    found = bi_cross_validation(_low_rank(rank, 0.5), n_folds=n_folds, random_state=1)
    assert found.n_components == rank
    assert found.error[0] == pytest.approx(1)
    # Each neuron has a variance of about `rank`, and noise of .25 that none can predict.
    assert 0.6 < found.error[rank] * (rank + 0.25) / 0.25 < 2.5
    assert found.error[rank + 3] > found.error[rank]


def test_noise_has_no_components():
    X = np.random.default_rng(0).normal(size=(80, 20))
    found = bi_cross_validation(X)
    assert found.n_components == 0
    # While projections of held-out samples always come closer with more axes.
    scores = [PCA(k).fit(X[:40]).score(X[40:]) for k in (1, 5, 10, 20)]
    assert scores == sorted(scores)


def test_an_exact_rank_is_predicted_exactly():
    found = bi_cross_validation(_low_rank(2, 0.0), max_components=4)
    assert found.error[1] > 1e-3
    np.testing.assert_allclose(found.error[2:], 0, atol=1e-14)
    assert found.n_components == 2


def test_errors_are_those_of_the_definition():
    X = _low_rank(2, 1.0, n_samples=12, n_neurons=8)
    found = bi_cross_validation(X, n_repeats=1, max_components=2, random_state=3)
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(np.arange(12) % 2), rng.permutation(np.arange(8) % 2)
    errors = np.zeros(3)
    for i in (0, 1):
        for j in (0, 1):
            r, c = rows == i, columns == j
            Z = X - X[~r].mean(axis=0)
            D = Z[np.ix_(~r, ~c)]
            U, s, Vt = np.linalg.svd(D)
            for k in range(3):
                D_k = U[:, :k] * s[:k] @ Vt[:k]
                predicted = Z[np.ix_(r, ~c)] @ np.linalg.pinv(D_k, rtol=1e-10) @ Z[np.ix_(~r, c)]
                errors[k] += np.sum((Z[np.ix_(r, c)] - predicted) ** 2)
    np.testing.assert_allclose(found.error, errors / errors[0], rtol=1e-10)
    np.testing.assert_array_equal(found.standard_error, 0)


def test_trials_are_held_out_whole():
    # Within a trial all time points are the same: single samples would predict their neighbours.
    rng = np.random.default_rng(0)
    trials = np.repeat(rng.normal(size=(30, 1, 12)), 5, axis=1)
    assert bi_cross_validation(trials).n_components == 0
    assert bi_cross_validation(list(trials)).n_components == 0


def test_is_deterministic_and_does_not_depend_on_the_scale():
    X = _low_rank(3, 1.0)
    found = bi_cross_validation(X, random_state=7)
    again = bi_cross_validation(1e-200 * X, random_state=7)
    np.testing.assert_allclose(again.error, found.error, rtol=1e-8)
    in_jax = bi_cross_validation(jnp.asarray(X), random_state=np.random.default_rng(7))
    np.testing.assert_allclose(in_jax.error, found.error, rtol=1e-4)
    assert (found.standard_error > 0).sum() >= len(found.error) - 1


def test_bad_input_is_refused():
    X = _low_rank(2, 1.0)
    with pytest.raises(ValueError, match="does not vary"):
        bi_cross_validation(np.ones((5, 4)))
    with pytest.raises(ValueError, match="60 trials or samples, fewer than n_folds = 61"):
        bi_cross_validation(X, n_folds=61)
    with pytest.raises(ValueError, match="1 trials or samples, fewer"):
        bi_cross_validation(X[None])
    with pytest.raises(ValueError, match="1 neurons, fewer"):
        bi_cross_validation(X[:, :1])
    with pytest.raises(ValueError, match="n_folds must be at least 2"):
        bi_cross_validation(X, n_folds=1)
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        bi_cross_validation(X, n_repeats=0)
    with pytest.raises(ValueError, match="max_components must be at most 15"):
        bi_cross_validation(X, max_components=16)
    with pytest.raises(ValueError, match="time 3, neuron 0"):
        bi_cross_validation(np.where(np.arange(60)[:, None] == 3, np.nan, X))
