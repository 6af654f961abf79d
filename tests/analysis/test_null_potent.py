"""Populations whose output is known to see some directions and not others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scikit_learn_checks import assert_passes_the_checks_of_scikit_learn

from neurosim.analysis.null_potent import NullPotent
from neurosim.analysis.subspace_angles import principal_angles

RNG = np.random.default_rng(0)
BASIS = np.linalg.qr(RNG.normal(size=(12, 12)))[0][:, :4]
Z = RNG.normal(size=(200, 4)) * [2, 1.5, 1, 0.7]
X = Z @ BASIS.T + 3
M = Z[:, :2] @ RNG.normal(size=(2, 3)) - 1


def test_spaces_are_those_that_the_output_sees_and_does_not():
    found = NullPotent(2).fit(X, M)
    assert np.max(principal_angles(found.potent_axes_, BASIS[:, :2])) < 1e-7
    assert np.max(principal_angles(found.null_axes_, BASIS[:, 2:])) < 1e-7
    axes = np.hstack([found.potent_axes_, found.null_axes_])
    np.testing.assert_allclose(axes.T @ axes, np.eye(4), atol=1e-12)
    assert (axes[np.abs(axes).argmax(axis=0), range(4)] > 0).all()
    np.testing.assert_allclose((X - found.mean_) @ found.weights_.T + found.output_mean_, M)
    assert found.explained_variance_ratio_ == pytest.approx(1)
    # The null space by decreasing variance; projections in the layout given.
    projected = found.transform(X)
    assert projected[:, 2].var() > projected[:, 3].var()
    np.testing.assert_allclose(found.fit_transform(X, M), projected)
    by_trial = NullPotent(2).fit(X.reshape(4, 50, 12), M.reshape(4, 50, 3))
    np.testing.assert_allclose(by_trial.transform(X.reshape(4, 50, 12)).reshape(200, 4), projected)
    in_jax = NullPotent(2).fit(jnp.asarray(X, jnp.float32), jnp.asarray(M, jnp.float32))
    assert isinstance(in_jax.potent_axes_, np.ndarray)
    assert np.max(principal_angles(in_jax.potent_axes_, BASIS[:, :2])) < 1e-5
    # Moving along the null space moves no output.
    np.testing.assert_allclose(found.weights_ @ found.null_axes_, 0, atol=1e-12)


def test_tuning_ratio():
    found = NullPotent(2).fit(X, M)
    variances = np.var(Z, axis=0)
    # Directions of the spaces need not be axes of variance: traces do not depend on them.
    result = found.tuning_ratio(X)
    assert result.ratio == pytest.approx(variances[2:].sum() / variances[:2].sum())
    assert result.p_value > 0.9
    assert result.null.shape == (1000,)
    rng = np.random.default_rng(1)
    preparation = rng.normal(size=(30, 2)) @ BASIS[:, 2:].T + 0.1 * rng.normal(size=(30, 12))
    high = found.tuning_ratio(preparation, n_shuffles=200)
    assert high.ratio > 30
    assert high.p_value < 0.02
    again = found.tuning_ratio(preparation, n_shuffles=200, random_state=np.random.default_rng(0))
    np.testing.assert_array_equal(again.null, high.null)
    # Activity alike in all directions has a ratio of 1, whatever the spaces.
    isotropic = np.concatenate([BASIS.T, -BASIS.T])
    even = found.tuning_ratio(isotropic, n_shuffles=20)
    assert even.ratio == pytest.approx(1)
    np.testing.assert_allclose(even.null, 1)
    # Of unequal numbers of dimensions, each counts the same.
    wide = NullPotent(1, n_dimensions=4).fit(X, Z[:, 0])
    assert wide.null_axes_.shape == (12, 3)
    assert wide.tuning_ratio(isotropic).ratio == pytest.approx(1)


def test_rank_is_what_it_is_said_to_be():
    """With noise the output depends on all dimensions, if only by chance."""
    rng = np.random.default_rng(0)
    noisy = M + 0.05 * rng.normal(size=M.shape)
    found = NullPotent(2, n_dimensions=4).fit(X, noisy)
    assert np.linalg.matrix_rank(found.weights_) == 2
    assert np.max(principal_angles(found.potent_axes_, BASIS[:, :2])) < 0.1
    heavy = NullPotent(2, regularisation=10.0).fit(X, noisy)
    assert np.linalg.norm(heavy.weights_) < 0.2 * np.linalg.norm(found.weights_)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="rank must be at least 1"):
        NullPotent(0).fit(X, M)
    with pytest.raises(ValueError, match="n_dimensions must exceed rank = 2, got 2"):
        NullPotent(2, n_dimensions=2).fit(X, M)
    with pytest.raises(ValueError, match=r"X varies in 4 dimension\(s\).*fewer than the 6"):
        NullPotent(2, n_dimensions=6).fit(X, M)
    with pytest.raises(ValueError, match=r"y varies in 2 dimension\(s\).*fewer than the 3"):
        NullPotent(3, n_dimensions=4).fit(X, M)
    with pytest.raises(ValueError, match=r"depends on 0 dimension\(s\) of X, fewer than rank = 1"):
        NullPotent(1).fit(np.repeat(X, 2, axis=0), np.tile([1.0, -1.0], 200))
    with pytest.raises(ValueError, match="regularisation must be finite"):
        NullPotent(2, regularisation=-1.0).fit(X, M)
    with pytest.raises(ValueError, match="same samples"):
        NullPotent(2).fit(X, M[1:])
    with pytest.raises(ValueError, match="requires y"):
        NullPotent(2).fit(X)
    with pytest.raises(ValueError, match="not fitted"):
        NullPotent(2).transform(X)
    found = NullPotent(2).fit(X, M)
    for wrong in (found.transform, found.tuning_ratio):
        with pytest.raises(ValueError, match="X has 11 features"):
            wrong(X[:, 1:])
    with pytest.raises(ValueError, match="does not vary in the potent space"):
        found.tuning_ratio(np.tile(X[:1], (5, 1)))
    with pytest.raises(TypeError, match="null and potent space is computed in NumPy"):
        jax.jit(lambda X: NullPotent(2).fit(X, M).weights_)(jnp.asarray(X))


def test_passes_the_checks_of_scikit_learn():
    assert_passes_the_checks_of_scikit_learn(NullPotent())
