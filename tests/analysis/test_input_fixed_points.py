import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.fixed_points import find_fixed_points


@pytest.fixture(params=["float32", "float64"])
def precision(request):
    """The precision, as the relative error allowed in it."""
    double = request.param == "float64"
    with jax.enable_x64(True) if double else contextlib.nullcontext():
        yield 1e-9 if double else 1e-5


def _normal(*shape):
    return np.random.default_rng(0).normal(size=shape)


def _tanh_unit(w):
    return lambda x, u: -x + jnp.tanh(w * x) + u


def _saddle_node(w):
    """State and input at which x' = -x + tanh(w x) + u has a double root: sech^2(w x) = 1 / w."""
    x = -np.arccosh(np.sqrt(w)) / w
    return x, x - np.tanh(w * x)


def test_each_input_has_points_of_its_own(precision):
    w = 1.5
    fold = _saddle_node(w)[1]
    levels = np.array([0.0, 0.5, 0.9, 1.1, 2.0]) * fold
    starts = np.linspace(-2, 2, 40)[:, None]
    found = find_fixed_points(_tanh_unit(w), starts, kind="flow", inputs=levels[:, None])
    # Three inside the fold, one outside, which is stable.
    assert np.bincount(found.input_index).tolist() == [3, 3, 3, 1, 1]
    assert (np.diff(found.input_index) >= 0).all()
    np.testing.assert_allclose(found.inputs[:, 0], levels[found.input_index], rtol=1e-6)
    x = found.points[:, 0].astype(float)
    np.testing.assert_allclose(x - np.tanh(w * x), found.inputs[:, 0], atol=10 * precision)
    slope = w / np.cosh(w * x) ** 2 - 1
    np.testing.assert_allclose(found.jacobians[:, 0, 0], slope, atol=1e-4)
    np.testing.assert_array_equal(found.stable, slope < 0)
    np.testing.assert_allclose(found.input_jacobians, np.ones((11, 1, 1)))
    assert found.start_point.shape == (5, 40)
    # Some end where the last two are no more than slow.
    arrived = found.start_point >= 0
    assert arrived[:3].all()
    under = np.repeat(np.arange(5)[:, None], 40, axis=1)
    np.testing.assert_array_equal(found.input_index[found.start_point[arrived]], under[arrived])
    np.testing.assert_array_equal(np.bincount(found.start_point[arrived]), found.n_starts)
    assert "11 fixed point(s) of a flow under 5 input(s)" in str(found)
    assert "under input 4" in str(found)


def test_one_input_at_a_time_finds_the_same():
    rng = np.random.default_rng(4)
    W, B = jnp.asarray(1.5 * rng.normal(size=(6, 6)) / 6**0.5), jnp.asarray(rng.normal(size=(6, 2)))

    def step(x, u):
        return jnp.tanh(W @ x + B @ u["stimulus"] + u["context"])

    inputs = {"stimulus": rng.normal(size=(3, 2)), "context": rng.normal(size=3)}
    starts = rng.normal(size=(30, 6))
    with jax.enable_x64(True):
        found = find_fixed_points(step, starts, kind="map", inputs=inputs)
        for i in range(3):
            held = {name: value[i] for name, value in inputs.items()}
            alone = find_fixed_points(lambda x, u=held: step(x, u), starts, kind="map")
            mine = found.points[found.input_index == i]
            assert len(mine) == len(alone)
            gap = np.abs(mine[:, None] - alone.points).max(axis=2).min(axis=1)
            assert gap.max() < 1e-9
            assert alone.inputs is None
            assert alone.input_jacobians is None
    # Flattened by name: context, then stimulus.
    gain = 1 - found.points[0] ** 2
    expected = gain[:, None] * np.concatenate([np.ones((6, 1)), B], axis=1)
    np.testing.assert_allclose(found.input_jacobians[0], expected, atol=1e-9)
    held = found.inputs["stimulus"]
    np.testing.assert_allclose(held, inputs["stimulus"][found.input_index])


def test_points_of_equal_inputs_and_lines_of_different_ones_stay_apart():
    starts = _normal(30, 1)
    twice = find_fixed_points(lambda x, u: u - x, starts, kind="flow", inputs=np.ones((2, 1)))
    assert twice.input_index.tolist() == [0, 1]
    np.testing.assert_allclose(twice.points, [[1], [1]], atol=1e-5)
    # Under each input a line: y = u.
    lines = find_fixed_points(
        lambda s, u: jnp.stack([0 * s[0], u - s[1]]),
        _normal(30, 2),
        kind="flow",
        inputs=np.array([0.0, 1e-2]),
    )
    assert lines.continuous.tolist() == [True, True]
    assert lines.dimension.tolist() == [1, 1]
    assert lines.n_starts.tolist() == [30, 30]
    np.testing.assert_allclose(lines.points[:, 1], [0, 1e-2], atol=1e-5)


def test_slow_points_know_their_input():
    """x' = u + x^2: 0 is slow for u > 0."""
    found = find_fixed_points(
        lambda x, u: u + x**2,
        _normal(20, 1),
        kind="flow",
        inputs=np.array([[-1.0], [0.01]]),
        slow_tolerance=1e-3,
    )
    assert found.input_index.tolist() == [0, 0]
    assert (found.start_point[1] == -1).all()
    assert found.slow.input_index.tolist() == [1]
    np.testing.assert_allclose(found.slow.inputs, [[0.01]])


def test_bad_inputs_are_refused():
    starts = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"inputs must be finite: 1 of 2 .* condition 1"):
        find_fixed_points(lambda x, u: u - x, starts, kind="flow", inputs=np.array([0, np.nan]))
    with pytest.raises(ValueError, match="every array in inputs"):
        find_fixed_points(lambda x, u: u - x, starts, kind="flow", inputs=1.0)
    with pytest.raises(ValueError, match=r"and one input of shape \(3,\)"):
        find_fixed_points(lambda x, u: u - x, starts, kind="flow", inputs=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="cannot take one state"):
        find_fixed_points(lambda x: -x, starts, kind="flow", inputs=np.zeros((2, 3)))


def test_more_inputs_compile_no_more():
    def traces(n_inputs):
        count = 0

        def f(x, u):
            nonlocal count
            count += 1
            return u - x

        inputs = np.linspace(-1, 1, n_inputs)[:, None]
        found = find_fixed_points(f, _normal(10, 1), kind="flow", inputs=inputs)
        np.testing.assert_allclose(found.points, inputs, atol=1e-5)
        return count

    assert traces(2) == traces(9)
