"""Short pulses late in a run, runs that go on, and inputs that know more of their breakpoints."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import DivergenceError, simulate
from neurosim.inputs import FunctionInput, Interpolated, Pulses, Steps
from neurosim.kernels import steps_between
from neurosim.models import GRU, LSTM, Dynamics, GainModulatedRNN

PID = diffrax.PIDController(rtol=1e-5, atol=1e-5)


class Leak(Dynamics):
    """y' = -rate y + u."""

    rate: jax.Array
    start: jax.Array

    def initial_state(self):
        return self.start

    def vector_field(self, t, state, input):
        return -self.rate * state + input

    def readout(self, state):
        return state


def leak(rate=1.0):
    return Leak(jnp.asarray(rate), jnp.zeros(1))


@pytest.mark.parametrize("options", [{"stepsize_controller": PID}, {"solver": diffrax.Tsit5()}])
@pytest.mark.parametrize("late", [1e3, 1e5, 1e6])
def test_area_of_a_late_pulse_is_kept_in_single_precision(late, options):
    # An integrator: the pulse has area 1 whenever it comes.
    pulse = Pulses([late + 0.5], [0.25], [[4.0]])
    run = simulate(leak(0.0), pulse, dt=1000.0, t1=late + 1000.0, save="final", **options)
    np.testing.assert_allclose(run.outputs[0, 0], 1.0, rtol=1e-4)


def test_breakpoints_that_single_precision_cannot_tell_apart_are_refused():
    pulse = Pulses([5000.0], [2e-4], [[1e4]])
    with pytest.raises(ValueError, match="too close for float32 to tell apart"):
        simulate(leak(), pulse, dt=1.0, t1=5001.0)
    # Started later, or in float64, there is room: y = 1e4 (1 - exp(-2e-4)) exp(-(1 - 2e-4)).
    right = 1e4 * (1 - np.exp(-2e-4)) * np.exp(-(1 - 2e-4))
    run = simulate(leak(), pulse, dt=1.0, t0=5000.0, t1=5001.0, substeps=8, solver=diffrax.Tsit5())
    np.testing.assert_allclose(run.outputs[-1, 0], right, rtol=1e-4)
    with jax.enable_x64(True):
        run = simulate(leak(), pulse, dt=0.25, t1=5001.0, solver=diffrax.Tsit5(), save="final")
        np.testing.assert_allclose(run.outputs[-1, 0], right, rtol=1e-6)


def test_breakpoints_add_to_those_an_input_has():
    def narrow(t):
        return jnp.where((t >= 0.333) & (t < 0.334), 1000.0, 0.0)[None]

    options = {"dt": 0.1, "t1": 1.0, "stepsize_controller": PID}
    plain = simulate(leak(), narrow, breakpoints=[0.333, 0.334], **options)
    more = simulate(leak(), FunctionInput(narrow, [0.2]), breakpoints=[0.333, 0.334], **options)
    right = 1000 * (1 - np.exp(-0.001)) * np.exp(-(1 - 0.334))
    np.testing.assert_allclose(plain.outputs[-1, 0], right, rtol=1e-3)
    np.testing.assert_allclose(more.outputs[-1, 0], right, rtol=1e-3)
    with pytest.raises(ValueError, match="breakpoints belong to inputs that are functions"):
        simulate(leak(), np.ones((3, 1)), dt=0.1, breakpoints=[0.15])


def test_recursions_without_dt_are_applied_once_a_sample():
    for cell in (GRU, LSTM):
        model = cell.init(4, 1, 1, key=jax.random.key(0))
        held = simulate(model, np.ones((4, 1)), dt=1.0).outputs
        steps = simulate(model, Steps([0.0, 2.0], [[1.0], [1.0]]), dt=1.0, t1=4.0).outputs
        np.testing.assert_array_equal(held, steps)
        with pytest.raises(ValueError, match="cannot take inputs that change between grid points"):
            simulate(model, Steps([0.0, 2.5], [[1.0], [1.0]]), dt=1.0, t1=4.0)
        with pytest.raises(ValueError, match="cannot take substeps"):
            simulate(model, np.ones((4, 1)), dt=1.0, substeps=2)
    # A pulse on the grid stays on it when the run starts late and the shift rounds.
    early = simulate(model, Pulses([0.005], [0.002], [[1.0]]), dt=1e-3, t1=0.01)
    late = simulate(model, Pulses([1e6 + 0.005], [0.002], [[1.0]]), dt=1e-3, t0=1e6, t1=1e6 + 0.01)
    np.testing.assert_array_equal(early.outputs, late.outputs)


def test_noise_of_a_continued_run_is_new_and_that_of_the_whole():
    options = {"dt": 0.1, "noise": 0.3, "key": jax.random.key(3)}
    whole = simulate(leak(), np.ones((4, 1)), **options).outputs
    first = simulate(leak(), np.ones((2, 1)), **options)
    second = simulate(
        leak(), np.ones((2, 1)), t0=0.2, initial_state=first.states[-1], **options
    ).outputs
    np.testing.assert_allclose(jnp.concatenate([first.outputs, second]), whole, rtol=1e-6)


def test_spans_are_differences_of_decimals():
    assert steps_between(4096, 4096.0001, 1e-4) == 1
    assert steps_between(3600.1, 3600.1001, 1e-4) == 1
    assert steps_between(0, 2.1, 0.7) == 3
    assert steps_between(1e6, 1e6 + 0.01, 1e-3) == 10
    with pytest.raises(ValueError, match=r"nearest ends on the grid are 1\.0 and 1\.1"):
        steps_between(0, 1.05, 0.1)
    with pytest.raises(ValueError, match="must not come before"):
        steps_between(1.0, 0.5, 0.1)
    for double in (False, True):
        with jax.enable_x64(double):
            options = {"dt": 1e-4, "noise": 1.0, "key": jax.random.key(0)}
            a, b = (
                simulate(leak(0.0), lambda t: jnp.zeros(1), t0=t, t1=round(t + 1e-4, 4), **options)
                for t in (4096.0, 4096.0001)
            )
            assert float(a.outputs[0, 0]) != float(b.outputs[0, 0])


def test_values_of_an_input_may_be_traced_and_its_times_may_not():
    model = leak()

    def end(scale):
        ramp = Interpolated([0.0, 1.0], scale * jnp.array([[0.0], [1.0]]))
        return simulate(model, ramp, dt=0.25, t1=1.0, solver=diffrax.Tsit5()).outputs[-1, 0]

    # y' = -y + t from 0: y(1) = exp(-1), linear in the scale.
    np.testing.assert_allclose(jax.grad(end)(2.0), np.exp(-1), rtol=1e-5)
    np.testing.assert_allclose(jax.jvp(end, (2.0,), (1.0,))[1], np.exp(-1), rtol=1e-5)
    ends = jax.vmap(end)(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(ends, [np.exp(-1), 2 * np.exp(-1)], rtol=1e-5)
    run = eqx.filter_jit(lambda m, p: simulate(m, p, dt=0.25, t1=1.0).outputs)
    with pytest.raises(ValueError, match="must be known when traced"):
        run(model, Pulses([0.5], [0.1], [[1.0]]))


def test_diverged_at_under_vmap_over_models():
    def run(rate):
        model = Leak(rate, jnp.ones(1))
        return simulate(model, jnp.zeros((2, 60, 1)), dt=1.0, throw=False)

    # y grows by -999 a step and leaves float32 between steps 12 and 13.
    found = np.asarray(eqx.filter_vmap(run)(jnp.array([0.5, 1e3])).diverged_at)
    np.testing.assert_array_equal(found, [[np.inf, np.inf], [13, 13]])


def test_channels_of_functions_are_counted():
    model = GainModulatedRNN(
        L=jnp.ones((4, 3)), R=jnp.ones((4, 3)), B=jnp.ones((4, 1)), C=jnp.ones((1, 4)), d=None,
        x0=jnp.zeros(4), tau=10.0,
    )  # fmt: skip
    with pytest.raises(ValueError, match="the model has 4 input channels"):
        simulate(model, Steps([0.0], [[1.0, 1.0]]), dt=1.0, t1=3.0)


def test_single_precision_model_under_double_precision_takes_every_solver():
    right = 1 - np.exp(-0.3)
    with jax.enable_x64(True):
        model = Leak(jnp.asarray(1.0, jnp.float32), jnp.zeros(1, jnp.float32))
        for solver in (diffrax.Tsit5(), diffrax.Heun(), diffrax.Bosh3(), diffrax.Kvaerno3()):
            run = simulate(model, np.ones((3, 1)), dt=0.1, solver=solver)
            assert run.outputs.dtype == jnp.float32
            np.testing.assert_allclose(run.outputs[-1, 0], right, rtol=3e-3)


def test_solvers_that_cannot_walk_the_grid_are_refused():
    for solver, why in (
        (diffrax.LeapfrogMidpoint(), "remembers earlier steps"),
        (diffrax.SemiImplicitEuler(), "several parts"),
        (diffrax.SPaRK(), "Lévy areas"),
    ):
        with pytest.raises(ValueError, match=why):
            simulate(leak(), np.ones((3, 1)), dt=0.1, solver=solver)
    with pytest.raises(ValueError, match="BacksolveAdjoint cannot"):
        simulate(
            leak(), np.ones((3, 1)), dt=0.1, stepsize_controller=PID,
            adjoint=diffrax.BacksolveAdjoint(),
        )  # fmt: skip


def test_bad_starts_and_bad_readouts_are_named():
    with pytest.raises(ValueError, match="initial_state must be finite"):
        simulate(leak(), np.ones((3, 1)), dt=0.1, initial_state=jnp.array([jnp.nan]))

    class Logarithm(Leak):
        def readout(self, state):
            return jnp.log(state)

    with pytest.raises(DivergenceError, match=r"output\[0\] is not finite"):
        simulate(Logarithm(jnp.asarray(1.0), jnp.zeros(1)), -np.ones((3, 1)), dt=0.1)


def test_another_start_and_the_same_path_are_the_same_program():
    traces = []

    class Counted(Leak):
        def vector_field(self, t, state, input):
            traces.append(1)
            return -state + input

    model = Counted(jnp.asarray(1.0), jnp.zeros(1))
    simulate(model, np.ones((3, 1)), dt=0.1)
    first = len(traces)
    simulate(model, np.ones((3, 1)), dt=0.1, t0=0.3)
    assert len(traces) == first
    path = diffrax.LinearInterpolation(jnp.array([0.0, 1.0]), jnp.array([[0.0], [1.0]]))
    simulate(model, path, dt=0.5, t1=1.0)
    first = len(traces)
    simulate(model, path, dt=0.5, t1=1.0)
    assert len(traces) == first
