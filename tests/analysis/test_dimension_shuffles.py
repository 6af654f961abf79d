import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import effective_rank, participation_ratio
from neurosim.analysis.dimension_shuffles import dimension_of_shuffles


def _plane(n_samples=80, n_neurons=12):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(n_samples, 2)) @ rng.normal(size=(2, n_neurons))
    return latent + 0.3 * rng.normal(size=(n_samples, n_neurons))


def test_a_plane_has_fewer_dimensions_than_its_shuffles():
    X = _plane()
    found = dimension_of_shuffles(X, n_shuffles=99)
    assert found.dimension == participation_ratio(X)
    assert found.p_value == pytest.approx(0.01)
    # Variances v stay as they are, and squared covariances are v_i v_j / 79 on average.
    v = X.var(axis=0)
    expected = v.sum() ** 2 / (np.sum(v**2) * (1 - 1 / 79) + v.sum() ** 2 / 79)
    assert found.null.mean() == pytest.approx(expected, rel=0.01)
    again = dimension_of_shuffles(X, n_shuffles=99, random_state=np.random.default_rng(0))
    np.testing.assert_array_equal(again.null, found.null)


def test_independent_neurons_are_like_their_shuffles():
    rng = np.random.default_rng(0)
    p = [
        dimension_of_shuffles(rng.normal(size=(30, 5)), n_shuffles=19, random_state=i).p_value
        for i in range(40)
    ]
    assert 0.35 < np.mean(p) < 0.7


def test_shifts_keep_the_autocorrelation():
    # One slow sine per neuron, at its own phase: two dimensions, shifted or not.
    t = np.arange(50)
    X = np.sin(2 * np.pi * (t[:, None] / 50 + np.linspace(0, 1, 8, endpoint=False)))
    shifted = dimension_of_shuffles(X, by="shifts", n_shuffles=9)
    assert shifted.dimension == pytest.approx(2)
    assert (shifted.null <= 2 + 1e-9).all()
    assert dimension_of_shuffles(X, by="samples", n_shuffles=9).null.min() > 5
    pair = [X, X[:20]]
    assert dimension_of_shuffles(pair, by="shifts", n_shuffles=3).null.shape == (3,)


def test_exchanged_trials_keep_the_average():
    # Trials share a time course; their noise is one shared number per trial.
    rng = np.random.default_rng(0)
    X = np.zeros((20, 6, 5)) + rng.normal(size=(20, 1, 1)) + np.arange(6)[:, None]
    seen = []
    found = dimension_of_shuffles(
        X, lambda S: (seen.append(S), participation_ratio(S))[1], by="trials", n_shuffles=5
    )
    assert found.dimension == pytest.approx(1)
    assert (found.null > 1.01).all()
    for samples in seen:
        np.testing.assert_allclose(samples.reshape(X.shape).mean(axis=0), X.mean(axis=0))


def test_other_measures_and_jax():
    X = _plane()
    found = dimension_of_shuffles(
        jnp.asarray(X), lambda X: effective_rank(X, kind="covariance"), n_shuffles=3
    )
    assert found.dimension == pytest.approx(effective_rank(X, kind="covariance"), rel=1e-4)
    assert (found.null > found.dimension).all()


def test_bad_input_is_refused():
    X = _plane()
    with pytest.raises(ValueError, match="n_shuffles must be at least 1"):
        dimension_of_shuffles(X, n_shuffles=0)
    for given in (X, [X, X[:5]]):
        with pytest.raises(ValueError, match="at least two trials of equal length"):
            dimension_of_shuffles(given, by="trials")
    with pytest.raises(ValueError, match="time 0, neuron 1"):
        dimension_of_shuffles(np.array([[1.0, np.inf], [2, 3]]))
