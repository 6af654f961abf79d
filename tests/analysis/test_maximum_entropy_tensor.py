import jax
import numpy as np
import pytest

from neurosim.analysis.maximum_entropy_tensor import maximum_entropy_tensor


def _population(shape=(5, 12, 4), noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    C, T, N = shape
    smooth = np.exp(-0.5 * (np.subtract.outer(np.arange(T), np.arange(T)) / 2) ** 2)
    X = smooth @ rng.normal(size=(C, T, 3)) @ rng.normal(size=(3, N)) + rng.normal(size=N)
    return X + noise * rng.normal(size=shape)


def _covariances(X):
    flat = [np.moveaxis(X, axis, 0).reshape(X.shape[axis], -1) for axis in range(3)]
    return [f @ f.T for f in flat]


def _rest(X):
    grand = X.mean()
    means = [X.mean(axis=a, keepdims=True) - grand for a in ((1, 2), (0, 2), (0, 1))]
    return X - grand - sum(means)


@pytest.mark.parametrize("noise", [0.1, 0.0])
def test_expected_covariances_are_those_of_the_data(noise):
    X = _population(noise=noise)
    found = maximum_entropy_tensor(X)
    for axis, covariance in enumerate(_covariances(_rest(X))):
        others = tuple(a for a in range(3) if a != axis)
        U = found.axes[axis]
        expected = U * found.variance.sum(axis=others) @ U.T
        np.testing.assert_allclose(expected, covariance, atol=1e-5 * np.abs(covariance).max())
    # No distribution of these covariances has more entropy: 1 / variance is a sum over axes.
    d = 1 / found.variance
    mixed = d - d[:1] - d[:, :1] + d[:1, :1]
    np.testing.assert_allclose(mixed, np.broadcast_to(mixed[:1, :1], d.shape), atol=1e-6 * d.max())


def test_surrogates_have_the_covariances_on_average():
    X = _population()
    found = maximum_entropy_tensor(X)
    rng = np.random.default_rng(1)
    drawn = [_covariances(found.sample(rng) - found.mean) for _ in range(400)]
    for mean, wanted in zip((np.mean(c, axis=0) for c in zip(*drawn)), _covariances(_rest(X))):
        assert np.linalg.norm(mean - wanted) < 0.1 * np.linalg.norm(wanted)
    np.testing.assert_allclose(found.mean.mean(axis=(0, 1)), X.mean(axis=(0, 1)))
    np.testing.assert_array_equal(found.sample(3), found.sample(3))


def test_equal_covariances_make_white_noise():
    # All 2 x 2 x 2 products of +-1: every covariance that is left is of one direction alone.
    signs = np.array([1.0, -1])
    X = np.einsum("i,j,k->ijk", signs, signs, signs)
    found = maximum_entropy_tensor(X)
    assert found.variance.shape == (1, 1, 1)
    np.testing.assert_allclose(found.variance, 8)
    np.testing.assert_allclose(np.abs(found.sample(0)), np.abs(found.sample(0)).max())


def test_bad_input_is_refused():
    X = _population()
    for message, data in (
        ("X must be \\(condition, time, unit\\)", X[0]),
        ("with two or more of each", X[:1]),
        ("X must be \\(condition, time, unit\\), finite", np.where(X > 1, np.nan, X)),
    ):
        with pytest.raises(ValueError, match=message):
            maximum_entropy_tensor(data)
    additive = np.arange(3.0)[:, None, None] + np.arange(4.0)[:, None] + np.arange(2.0)
    with pytest.raises(ValueError, match="sum of the effects of its axes"):
        maximum_entropy_tensor(additive)
    with pytest.raises(TypeError, match="under jit"):
        jax.jit(lambda x: maximum_entropy_tensor(x).variance)(X)
