import contextlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import find_fixed_points


@pytest.fixture(params=["float32", "float64"])
def precision(request):
    """The precision, as the relative error allowed in it."""
    double = request.param == "float64"
    with jax.enable_x64(True) if double else contextlib.nullcontext():
        yield 1e-9 if double else 1e-5


def _normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("r", [2.0, -1.0])
def test_pitchfork(r, precision):
    found = find_fixed_points(lambda x: r * x - x**3, np.linspace(-2, 2, 30)[:, None], kind="flow")
    points = found.points.ravel()
    order = np.argsort(points)
    if r > 0:
        expected, slopes = np.array([-np.sqrt(r), 0, np.sqrt(r)]), np.array([-2 * r, r, -2 * r])
    else:
        expected, slopes = np.array([0.0]), np.array([r])
    np.testing.assert_allclose(points[order], expected, atol=precision)
    np.testing.assert_allclose(found.jacobians.ravel()[order], slopes, rtol=10 * precision)
    np.testing.assert_allclose(found.eigenvalues.ravel()[order], slopes, rtol=10 * precision)
    np.testing.assert_array_equal(found.stable[order], slopes < 0)
    assert not found.continuous.any()
    assert found.q.max() <= found.tolerance
    assert found.n_starts.sum() == 30
    assert (found.start_point >= 0).all()
    np.testing.assert_array_equal(np.bincount(found.start_point), found.n_starts)
    # Starts beyond a stable point cannot have been brought past it.
    assert points[found.start_point[0]] == points.min()
    assert points[found.start_point[-1]] == points.max()


def test_at_its_bifurcation_a_pitchfork_has_one_point(precision):
    found = find_fixed_points(lambda x: -(x**3), np.linspace(-2, 2, 30)[:, None], kind="flow")
    assert len(found) == 1
    np.testing.assert_allclose(found.points, [[0]], atol=1e-3)
    assert not found.continuous[0]


def test_saddle_and_centre(precision):
    """A pendulum (x, v)' = (v, -sin x): centres at even and saddles at odd multiples of pi."""
    starts = np.random.default_rng(0).uniform([-1, -1], [4, 1], size=(60, 2))
    found = find_fixed_points(lambda s: jnp.stack([s[1], -jnp.sin(s[0])]), starts, kind="flow")
    order = np.argsort(found.points[:, 0])
    inside = order[np.abs(found.points[order, 0] - np.pi / 2) < 2]
    np.testing.assert_allclose(found.points[inside], [[0, 0], [np.pi, 0]], atol=1e-5)
    centre, saddle = found.eigenvalues[inside]
    np.testing.assert_allclose(saddle, [1, -1], atol=1e-5)
    np.testing.assert_allclose(centre, [-1j, 1j], atol=1e-5)
    # A centre is not asymptotically stable, whatever rounding says.
    assert not found.stable[inside].any()


@pytest.mark.parametrize(
    ("w", "point", "slope"),
    [
        (1.5, 0.8585596366, 0.3943130255),
        (2.0, 0.9575040241, 0.1663720878),
        (3.0, 0.9949015284, 0.0305128460),
    ],
)
def test_map_of_one_tanh_unit(w, point, slope):
    with jax.enable_x64(True):
        found = find_fixed_points(lambda x: jnp.tanh(w * x), np.linspace(-1.5, 1.5, 20), kind="map")
    order = np.argsort(found.points)
    np.testing.assert_allclose(found.points[order], [-point, 0, point], atol=1e-9)
    np.testing.assert_allclose(found.jacobians[order, 0, 0], [slope, w, slope], atol=1e-9)
    np.testing.assert_array_equal(found.stable[order], [True, False, True])


@pytest.mark.parametrize("w", [0.5, 1.0])
def test_map_of_one_tanh_unit_of_a_weak_weight_has_the_origin_alone(w):
    with jax.enable_x64(True):
        found = find_fixed_points(lambda x: jnp.tanh(w * x), np.linspace(-1.5, 1.5, 20), kind="map")
    # At w = 1 the origin is a root of third order, found to the cube root of the precision.
    np.testing.assert_allclose(found.points, [0], atol=1e-9 if w < 1 else 1e-3)
    np.testing.assert_allclose(found.jacobians, [[[w]]], atol=1e-6)
    assert not found.continuous.any()
    assert found.n_starts.tolist() == [20]


def test_lstm_with_zero_weights_as_a_pytree(precision):
    """Gates are sigmoid(0) = 1/2 and the candidate is tanh(1), whatever the state."""

    def lstm(state):
        hidden, cell = state
        gate = jax.nn.sigmoid(0 * hidden)
        cell = gate * cell + gate * jnp.tanh(0 * hidden + 1)
        return gate * jnp.tanh(cell), cell

    found = find_fixed_points(lstm, (_normal(200, 3), _normal(200, 3, seed=1)), kind="map")
    assert len(found) == 1
    assert found.n_starts[0] == 200
    hidden, cell = found.points
    np.testing.assert_allclose(cell, np.full((1, 3), 0.76159416), rtol=1e-6)
    np.testing.assert_allclose(hidden, np.full((1, 3), 0.32100750), rtol=1e-6)
    np.testing.assert_allclose(found.eigenvalues, [[0.5] * 3 + [0] * 3], atol=1e-6)
    assert found.stable[0]
    assert not found.continuous[0]


def test_stability_is_judged_for_what_was_asked():
    flow = find_fixed_points(lambda x: -2.5 * x, np.ones((1, 1)), kind="flow")
    euler = find_fixed_points(lambda x: x + 1.0 * -2.5 * x, np.ones((1, 1)), kind="map")
    assert flow.stable[0]
    assert not euler.stable[0]
    np.testing.assert_allclose(flow.eigenvalues, [[-2.5]], rtol=1e-6)
    np.testing.assert_allclose(euler.eigenvalues, [[-1.5]], rtol=1e-6)
    assert flow.kind == "flow"
    assert "of a flow" in str(flow)
    assert "negative real part" in flow.criterion
    assert "of a map" in str(euler)
    assert "modulus below 1" in euler.criterion


def test_line_attractor_is_one_continuum(precision):
    v = _normal(4, seed=3)
    v /= np.linalg.norm(v)
    found = find_fixed_points(lambda x: -(x - v * (v @ x)), _normal(200, 4), kind="flow")
    assert len(found) == 1
    assert found.continuous[0]
    assert found.dimension[0] == 1
    assert found.stable[0]
    assert found.n_starts[0] == 200
    np.testing.assert_allclose(found.eigenvalues, [[0, -1, -1, -1]], atol=1e-5)
    members = found.members[0]
    assert len(members) > 50
    np.testing.assert_allclose(members, np.outer(members @ v, v), atol=1e-4)


def test_line_attractor_of_a_map(precision):
    W = jnp.array([[0.8, 0.2], [0.2, 0.8]])
    found = find_fixed_points(lambda x: W @ x, _normal(50, 2), kind="map")
    assert len(found) == 1
    assert found.continuous[0]
    assert found.stable[0]
    np.testing.assert_allclose(found.eigenvalues, [[1, 0.6]], atol=1e-5)


def test_one_start_suffices_to_tell_a_line_from_a_point():
    line = find_fixed_points(lambda x: jnp.stack([0 * x[0], -x[1]]), np.ones((1, 2)), kind="flow")
    point = find_fixed_points(
        lambda x: jnp.stack([-(x[0] ** 3), -x[1]]), np.ones((1, 2)), kind="flow"
    )
    assert line.continuous.tolist() == [True]
    assert point.continuous.tolist() == [False]


def _ring_flow(x):
    """r' = r (1 - r^2), theta' = 0."""
    return x * (1 - x @ x)


@pytest.mark.parametrize("n_starts", [12, 100])
def test_ring_attractor_and_its_unstable_centre(n_starts, precision):
    found = find_fixed_points(_ring_flow, _normal(n_starts, 2), kind="flow")
    assert found.continuous.tolist() == [True, False]
    assert found.stable.tolist() == [True, False]
    assert found.dimension.tolist() == [1, 0]
    np.testing.assert_allclose(found.eigenvalues, [[0, -2], [1, 1]], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found.members[0], axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(found.points[1], [0, 0], atol=1e-5)


def test_ring_attractor_of_a_map():
    found = find_fixed_points(lambda x: x + 0.5 * _ring_flow(x), _normal(60, 2), kind="map")
    assert found.continuous.tolist() == [True, False]
    assert found.stable.tolist() == [True, False]
    np.testing.assert_allclose(found.eigenvalues, [[1, 0], [1.5, 1.5]], atol=1e-5)


def test_neighbouring_lines_are_separate_continua(precision):
    """x' = x - x^3, y' = 0: stable lines at x = -1 and 1, an unstable one between them."""
    found = find_fixed_points(
        lambda s: jnp.stack([s[0] - s[0] ** 3, 0 * s[1]]), _normal(60, 2), kind="flow"
    )
    order = np.argsort(found.points[:, 0])
    np.testing.assert_allclose(found.points[order, 0], [-1, 0, 1], atol=1e-5)
    assert found.continuous.all()
    assert found.stable[order].tolist() == [True, False, True]


def test_plane_and_whole_space():
    flow = find_fixed_points(lambda x: jnp.array([-1.0, 0, 0]) * x, _normal(60, 3), kind="flow")
    assert flow.dimension.tolist() == [2]
    # The identity, but for rounding.
    Q = jnp.asarray(np.linalg.qr(_normal(3, 3))[0])
    whole = find_fixed_points(lambda x: Q @ (Q.T @ x), _normal(60, 3), kind="map")
    assert whole.dimension.tolist() == [3]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("n_starts", [1, 40])
def test_where_nothing_moves_the_whole_space_is_one_continuum(n, n_starts, precision):
    starts = _normal(n_starts, n)
    for dynamics, kind in ((lambda x: x, "map"), (lambda x: 0 * x, "flow")):
        found = find_fixed_points(dynamics, starts, kind=kind)
        assert found.continuous.tolist() == [True]
        assert found.dimension.tolist() == [n]
        assert found.n_starts.tolist() == [n_starts]
        assert len(found.members[0]) == n_starts
        np.testing.assert_allclose(found.eigenvalues, np.full((1, n), 1.0 if kind == "map" else 0))


def test_many_isolated_points_stay_apart(precision):
    found = find_fixed_points(jnp.sin, np.linspace(-9, 9, 80)[:, None], kind="flow")
    multiples = np.sort(found.points.ravel()) / np.pi
    np.testing.assert_allclose(multiples, np.round(multiples), atol=1e-5)
    assert set(np.round(multiples)) >= {-2, -1, 0, 1, 2}
    assert not found.continuous.any()
    np.testing.assert_array_equal(found.stable, np.round(found.points.ravel() / np.pi) % 2 == 1)


def test_time_unit_of_a_flow_does_not_matter():
    fast = find_fixed_points(lambda x: x - x**3, _normal(40, 1), kind="flow")
    slow = find_fixed_points(lambda x: (x - x**3) / 1000, _normal(40, 1), kind="flow")
    np.testing.assert_allclose(slow.points, fast.points, atol=1e-4)
    np.testing.assert_array_equal(slow.stable, fast.stable)


def test_slow_point_after_a_saddle_node():
    """x' = c + x^2 has no fixed point for c > 0; its slowest point is 0, with q = c^2 / 2."""

    def flow(x):
        return jnp.stack([0.01 + x[0] ** 2, -x[1]])

    assert find_fixed_points(flow, _normal(20, 2), kind="flow").slow is None
    found = find_fixed_points(flow, _normal(20, 2), kind="flow", slow_tolerance=1e-3)
    assert len(found) == 0
    assert found.points.shape == (0, 2)
    assert (found.start_point == -1).all()
    assert len(found.slow) == 1
    np.testing.assert_allclose(found.slow.points, [[0, 0]], atol=1e-3)
    np.testing.assert_allclose(found.slow.q, [0.5e-4], rtol=1e-3)
    assert not found.slow.continuous[0]
    assert found.slow.n_starts[0] == 20


def test_far_points_are_flagged():
    def flow(x):
        return -x * (x - 100) * (x + 0.5) / 100

    found = find_fixed_points(flow, np.array([[0.1], [-0.2], [0.2], [99.0]]), kind="flow")
    assert not found.outlier.any()
    # Mean distance of the starts about 2.5 from their mean, near 0.
    starts = np.concatenate([np.linspace(-0.3, 0.3, 60), [99.0]])[:, None]
    found = find_fixed_points(flow, starts, kind="flow")
    far = found.points.ravel() > 90
    assert far.sum() == 1
    np.testing.assert_array_equal(found.outlier, far)
    np.testing.assert_allclose(
        found.distance, np.abs(found.points.ravel() - starts.mean()), rtol=1e-5
    )


def test_uniqueness_sets_what_is_one_point():
    def flow(x):
        return -(x - 0.01) * x * (x + 0.01) * 1e4

    starts = np.linspace(-0.02, 0.02, 30)[:, None]
    with jax.enable_x64(True):
        assert len(find_fixed_points(flow, starts, kind="flow")) == 3
        assert len(find_fixed_points(flow, starts, kind="flow", uniqueness=0.05)) == 1


class _Network(eqx.Module):
    W: jax.Array

    def __call__(self, x):
        return -x + self.W @ jnp.tanh(x)


def test_network_is_found_alike_each_time_and_in_both_precisions():
    W = 1.3 * _normal(20, 20, seed=2) / np.sqrt(20)
    starts = 2 * _normal(40, 20)
    single = find_fixed_points(_Network(jnp.asarray(W)), starts, kind="flow")
    again = find_fixed_points(_Network(jnp.asarray(W)), starts, kind="flow")
    np.testing.assert_array_equal(single.points, again.points)
    assert single.points.dtype == np.float32
    with jax.enable_x64(True):
        double = find_fixed_points(_Network(jnp.asarray(W)), starts, kind="flow")
    assert double.points.dtype == np.float64
    assert double.q.max() < 1e-20
    origin = np.argmin(np.linalg.norm(double.points, axis=1))
    np.testing.assert_allclose(double.jacobians[origin], W - np.eye(20), atol=1e-9)
    # The flow is odd: with every point goes its mirror image, and it is a fixed point too.
    np.testing.assert_allclose(jax.vmap(_Network(jnp.asarray(W)))(-single.points), 0, atol=1e-4)


def test_starts_where_the_dynamics_is_not_finite_are_left_out():
    # log x vanishes at 1 and is NaN below 0.
    found = find_fixed_points(jnp.log, np.array([[-1.0], [0.5], [2.0]]), kind="flow")
    np.testing.assert_allclose(found.points, [[1]], rtol=1e-6)
    assert found.start_point.tolist() == [-1, 0, 0]
    with pytest.raises(ValueError, match="not finite at any start"):
        find_fixed_points(jnp.log, np.array([[-1.0], [-2.0]]), kind="flow")


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        (np.array([[0.0, 1], [np.nan, 0]]), "the first is start 1"),
        (np.zeros((0, 2)), "empty"),
        (np.zeros((2, 0)), "empty"),
        ((), "empty"),
        (1.0, "first axis"),
        ((np.zeros((2, 3)), np.zeros((4, 3))), "same number"),
        (np.zeros((2, 2), complex), "real"),
    ],
)
def test_bad_starts_are_refused(starts, message):
    with pytest.raises(ValueError, match=message):
        find_fixed_points(lambda x: x, starts, kind="map")


@pytest.mark.parametrize(
    ("dynamics", "message"),
    [
        (lambda x: x[:1], "must return what it is given"),
        (lambda x: (x, x), "must return what it is given"),
        (lambda x: x > 0, "real floating-point"),
    ],
)
def test_bad_dynamics_is_refused(dynamics, message):
    with pytest.raises(ValueError, match=message):
        find_fixed_points(dynamics, np.zeros((3, 2)), kind="map")


@pytest.mark.parametrize(
    ("dynamics", "shape"),
    [
        # NumPy instead of jax.numpy.
        (lambda x: np.tanh(x), (5, 2)),
        (lambda x: x if x[0] > 0 else -x, (5, 2)),
        # States of trials and times, for a function of one state.
        (lambda x: jnp.eye(2) @ x, (4, 5, 2)),
        (lambda x: jnp.stack([x[1], -jnp.sin(x[0]) @ x[1]]), (4, 5, 2)),
    ],
)
def test_what_cannot_take_one_state_is_told_what_it_gets(dynamics, shape):
    message = rf"one state of shape \({shape[1]}.*jax.numpy.*starts are \(start, n\)"
    with pytest.raises(ValueError, match=message):
        find_fixed_points(dynamics, np.ones(shape), kind="map")


def test_bad_options_are_refused():
    starts = np.zeros((3, 2))
    with pytest.raises(ValueError, match="'map' or 'flow', got 'ode'"):
        find_fixed_points(lambda x: -x, starts, kind="ode")
    for name in ("tolerance", "uniqueness", "outlier_distance"):
        with pytest.raises(ValueError, match=f"{name} must be positive"):
            find_fixed_points(lambda x: -x, starts, kind="flow", **{name: 0.0})
    with pytest.raises(ValueError, match="slow_tolerance must be above"):
        find_fixed_points(lambda x: -x, starts, kind="flow", slow_tolerance=1e-15)
