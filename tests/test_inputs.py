"""Inputs as functions of time: values at and around their jumps, and what they refuse."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_models import Leak

from neurosim import simulate
from neurosim.inputs import FunctionInput, Interpolated, Pulses, Steps, as_input
from neurosim.models import Dynamics


@pytest.fixture(params=[True, False], autouse=True)
def both_precisions(request):
    with jax.enable_x64(request.param):
        yield


def at(signal, *times):
    return np.asarray(jax.vmap(signal)(jnp.asarray(times, jnp.result_type(float))))


def test_pulses_are_on_from_onset_to_just_before_offset_and_add():
    pulses = Pulses([1.0, 2.0], [2.0, 0.5], [[1.0, 0.0], [10.0, -1.0]])
    expected = [[0, 0], [1, 0], [1, 0], [11, -1], [1, 0], [0, 0]]
    np.testing.assert_array_equal(at(pulses, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0), expected)
    np.testing.assert_array_equal(pulses.breakpoints, [1.0, 2.0, 2.5, 3.0])
    later = pulses.shifted(10.0)
    np.testing.assert_array_equal(later.breakpoints, [11.0, 12.0, 12.5, 13.0])
    np.testing.assert_array_equal(at(later, 11.0, 12.0, 13.0), [[1, 0], [11, -1], [0, 0]])


def test_steps_hold_each_value_to_the_next_and_the_first_before():
    steps = Steps([0.0, 1.0, 3.0], [[1.0], [2.0], [3.0]])
    assert at(steps, -1.0, 0.0, 0.99, 1.0, 2.9, 3.0, 9.0)[:, 0].tolist() == [1, 1, 1, 2, 2, 3, 3]
    assert at(steps.shifted(0.5), 0.99, 1.49, 1.5)[:, 0].tolist() == [1, 1, 2]
    np.testing.assert_array_equal(steps.breakpoints, [0.0, 1.0, 3.0])


def test_interpolation_is_linear_inside_and_constant_outside():
    line = Interpolated([0.0, 1.0, 3.0], [[0.0], [2.0], [1.0]])
    values = at(line, -1.0, 0.0, 0.25, 1.0, 2.0, 3.0, 5.0)[:, 0]
    np.testing.assert_allclose(values, [0, 0, 0.5, 2, 1.5, 1, 1], rtol=1e-6)
    np.testing.assert_allclose(at(line.shifted(2.0), 2.25)[0], 0.5, rtol=1e-6)
    assert at(Interpolated([1.0], [[7.0]]), 0.0, 1.0, 2.0)[:, 0].tolist() == [7, 7, 7]
    np.testing.assert_array_equal(line.breakpoints, [0.0, 1.0, 3.0])


def test_functions_and_diffrax_paths_become_inputs():
    ramp = as_input(lambda t: jnp.stack([t, 2 * t]), [3.0, 1.0, 3.0])
    assert isinstance(ramp, FunctionInput)
    np.testing.assert_array_equal(ramp.breakpoints, [1.0, 3.0])
    np.testing.assert_allclose(at(ramp.shifted(5.0).shifted(-1.0), 6.0), [[2.0, 4.0]])
    np.testing.assert_array_equal(ramp.shifted(5.0).breakpoints, [6.0, 8.0])
    path = as_input(
        diffrax.LinearInterpolation(jnp.array([0.0, 1.0, 2.0]), jnp.array([[0.0], [4.0], [0.0]]))
    )
    np.testing.assert_allclose(at(path, 0.5, 1.0, 1.75)[:, 0], [2, 4, 1])
    np.testing.assert_array_equal(path.breakpoints, [0.0, 1.0, 2.0])
    pulses = Pulses([0.0], [1.0], [[1.0]])
    assert as_input(pulses) is pulses


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pulses([0.0], [0.0], [[1.0]]), "durations must be positive"),
        (lambda: Pulses([0.0], [np.nan], [[1.0]]), "durations must be finite"),
        (lambda: Pulses([np.inf], [1.0], [[1.0]]), "onsets must be finite"),
        (lambda: Pulses([0.0, 1.0], [1.0], [[1.0]]), "onsets"),
        (lambda: Pulses([0.0, 1.0], [1.0, 2.0, 3.0], [[1.0], [1.0]]), "durations"),
        (lambda: Pulses([0.0], [1.0], [1.0]), "amplitudes must be"),
        (lambda: Steps([0.0, 0.0], [[1.0], [2.0]]), "ascend"),
        (lambda: Steps([], np.zeros((0, 1))), "are needed"),
        (lambda: Steps([0.0], [1.0]), "are needed"),
        (lambda: Interpolated([0.0, 1.0], [[1.0]]), "are needed"),
        (lambda: Interpolated([0.0, 1.0], [[1.0], [np.nan]]), "values must be finite"),
        (lambda: FunctionInput(lambda t: t, [np.nan]), "breakpoints must be finite"),
        (lambda: as_input(3.0), "got float"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("solver", [diffrax.Euler, diffrax.Heun])
def test_breakpoints_that_miss_the_grid_by_rounding_alone_are_on_it(solver):
    """0.1 + 0.2 and 3 * 0.1 are not 0.3, but are meant to be."""
    u = np.array([0, 1, 1, 0, 0, 1, 1, 0.0])[:, None]
    held = simulate(Leak(), u, dt=0.1, solver=solver()).outputs
    assert 0.1 + 0.2 > 0.3
    onsets, durations = np.array([0.1, 0.5]), np.array([0.2, 0.3 - 0.1])
    pulses = Pulses(onsets, durations, np.ones((2, 1)))
    assert 3 * 0.1 > 0.3
    steps = Steps(np.arange(8) * 0.1, u)
    early = Steps(np.nextafter(np.arange(8) * 0.1, -1), u)
    function = FunctionInput(lambda t: pulses(t), pulses.breakpoints)
    for signal in (pulses, steps, early, function):
        y = simulate(Leak(), signal, dt=0.1, t1=0.8, solver=solver()).outputs
        np.testing.assert_allclose(y, held, rtol=1e-6)
    # The same beside a breakpoint that is off the grid.
    both = Pulses([0.1, 0.35], [0.2, 0.03], [[1.0], [2.0]])
    y = simulate(Leak(), both, dt=0.1, t1=0.8, solver=solver()).outputs
    np.testing.assert_allclose(y[:3], held[:3], rtol=1e-6)


def test_a_single_precision_model_takes_functions_of_time_in_double_precision_too():
    class Single(Dynamics):
        def initial_state(self):
            return jnp.zeros(1, jnp.float32)

        def vector_field(self, t, state, input):
            return input - state

        def readout(self, state):
            return state

    u = np.zeros((10, 1))
    u[7] = 1.0  # 0.7 is below itself in float32
    held = simulate(Single(), u, dt=0.1).outputs
    y = simulate(Single(), Pulses([0.7], [0.1], [[1.0]]), dt=0.1, t1=1.0).outputs
    assert y.dtype == jnp.float32
    np.testing.assert_array_equal(y, held)
