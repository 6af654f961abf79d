"""Adaptive steps: no pulse is stepped over, tolerances are met, derivatives exist in both modes."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from diffrax import PIDController
from golden_network import EXACT_ODE, STEPS, golden, golden_inputs
from small_models import Leak, Riccati, floats

from neurosim import DivergenceError, simulate
from neurosim.inputs import FunctionInput, Interpolated, Pulses, Steps

TOLERANCES = (1e-2, 1e-3, 1e-5, 1e-8)


pytestmark = pytest.mark.usefixtures("double_precision")


def controller(tolerance):
    # As arrays, so that one program serves all tolerances.
    return PIDController(rtol=floats(tolerance)[0], atol=floats(tolerance)[0])


@pytest.mark.parametrize(
    "solver",
    [diffrax.Heun, diffrax.Tsit5, diffrax.Dopri5, diffrax.Dopri8, diffrax.Kvaerno5],
)
def test_no_solver_steps_over_a_pulse_one_step_long(solver):
    """Ten units high and one step long, in a trial that is silent otherwise."""
    model = Leak(tau=10.0)
    u = np.zeros((60, 1))
    u[40] = 10.0
    expected = np.zeros(60)
    for t in range(40, 60):
        expected[t] = model.solution(expected[t - 1], u[t, 0], 1.0)
    pulse = Pulses([40.0], [1.0], [[10.0]])
    off_grid = Pulses([40.3], [0.2], [[50.0]])
    peak = model.solution(model.solution(0.0, 50.0, 0.2), 0.0, 0.5)
    for tolerance in TOLERANCES:
        options = {"dt": 1.0, "solver": solver(), "stepsize_controller": controller(tolerance)}
        options |= {"max_steps": 2**16}
        bound = 30 * tolerance
        # Between its steps an adaptive run is interpolated, which is coarser than the steps.
        between = min(1000 * tolerance, 0.3)
        y = simulate(model, u, **options).outputs[:, 0]
        np.testing.assert_allclose(y, expected, rtol=0, atol=bound)
        y = simulate(model, pulse, t1=60.0, **options).outputs[:, 0]
        np.testing.assert_allclose(y, expected, rtol=0, atol=between)
        y = simulate(model, off_grid, t1=60.0, **options).outputs[40, 0]
        np.testing.assert_allclose(y, peak, rtol=0, atol=between)


def test_a_brief_pulse_late_in_silence_has_its_known_response():
    for double in (True, False):
        with jax.enable_x64(double):
            pulse = Pulses([50.0], [0.005], [[200.0]])
            y = simulate(
                Leak(tau=0.02), pulse, dt=0.005, t1=50.005, save="final",
                stepsize_controller=PIDController(rtol=1e-3, atol=1e-6),
            ).outputs  # fmt: skip
            # In float32 the clock is coarse: 3.8e-6 s at 50 s, for a pulse of 5e-3 s.
            tolerance = 1e-5 if double else 2e-3
            np.testing.assert_allclose(y, [[0.884796868]], rtol=tolerance)


def test_the_golden_trajectory_within_a_tolerance_of_1e_8():
    tight = PIDController(rtol=1e-8, atol=1e-8)
    y = simulate(golden(), golden_inputs(), dt=1.0, stepsize_controller=tight).outputs
    np.testing.assert_allclose(y[np.array(STEPS), 0], EXACT_ODE, rtol=0, atol=3e-8)
    pulses = Pulses([15, 29, 44], 1, 10 * np.eye(3))
    y = simulate(golden(), pulses, dt=1.0, t1=110.0, stepsize_controller=tight).outputs
    np.testing.assert_allclose(y[np.array(STEPS), 0], EXACT_ODE, rtol=0, atol=3e-8)


def test_every_kind_of_input_has_the_same_course():
    """A triangle, as an interpolation, a function with said breakpoints, and a Diffrax path."""
    knots, values = np.array([1.0, 2.0, 3.0]), np.array([[0.0], [1.0], [0.0]])
    tight = PIDController(rtol=1e-9, atol=1e-9)

    def triangle(t):
        return jnp.clip(1 - jnp.abs(t - 2), 0, 1)[None]

    # The response to a ramp of slope a from rest is a (t - 1 + e^-t).
    rising = np.exp(-1.0)
    falling = rising * np.exp(-1) + 1 - np.exp(-1) - rising
    expected = [0, rising, falling, falling * np.exp(-1)]
    padded = np.concatenate([[0.0], knots, [4.0]])
    path = diffrax.LinearInterpolation(
        ts=jnp.asarray(padded), ys=jnp.asarray([[0.0], [0.0], [1.0], [0.0], [0.0]])
    )
    for signal in (Interpolated(knots, values), FunctionInput(triangle, knots), path):
        y = simulate(Leak(), signal, dt=1.0, t1=4.0, stepsize_controller=tight).outputs
        np.testing.assert_allclose(y[:, 0], expected, rtol=0, atol=1e-8)
    y = simulate(
        Leak(), triangle, dt=1.0, t1=4.0, breakpoints=knots, stepsize_controller=tight
    ).outputs
    np.testing.assert_allclose(y[:, 0], expected, rtol=0, atol=1e-8)


def test_a_late_start_keeps_its_time_and_its_breakpoints():
    steps = Steps([4096.5, 4097.25], [[1.0], [0.0]])
    for double, tolerance in ((True, 1e-8), (False, 1e-5)):
        with jax.enable_x64(double):
            y = simulate(
                Leak(), steps, dt=1.0, t0=4096.0, t1=4098.0, initial_state=floats(0.0),
                stepsize_controller=PIDController(rtol=tolerance / 10, atol=tolerance / 10),
            ).outputs  # fmt: skip
            first = 1.0 - 0.0  # the first value holds before its time too
            y1 = first * (1 - np.exp(-1.25))
            expected = [1 - np.exp(-1.0), y1 * np.exp(-0.75)]
            np.testing.assert_allclose(y[:, 0], expected, rtol=0, atol=tolerance)


def test_derivatives_through_adaptive_steps_in_both_modes():
    u = jnp.array([[1.0], [0.5], [2.0], [0.3]])
    du = jnp.array([[0.3], [-0.2], [0.1], [1.0]])
    tight = PIDController(rtol=1e-10, atol=1e-10)

    def end(u, adjoint):
        y = simulate(Riccati(), u, dt=1.0, stepsize_controller=tight, adjoint=adjoint, save="final",
                     max_steps=64)  # fmt: skip
        return y.outputs[0, 0]

    def closed_form(u):
        y = 0.0
        for v in np.asarray(u)[:, 0]:
            y = Riccati().solution(y, v, 1.0)
        return y

    step = 1e-5
    expected = (closed_form(u + step * du) - closed_form(u - step * du)) / 2 / step
    slopes = [
        jax.jit(lambda a: jax.jvp(lambda v: end(v, diffrax.ForwardMode()), (u,), (a,))[1])(du),
        jnp.sum(jax.jit(jax.grad(lambda v: end(v, None)))(u) * du),
    ]
    np.testing.assert_allclose(slopes, expected, rtol=1e-6)


def test_running_out_of_steps_is_an_error_not_a_number():
    tight = PIDController(rtol=1e-10, atol=1e-10)
    for inputs, options in ((np.ones((3, 1)), {}), (lambda t: jnp.sin(t)[None], {"t1": 3.0})):
        with pytest.raises(DivergenceError, match="not finite"):
            simulate(Leak(), inputs, dt=1.0, stepsize_controller=tight, max_steps=3, **options)
