"""Canonical correlations of constructed pairs, their bias, and its remedies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.cca import cca, cca_shuffle_level, cross_validated_cca, svcca

X_PAIR = np.array([[0.0, 0], [1, 0], [0, 1], [2, 1]])
Y_PAIR = np.array([[0.0, 1], [1, 1], [1, 0], [3, 1]])


def white(rng, n, k):
    """Centred columns, orthonormal but for a factor."""
    samples = rng.normal(size=(n, k))
    return np.linalg.qr(samples - samples.mean(axis=0))[0] * n**0.5


def with_correlations(rng, correlations, n=60):
    """Two populations with exactly these canonical correlations, mixed and shifted."""
    r = np.array(correlations)
    common, own = np.split(white(rng, n, 2 * len(r)), 2, axis=1)
    Y = common * r + own * np.sqrt(1 - r**2)
    mixing = [rng.normal(size=(len(r), len(r))) for _ in range(2)]
    return common @ mixing[0] + 5, Y @ mixing[1] - 2


def test_known_pair():
    with pytest.warns(UserWarning, match="1 of the canonical correlations are 1 whatever"):
        found = cca(X_PAIR, Y_PAIR)
    np.testing.assert_allclose(found.correlations, [1, 0.929669], atol=1e-6)


def test_constructed_correlations():
    X, Y = with_correlations(np.random.default_rng(0), [0.9, 0.5, 0.1])
    found = cca(X, Y)
    np.testing.assert_allclose(found.correlations, [0.9, 0.5, 0.1], atol=1e-12)
    u = (X - found.x_mean) @ found.x_weights
    v = (Y - found.y_mean) @ found.y_weights
    both = np.cov(np.c_[u, v].T)
    np.testing.assert_allclose(both[:3, :3], np.eye(3), atol=1e-10)
    np.testing.assert_allclose(both[3:, 3:], np.eye(3), atol=1e-10)
    np.testing.assert_allclose(both[:3, 3:], np.diag([0.9, 0.5, 0.1]), atol=1e-10)
    largest = found.x_weights[np.abs(found.x_weights).argmax(axis=0), range(3)]
    assert (largest > 0).all()


def test_unchanged_by_invertible_maps_unless_regularised():
    rng = np.random.default_rng(0)
    X, Y = with_correlations(rng, [0.9, 0.5, 0.1])
    A, order = rng.normal(size=(3, 3)), rng.permutation(60)
    expected = cca(X, Y).correlations
    np.testing.assert_allclose(cca(X @ A + 1, Y).correlations, expected, atol=1e-10)
    np.testing.assert_allclose(cca(X * [1e-9, 1, 1e9], Y).correlations, expected, atol=1e-10)
    np.testing.assert_allclose(cca(X[order], Y[order]).correlations, expected, atol=1e-10)
    trials = X.reshape(6, 10, 3), Y.reshape(6, 10, 3)
    np.testing.assert_allclose(cca(*trials).correlations, expected, atol=1e-10)
    np.testing.assert_allclose(
        cca(jnp.asarray(X, jnp.float32), Y).correlations, expected, atol=1e-5
    )
    ridged = [cca(Z, Y, regularisation=0.5).correlations for Z in (X, X @ A)]
    assert np.abs(ridged[0] - ridged[1]).max() > 1e-3


def test_full_regularisation_takes_the_directions_of_largest_covariance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    Y = X @ rng.normal(size=(4, 3)) + rng.normal(size=(40, 3))
    found = cca(X, Y, regularisation=1)
    U = np.linalg.svd((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)))[0][:, :3]
    unit = found.x_weights / np.linalg.norm(found.x_weights, axis=0)
    np.testing.assert_allclose(np.abs(np.sum(unit * U, axis=0)), 1, atol=1e-10)
    u = (X - found.x_mean) @ found.x_weights
    v = (Y - found.y_mean) @ found.y_weights
    paired = [np.corrcoef(u[:, i], v[:, i])[0, 1] for i in range(3)]
    np.testing.assert_allclose(found.correlations, paired, atol=1e-10)
    # With fewer samples than units it still exists.
    assert cca(X[:4], Y[:4], regularisation=0.3).correlations.shape == (3,)


def test_bias_and_its_remedies():
    """Independent Gaussians: .187 on average and .389 at most; squares average q / (n - 1)."""
    rng = np.random.default_rng(0)
    pairs = [(rng.normal(size=(200, 10)), rng.normal(size=(200, 10))) for _ in range(40)]
    found = np.array([cca(X, Y).correlations for X, Y in pairs])
    assert found.mean() == pytest.approx(0.187, abs=0.01)
    assert found[:, 0].mean() == pytest.approx(0.389, abs=0.015)
    assert np.mean(found**2) == pytest.approx(10 / 199, rel=0.05)
    X, Y = pairs[0]
    level = cca_shuffle_level(X, Y, n_shuffles=50)
    np.testing.assert_allclose(level.mean, found.mean(axis=0), atol=0.02)
    assert (level.p_values > 0.02).all()
    held_out = np.mean([cross_validated_cca(X, Y).correlations.mean() for X, Y in pairs[:10]])
    assert abs(held_out) < 0.03


def test_a_true_correlation_survives_cross_validation():
    rng = np.random.default_rng(1)
    X, Y = (rng.normal(size=(300, 4)) for _ in range(2))
    Y[:, 0] = 0.8 * X[:, 1] + 0.6 * Y[:, 0]
    found = cross_validated_cca(X, Y, n_folds=4, random_state=3)
    assert found.correlations[0] == pytest.approx(0.8, abs=0.06)
    assert np.abs(found.correlations[1:]).max() < 0.2
    np.testing.assert_allclose(found.correlations, found.folds.mean(axis=0))
    np.testing.assert_allclose(found.standard_error, found.folds.std(axis=0, ddof=1) / 2)
    again = cross_validated_cca(X, Y, n_folds=4, random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(found.folds, again.folds)
    level = cca_shuffle_level(X, Y, n_shuffles=99)
    assert level.p_values[0] == 1 / 100
    assert level.null.shape == (99, 4)


def test_shuffles_and_folds_keep_trials_whole():
    """Trials that are constant in time: samples are no more than the trials there are."""
    rng = np.random.default_rng(0)
    X, Y = (np.repeat(rng.normal(size=(12, 1, 2)), 30, axis=1) for _ in range(2))
    noise = 0.1 * rng.normal(size=(2, 12, 30, 2))
    X, Y = X + noise[0], Y + noise[1]
    by_trial = cca_shuffle_level(X, Y, n_shuffles=100).mean[0]
    by_sample = cca_shuffle_level(X.reshape(-1, 2), Y.reshape(-1, 2), n_shuffles=100).mean[0]
    assert by_trial > 3 * by_sample
    leaking = cross_validated_cca(X.reshape(-1, 2), Y.reshape(-1, 2)).correlations[0]
    assert leaking > cross_validated_cca(X, Y).correlations[0] + 0.1


def test_svcca_counts_directions_of_much_variance_only():
    rng = np.random.default_rng(0)
    common, rest = white(rng, 100, 8)[:, :2], white(rng, 100, 4)
    X = np.c_[common @ [[3, 1], [0, 2]], 1e-3 * rest[:, :2]]
    Y = np.c_[common, 1e-3 * rest[:, 2:]]
    found = svcca(X, Y)
    assert found.n_components == (2, 2)
    np.testing.assert_allclose(found.correlations, 1, atol=1e-5)
    assert found.similarity == pytest.approx(found.correlations.mean())
    everything = svcca(X, Y, variance=1)
    assert everything.n_components == (4, 4)
    np.testing.assert_allclose(everything.correlations, cca(X, Y).correlations, atol=1e-8)
    # A direction that is a copy is no direction.
    assert svcca(np.c_[X, X[:, :1]], Y, variance=1).n_components == (4, 4)


def test_bad_input_is_refused():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    for n in (2, 3, 4):
        with pytest.raises(ValueError, match="too few: all canonical correlations are 1"):
            cca(X[:n], Y[:n])
    with pytest.raises(ValueError, match="too few"):
        svcca(X.T, X.T[:, :5], variance=1)
    with pytest.raises(ValueError, match="unit 1 of X is constant"):
        cca(X * [1, 0, 1], Y)
    with pytest.raises(ValueError, match=r"numerical rank 3 .*values of the samples above"):
        cca(np.c_[X, X[:, 0] - X[:, 1]], Y)
    with pytest.raises(ValueError, match="regularisation must lie between 0 and 1"):
        cca(X, Y, regularisation=2.0)
    with pytest.raises(ValueError, match="at least 3"):
        cca(X[:2], Y[:2], regularisation=0.5)
    with pytest.raises(ValueError, match="same samples"):
        cca(X, Y[:-1])
    with pytest.raises(ValueError, match="variance must be above 0"):
        svcca(X, Y, variance=0.0)
    with pytest.raises(ValueError, match="Y does not vary"):
        svcca(X, 0 * Y)
    with pytest.raises(ValueError, match="holds out 2 sample"):
        cross_validated_cca(X, Y, n_folds=10)
    with pytest.raises(ValueError, match="cannot make 21 folds"):
        cross_validated_cca(X, Y, n_folds=21)
    with pytest.raises(ValueError, match="n_shuffles must be at least 1"):
        cca_shuffle_level(X, Y, n_shuffles=0)
    with pytest.raises(ValueError, match="unequal length"):
        cca_shuffle_level([X[:12], X[12:]], [Y[:12], Y[12:]])
    with pytest.raises(ValueError, match="one trial"):
        cca_shuffle_level(X[None], Y[None])
    with pytest.raises(TypeError, match="canonical correlation analysis is computed in NumPy"):
        jax.jit(lambda X: cca(X, Y).correlations)(jnp.asarray(X))
