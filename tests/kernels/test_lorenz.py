"""The Lorenz system: its fixed points, a published-precision trajectory, and the method's order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels.lorenz import lorenz_field, lorenz_trajectory


@pytest.mark.usefixtures("double_precision")
def test_trajectory_from_the_ones():
    x = lorenz_trajectory(np.ones(3), 31)
    assert x.shape == (31, 3)
    expected = [17.67463919, 26.88360584, 30.11213497]
    np.testing.assert_allclose(x[-1], expected, rtol=0, atol=5e-9)


@pytest.mark.usefixtures("double_precision")
def test_fixed_points_stay():
    # x1 = x2 = +- sqrt(8/3 * 27), x3 = 27, and the origin.
    c = np.sqrt(72)
    points = np.array([[c, c, 27.0], [-c, -c, 27.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(lorenz_field(points), 0, atol=1e-13)
    np.testing.assert_allclose(lorenz_trajectory(points, 10)[-1], points, atol=1e-12)


@pytest.mark.usefixtures("double_precision")
def test_error_falls_with_the_fourth_power_of_the_step():
    exact = lorenz_trajectory(np.ones(3), 4000, dt=0.0001)[-1]
    errors = [
        float(jnp.linalg.norm(lorenz_trajectory(np.ones(3), n, dt=0.4 / n)[-1] - exact))
        for n in (80, 160)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.2)


def test_long_run_moments():
    x = np.asarray(lorenz_trajectory(np.array([1.0, 1.0, 20.0]), 102_000))[2000:]
    np.testing.assert_allclose(x.mean(axis=0), [0, 0, 23.55], atol=0.8)
    np.testing.assert_allclose(x.std(axis=0), [7.93, 9.01, 8.62], atol=0.1)


def test_many_at_once_in_either_precision():
    starts = np.random.default_rng(0).normal(size=(2, 4, 3))
    for double, dtype in ((False, jnp.float32), (True, jnp.float64)):
        with jax.enable_x64(double):
            both = lorenz_trajectory(starts, 5)
            assert both.shape == (5, 2, 4, 3)
            assert both.dtype == dtype
            alone = lorenz_trajectory(starts[1, 2], 5)
            np.testing.assert_allclose(both[:, 1, 2], alone, rtol=1e-6)


def test_bad_arguments_are_refused():
    for arguments, message in (
        ((np.ones(2), 3), r"start must be \(..., 3\), got shape \(2,\)"),
        ((np.array(1.0), 3), r"start must be"),
        ((np.array([1, np.nan, 1]), 3), "start must be finite"),
        ((np.ones(3), 0), "n_steps must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            lorenz_trajectory(*arguments)
    with pytest.raises(ValueError, match="dt must be"):
        lorenz_trajectory(np.ones(3), 3, dt=0)
