"""Angles between subspaces built at known angles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import subspace_angles

from neurosim.analysis.subspace_angles import principal_angles, subspace_distance

RNG = np.random.default_rng(0)


def at_angles(*angles, n=6):
    """Two bases in a random frame, whose k-th directions make the k-th angle with one another."""
    k = len(angles)
    frame = np.linalg.qr(RNG.normal(size=(n, n)))[0]
    other = frame[:, :k] * np.cos(angles) + frame[:, k : 2 * k] * np.sin(angles)
    # Any basis of the same subspace is as good.
    return frame[:, :k] @ RNG.normal(size=(k, k)), other @ RNG.normal(size=(k, k))


def test_angles_are_those_built_in_the_smallest_first():
    e = np.eye(4)
    A = e[:, :2]
    B = np.stack(
        [np.cos(0.3) * e[0] + np.sin(0.3) * e[2], np.cos(1.1) * e[1] + np.sin(1.1) * e[3]], axis=1
    )
    np.testing.assert_allclose(principal_angles(A, B), [0.3, 1.1], rtol=1e-12)
    assert subspace_distance(A, B) == pytest.approx(
        np.sqrt(2 * (np.sin(0.3) ** 2 + np.sin(1.1) ** 2))
    )
    for pair in ((A * [1e-200, -1e200], B), (B, A[:, ::-1]), at_angles(1.1, 0.3)):
        np.testing.assert_allclose(principal_angles(*pair), [0.3, 1.1], rtol=1e-10)
    assert isinstance(subspace_distance(A, B), float)


def test_small_and_large_angles_are_precise_together():
    for angles in ((1e-9, 1.1), (1e-12, 1e-6), (1e-9, np.pi / 2), (np.pi / 2 - 1e-9, 1.5)):
        found = principal_angles(*at_angles(*angles))
        np.testing.assert_allclose(found, sorted(angles), rtol=1e-6, atol=1e-14)


def test_agrees_with_scipy_for_bases_of_any_size():
    for k, l in ((3, 3), (2, 5), (5, 2), (1, 8)):
        A, B = RNG.normal(size=(8, k)), RNG.normal(size=(8, l))
        np.testing.assert_allclose(
            principal_angles(A, B), subspace_angles(A, B)[::-1], rtol=1e-7, atol=1e-7
        )
        P, Q = (basis @ np.linalg.pinv(basis) for basis in (A, B))
        assert subspace_distance(A, B) == pytest.approx(np.linalg.norm(P - Q))


def test_equal_and_contained_subspaces():
    A = RNG.normal(size=(8, 3))
    np.testing.assert_allclose(principal_angles(A, A @ RNG.normal(size=(3, 3))), 0, atol=1e-13)
    np.testing.assert_allclose(principal_angles(A[:, :1], A), 0, atol=1e-13)
    assert subspace_distance(A, A[:, ::-1]) == pytest.approx(0, abs=1e-13)
    assert subspace_distance(A, A[:, :1]) == pytest.approx(2**0.5)
    e = np.eye(4)
    assert subspace_distance(e[:, :2], e[:, 2:]) == pytest.approx(2)
    np.testing.assert_array_equal(principal_angles(e[:, :2], e[:, 2:]), np.pi / 2)


def test_in_jax_with_derivatives_that_are_finite_where_subspaces_meet():
    with jax.enable_x64(True):
        A, B = (jnp.asarray(basis) for basis in at_angles(0.3, 1.1))
        found = jax.jit(principal_angles)(A, B)
        assert isinstance(found, jax.Array)
        np.testing.assert_allclose(found, [0.3, 1.1], rtol=1e-10)
        # One plane turned in itself by one angle, and by another in the two directions left.
        e = jnp.eye(4)

        def turned(angle):
            s, c = jnp.sin(angle), jnp.cos(angle)
            return jnp.stack([c[0] * e[0] + s[0] * e[2], c[1] * e[1] + s[1] * e[3]], axis=1)

        angle = jnp.array([0.3, 1.1])
        slopes = jax.jit(jax.jacobian(lambda a: principal_angles(e[:, :2], turned(a))))(angle)
        np.testing.assert_allclose(slopes, np.eye(2), atol=1e-12)
        slope = jax.jit(jax.grad(lambda a: subspace_distance(e[:, :2], turned(a))))(angle)
        distance = np.sqrt(2 * np.sum(np.sin(angle) ** 2))
        np.testing.assert_allclose(slope, np.sin(2 * np.asarray(angle)) / distance, rtol=1e-10)
        # Where both subspaces are equal, and where they are orthogonal.
        slope_of_angles = jax.jit(jax.grad(lambda B: principal_angles(e[:, :2], B).sum()))
        slope_of_distance = jax.jit(jax.grad(lambda B: subspace_distance(e[:, :2], B)))
        for there in (e[:, :2], turned(jnp.array([np.pi / 2, np.pi / 2]))):
            assert jnp.isfinite(slope_of_angles(there)).all()
            assert jnp.isfinite(slope_of_distance(there)).all()
        np.testing.assert_array_equal(slope_of_angles(e[:, :2]), 0)
        np.testing.assert_array_equal(slope_of_distance(e[:, :2]), 0)
        # And equal to rounding only, which points in some direction.
        A, mixed = jnp.asarray(RNG.normal(size=(6, 2))), jnp.array([[1.0, 0.3], [-0.2, 0.8]])
        slope = jax.jit(jax.grad(lambda B: principal_angles(A, B).sum()))(A @ mixed)
        np.testing.assert_array_equal(slope, 0)
    single = principal_angles(*(jnp.asarray(basis, jnp.float32) for basis in at_angles(1e-3, 1.1)))
    np.testing.assert_allclose(single, [1e-3, 1.1], rtol=1e-3)


@pytest.mark.parametrize("measure", [principal_angles, subspace_distance])
@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (np.ones(3), np.ones((3, 1)), r"A must be \(units, k\).*v\[:, None\]"),
        (np.ones((3, 0)), np.ones((3, 1)), r"A must be \(units, k\)"),
        (np.eye(3), np.eye(4), r"same units in their rows, got \(3, 3\) and \(4, 4\)"),
        (np.ones((3, 2)), np.eye(3), "2 columns of A.*dependent: they have rank 1"),
        (np.eye(3), np.ones((3, 4)), "4 columns of B.*rank 1"),
        (np.eye(3), np.eye(3) * [1, 0, 1], "column 1 of B is zero"),
        (np.eye(3), np.eye(3) * [1, np.nan, 1], "B must be finite"),
        (
            jnp.array([[1, 1], [1, 1 + 1e-7], [0, 0]], jnp.float32),
            np.eye(3),
            "dependent: they have rank 1",
        ),
        (np.ma.masked_equal(np.eye(3), 0), np.eye(3), "A is a masked array"),
    ],
)
def test_bad_bases_are_refused(measure, A, B, message):
    with pytest.raises(ValueError, match=message):
        measure(A, B)


def test_more_columns_than_rows_are_refused_under_tracing():
    with pytest.raises(ValueError, match="A has more columns than rows"):
        jax.jit(subspace_distance)(jnp.ones((2, 3)), jnp.ones((2, 1)))
