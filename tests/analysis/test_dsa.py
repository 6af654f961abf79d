import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.dmd import DMD
from neurosim.analysis.dsa import _starts, dsa


def turn(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def orthogonal(rng, n):
    return np.linalg.qr(rng.normal(size=(n, n)))[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_rotations_differ_by_their_angles(sign):
    # Searching one determinant only would find 1.7, the sum, for one of the signs.
    A, B = turn(0.5), turn(sign * 1.2)
    angular, frobenius = dsa(A, B), dsa(A, B, kind="frobenius")
    assert angular.distance == pytest.approx(0.7, abs=1e-9)
    assert frobenius.distance == pytest.approx(0.685796, abs=5e-7)
    assert angular.lower_bound == pytest.approx(0.7, abs=1e-9)
    assert np.sign(np.linalg.det(angular.rotation)) == sign


@pytest.mark.parametrize("n", [2, 4])
def test_both_parts_of_the_orthogonal_group_are_searched(n):
    # A decomposition of random matrices may give one sign of the determinant only.
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, n, n))
    signs = [np.sign(np.linalg.det(start)) for start in _starts(A, B, 3, rng)]
    assert signs.count(1) == signs.count(-1) == 7


def test_symmetric_matrices_by_their_sorted_eigenvalues():
    A, B = np.diag([3.0, 2, 1]), np.diag([1.0, 0, 2])
    exact = np.arccos(8 / np.sqrt(14 * 5))
    assert exact == pytest.approx(0.297123, abs=5e-7)
    assert dsa(A, B).distance == pytest.approx(exact, abs=1e-13)
    # Hidden by a change of coordinates, and found from random starts.
    rng = np.random.default_rng(0)
    Q = orthogonal(rng, 3)
    assert dsa(A, Q @ B @ Q.T).distance == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 12])
def test_same_system_in_other_coordinates(n):
    rng = np.random.default_rng(n)
    A, Q = rng.normal(size=(n, n)), orthogonal(rng, n)
    for C in (Q, Q @ np.diag(np.r_[-1, np.ones(n - 1)])):
        found = dsa(A, 3 * C @ A @ C.T)
        assert found.distance == pytest.approx(0, abs=1e-6)
        if n > 1:
            turned = found.rotation @ (C @ A @ C.T) @ found.rotation.T
            np.testing.assert_allclose(turned, A, atol=1e-5)


def test_changes_under_maps_that_are_not_orthogonal():
    rng = np.random.default_rng(0)
    A, S = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    sheared = S @ A @ np.linalg.inv(S)
    assert dsa(A, sheared).distance > 0.05
    # Eigenvalues are the same, and all that this looks at.
    assert dsa(A, sheared, kind="wasserstein").distance == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("n", [3, 4])
def test_is_between_its_bound_and_the_identity_and_symmetric(n):
    rng = np.random.default_rng(n)
    A, B = rng.normal(size=(2, n, n))
    found = dsa(A, B, kind="frobenius", n_starts=3)
    a, b = A / np.linalg.norm(A), B / np.linalg.norm(B)
    assert found.lower_bound <= found.distance < np.linalg.norm(a - b)
    C = found.rotation
    assert found.distance == pytest.approx(np.linalg.norm(a - C @ b @ C.T))
    np.testing.assert_allclose(C @ C.T, np.eye(n), atol=1e-12)
    other = dsa(B, A, kind="angular", n_starts=3)
    assert other.distance == pytest.approx(2 * np.arcsin(found.distance / 2), abs=1e-6)
    # Random search comes no nearer.
    draws = [orthogonal(rng, n) for _ in range(300)]
    assert min(np.linalg.norm(a - Q @ b @ Q.T) for Q in draws) >= found.distance


def test_normal_matrices_by_matched_eigenvalues():
    # Blocks of rotations: +-angles and moduli pair up as Hoffman and Wielandt say.
    rng = np.random.default_rng(1)
    A, B = np.zeros((2, 4, 4))
    A[:2, :2], A[2:, 2:] = turn(0.3), 0.5 * turn(1.5)
    B[:2, :2], B[2:, 2:] = 0.6 * turn(1.0), turn(0.4)
    cosine = (np.cos(0.1) + 0.3 * np.cos(0.5)) / np.sqrt(1.25 * 1.36)
    Q = orthogonal(rng, 4)
    found = dsa(A, Q @ B @ Q.T)
    assert found.distance == pytest.approx(np.arccos(cosine), abs=1e-7)
    assert found.lower_bound == pytest.approx(np.arccos(cosine), abs=1e-7)


def test_eigenvalues_of_systems_of_two_sizes():
    found = dsa(np.diag([0.9, 0.5]), np.diag([0.5, 0.3, 0.8]), kind="wasserstein")
    # .9 with .8, .5 with .5, and the 0 that is added with .3.
    assert found.distance == pytest.approx(0.4 / 3)
    assert found.rotation is None


def test_activity_of_two_recordings():
    def run(angle, start, C):
        states = [np.array(start)]
        for _ in range(80):
            states.append(turn(angle) @ states[-1])
        return np.array(states) @ C

    rng = np.random.default_rng(0)
    Q = orthogonal(rng, 5)[:2]
    X, Y = run(0.2, [1.0, 0], Q), run(0.2, [0.3, 2], np.roll(Q, 2, axis=1))
    dmd = DMD(n_delays=2, rank=2)
    assert dsa(X, Y, dmd=dmd).distance == pytest.approx(0, abs=2e-2)
    assert dsa(X, run(-0.7, [1.0, 0], Q), dmd=dmd).distance == pytest.approx(0.5, abs=2e-2)
    assert not hasattr(dmd, "A_")
    fitted = [DMD(n_delays=2, rank=2).fit(x) for x in (X, Y)]
    assert dsa(*fitted).distance == dsa(X, Y, dmd=dmd).distance


def test_inputs_are_left_alone_and_results_repeat():
    A, B = np.random.default_rng(0).normal(size=(2, 4, 4))
    kept = A.copy(), B.copy()
    first, second = (dsa(A, B, n_starts=2, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(A, kept[0])
    np.testing.assert_array_equal(B, kept[1])
    assert first.distance == second.distance
    with jax.enable_x64(True):
        in_jax = dsa(jnp.asarray(A), jnp.asarray(B), n_starts=2, random_state=3)
    assert in_jax.distance == first.distance


def test_refusals():
    eye = np.eye(2)
    with pytest.raises(ValueError, match="kind"):
        dsa(eye, eye, kind="cosine")
    with pytest.raises(ValueError, match="square"):
        dsa(np.ones((3, 2)), eye)
    with pytest.raises(ValueError, match="one size"):
        dsa(np.eye(3), eye)
    with pytest.raises(ValueError, match="B is not finite at row 0, column 1"):
        dsa(eye, np.array([[1, np.nan], [0, 1]]))
    with pytest.raises(ValueError, match="A is zero"):
        dsa(0 * eye, eye)
    with pytest.raises(ValueError, match="n_starts"):
        dsa(eye, eye, n_starts=0)
    with pytest.raises(ValueError, match="not fitted"):
        dsa(DMD(), eye)
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda A: dsa(A, A).distance)(jnp.eye(2))
