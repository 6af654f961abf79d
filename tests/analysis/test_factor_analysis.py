"""Factor analysis against scikit-learn's, Gaussian likelihoods, and numbers of factors known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scikit_learn_checks import assert_passes_the_checks_of_scikit_learn
from scipy.stats import multivariate_normal
from sklearn import decomposition

from neurosim.analysis.factor_analysis import FactorAnalysis, factor_dimension


def draw(n_factors=2, *, n=400, n_units=10, seed=0):
    """Activity of shared factors and of units alone, which vary by very different amounts."""
    rng = np.random.default_rng(seed)
    L, psi = 2 * rng.normal(size=(n_factors, n_units)), rng.uniform(0.5, 8, n_units)
    noise = rng.normal(size=(n, n_units)) * np.sqrt(psi)
    return rng.normal(size=(n, n_factors)) @ L + noise + 3, L, psi


def test_equals_the_fit_of_scikit_learn():
    X, _, _ = draw()
    ours = FactorAnalysis(2, tolerance=1e-12).fit(X)
    theirs = decomposition.FactorAnalysis(2, tol=1e-9, max_iter=5000, svd_method="lapack").fit(X)
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-4)
    np.testing.assert_allclose(
        ours.loadings_.T @ ours.loadings_, theirs.components_.T @ theirs.components_, atol=1e-3
    )
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-3)
    assert ours.score(X) == pytest.approx(theirs.score(X), abs=1e-8)


def test_likelihood_is_that_of_the_gaussian():
    X, _, _ = draw()
    model = FactorAnalysis(2).fit(X[:300])
    covariance = model.loadings_.T @ model.loadings_ + np.diag(model.noise_variance_)
    gaussian = multivariate_normal(model.mean_, covariance)
    assert model.score(X[300:]) == pytest.approx(gaussian.logpdf(X[300:]).mean())
    assert model.log_likelihood_ == pytest.approx(model.score(X[:300]))
    # Also with more factors than there are, whose variance then is what units have alone.
    many = FactorAnalysis(10, tolerance=1e-5).fit(X)
    assert many.log_likelihood_ == pytest.approx(many.score(X))
    # No factors: each unit alone; the posterior mean of the factors regresses on activity.
    alone = FactorAnalysis(0).fit(X)
    np.testing.assert_allclose(alone.noise_variance_, X.var(axis=0))
    assert alone.transform(X).shape == (400, 0)
    slope = np.linalg.solve(covariance, model.loadings_.T)
    np.testing.assert_allclose(model.transform(X), (X - model.mean_) @ slope, atol=1e-10)
    assert model.transform(X.reshape(4, 100, 10)).shape == (4, 100, 2)
    np.testing.assert_allclose(model.fit_transform(X), FactorAnalysis(2).fit(X).transform(X))


def test_recovers_what_units_share():
    X, L, psi = draw(n=20_000)
    model = FactorAnalysis(2).fit(X)
    np.testing.assert_allclose(model.noise_variance_, psi, rtol=0.1)
    np.testing.assert_allclose(model.loadings_.T @ model.loadings_, L.T @ L, atol=0.6)
    assert model.shared_dimension_ == 2
    largest = model.loadings_[[0, 1], np.abs(model.loadings_).argmax(axis=1)]
    assert (largest > 0).all()
    # The unit of each unit's activity is of no matter to what is shared.
    scale = np.geomspace(0.01, 100, 10)
    scaled = FactorAnalysis(2).fit(X * scale)
    np.testing.assert_allclose(scaled.noise_variance_, model.noise_variance_ * scale**2, rtol=1e-3)


@pytest.mark.parametrize("n_factors", [0, 1, 3])
def test_number_of_factors(n_factors):
    X, _, _ = draw(n_factors)
    found = factor_dimension(X, n_folds=5)
    assert (found.dimension, found.n_factors) == (n_factors, n_factors)
    assert found.log_likelihoods.argmax() == n_factors
    assert found.folds.shape == (5, 6)
    np.testing.assert_allclose(found.folds.mean(axis=0), found.log_likelihoods)


def test_shared_dimension_counts_directions_of_most_shared_variance():
    """Factors of variance 1 and w: one direction holds 95 % if w is at most 1 / 19."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(10, 10)))[0][:2]
    for w, expected in ((0.04, 1), (0.07, 2)):
        factors = rng.normal(size=(50_000, 2)) * np.sqrt([1, w])
        X = factors @ axes + 0.1 * rng.normal(size=(50_000, 10))
        assert FactorAnalysis(2).fit(X).shared_dimension_ == expected


def test_bad_input_is_refused():
    X, _, _ = draw(n=50)
    for n_factors in (-1, 11):
        with pytest.raises(ValueError, match="n_factors must be from 0 to the 10 units"):
            FactorAnalysis(n_factors).fit(X)
    with pytest.raises(ValueError, match=r"unit 4 is constant \(1 of 10"):
        FactorAnalysis().fit(X * (np.arange(10) != 4))
    with pytest.raises(ValueError, match="one sample"):
        FactorAnalysis().fit(X[:1])
    with pytest.raises(ValueError, match="after max_iterations = 2"):
        FactorAnalysis(2, max_iterations=2).fit(X)
    with pytest.raises(ValueError, match="not fitted"):
        FactorAnalysis().score(X)
    model = FactorAnalysis().fit(X)
    for wrong in (model.transform, model.score):
        with pytest.raises(ValueError, match="X has 9 features"):
            wrong(X[:, 1:])
    with pytest.raises(ValueError, match="max_factors must be from 0 to the 10"):
        factor_dimension(X, max_factors=11)
    with pytest.raises(ValueError, match="cannot make 51 folds"):
        factor_dimension(X, n_folds=51)
    with pytest.raises(TypeError, match="factor analysis is computed in NumPy"):
        jax.jit(lambda X: FactorAnalysis().fit(X).loadings_)(jnp.asarray(X))


def test_passes_the_checks_of_scikit_learn():
    assert_passes_the_checks_of_scikit_learn(FactorAnalysis())
