"""Step counts and time grids against decimal arithmetic done by hand."""

from fractions import Fraction

import numpy as np
import pytest

from neurosim.kernels import check_dt, steps_in, time_grid


@pytest.mark.parametrize(
    ("duration", "dt", "steps"),
    [(0.3, 0.1, 3), (0.7, 0.1, 7), (1.0, 0.1, 10), (1.2, 0.4, 3), (2.1, 0.7, 3)],
)
def test_decimals_are_taken_as_written(duration, dt, steps):
    assert steps_in(duration, dt) == steps
    assert type(steps_in(duration, dt)) is int


def test_every_decimal_multiple_is_whole():
    for dt in (0.1, 0.7, 0.025, 1e-3, 0.3):
        for n in range(200):
            written = float(Fraction(repr(dt)) * n)
            assert steps_in(written, dt) == n


def test_computed_durations_pass():
    assert steps_in(0.1 + 0.2, 0.1) == 3
    assert steps_in(sum([0.1] * 1000), 0.1) == 1000
    assert steps_in(1e9, 0.1) == 10**10


def test_off_the_grid_is_refused_with_its_neighbours():
    with pytest.raises(ValueError, match=r"interval 100.* dt = 30.0: .* are 90 and 120\."):
        steps_in(100.0, 30.0, name="interval")
    with pytest.raises(ValueError, match=r"span 1\.05 .* are 1 and 1\.1\."):
        steps_in(1.05, 0.1, name="span")


@pytest.mark.parametrize(
    ("duration", "dt", "steps"), [(100.0, 30.0, 3), (105.0, 30.0, 4), (1.0, 30.0, 0), (0.7, 0.1, 7)]
)
def test_rounding_on_request(duration, dt, steps):
    assert steps_in(duration, dt, rounding="nearest") == steps


@pytest.mark.parametrize("dt", [0.0, -0.1, float("nan"), float("inf")])
def test_bad_steps_are_refused(dt):
    for call in (lambda: check_dt(dt), lambda: steps_in(1.0, dt), lambda: time_grid(3, dt)):
        with pytest.raises(ValueError, match="dt must be a positive"):
            call()


@pytest.mark.parametrize(
    ("duration", "message"),
    [
        (-0.1, "delay must not be negative"),
        (float("nan"), "delay must be finite"),
        (float("inf"), "delay must be finite"),
    ],
)
def test_bad_durations_are_refused(duration, message):
    with pytest.raises(ValueError, match=message):
        steps_in(duration, 0.1, name="delay")


def test_grid_does_not_drift():
    times = time_grid(100_000, 0.1)
    assert times.dtype == np.float64
    assert times.shape == (100_001,)
    # Adding 0.1 a hundred thousand times ends 1.9e-8 off; the division ends on the number itself.
    assert times[-1] == 10_000.0
    assert times[3] == 0.3
    assert times[7] == 0.7


def test_grid_starts_anywhere():
    np.testing.assert_array_equal(time_grid(3, 0.1, t0=-0.1), [-0.1, 0.0, 0.1, 0.2])
    np.testing.assert_array_equal(time_grid(2, 0.5, t0=1e6), [1e6, 1e6 + 0.5, 1e6 + 1])
    np.testing.assert_array_equal(time_grid(0, 0.1, t0=0.3), [0.3])
