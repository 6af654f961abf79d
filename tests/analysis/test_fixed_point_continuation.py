import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from neurosim.analysis.fixed_point_continuation import continue_fixed_points
from neurosim.analysis.fixed_points import find_fixed_points


def _unit(w):
    return lambda x, u: -x + jnp.tanh(w * x) + u


def _low(w, u):
    """The stable point of a tanh unit on the low branch, and its fold: sech^2(w x) = 1 / w."""
    fold = -np.arccosh(np.sqrt(w)) / w
    return brentq(lambda x: -x + np.tanh(w * x) + u, -3, fold), fold, fold - np.tanh(w * fold)


@pytest.mark.parametrize("w", [1.5, 3.0])
@pytest.mark.parametrize("double", [False, True])
def test_tanh_unit_turns_back_at_its_saddle_node(w, double):
    low, x_fold, u_fold = _low(w, 0.0)
    path = np.linspace(0, 1.2 * u_fold, 5)[:, None]
    with jax.enable_x64(double):
        (branch,) = continue_fixed_points(_unit(w), np.array([[low]]), path, kind="flow")
    x, u = branch.points[:, 0], branch.inputs[:, 0]
    np.testing.assert_allclose(x - np.tanh(w * x), u, atol=1e-12)
    assert branch.fold.sum() == 1
    at = int(np.argmax(branch.fold))
    assert u[at] == pytest.approx(u_fold, abs=1e-12)
    assert x[at] == pytest.approx(x_fold, abs=1e-7)
    # Out along the node, back along the saddle, which at no input is the origin.
    assert (np.diff(branch.position[: at + 1]) > 0).all()
    assert (np.diff(branch.position[at:]) < 0).all()
    np.testing.assert_array_equal(branch.stable, np.arange(len(x)) < at)
    assert branch.end == "start"
    assert branch.position[-1] == 0
    assert x[-1] == pytest.approx(0, abs=1e-12)
    whole = branch.position % 1 == 0
    assert branch.position[whole].tolist() == [0, 1, 2, 3, 3, 2, 1, 0]
    slope = w / np.cosh(w * x) ** 2 - 1
    rest = ~branch.fold
    np.testing.assert_allclose(branch.eigenvalues[:, 0], slope, atol=1e-10)
    np.testing.assert_allclose(branch.sensitivity[rest, 0, 0], -1 / slope[rest], rtol=1e-6)
    assert np.isinf(branch.sensitivity[at]).all()


def test_an_s_shaped_branch_is_followed_through_both_folds():
    """u + x - x^3 = 0: folds at x = -+1/sqrt(3), u = +-2/(3 sqrt(3))."""
    (branch,) = continue_fixed_points(
        lambda x, u: u + x - x**3,
        -1.3247179572447460 * np.ones(1),
        np.array([-1.0, 1]),
        kind="flow",
    )
    assert branch.end == "end"
    assert (np.diff(branch.points) > 0).all()
    np.testing.assert_allclose(branch.points[branch.fold], [-(3**-0.5), 3**-0.5], atol=1e-7)
    np.testing.assert_allclose(branch.inputs[branch.fold], [2 / 27**0.5, -2 / 27**0.5], atol=1e-12)
    assert branch.points[-1] == pytest.approx(1.3247179572447460, abs=1e-12)
    np.testing.assert_array_equal(branch.stable, np.abs(branch.points) > 3**-0.5 + 1e-6)


def test_linear_map_on_a_path_with_corners_and_a_halt():
    rng = np.random.default_rng(0)
    A, B = 0.4 * rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    path = np.array([[0.0, 0], [1, 0], [1, 0], [1, -2], [0.5, 0]])
    gain = np.linalg.solve(np.eye(3) - A, B)
    (branch,) = continue_fixed_points(
        lambda x, u: {"x": A @ x["x"] + B @ u}, {"x": np.zeros((1, 3))}, path, kind="map"
    )
    assert branch.end == "end"
    np.testing.assert_allclose(branch.points["x"], branch.inputs @ gain.T, atol=1e-12)
    np.testing.assert_allclose(branch.sensitivity, np.broadcast_to(gain, (len(branch.fold), 3, 2)))
    whole = branch.position % 1 == 0
    np.testing.assert_array_equal(branch.position[whole], np.arange(5))
    np.testing.assert_allclose(branch.inputs[whole], path, atol=1e-15)
    expected = np.sort(np.abs(np.linalg.eigvals(A)))[::-1]
    np.testing.assert_allclose(np.abs(branch.eigenvalues[0]), expected)
    assert not branch.fold.any()


def test_branches_go_through_what_is_found_under_each_input():
    rng = np.random.default_rng(6)
    W, b = jnp.asarray(1.8 * rng.normal(size=(8, 8)) / 8**0.5), jnp.asarray(rng.normal(size=8))

    def step(x, u):
        return jnp.tanh(W @ x + b * u)

    path = np.linspace(0, 1.5, 4)
    with jax.enable_x64(True):
        found = find_fixed_points(step, rng.normal(size=(60, 8)), kind="map", inputs=path)
    branches = continue_fixed_points(step, found.points[found.input_index == 0], path, kind="map")
    assert sorted(branch.end for branch in branches) == ["end", "start", "start"]
    # The two that go back met one another.
    met = [b.points[b.fold][0] for b in branches if b.fold.any()]
    np.testing.assert_allclose(met[0], met[1], atol=1e-6)
    places = [(branch, i) for branch in branches for i in range(len(branch.fold))]
    for k in range(4):
        here = [(branch, i) for branch, i in places if branch.position[i] == k]
        mine = np.stack([branch.points[i] for branch, i in here])
        of_input = found.input_index == k
        gaps = np.abs(found.points[of_input][:, None] - mine).max(axis=2)
        assert gaps.min(axis=1).max() < 1e-8
        assert gaps.min(axis=0).max() < 1e-8
        for at, nearest in zip(np.flatnonzero(of_input), gaps.argmin(axis=1)):
            branch, i = here[nearest]
            np.testing.assert_allclose(branch.eigenvalues[i], found.eigenvalues[at], atol=1e-7)
            assert branch.stable[i] == found.stable[at]


def test_a_pitchfork_is_crossed():
    (branch,) = continue_fixed_points(
        lambda x, u: u * x - x**3, np.zeros((1, 1)), np.array([-1.0, 0.7]), kind="flow"
    )
    assert branch.end == "end"
    np.testing.assert_allclose(branch.points, 0, atol=1e-12)
    np.testing.assert_array_equal(branch.stable, branch.inputs < 0)


def test_where_it_ends():
    low, _, _ = _low(1.5, 0.0)
    options = {"kind": "flow", "n_steps": 3}
    (branch,) = continue_fixed_points(_unit(1.5), np.array([[low]]), np.array([0, 1.0]), **options)
    assert branch.end == "steps"
    assert len(branch.position) == 4

    # A branch that stops: x = -sqrt(u) is not real beyond u = 0, where its slope is infinite.
    (lost,) = continue_fixed_points(
        lambda x, u: x + jnp.sqrt(u), np.array([-1.0]), np.array([1.0, -1.0]), kind="flow"
    )
    assert lost.end == "lost"
    assert lost.inputs[-1] == pytest.approx(0, abs=1e-3)
    assert np.isfinite(lost.points).all()


def test_refusals():
    def refused(match, points=((0.0,),), inputs=(0.0, 1.0), f=lambda x, u: u - x, **options):
        with pytest.raises(ValueError, match=match):
            continue_fixed_points(
                f, np.array(points), np.array(inputs), **{"kind": "flow", **options}
            )

    refused("'map' or 'flow', got 'ode'", kind="ode")
    refused("at least two entries", inputs=(1.0,))
    refused("inputs must be finite: .* entry 1", inputs=(0.0, np.nan))
    refused("points must be finite: .* point 0", points=((np.nan,),))
    refused("tolerance must be positive", tolerance=0.0)
    refused("n_steps", n_steps=0)
    refused("must return what it is given", inputs=np.zeros((2, 3)))
    refused("cannot take one state", f=lambda x: -x)
    # Of x^2 + 1 there is none, all of a line is fixed, and a fold leads nowhere.
    refused("point 0 is no isolated fixed point", f=lambda x, u: x**2 + 1 + 0 * u)
    refused(
        "point 1 is no isolated", points=((0.0,), (1.0,)), f=lambda x, u: x * (x - 1) ** 2 * (1 + u)
    )
    refused("on a continuum", points=((0.5, 0),), f=lambda x, u: jnp.stack([0 * x[0], u - x[1]]))
    with pytest.raises(TypeError, match="jit"):
        jax.jit(
            lambda x: continue_fixed_points(lambda x, u: u - x, x, np.array([0.0, 1]), kind="flow")
        )(jnp.zeros((1, 1)))
