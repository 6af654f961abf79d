"""Alignment against kernels written out, published values, and independent populations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.cka import cka

X_PAIR = np.array([[0.0, 0], [1, 0], [0, 1], [2, 1]])
Y_PAIR = np.array([[0.0, 1], [1, 1], [1, 0], [3, 1]])


def unbiased_by_kernels(X, Y):
    """Song et al. (2012), Eq. 5, with the kernels as they stand there."""
    n, one = len(X), np.ones(len(X))

    def hsic(K, L):
        K, L = (M - np.diag(np.diag(M)) for M in (K, L))
        sums = (one @ K @ one) * (one @ L @ one) / ((n - 1) * (n - 2))
        return np.trace(K @ L) + sums - 2 / (n - 2) * one @ K @ L @ one

    K, L = X @ X.T, Y @ Y.T
    return hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L))


def test_known_pair():
    assert cka(X_PAIR, Y_PAIR, debiased=False) == pytest.approx(0.938644247, abs=1e-9)
    in_jax = cka(jnp.asarray(X_PAIR), Y_PAIR, debiased=False)
    assert isinstance(in_jax, jax.Array)
    assert float(in_jax) == pytest.approx(0.938644247, abs=1e-5)


@pytest.mark.usefixtures("double_precision")
def test_known_pair_in_double_precision():
    assert float(cka(jnp.asarray(X_PAIR), Y_PAIR, debiased=False)) == pytest.approx(
        0.938644247, abs=1e-9
    )


@pytest.mark.filterwarnings("ignore:[XY] has .* units but 12 samples")
@pytest.mark.parametrize(("p", "q"), [(4, 3), (4, 30), (40, 30), (3, 200)])
def test_both_sides_equal_the_kernels(p, q):
    """Few units, many units, and one of each: products over units or over samples."""
    rng = np.random.default_rng(p)
    X, Y = rng.normal(size=(12, p)) + 3, rng.normal(size=(12, q)) - 2
    assert cka(X, Y) == pytest.approx(unbiased_by_kernels(X, Y), rel=1e-8, abs=1e-10)
    H = np.eye(12) - 1 / 12
    K, L = H @ X @ X.T @ H, H @ Y @ Y.T @ H
    plain = np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)
    assert cka(X, Y, debiased=False) == pytest.approx(plain, rel=1e-10)
    if p * q in (12, 1200):
        assert float(cka(jnp.asarray(X), jnp.asarray(Y))) == pytest.approx(cka(X, Y), abs=1e-4)
    # More samples than a block holds.
    many = rng.normal(size=(700, 3)), rng.normal(size=(700, 2))
    assert cka(*many) == pytest.approx(unbiased_by_kernels(*many), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize(
    ("n", "p", "biased", "debiased_sd"),
    [
        (50, 50, 0.507, 0.029),
        (100, 100, 0.500, 0.015),
        (100, 20, 0.167, 0.012),
        (1000, 100, 0.091, 0.001),
    ],
)
def test_independent_gaussians(n, p, biased, debiased_sd):
    rng = np.random.default_rng(0)
    pairs = [(rng.normal(size=(n, p)), rng.normal(size=(n, p))) for _ in range(40)]
    plain = np.mean([cka(X, Y, debiased=False) for X, Y in pairs])
    assert plain == pytest.approx(biased, abs=0.5 * debiased_sd)
    unbiased = np.array([cka(X, Y) for X, Y in pairs])
    assert abs(unbiased.mean()) < 3 * debiased_sd / 40**0.5
    assert unbiased.std() == pytest.approx(debiased_sd, rel=0.4)
    # Values below 0 are kept.
    assert unbiased.min() < 0


def test_unchanged_by_rotations_and_scale_but_not_by_other_maps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))
    Y = X @ rng.normal(size=(5, 4)) + rng.normal(size=(30, 4))
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    order = rng.permutation(30)
    for debiased in (True, False):
        value = cka(X, Y, debiased=debiased)
        assert cka(-3 * X @ Q + 7, Y, debiased=debiased) == pytest.approx(value)
        assert cka(X[:, ::-1], Y, debiased=debiased) == pytest.approx(value)
        assert cka(X[order], Y[order], debiased=debiased) == pytest.approx(value)
        assert cka(Y, X, debiased=debiased) == pytest.approx(value)
        assert cka(X, X @ Q, debiased=debiased) == pytest.approx(1)
        mapped = cka(X @ np.diag([5, 1, 1, 1, 0.1]) @ Q, X, debiased=debiased)
        assert abs(mapped - 1) > 0.05
    # Trials and times are samples; a silent unit counts nothing; any scale is in range.
    assert cka(X.reshape(5, 6, 5), Y.reshape(5, 6, 4)) == pytest.approx(cka(X, Y))
    assert cka([X[:7], X[7:]], [Y[:7], Y[7:]]) == pytest.approx(cka(X, Y))
    assert cka(np.c_[X, np.full(30, 0.1)], Y) == pytest.approx(cka(X, Y))
    assert cka(1e150 * X, 1e-150 * Y) == pytest.approx(cka(X, Y))


@pytest.mark.usefixtures("double_precision")
def test_derivative():
    rng = np.random.default_rng(0)
    X, Y = jnp.asarray(rng.normal(size=(8, 3))), jnp.asarray(rng.normal(size=(8, 4)))
    direction = jnp.asarray(rng.normal(size=(8, 3)))
    _, slope = jax.jit(lambda X: jax.jvp(lambda x: cka(x, Y), (X,), (direction,)))(X)
    h = 1e-6
    expected = (cka(X + h * direction, Y) - cka(X - h * direction, Y)) / (2 * h)
    assert float(slope) == pytest.approx(float(expected), rel=1e-6)
    # Silence, whose values are not known under jit, has no alignment, and no NaN either.
    assert float(jax.jit(cka)(jnp.zeros((8, 3)), Y)) == 0


def test_bad_input_is_refused():
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.raises(ValueError, match="at least 4"):
        cka(X[:3], X[:3])
    with pytest.raises(ValueError, match="at least 2"):
        cka(X[:1], X[:1], debiased=False)
    with pytest.raises(ValueError, match="Y does not vary"):
        cka(X, np.full((10, 2), 0.1))
    with pytest.raises(ValueError, match=r"same samples.*10 samples of 3 units and 9 samples"):
        cka(X, X[:9])
    with pytest.raises(ValueError, match=r"same samples.*2 trials of 5 times.*10 samples"):
        cka(X.reshape(2, 5, 3), X)
    with pytest.raises(ValueError, match="same samples"):
        cka([X[:4], X[4:]], [X[:6], X[6:]])
    with pytest.raises(ValueError, match="equally far apart"):
        cka(np.eye(6), X[:6])
    with pytest.raises(ValueError, match="equally far apart"):
        cka(X[:6], 0.1 * np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0])
    with pytest.raises(ValueError, match=r"Y holds 1 value.*time 4, unit 1"):
        cka(X, np.where(X[4, 1] == X, np.nan, X))
    with pytest.warns(UserWarning, match="Y has 10 units but 3 samples"):
        cka(X.T[:, :2], X.T, debiased=False)
