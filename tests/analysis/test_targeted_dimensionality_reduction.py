"""Axes of task variables in populations that were made from them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scikit_learn_checks import assert_passes_the_checks_of_scikit_learn

from neurosim.analysis.subspace_angles import principal_angles
from neurosim.analysis.targeted_dimensionality_reduction import TDR


def trials(B, *, n=500, n_times=20, noise=1.0, seed=0, profile=None):
    """r = B z + noise, as strong as the signal; z of plus or minus 1."""
    rng = np.random.default_rng(seed)
    z = rng.choice([-1.0, 1.0], size=(n, B.shape[1]))
    profile = np.ones((n_times, B.shape[1])) if profile is None else profile
    signal = np.einsum("nv,tv,uv->ntu", z, profile, B)
    return signal + noise * signal.std() * rng.normal(size=signal.shape), z


def orthonormal(n_units=30, k=2, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n_units, k)))[0]


def test_recovers_the_span_of_the_variables():
    """Less than 2 degrees from it with 500 trials, noise as strong as the signal."""
    B = orthonormal()
    X, z = trials(B)
    tdr = TDR(2).fit(X, {"choice": z[:, 0], "colour": z[:, 1]})
    # The axes are of z-scored activity.
    truth = B / tdr.scale_[:, None]
    assert np.rad2deg(principal_angles(tdr.axes_.T, truth)).max() < 2
    np.testing.assert_allclose(tdr.axes_ @ tdr.axes_.T, np.eye(2), atol=1e-12)
    assert tdr.variables_ == ("choice", "colour")
    # Each variable on its own axis, rising along it.
    projected = tdr.transform(X).mean(axis=1)
    correlation = np.corrcoef(projected.T, z.T)[:2, 2:]
    assert (np.diagonal(correlation) > 0.9).all()
    assert np.abs(correlation - np.diag(np.diagonal(correlation))).max() < 0.15


def test_without_noise_it_is_exact():
    B = orthonormal()
    profile = np.stack([np.linspace(0, 1, 6), [0, 2, 1, 0.5, 0, 0]], axis=1)
    X, z = trials(B, n=40, n_times=6, noise=0, profile=profile)
    X += np.linspace(0, 3, 6)[:, None] * np.ones(30)  # a time course that all trials share
    tdr = TDR().fit(X, z)
    assert tdr.variables_ == ("variable 0", "variable 1")
    assert tdr.peak_times_.tolist() == [5, 1]
    slopes = np.einsum("tv,uv->vtu", profile, B) / tdr.scale_
    np.testing.assert_allclose(tdr.betas_, slopes, atol=1e-10)
    raw = (B / tdr.scale_[:, None]).T
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(tdr.raw_axes_, raw, atol=1e-10)
    angle = np.arccos(raw[0] @ raw[1])
    np.testing.assert_allclose(tdr.angles_, [[0, angle], [angle, 0]], atol=1e-7)
    # Only activity at the peaks is needed: one time of trials is enough.
    at_peak = TDR().fit(X[:, 5], z[:, 0])
    np.testing.assert_allclose(np.abs(at_peak.axes_ @ at_peak.raw_axes_.T), 1)


def test_order_decides_who_owns_what_is_shared():
    v = orthonormal(8, 2)
    axes = np.stack([v[:, 0], np.cos(0.5) * v[:, 0] + np.sin(0.5) * v[:, 1]], axis=1)
    X, z = trials(axes, n=60, n_times=3, noise=0)
    unit = X.std(axis=(0, 1))
    raw = axes / unit[:, None] / np.linalg.norm(axes / unit[:, None], axis=0)
    for order in ((0, 1), (1, 0)):
        tdr = TDR(None).fit(X, {f"v{i}": z[:, i] for i in order})
        np.testing.assert_allclose(tdr.axes_[0], raw[:, order[0]], atol=1e-10)
        assert tdr.axes_[1] @ raw[:, order[1]] > 0


def test_right_angles_are_left_alone():
    """Two variables of two separate groups of units."""
    B = np.kron(np.eye(2), np.ones((3, 1)))
    X, z = trials(B, n=40, n_times=2, noise=0)
    tdr = TDR().fit(X, z)
    assert tdr.angles_[0, 1] == pytest.approx(np.pi / 2)
    np.testing.assert_allclose(tdr.axes_, tdr.raw_axes_, atol=1e-12)
    np.testing.assert_allclose(tdr.axes_, B.T / 3**0.5, atol=1e-12)


def test_denoising_by_averages_over_conditions():
    B = orthonormal()
    X, z = trials(B, n_times=10, noise=2)
    named = {"a": z[:, 0], "b": z[:, 1]}
    raw, denoised = (
        principal_angles(tdr.axes_.T, B / tdr.scale_[:, None]).max()
        for tdr in (TDR(None).fit(X, named), TDR(2).fit(X, named))
    )
    assert denoised < 0.8 * raw
    assert TDR(2).fit(X, named).components_.shape == (2, 30)
    # A continuous variable makes each trial a condition, unless it is binned.
    value = np.random.default_rng(1).normal(size=500)
    X = X + value[:, None, None] * B[:, 0]
    binned = TDR(2).fit(X, value, conditions={"sign": value > 0, "b": z[:, 1]})
    alone = TDR(2).fit(X, value)
    assert not np.allclose(binned.components_, alone.components_)


def test_trials_of_unequal_length():
    """Times are used as long as the trials that go on determine the regression."""
    B = orthonormal(5)
    X, z = trials(B, n=12, n_times=8, noise=0)
    lengths = np.where(np.arange(12) == 3, 8, 4 + np.arange(12) % 3)
    tdr = TDR().fit([x[:n] for x, n in zip(X, lengths)], z)
    assert tdr.betas_.shape == (2, 6, 5)
    truth = B / tdr.scale_[:, None]
    assert principal_angles(tdr.axes_.T, truth).max() < 1e-6
    assert [len(part) for part in tdr.transform([X[0], X[1, :3]])] == [8, 3]
    in_jax = TDR().fit(jnp.asarray(X, jnp.float32), jnp.asarray(z))
    assert isinstance(in_jax.axes_, np.ndarray)
    np.testing.assert_allclose(in_jax.fit_transform(X, z), TDR().fit(X, z).transform(X), atol=1e-5)


def test_bad_input_is_refused():
    X, z = trials(orthonormal(5), n=20, n_times=3)
    with pytest.raises(ValueError, match="linearly dependent over 20 trials: rank 2 of 3"):
        TDR().fit(X, np.c_[z, z[:, 0] - z[:, 1]])
    with pytest.raises(ValueError, match="b is the same in all trials"):
        TDR().fit(X, {"a": z[:, 0], "b": np.full(20, 0.1)})
    with pytest.raises(ValueError, match="a must hold one number for each of the 20 trials"):
        TDR().fit(X, {"a": z[1:, 0]})
    with pytest.raises(ValueError, match=r"a is not finite .* for trial 4"):
        TDR().fit(X, {"a": np.where(np.arange(20) == 4, np.nan, z[:, 0])})
    with pytest.raises(ValueError, match=r"y must be \(trial, variable\)"):
        TDR().fit(X, X)
    with pytest.raises(ValueError, match="at least one variable"):
        TDR().fit(X, {})
    with pytest.raises(ValueError, match="requires y"):
        TDR().fit(X)
    with pytest.raises(ValueError, match=r"unit 2 is constant \(1 of 5"):
        TDR().fit(X * (np.arange(5) != 2), z)
    with pytest.raises(ValueError, match="n_components must be at least 1"):
        TDR(0).fit(X, z)
    one, value = trials(orthonormal(5)[:, :1], n=20, n_times=3, noise=0)
    swapped = np.array([1.0, 1, -1, -1])
    with pytest.raises(ValueError, match="b has no effect on activity"):
        TDR().fit(swapped[:, None, None] * np.ones((4, 2, 3)), {"a": swapped, "b": [1, -1, 1, -1]})
    same = np.random.default_rng(0).normal(size=20)
    with pytest.raises(ValueError, match="axis of b lies in the span of those before it"):
        TDR(1).fit(one + same[:, None, None] * orthonormal(5)[:, 0], {"a": value[:, 0], "b": same})
    with pytest.raises(ValueError, match="not fitted"):
        TDR().transform(X)
    with pytest.raises(ValueError, match="X has 4 features"):
        TDR().fit(X, z).transform(X[..., 1:])
    with pytest.raises(TypeError, match="targeted dimensionality reduction is computed in NumPy"):
        jax.jit(lambda X: TDR().fit(X, z).axes_)(jnp.asarray(X))


def test_passes_the_checks_of_scikit_learn():
    assert_passes_the_checks_of_scikit_learn(TDR())
