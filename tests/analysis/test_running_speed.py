"""Speeds: headings across the end of the circle, lost samples, pixels."""

import numpy as np
import pytest

from neurosim.analysis.running_speed import angular_speed, angular_velocity, running_speed
from neurosim.analysis.task_metrics import circular_mean


def test_headings_turn_the_short_way_round():
    t = np.arange(5) / 50
    headings = [350.0, 355, 0, 5, 10]
    np.testing.assert_allclose(angular_speed(t, headings, period=360), 250)
    np.testing.assert_allclose(angular_velocity(t, headings[::-1], period=360), -250)
    np.testing.assert_allclose(angular_speed(t, np.deg2rad(headings)), np.deg2rad(250))
    assert circular_mean(np.array([350.0, 10]), period=360) == pytest.approx(0, abs=1e-9)


def test_speed_of_uniform_motion_with_lost_samples():
    t = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.05, 60))
    x = np.stack([3 * t, -4 * t], axis=1)
    np.testing.assert_allclose(running_speed(t, x), 5)
    x[20:25] = np.nan
    x[30] = x[32] = np.nan
    speed = running_speed(t, x)
    assert np.array_equal(np.isnan(speed), np.isin(np.arange(60), [*range(20, 25), 30, 31, 32]))
    np.testing.assert_allclose(speed[np.isfinite(speed)], 5)
    smoothed = running_speed(t, x, smoothing=0.1)
    np.testing.assert_allclose(smoothed[np.isfinite(speed)], 5)


def test_smoothing_undoes_whole_pixels():
    t = np.arange(600) / 60
    pixels = np.round(10 * t)
    assert running_speed(t, pixels).max() >= 30
    np.testing.assert_allclose(running_speed(t, pixels, smoothing=0.3)[80:-80], 10, rtol=0.05)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: running_speed([0, 1, 1], [0, 1, 2]), "same time as sample 1"),
        (lambda: running_speed([0], [0]), "at least two samples"),
        (lambda: running_speed([0, 1], [0, 1], smoothing=-1), "smoothing must be finite"),
        (lambda: running_speed([0, 1], [0, 1], wrap=True), "need their period"),
        (lambda: angular_speed([0, 1], np.zeros((2, 2))), r"headings must be \(sample,\)"),
    ],
)
def test_bad_input(run, message):
    with pytest.raises(ValueError, match=message):
        run()
