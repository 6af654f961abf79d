"""Partial whitening: published values, its limits, and alignments judged on other samples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scikit_learn_checks import assert_passes_the_checks_of_scikit_learn
from sklearn.base import clone

from neurosim.analysis.cca import cca
from neurosim.analysis.procrustes import procrustes_distance
from neurosim.analysis.shape_metric import ShapeMetric

X_PAIR = np.array([[0.0, 0], [1, 0], [0, 1], [2, 1]])
Y_PAIR = np.array([[0.0, 1], [1, 1], [1, 0], [3, 1]])


def draw(p=3, q=3, n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + 4, rng.normal(size=(n, q))


@pytest.mark.parametrize(("alpha", "angle"), [(1, 0.273061), (0.5, 0.253570), (0, 0.265982)])
def test_known_pair(alpha, angle):
    found = ShapeMetric(alpha).fit(X_PAIR, Y_PAIR)
    assert found.distance_ == pytest.approx(angle, abs=1e-6)
    assert found.distance(X_PAIR, Y_PAIR) == found.distance_
    assert found.score(X_PAIR, Y_PAIR) == pytest.approx(np.cos(angle), abs=1e-6)


@pytest.mark.parametrize("kind", ["angular", "euclidean", "rms"])
@pytest.mark.parametrize(("p", "q"), [(3, 3), (2, 5), (5, 2)])
def test_without_whitening_it_is_the_procrustes_distance(kind, p, q):
    X, Y = draw(p, q)
    for centre in (True, False):
        expected = procrustes_distance(X, Y, kind=kind, centre=centre)
        assert ShapeMetric(kind=kind, centre=centre).fit(X, Y).distance_ == pytest.approx(expected)


def test_in_full_it_knows_canonical_correlations_only():
    X, Y = draw()
    rng = np.random.default_rng(1)
    angle = ShapeMetric(0).fit(X, Y).distance_
    assert np.cos(angle) == pytest.approx(cca(X, Y).correlations.mean())
    mapped = X @ rng.normal(size=(3, 3)) * 1e3
    assert ShapeMetric(0).fit(mapped, Y).distance_ == pytest.approx(angle)
    # Any whitening less than full is changed by linear maps, and none of them by rotations.
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for alpha in (0.5, 1):
        angle = ShapeMetric(alpha).fit(X, Y).distance_
        assert ShapeMetric(alpha).fit(X @ Q, Y).distance_ == pytest.approx(angle)
        assert abs(ShapeMetric(alpha).fit(X * [9, 1, 1], Y).distance_ - angle) > 0.01


def test_whitening_keeps_the_variance_and_fills_no_empty_direction():
    X, Y = draw(3, 2)
    flat = np.c_[X, X[:, 0] + X[:, 1]]
    for alpha in (0.2, 0.7, 1):
        metric = ShapeMetric(alpha).fit(flat, Y)
        aligned, other = metric.transform(flat, Y)
        assert aligned.shape == other.shape == (40, 4)
        for before, after in ((flat, aligned), (Y, other)):
            about = before - before.mean(axis=0)
            assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(about))
        # Held-out activity in the empty direction is not blown up.
        off = flat[:1] + np.array([0, 0, 0, 1.0])
        assert np.linalg.norm(metric.transform(off)) < 4 * np.linalg.norm(off - flat.mean(axis=0))
    # Silent units padded by hand are those padded here.
    padded = ShapeMetric(0.3).fit(X, np.c_[Y, np.zeros(40)]).distance_
    assert ShapeMetric(0.3).fit(X, Y).distance_ == pytest.approx(padded)


def test_held_out_samples_are_aligned_as_fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    Y = 2 * X @ Q + 1
    metric = ShapeMetric().fit(X[:50], Y[:50])
    assert metric.distance(X[50:], Y[50:]) == pytest.approx(0.0, abs=0.2)
    moved = metric.transform(X[50:].reshape(5, 10, 4))
    assert moved.shape == (5, 10, 4)
    np.testing.assert_allclose(moved.reshape(50, 4), metric.transform(X[50:]))
    assert [len(trial) for trial in metric.transform([X[:3], X[3:7]])] == [3, 4]
    np.testing.assert_allclose(metric.fit_transform(X, Y), metric.transform(X))
    # The opposite population is farther than a right angle.
    away = 2 * metric.y_mean_ - Y
    assert metric.distance(X, away) == pytest.approx(np.pi, abs=0.2)
    assert metric.score(X, away) == pytest.approx(-1, abs=0.02)
    from_jax = ShapeMetric().fit(jnp.asarray(X, jnp.float32), jnp.asarray(Y, jnp.float32))
    assert isinstance(from_jax.x_transform_, np.ndarray)
    assert from_jax.distance_ == pytest.approx(0, abs=1e-5)


def test_bad_input_is_refused():
    X, Y = draw()
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        ShapeMetric(1.5).fit(X, Y)
    with pytest.raises(ValueError, match="kind must be one of 'angular', 'euclidean', 'rms'"):
        ShapeMetric(kind="disparity").fit(X, Y)
    with pytest.raises(ValueError, match="3 and 2 units: silent ones"):
        ShapeMetric(0).fit(X, Y[:, :2])
    with pytest.raises(ValueError, match=r"numerical rank 2 .*singular values above"):
        ShapeMetric(0).fit(X[:, [0, 1, 1]], Y)
    with pytest.raises(ValueError, match="y does not vary"):
        ShapeMetric().fit(X, np.full((40, 2), 0.1))
    with pytest.raises(ValueError, match="X does not vary"):
        ShapeMetric(centre=False).fit(0 * X, Y)
    with pytest.raises(ValueError, match="same samples"):
        ShapeMetric().fit(X, Y[1:])
    with pytest.raises(ValueError, match="requires y"):
        ShapeMetric().fit(X)
    with pytest.raises(ValueError, match="not fitted"):
        ShapeMetric().distance(X, Y)
    fitted = ShapeMetric().fit(X, Y)
    for wrong in (lambda: fitted.transform(X[:, :2]), lambda: fitted.distance(X[:, :2], Y)):
        with pytest.raises(ValueError, match="X has 2 features"):
            wrong()
    for wrong in (lambda: fitted.transform(X, Y[:, :2]), lambda: fitted.score(X, Y[:, :2])):
        with pytest.raises(ValueError, match="y has 2 units, but the fit has 3"):
            wrong()
    with pytest.raises(ValueError, match="y is at the mean of the fit everywhere"):
        fitted.distance(X, np.tile(fitted.y_mean_, (40, 1)))
    with pytest.raises(TypeError, match="a shape metric is computed in NumPy"):
        jax.jit(lambda X: ShapeMetric().fit(X, Y).distance_)(jnp.asarray(X))


def test_passes_the_checks_of_scikit_learn():
    assert clone(ShapeMetric(0.5, kind="rms")).get_params() == {
        "alpha": 0.5,
        "kind": "rms",
        "centre": True,
    }
    assert_passes_the_checks_of_scikit_learn(ShapeMetric())
