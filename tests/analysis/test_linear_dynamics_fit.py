import jax
import numpy as np
import pytest
from scipy import linalg

from neurosim.analysis.linear_dynamics_fit import (
    fit_linear_map,
    fit_rotation_logarithm,
    fit_skew_map,
    rotation_planes,
    state_pairs,
)


def _logarithm(before, after):
    return fit_rotation_logarithm(before, after, 1.0)


def _skew(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A - A.T


def test_a_skew_map_is_recovered():
    X = np.random.default_rng(1).normal(size=(40, 5))
    M = _skew(5)
    np.testing.assert_allclose(fit_skew_map(X, X @ M), M, atol=1e-13)
    np.testing.assert_allclose(fit_linear_map(X, X @ M), M, atol=1e-13)
    # Growth is no rotation: its skew part is nothing on states of equal spread.
    Q = np.linalg.qr(X)[0]
    np.testing.assert_allclose(fit_skew_map(Q, Q @ (M + 3 * np.eye(5))), M, atol=1e-13)


def test_equals_least_squares_over_a_basis_of_skew_matrices():
    X, Xdot = np.random.default_rng(1).normal(size=(2, 30, 4))
    basis = []
    for i in range(4):
        for j in range(i):
            B = np.zeros((4, 4))
            B[i, j], B[j, i] = 1, -1
            basis.append(B)
    design = np.stack([(X @ B).ravel() for B in basis], axis=1)
    weights = np.linalg.lstsq(design, Xdot.ravel())[0]
    M = np.einsum("b,bij->ij", weights, np.stack(basis))
    np.testing.assert_allclose(fit_skew_map(X, Xdot), M, atol=1e-13)


def test_differences_stay_within_trials():
    trials = np.array([[[0.0], [1], [4]], [[100.0], [110], [130]]])
    forward = state_pairs(trials, 0.5)
    np.testing.assert_array_equal(forward.states[:, 0], [0, 1, 100, 110])
    np.testing.assert_array_equal(forward.derivatives[:, 0], [2, 6, 20, 40])
    central = state_pairs(trials, 0.5, difference="central")
    np.testing.assert_array_equal(central.states[:, 0], [1, 110])
    np.testing.assert_array_equal(central.derivatives[:, 0], [4, 30])


def test_logarithm_of_the_rotation():
    X = np.random.default_rng(1).normal(size=(40, 5))
    M = 0.5 * _skew(5)
    dt = 2 / np.abs(np.linalg.eigvals(M)).max()
    found = fit_rotation_logarithm(X, X @ linalg.expm(M * dt), dt)
    np.testing.assert_allclose(found, M, atol=1e-12)
    # The image of a reflection still gets a rotation.
    mirror = X @ np.diag([1.0, 1, 1, 1, -1])
    assert np.isfinite(fit_rotation_logarithm(X, mirror, 1.0)).all()
    half_turn = X @ np.diag([-1.0, -1, 1, 1, 1])
    with pytest.raises(ValueError, match="turn by half a cycle in a step"):
        fit_rotation_logarithm(X, half_turn, 1.0)


def test_planes_by_frequency():
    block = np.array([[0.0, 1], [-1, 0]])
    M = linalg.block_diag(2 * block, [[0.0]], -5 * block, np.zeros((2, 2)))
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    planes = rotation_planes(Q @ M @ Q.T)
    np.testing.assert_allclose(planes.frequencies * 2 * np.pi, [5, 2, 0], atol=1e-12)
    np.testing.assert_allclose(
        np.einsum("pai,qbi->paqb", planes.axes, planes.axes).reshape(6, 6), np.eye(6), atol=1e-12
    )
    for plane, columns in zip(planes.axes, ([3, 4], [0, 1])):
        np.testing.assert_allclose(plane.T @ plane, Q[:, columns] @ Q[:, columns].T, atol=1e-12)
        # dx/dt = x M at the first axis points along the second.
        assert plane[0] @ (Q @ M @ Q.T) @ plane[1] > 0
    np.testing.assert_array_equal(rotation_planes(np.zeros((4, 4))).frequencies, [0, 0])


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="difference must be"):
        state_pairs(np.zeros((2, 5, 2)), 1.0, difference="backward")
    with pytest.raises(ValueError, match="central difference needs 3 times, got 2"):
        state_pairs(np.zeros((2, 2, 2)), 1.0, difference="central")
    X = np.random.default_rng(0).normal(size=(20, 2)) @ np.ones((2, 3))
    with pytest.raises(ValueError, match="states span 1 of their 3 dimensions"):
        fit_skew_map(X, X)


@pytest.mark.parametrize("fit", [fit_linear_map, fit_skew_map, _logarithm])
def test_bad_states_are_refused_with_their_place(fit):
    X, Y = np.random.default_rng(0).normal(size=(2, 20, 3))
    holed = X.copy()
    holed[4, 1] = np.nan
    with pytest.raises(ValueError, match="at sample 4, dimension 1"):
        fit(holed, Y)
    with pytest.raises(ValueError, match="1 masked value"):
        fit(X, np.ma.array(Y, mask=np.arange(60).reshape(20, 3) == 7))
    with pytest.raises(ValueError, match="the same samples, got 20 and 19"):
        fit(X, Y[1:])
    with pytest.raises(TypeError, match="not known"):
        jax.jit(fit)(X, Y)


def test_bad_trials_and_maps_are_refused():
    trials = np.zeros((4, 5, 2))
    trials[2, 3, 1] = np.inf
    with pytest.raises(ValueError, match="at trial 2, time 3, dimension 1"):
        state_pairs(trials, 0.1)
    with pytest.raises(ValueError, match=r"\(trial, time, dimension\), got shape \(5, 2\)"):
        state_pairs(trials[0], 0.1)
    with pytest.raises(ValueError, match="rows differ in length"):
        state_pairs([trials[0], trials[0, :3]], 0.1)
    with pytest.raises(ValueError, match="square"):
        rotation_planes(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="at dimension 0, dimension 1"):
        rotation_planes(np.array([[0, np.nan], [1, 0]]))
