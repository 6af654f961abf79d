import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import (
    PCA,
    effective_rank,
    participation_ratio,
    participation_ratio_of_spectrum,
)


def _with_spectrum(eigenvalues, n_samples=40):
    """Samples whose covariance has exactly these eigenvalues, in a random basis."""
    rng = np.random.default_rng(0)
    n = len(eigenvalues)
    samples = rng.normal(size=(n_samples, n))
    white, _ = np.linalg.qr(samples - samples.mean(axis=0))
    basis, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return white * np.sqrt(np.multiply(eigenvalues, n_samples - 1)) @ basis + 7


@pytest.mark.parametrize(
    ("eigenvalues", "expected"),
    [([1, 0.5, 0.25], 7 / 3), ([0.5, 0.25, 0.25], 8 / 3), ([2.0] * 5, 5), ([3, 0, 0], 1)],
)
def test_participation_ratio_of_known_spectra(eigenvalues, expected):
    X = _with_spectrum(eigenvalues)
    assert participation_ratio(X) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio(X.reshape(4, 10, -1)) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio([X[:3], X[3:]]) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio(1e-3 * X) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio_of_spectrum(np.array(eigenvalues, float)) == pytest.approx(expected)
    assert participation_ratio_of_spectrum(PCA().fit(X).explained_variance_) == pytest.approx(
        expected
    )
    in_jax = participation_ratio(jnp.asarray(X, jnp.float32))
    assert isinstance(in_jax, jax.Array)
    assert float(in_jax) == pytest.approx(expected, rel=1e-4)


def test_more_neurons_than_samples_gives_the_same_as_the_full_covariance():
    X = np.random.default_rng(0).normal(size=(6, 15))
    C = np.cov(X.T)
    assert participation_ratio(X) == pytest.approx(np.trace(C) ** 2 / np.trace(C @ C), rel=1e-10)


def test_bias_is_as_documented():
    N, T = 50, 50
    rng = np.random.default_rng(0)
    found = np.mean([participation_ratio(rng.normal(size=(T, N))) for _ in range(20)])
    assert found == pytest.approx(N * (T - 1) / (T - 1 + N + 1), rel=0.02)


def test_participation_ratio_is_differentiable_where_eigenvalues_are_equal():
    with jax.enable_x64(True):
        X = jnp.asarray(_with_spectrum([1.0, 1.0, 1.0]))
        # The maximum over all spectra of three, so stationary there.
        np.testing.assert_allclose(jax.grad(participation_ratio)(X), 0, atol=1e-10)
        assert float(jax.jit(participation_ratio)(X)) == pytest.approx(3)


def test_effective_rank_of_known_spectra():
    # exp(H) of (4/7, 2/7, 1/7).
    X = _with_spectrum([1, 0.5, 0.25])
    assert effective_rank(X, kind="covariance") == pytest.approx(2.600490, abs=1e-6)
    # exp(H) of (1/2, 1/4, 1/4) is 2 sqrt 2; singular values of the data, which is not centred.
    left = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 3)))[0]
    data = left * np.array([0.5, 0.25, 0.25])
    assert effective_rank(data, kind="singular") == pytest.approx(2 * 2**0.5, rel=1e-10)
    published = np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1], [3, 1, 0]])
    assert effective_rank(published, kind="singular") == pytest.approx(2.680045, abs=1e-6)
    assert effective_rank(_with_spectrum([2.0] * 4), kind="covariance") == pytest.approx(4)
    rank_one = np.outer(np.arange(1.0, 6), [1.0, 2])
    assert effective_rank(rank_one, kind="singular") == pytest.approx(1, abs=1e-10)


def test_effective_rank_lies_between_participation_ratio_and_rank():
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.normal(size=(20, 6)) * rng.uniform(0.1, 3, size=6)
        assert participation_ratio(X) <= effective_rank(X, kind="covariance") <= 6


def test_effective_rank_has_a_finite_gradient():
    X = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3)), jnp.float32)
    assert jnp.isfinite(jax.grad(lambda X: effective_rank(X, kind="covariance"))(X)).all()


def test_bad_input_is_refused():
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.raises(ValueError, match="'singular' or 'covariance'"):
        effective_rank(X, kind="entropy")
    with pytest.raises(ValueError, match="does not vary"):
        participation_ratio(np.full((10, 3), 0.1))
    with pytest.raises(ValueError, match="one sample"):
        participation_ratio(X[:1])
    with pytest.raises(ValueError, match="zero everywhere"):
        effective_rank(np.zeros((4, 2)), kind="singular")
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="time 4, neuron 1"):
        participation_ratio(X)
    for eigenvalues in ([1.0, -1.0], [0.0, 0.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="eigenvalues must be"):
            participation_ratio_of_spectrum(np.array(eigenvalues))
