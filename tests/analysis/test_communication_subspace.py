"""Reduced-rank regression: its optimum in closed form, and ranks that are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scikit_learn_checks import assert_passes_the_checks_of_scikit_learn
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV

from neurosim.analysis.communication_subspace import ReducedRankRegression, reduced_rank_scores
from neurosim.analysis.subspace_angles import principal_angles


def through(rank, *, p=10, q=7, n=400, noise=0.5, seed=0):
    """A target that the source drives through `rank` directions, and these."""
    rng = np.random.default_rng(seed)
    X, A = rng.normal(size=(n, p)) + 2, rng.normal(size=(p, rank))
    B = np.linalg.qr(rng.normal(size=(q, q)))[0][:rank]
    return X, 1.5 * X @ A @ B + noise * rng.normal(size=(n, q)) - 5, A


def test_the_least_error_of_a_rank():
    """That of ordinary regression, and the variance of the prediction that is cut off."""
    X, Y, _ = through(3)
    full = LinearRegression().fit(X, Y)
    prediction = full.predict(X) - Y.mean(axis=0)
    cut = np.linalg.svd(prediction, compute_uv=False) ** 2
    error = np.sum((Y - full.predict(X)) ** 2)
    total = np.sum((Y - Y.mean(axis=0)) ** 2)
    for m in range(8):
        model = ReducedRankRegression(m).fit(X, Y)
        found = np.sum((Y - model.predict(X)) ** 2)
        assert found == pytest.approx(error + cut[m:].sum())
        assert model.score(X, Y) == pytest.approx(1 - found / total)
        assert model.rank_ == m == np.linalg.matrix_rank(model.coef_)
        np.testing.assert_allclose(model.predict(X), X @ model.coef_.T + model.intercept_)
    np.testing.assert_allclose(model.coef_, full.coef_, atol=1e-10)
    assert model.cv_scores_ is None


def test_penalty():
    """The least of squared error and penalty: rows of the penalty are samples of value 0."""
    X, Y, _ = through(3, n=30)
    A, T = X - X.mean(axis=0), Y - Y.mean(axis=0)
    weight = 0.2 * np.sum(A**2) / 10
    full = ReducedRankRegression(7, regularisation=0.2).fit(X, Y)
    ridge = Ridge(alpha=weight).fit(X, Y)
    np.testing.assert_allclose(full.coef_, ridge.coef_, atol=1e-10)
    extended = np.concatenate([A, weight**0.5 * np.eye(10)])
    target = np.concatenate([T, np.zeros((10, 7))])
    cut = np.linalg.svd(extended @ ridge.coef_.T, compute_uv=False) ** 2
    least = np.sum((target - extended @ ridge.coef_.T) ** 2) + cut[2:].sum()
    model = ReducedRankRegression(2, regularisation=0.2).fit(X, Y)
    assert np.sum((target - extended @ model.coef_.T) ** 2) == pytest.approx(least)


def test_axes_span_the_communication_subspace():
    X, Y, A = through(2, n=2000)
    model = ReducedRankRegression(2).fit(X, Y)
    assert np.rad2deg(principal_angles(model.x_axes_, A)).max() < 2
    np.testing.assert_allclose(model.y_axes_.T @ model.y_axes_, np.eye(2), atol=1e-12)
    largest = model.y_axes_[np.abs(model.y_axes_).argmax(axis=0), [0, 1]]
    assert (largest > 0).all()
    projected = model.transform(X)
    np.testing.assert_allclose(projected @ model.y_axes_.T + model.y_mean_, model.predict(X))
    # By decreasing variance, and without correlation.
    covariance = np.cov(projected.T)
    assert covariance[0, 0] > covariance[1, 1]
    assert covariance[0, 1] == pytest.approx(0, abs=1e-10)
    np.testing.assert_allclose(model.fit_transform(X, Y), projected)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_rank_by_cross_validation(rank):
    X, Y, _ = through(max(rank, 1))
    if rank == 0:
        Y = np.random.default_rng(1).normal(size=(400, 7))
    model = ReducedRankRegression().fit(X, Y)
    assert model.rank_ == rank
    scores = reduced_rank_scores(X, Y)
    np.testing.assert_array_equal(scores.scores, model.cv_scores_)
    np.testing.assert_allclose(scores.folds.mean(axis=0), scores.scores)
    np.testing.assert_allclose(scores.standard_errors, scores.folds.std(axis=0, ddof=1) / 10**0.5)
    assert scores.scores[0] == 0
    # Each rank of the cross-validation is a model of that rank fitted to the other folds.
    search = GridSearchCV(ReducedRankRegression(), {"rank": list(range(8))}, cv=5).fit(X, Y)
    values = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(values, scores.scores, atol=0.05)


def test_the_smallest_rank_within_an_error_of_the_best():
    """A fourth direction that predicts a little: better on average, by less than an error."""
    X, Y, _ = through(3)
    rng = np.random.default_rng(50)
    found = reduced_rank_scores(X, Y + 0.06 * np.outer(X @ rng.normal(size=10), rng.normal(size=7)))
    assert found.scores.argmax() == 4
    assert 0 < found.scores[4] - found.scores[3] < found.standard_errors[4]
    assert found.scores[2] < found.scores[4] - found.standard_errors[4]
    assert found.rank == 3


def test_layouts():
    X, Y, _ = through(2, n=60)
    model = ReducedRankRegression(2).fit(X, Y)
    by_trial = ReducedRankRegression(2).fit(X.reshape(6, 10, 10), Y.reshape(6, 10, 7))
    np.testing.assert_allclose(by_trial.coef_, model.coef_)
    assert by_trial.predict(X.reshape(6, 10, 10)).shape == (6, 10, 7)
    assert by_trial.transform(X.reshape(6, 10, 10)).shape == (6, 10, 2)
    listed = by_trial.predict([X[:20], X[20:]])
    assert [part.shape for part in listed] == [(20, 7), (40, 7)]
    single = ReducedRankRegression(1).fit(X, Y[:, 0])
    expected = LinearRegression().fit(X, Y[:, 0])
    np.testing.assert_allclose(single.coef_, expected.coef_)
    np.testing.assert_allclose(single.predict(X), expected.predict(X))
    assert single.intercept_ == pytest.approx(expected.intercept_)
    in_jax = ReducedRankRegression(2).fit(jnp.asarray(X, jnp.float32), jnp.asarray(Y, jnp.float32))
    assert isinstance(in_jax.coef_, np.ndarray)
    np.testing.assert_allclose(in_jax.coef_, model.coef_, atol=1e-4)
    # Whole trials are held out: repeats of a sample within a trial do not tell of one another.
    rng = np.random.default_rng(0)
    slow = (np.repeat(rng.normal(size=(12, 1, k)), 20, axis=1) for k in (8, 3))
    X, Y = (x + 0.01 * rng.normal(size=x.shape) for x in slow)
    assert reduced_rank_scores(X, Y, n_folds=4).scores[3] < 0
    leaking = reduced_rank_scores(X.reshape(-1, 8), Y.reshape(-1, 3), n_folds=4)
    assert leaking.scores[3] > 0.4


def test_bad_input_is_refused():
    X, Y, _ = through(2, n=30)
    for rank in (-1, 8):
        with pytest.raises(ValueError, match="rank must be from 0 to 7"):
            ReducedRankRegression(rank).fit(X, Y)
    with pytest.raises(ValueError, match="regularisation must be finite and not negative"):
        ReducedRankRegression(2, regularisation=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"linearly dependent .*numerical rank 10 \(singular"):
        ReducedRankRegression(2).fit(np.c_[X, X[:, 0]], Y)
    with pytest.raises(ValueError, match="linearly dependent in n_samples=8"):
        ReducedRankRegression(2).fit(X[:8], Y[:8])
    assert ReducedRankRegression(2, regularisation=0.1).fit(X[:8], Y[:8]).rank_ == 2
    with pytest.raises(ValueError, match="X does not vary"):
        ReducedRankRegression(2).fit(0 * X, Y)
    with pytest.raises(ValueError, match="y does not vary"):
        ReducedRankRegression().fit(X, 0 * Y)
    with pytest.raises(ValueError, match="same samples"):
        ReducedRankRegression(2).fit(X, Y[1:])
    with pytest.raises(ValueError, match="one sample"):
        ReducedRankRegression(2).fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="requires y"):
        ReducedRankRegression(2).fit(X)
    with pytest.raises(ValueError, match="cannot make 31 folds"):
        ReducedRankRegression(n_folds=31).fit(X, Y)
    with pytest.raises(ValueError, match="not fitted"):
        ReducedRankRegression(2).predict(X)
    model = ReducedRankRegression(2).fit(X, Y)
    for wrong in (model.predict, model.transform, lambda X: model.score(X, Y)):
        with pytest.raises(ValueError, match="X has 9 features"):
            wrong(X[:, 1:])
    with pytest.raises(ValueError, match="y has 6 units, but the fit has 7"):
        model.score(X, Y[:, 1:])
    with pytest.raises(ValueError, match="y does not vary"):
        model.score(X, 0 * Y)
    with pytest.raises(TypeError, match="reduced-rank regression is computed in NumPy"):
        jax.jit(lambda X: ReducedRankRegression(2).fit(X, Y).coef_)(jnp.asarray(X))


def test_passes_the_checks_of_scikit_learn():
    assert_passes_the_checks_of_scikit_learn(
        ReducedRankRegression(),
        but_for={"check_supervised_y_2d": "a column is a target of one unit"},
        may_skip=["check_regressor_data_not_an_array"],
    )
