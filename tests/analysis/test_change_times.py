"""Times of changes whose courses are known, and lines through them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.change_times import half_change_times, interval_scaling

NAN = np.nan
INTERVALS = np.array([4.0, 8, 12, 16, 20])
GO = np.array([10, 12, 10, 12, 14])


def switches(scaling, *, n_steps=60):
    """Sigmoids in time, `(trials, time)`, half way up 2 + scaling * interval after go."""
    middle = GO + 2 + scaling * INTERVALS
    return (1 + np.tanh((np.arange(n_steps) - middle[:, None]) * 10)) / 2


@pytest.mark.parametrize("scaling", [0, 0.25, 1, 1.125])
def test_slope_is_the_share_of_the_interval_after_which_a_sigmoid_rises(scaling):
    times = half_change_times(switches(scaling), after=GO)
    np.testing.assert_allclose(times, 2 + scaling * INTERVALS, atol=1e-8)
    line = interval_scaling(times, INTERVALS)
    assert line.slope == pytest.approx(scaling, abs=1e-9)
    assert line.intercept == pytest.approx(2, abs=1e-7)
    assert line.r == pytest.approx(1 if scaling else 0, abs=1e-12)
    assert line.slope_error == pytest.approx(0, abs=1e-8)
    assert line.n_used == 5


def test_lines_between_samples_give_times_finer_than_a_step():
    ramp = np.array([[0, 0, 0.3, 1.0, 1.0], [2, 2, 1.4, 0.0, 0.0]])
    # 2 of 7 parts of the way from .3 to 1; 4 of 14 parts from 1.4 to 0.
    np.testing.assert_allclose(half_change_times(ramp), [2 + 2 / 7] * 2)
    np.testing.assert_allclose(half_change_times(ramp, after=1), [1 + 2 / 7] * 2)
    np.testing.assert_allclose(half_change_times(ramp, dt=10), [20 + 20 / 7] * 2)
    channels = half_change_times(ramp.T[None])
    assert channels.shape == (1, 2)
    np.testing.assert_allclose(channels, [[2 + 2 / 7] * 2])


def test_directions_and_first_crossing():
    # Up by 1 at step 2, down to 3 below the start at step 4.
    trace = np.array([[0, 0, 1, 1, -3, -3, 0.0]])
    assert half_change_times(trace, direction="rise")[0] == pytest.approx(1.5)
    assert half_change_times(trace, direction="fall")[0] == pytest.approx(3 + 2.5 / 4)
    assert half_change_times(trace, direction="either")[0] == pytest.approx(3 + 2.5 / 4)
    # After the last change there is only the way back up; before it, no rise is left.
    assert half_change_times(trace, after=5, direction="either")[0] == pytest.approx(0.5)
    assert np.isnan(half_change_times(trace, after=4, direction="fall")[0])


def test_what_does_not_change_has_no_time():
    traces = np.zeros((3, 5))
    traces[:, 3] = [0.05, 0.5, 0.5]
    np.testing.assert_array_equal(half_change_times(traces, after=[0, 0, NAN]), [NAN, 2.5, NAN])
    np.testing.assert_array_equal(half_change_times(traces, threshold=0), [2.5] * 3)
    np.testing.assert_array_equal(half_change_times(traces, after=4), [NAN] * 3)
    # The end of a shorter trial is no change.
    assert np.isnan(half_change_times([np.ones(3), np.zeros(9)], direction="either")).all()


def test_times_in_jax_with_a_derivative():
    with jax.enable_x64(True):
        trace = jnp.asarray([[0, 0.25, 0.75, 1.0], [0, 0, 0, 0]])
        times = jax.jit(half_change_times)(trace)
        assert isinstance(times, jax.Array)
        np.testing.assert_array_equal(times, [1.5, NAN])
        # t = 1 + (y3 / 2 - y1) / (y2 - y1) for a trace from y0 = 0.
        slope = jax.jit(jax.grad(lambda x: jnp.nansum(half_change_times(x))))(trace)
        np.testing.assert_allclose(slope[0, 1:], [-1, -1, 1], atol=1e-12)
        np.testing.assert_array_equal(slope[1], 0)
    single = half_change_times(jnp.asarray(switches(0.25)), after=GO)
    np.testing.assert_allclose(single, 2 + 0.25 * INTERVALS, atol=1e-3)


def test_line_through_three_points_and_trials_without_a_time():
    line = interval_scaling([1.0, NAN, 3, 4], [0, 7, 1, 2])
    # By hand: slope 3 / 2, intercept 8 / 3 - 3 / 2, squared residuals 1 / 6.
    assert line.slope == pytest.approx(1.5)
    assert line.intercept == pytest.approx(7 / 6)
    assert line.r == pytest.approx(3 / np.sqrt(2 * 14 / 3))
    assert line.slope_error == pytest.approx(np.sqrt(1 / 6 / 2))
    assert line.n_used == 3
    assert isinstance(line.slope, float)
    assert interval_scaling(jnp.array([5.0, 5, 5]), jnp.array([1, 2, 3])).r == 0


def test_standard_error_is_that_of_repeated_draws():
    rng = np.random.default_rng(0)
    x = np.arange(20.0)
    lines = [interval_scaling(x + rng.normal(size=20), x) for _ in range(500)]
    spread = np.std([line.slope for line in lines])
    # sigma / sqrt(sum (x - mean)^2), 665 for twenty steps; to the error of a spread from 500 draws.
    assert spread == pytest.approx(665**-0.5, rel=0.1)
    assert np.mean([line.slope_error for line in lines]) == pytest.approx(665**-0.5, rel=0.05)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros((2, 5)), {"direction": "up"}, "direction must be"),
        (np.zeros((2, 5)), {"threshold": -1.0}, "threshold must be"),
        (np.zeros((2, 5)), {"threshold": np.nan}, "threshold must be"),
        (np.zeros((2, 5)), {"dt": 0.0}, "dt must be"),
        (np.zeros((2, 5)), {"after": 5}, "after must hold a step.*got 5 for trial 0"),
        (np.zeros((2, 5)), {"after": [1, 2, 3]}, "after must hold one step"),
        (np.zeros(5), {}, r"X must be \(trials, time\)"),
        (np.full((2, 5), NAN), {}, "not finite"),
    ],
)
def test_bad_traces_are_refused(X, options, message):
    with pytest.raises(ValueError, match=message):
        half_change_times(X, **options)


@pytest.mark.parametrize(
    ("times", "intervals", "message"),
    [
        ([1.0, 2, 3], [1, 2], r"\(trials,\), got \(3,\) and \(2,\)"),
        (np.ones((3, 2)), np.ones((3, 2)), r"must both be \(trials,\)"),
        ([1.0, 2, NAN], [1, 2, 3], "at least three trials.*got 2 of 3"),
        ([1.0, 2, 3], [4, 4, 4], "all have the interval 4"),
        ([1.0, 2, np.inf], [1, 2, 3], "must be finite"),
        ([1.0, 2, 3], [1, 2, NAN], "must be finite"),
        (np.ma.masked_equal([1.0, 2, 3], 2), [1, 2, 3], "times is a masked array"),
    ],
)
def test_bad_times_are_refused(times, intervals, message):
    with pytest.raises(ValueError, match=message):
        interval_scaling(times, intervals)


@pytest.mark.parametrize("t_scale", [1e-200, 1.0, 1e155, 1e300])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e155])
def test_a_line_has_no_scale_of_its_own(t_scale, scale):
    times = np.array([1.0, 3, 2, 5, 4])
    line, plain = (
        interval_scaling(times * t_scale, INTERVALS * scale),
        interval_scaling(times, INTERVALS),
    )
    # By hand: 0.2 steps more for every step of the interval, r = 0.8.
    assert (plain.slope, plain.r) == (pytest.approx(0.2), pytest.approx(0.8))
    assert line.r == pytest.approx(0.8)
    assert line.intercept == pytest.approx(plain.intercept * t_scale)
    with np.errstate(over="ignore"):
        unit = np.float64(t_scale) / scale
    assert line.slope == pytest.approx(0.2 * unit)
    assert line.slope_error == pytest.approx(plain.slope_error * unit)


def test_values_that_are_not_known_yet_are_refused():
    with pytest.raises(TypeError, match="interval_scaling is computed in NumPy"):
        jax.jit(lambda t: interval_scaling(t, INTERVALS).slope)(jnp.ones(5))
