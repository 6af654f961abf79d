"""Task metrics against angles and ramps whose answers are known by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.task_metrics import (
    angular_accuracy,
    circular_difference,
    circular_distance,
    circular_mean,
    decode_angle,
    ramp_crossing_times,
)


def ideal_ramps(intervals, go, n_steps, dtype=np.float64):
    t = np.arange(n_steps)
    intervals, go = np.asarray(intervals)[:, None], np.asarray(go)[:, None]
    return (-0.5 + np.clip((t - go) / intervals, 0, 1)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ideal_ramp_crosses_after_95_hundredths_of_the_interval(dtype):
    intervals = np.arange(4, 27, 2)
    go = 15 + intervals + 15
    times = ramp_crossing_times(ideal_ramps(intervals, go, 110, dtype), go)
    # The first whole step beyond .95 I: 20 where I is 20, since step 19 only meets the threshold.
    expected = [4, 6, 8, 10, 12, 14, 16, 18, 20, 21, 23, 25]
    np.testing.assert_array_equal(times, expected)
    assert isinstance(times, np.ndarray)
    assert times.dtype == dtype


def test_crossings_in_jax_under_jit_and_in_double_precision():
    intervals = np.array([12, 26])
    go = np.array([40, 60])
    for x64 in (False, True):
        with jax.enable_x64(x64):
            y = jnp.asarray(ideal_ramps(intervals, go, 110))[..., None]
            times = jax.jit(ramp_crossing_times)(y, jnp.asarray(go))
            assert isinstance(times, jax.Array)
            np.testing.assert_array_equal(times, [12, 25])


def test_no_crossing_is_nan():
    y = np.full((5, 10), -0.5)
    y[1, 2] = 1.0  # the maximum lies before the cue
    y[2, 5:] = np.nan
    y[3, 9] = np.inf
    y[4, 7:] = 1.0
    times = ramp_crossing_times(y, np.full(5, 4))
    np.testing.assert_array_equal(times, [np.nan, np.nan, np.nan, np.nan, 3])


def test_crossing_counts_from_the_step_after_go():
    y = np.zeros(10)
    y[4:] = 1
    assert ramp_crossing_times(y, 3) == 1
    assert ramp_crossing_times(y, 4) == 1
    assert np.isnan(ramp_crossing_times(y, 9))


def test_meeting_the_threshold_is_not_crossing_it():
    # In floating point 0.9 * 3.3 is below 2.97.
    assert ramp_crossing_times(np.array([0.0, 2.97, 3.3]), 0) == 2
    assert ramp_crossing_times(np.array([0.0, 2.9701, 3.3]), 0) == 1


def test_crossing_options():
    y = ideal_ramps([20], [5], 40)
    assert ramp_crossing_times(y, 5, dt=10) == pytest.approx(200)
    # y > .5 * .5 from (t - go) / 20 > .75.
    assert ramp_crossing_times(y, 5, fraction=0.5) == 16
    assert np.isnan(ramp_crossing_times(y, 5, peak=1.0))
    assert ramp_crossing_times(y, 5, peak=np.array([0.25])) == 15


@pytest.mark.parametrize(
    ("outputs", "go", "options", "message"),
    [
        (np.zeros((2, 0)), 0, {}, "outputs must be"),
        (np.zeros((2, 5, 3)), 0, {}, "outputs must be"),
        (np.zeros((2, 5)), np.zeros(3, int), {}, "go must have shape"),
        (np.zeros((2, 5)), 5, {}, "go must hold steps from 0 to 4"),
        (np.zeros((2, 5)), -1, {}, "go must hold steps"),
        (np.zeros((2, 5)), 1.5, {}, "go must hold steps"),
        (np.zeros((2, 5)), 1, {"fraction": 0.0}, "fraction must be"),
        (np.zeros((2, 5)), 1, {"peak": np.ones(3)}, "peak must have shape"),
    ],
)
def test_bad_ramps_are_refused(outputs, go, options, message):
    with pytest.raises(ValueError, match=message):
        ramp_crossing_times(outputs, go, **options)


def test_angles_near_the_wrap_in_degrees():
    assert circular_distance(359.0, 1.0, period=360) == pytest.approx(2)
    assert circular_difference(359.0, 1.0, period=360) == pytest.approx(-2)
    assert circular_difference(1.0, 359.0, period=360) == pytest.approx(2)
    assert circular_mean(np.array([350.0, 10.0]), period=360) == pytest.approx(0, abs=1e-12)
    headings = np.array([350, 355, 0, 5, 10])
    np.testing.assert_allclose(
        circular_difference(headings[1:], headings[:-1], period=360) * 50, 250
    )


def test_distance_is_that_of_unit_vectors():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-20, 20, (2, 100))
    expected = np.abs(np.angle(np.exp(1j * (a - b))))
    np.testing.assert_allclose(circular_distance(a, b), expected, atol=1e-12)
    assert circular_distance(0.0, np.pi) == pytest.approx(np.pi)
    np.testing.assert_array_equal(circular_distance(a, a), 0)


def test_distance_has_a_derivative_in_jax():
    distance = circular_distance(jnp.array(3.0), jnp.array(-3.0))
    assert isinstance(distance, jax.Array)
    np.testing.assert_allclose(distance, 2 * np.pi - 6, rtol=1e-5)
    # Turning the first of 3 and -3 on brings them closer, over the wrap.
    np.testing.assert_allclose(jax.grad(circular_distance)(3.0, -3.0), -1, rtol=1e-5)
    assert jnp.isfinite(jax.grad(circular_distance)(1.0, 1.0))


def test_mean_direction():
    angles = np.array([[0.1, 0.3], [3.0, -3.0], [0.0, np.pi]])
    mean = circular_mean(angles)
    np.testing.assert_allclose(mean[0], 0.2)
    assert abs(mean[1]) == pytest.approx(np.pi)
    assert np.isnan(mean[2])
    np.testing.assert_allclose(circular_mean(angles[:1].T, axis=0), [0.2])
    gradient = jax.grad(circular_mean)(jnp.array([0.1, 0.3]))
    np.testing.assert_allclose(gradient, [0.5, 0.5], rtol=1e-5)
    for bad in (np.array([]), np.array([0.0, np.nan]), np.array(1.0)):
        with pytest.raises(ValueError, match="angles must"):
            circular_mean(bad)
    with pytest.raises(ValueError, match="period must be positive"):
        circular_mean(angles, period=0)


def test_decoded_angle_is_the_angle_at_any_length():
    angle = np.linspace(-3.1, 3.1, 40)
    for length in (1e-3, 1.0, 7.0):
        np.testing.assert_allclose(
            decode_angle(length * np.sin(angle), length * np.cos(angle)), angle
        )
    assert np.isnan(decode_angle(0.0, 0.0))
    assert np.isnan(decode_angle(np.nan, 1.0))
    gradient = jax.grad(lambda s, c: jnp.nansum(decode_angle(s, c)), argnums=(0, 1))(
        jnp.array([0.0, 0.0]), jnp.array([0.0, 2.0])
    )
    np.testing.assert_array_equal(gradient, [[0, 0.5], [0, 0]])


def response(angle):
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1)


def test_accuracy_at_chance_is_a_tenth():
    # Every offset between response and angle equally often: the exact share within pi / 10.
    angle = np.repeat(np.linspace(0, 2 * np.pi, 16, endpoint=False), 1000)
    offset = np.tile((np.arange(1000) + 0.5) * 2 * np.pi / 1000, 16)
    assert angular_accuracy(response(angle + offset), angle) == pytest.approx(0.1, abs=1e-12)
    rng = np.random.default_rng(0)
    angle, other = rng.uniform(0, 2 * np.pi, (2, 200_000))
    assert angular_accuracy(response(other), angle) == pytest.approx(
        0.1, abs=4 * 0.3 / 200_000**0.5
    )


def test_accuracy_tells_an_angle_from_its_opposite():
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False) + 0.01
    opposite = response(angle + np.pi)
    assert angular_accuracy(opposite, angle) == 0
    assert angular_accuracy(opposite, angle + np.pi) == 1
    # The arctangent of the quotient cannot tell them apart.
    by_quotient = np.arctan(opposite[:, 0] / opposite[:, 1])
    np.testing.assert_allclose(by_quotient, np.arctan(np.tan(angle)), atol=1e-12)


def test_accuracy_of_nearly_right_responses_is_one():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 5000)
    near = response(angle + rng.uniform(-0.2, 0.2, 5000))
    assert angular_accuracy(near, angle) == 1
    # A window of .1 takes half of responses spread evenly over ±.2.
    assert angular_accuracy(near, angle, tolerance=0.1) == pytest.approx(
        0.5, abs=4 * 0.5 / 5000**0.5
    )
    assert angular_accuracy(0.5 * near.astype(np.float32), angle.astype(np.float32)) == 1


def test_accuracy_in_jax_and_of_missing_responses():
    angle = jnp.array([0.5, 1.0, 2.0, 4.0])
    outputs = jnp.asarray(response(np.asarray(angle))).at[0].set(0).at[1].set(jnp.nan)
    accuracy = jax.jit(angular_accuracy)(outputs, angle)
    assert isinstance(accuracy, jax.Array)
    assert accuracy == 0.5


@pytest.mark.parametrize(
    ("outputs", "angle", "options", "message"),
    [
        (np.zeros((3, 3)), np.zeros(3), {}, "outputs must have the shape"),
        (np.zeros((3, 2)), np.zeros(2), {}, "outputs must have the shape"),
        (np.zeros((0, 2)), np.zeros(0), {}, "not empty"),
        (np.zeros((3, 2)), np.array([0, np.nan, 0]), {}, "angle must be finite"),
        (np.zeros((3, 2)), np.zeros(3), {"tolerance": 0.0}, "tolerance must be positive"),
    ],
)
def test_bad_responses_are_refused(outputs, angle, options, message):
    with pytest.raises(ValueError, match=message):
        angular_accuracy(outputs, angle, **options)
