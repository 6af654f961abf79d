"""Procrustes distances of known pairs, as metrics, and their derivatives."""

from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import procrustes

from neurosim.analysis.procrustes import procrustes_distance

X_PAIR = np.array([[0.0, 0], [1, 0], [0, 1], [2, 1]])
Y_PAIR = np.array([[0.0, 1], [1, 1], [1, 0], [3, 1]])
KNOWN = {"angular": 0.273061, "euclidean": 0.709628, "rms": 0.709628 / 2, "disparity": 0.072727}


def rotation(rng, n):
    return np.linalg.qr(rng.normal(size=(n, n)))[0]


def all_kinds(X, Y):
    return jnp.stack([jnp.asarray(procrustes_distance(X, Y, kind=kind)) for kind in KNOWN])


def test_known_pair():
    for kind, value in KNOWN.items():
        assert procrustes_distance(X_PAIR, Y_PAIR, kind=kind) == pytest.approx(value, abs=1e-6)
    in_jax = jax.jit(all_kinds)(X_PAIR, jnp.asarray(Y_PAIR))
    assert isinstance(in_jax, jax.Array)
    np.testing.assert_allclose(in_jax, list(KNOWN.values()), atol=1e-5)
    with jax.enable_x64(True):
        in_jax = jax.jit(all_kinds)(X_PAIR, jnp.asarray(Y_PAIR))
        np.testing.assert_allclose(in_jax, list(KNOWN.values()), atol=1e-6)


def test_frobenius_distance_from_nothing():
    """5 for diag(3, 4), the root of 9 + 16; the mean of the norms of its rows is 3.5."""
    D, nothing = np.diag([3.0, 4.0]), np.zeros((2, 2))
    assert procrustes_distance(D, nothing, kind="euclidean", centre=False) == pytest.approx(5)
    assert procrustes_distance(D, nothing, kind="rms", centre=False) == pytest.approx(5 / 2**0.5)
    # About the mean: (1.5, -2) twice.
    assert procrustes_distance(D, nothing, kind="euclidean") == pytest.approx(12.5**0.5)


@pytest.mark.parametrize(("p", "q"), [(3, 3), (2, 5), (30, 4), (30, 20)])
def test_equals_the_nuclear_norm(p, q):
    """Also with more units than samples, which are reduced first."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(10, p)) * 1e3, rng.normal(size=(10, q)) + 5
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    a, b, nuclear = np.linalg.norm(A), np.linalg.norm(B), np.linalg.norm(A.T @ B, "nuc")
    squared = a**2 + b**2 - 2 * nuclear
    expected = {
        "angular": np.arccos(nuclear / a / b),
        "euclidean": squared**0.5,
        "rms": (squared / 10) ** 0.5,
        "disparity": 1 - (nuclear / a / b) ** 2,
    }
    for kind, value in expected.items():
        assert procrustes_distance(X, Y, kind=kind) == pytest.approx(value, rel=1e-10)
        assert procrustes_distance(Y, X, kind=kind) == pytest.approx(value, rel=1e-10)
    if p == q:
        assert expected["disparity"] == pytest.approx(procrustes(X, Y)[2])


def test_unchanged_by_rotations_but_not_by_other_maps():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 4)), rng.normal(size=(20, 4))
    order = rng.permutation(20)
    reflection = rotation(rng, 4) @ np.diag([-1, 1, 1, 1])
    for kind in KNOWN:
        value = procrustes_distance(X, Y, kind=kind)
        for map_ in (rotation(rng, 4), reflection):
            moved = procrustes_distance(X @ map_ + 3, Y[:, ::-1], kind=kind)
            assert moved == pytest.approx(value)
        assert procrustes_distance(X[order], Y[order], kind=kind) == pytest.approx(value)
        trials = (Z.reshape(4, 5, 4) for Z in (X, Y))
        assert procrustes_distance(*trials, kind=kind) == pytest.approx(value)
        assert procrustes_distance(X @ np.diag([3, 1, 1, 1]), X, kind=kind) > 0.1
    assert procrustes_distance(1e160 * X, 1e-160 * Y) == pytest.approx(procrustes_distance(X, Y))
    assert procrustes_distance(1e160 * X, 0 * Y, kind="euclidean") == pytest.approx(
        1e160 * np.linalg.norm(X - X.mean(axis=0))
    )


def test_small_distances_are_precise():
    """An arccosine knows no angle below 1e-8."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(20, 3)), rotation(rng, 5)[:3]
    X -= X.mean(axis=0)
    assert procrustes_distance(X, X @ Q) == 0
    away = rng.normal(size=(20, 5))
    away -= away.mean(axis=0)
    # What no rotation of a fixed Y can undo at first order: the part of it outside of Y's span.
    away -= X @ np.linalg.lstsq(X, away)[0]
    away /= np.linalg.norm(away)
    found = procrustes_distance(X, (X + 1e-11 * away[:, :3]) @ Q, kind="euclidean")
    assert found == pytest.approx(1e-11 * np.linalg.norm(away[:, :3]), rel=1e-3)


@pytest.mark.parametrize("kind", ["angular", "euclidean", "rms"])
def test_triangle_inequality(kind):
    rng = np.random.default_rng(0)
    for _ in range(30):
        shapes = [rng.normal(size=(6, rng.integers(1, 5))) for _ in range(3)]
        for A, B, C in permutations(shapes):
            there = procrustes_distance(A, C, kind=kind)
            via = procrustes_distance(A, B, kind=kind) + procrustes_distance(B, C, kind=kind)
            assert there <= via + 1e-12


@pytest.mark.usefixtures("double_precision")
def test_derivative():
    rng = np.random.default_rng(0)
    X, Y, d = (jnp.asarray(rng.normal(size=(6, n))) for n in (3, 9, 3))
    at = jax.jit(lambda h: all_kinds(X + h * d, Y))
    forward, reverse = jax.jit(lambda h: (jax.jacfwd(at)(h), jax.jacrev(at)(h)))(0.0)
    np.testing.assert_allclose(forward, (at(1e-6) - at(-1e-6)) / 2e-6, rtol=1e-6)
    np.testing.assert_allclose(reverse, forward, rtol=1e-10)
    Q = jnp.asarray(rotation(rng, 3))
    np.testing.assert_array_equal(jax.jit(jax.jacrev(lambda x: all_kinds(x @ Q, X)))(X), 0)


def test_bad_input_is_refused():
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.raises(ValueError, match="kind must be one of 'angular', 'euclidean'"):
        procrustes_distance(X, X, kind="cosine")
    for kind in ("angular", "disparity"):
        with pytest.raises(ValueError, match="Y does not vary"):
            procrustes_distance(X, np.full((10, 2), 0.1), kind=kind)
        with pytest.raises(ValueError, match="X is zero everywhere"):
            procrustes_distance(0 * X, X, kind=kind, centre=False)
    with pytest.raises(ValueError, match="same samples"):
        procrustes_distance(X, X[1:])
    with pytest.raises(ValueError, match="time 2, unit 0"):
        procrustes_distance(np.where(X[2, 0] == X, np.inf, X), X)
