"""The fixed grid: held inputs, orders of convergence, derivatives, batches, errors at the door."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden_network import EXACT_ODE, STEPS, golden, golden_inputs
from small_models import Leak, Riccati, floats

from neurosim import simulate
from neurosim.inputs import Pulses, Steps
from neurosim.models import NMRNN, Dynamics, LowRankRNN, VanillaRNN

U = np.array([1.0, 0.5, 2.0, 0.3])[:, None]


pytestmark = pytest.mark.usefixtures("double_precision")


def exact(model, edges, values):
    """The states at the ends of the pieces of a piecewise constant input."""
    y, states = 0.0, []
    for h, u in zip(np.diff(edges), values):
        y = model.solution(y, u, h)
        states.append(y)
    return np.array(states)


@pytest.mark.parametrize(("double", "tolerance"), [(True, 2e-8), (False, 5e-7)])
def test_a_held_input_has_its_known_response(double, tolerance):
    known = [0.63212056, 0.54860444, -0.11423999, 0.14760963]
    with jax.enable_x64(double):
        u = np.array([1.0, 0.5, -0.5, 0.3])[:, None]
        y = simulate(Leak(), u, dt=1.0, solver=diffrax.Tsit5(), substeps=16).outputs
        np.testing.assert_allclose(y[:, 0], known, rtol=0, atol=tolerance)


SOLVERS = [
    (diffrax.Euler, 1, 64),
    (diffrax.Heun, 2, 32),
    (diffrax.Bosh3, 3, 16),
    (diffrax.Tsit5, 5, 4),
    (diffrax.Kvaerno3, 3, 16),
]


@pytest.mark.parametrize(("solver", "order", "substeps"), SOLVERS)
def test_every_solver_keeps_its_order_on_held_inputs(solver, order, substeps):
    expected = exact(Riccati(), np.arange(5.0), U[:, 0])
    errors = []
    for n in (substeps, 2 * substeps):
        y = simulate(Riccati(), U, dt=1.0, solver=solver(), substeps=n).outputs[:, 0]
        errors.append(np.max(np.abs(y - expected)))
    assert np.log2(errors[0] / errors[1]) > order - 0.35


@pytest.mark.parametrize(("solver", "order", "substeps"), SOLVERS[:4])
def test_every_solver_keeps_its_order_between_breakpoints_off_the_grid(solver, order, substeps):
    edges = np.array([0, 0.31, 1.77, 2.2, 4.0])
    signal = Steps(edges[:-1], U)
    errors = []
    for n in (substeps, 2 * substeps):
        y = simulate(Riccati(), signal, dt=1.0, t1=4.0, solver=solver(), substeps=n).outputs
        assert y.shape == (4, 1)
        errors.append(abs(float(y[-1, 0]) - exact(Riccati(), edges, U[:, 0])[-1]))
    assert np.log2(errors[0] / errors[1]) > order - 0.35
    # A jump on the grid itself belongs to the step that it starts.
    on_grid = simulate(Riccati(), Steps(np.arange(4.0), U), dt=1.0, t1=4.0, solver=solver(),
                       substeps=substeps).outputs  # fmt: skip
    held = simulate(Riccati(), U, dt=1.0, solver=solver(), substeps=substeps).outputs
    np.testing.assert_allclose(on_grid, held, rtol=0, atol=1e-13)


def test_euler_and_the_published_step_converge_to_the_exact_trajectory_at_first_order():
    u = golden_inputs()
    exact_x = simulate(golden(), u, dt=1.0, solver=diffrax.Tsit5(), substeps=16).states.x
    known = [0.0670, 0.0314, 0.0153, 0.00753, 0.00374]
    euler, published = [], []
    for n in (1, 2, 4, 8, 16):
        x = simulate(golden(), u, dt=1.0, solver=diffrax.Euler(), substeps=n).states.x
        euler.append(np.max(np.abs(x - exact_x)))
        x = simulate(golden(), u, dt=1.0, substeps=n).states.x
        published.append(np.max(np.abs(x - exact_x)))
    np.testing.assert_allclose(euler, known, rtol=4e-3)
    for errors in (euler, published):
        slope = -np.polyfit(np.arange(5), np.log2(errors), 1)[0]
        assert slope == pytest.approx(1, abs=0.1)


def test_functions_of_time_are_seen_as_samples_are():
    pulses = Pulses([15, 29, 44], 1, 10 * np.eye(3))
    sampled = simulate(golden(), golden_inputs(), dt=1.0)
    y = simulate(golden(), pulses, dt=1.0, t1=110).outputs
    np.testing.assert_array_equal(y, sampled.outputs)
    y = simulate(golden(), pulses, dt=1.0, t1=110, solver=diffrax.Tsit5(), substeps=8).outputs
    np.testing.assert_allclose(y[np.array(STEPS), 0], EXACT_ODE, rtol=0, atol=1e-10)


def test_the_grid_is_exact_and_output_k_follows_input_k():
    trajectory = simulate(Leak(), np.eye(8)[:, :1], dt=0.1, t0=0.3)
    assert trajectory.ts.dtype == np.float64
    np.testing.assert_array_equal(trajectory.ts, [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1])
    np.testing.assert_allclose(trajectory.outputs[:2, 0], [0.1, 0.09], rtol=1e-12)
    with pytest.raises(ValueError, match=r"1.05 is not a multiple of dt = 0.1.* 1.0 and 1.1"):
        simulate(Leak(), lambda t: floats(0.0), dt=0.1, t1=1.05)
    for span, dt, n in ((0.3, 0.1, 3), (0.7, 0.1, 7), (1.0, 0.1, 10), (1.2, 0.4, 3), (2.1, 0.7, 3)):
        assert simulate(Leak(), dt=dt, t1=span, save="final").n_steps == n


def test_absolute_time_reaches_the_model_and_the_input():
    class Clock(Dynamics):
        def initial_state(self):
            return floats(0.0, 0.0)

        def vector_field(self, t, state, input):
            return jnp.stack([jnp.asarray(t, state.dtype), input[0]])

        def readout(self, state):
            return state

    # Left sums of 40 + 41 + ... + 44, and the integral of t.
    for solver, substeps, total in ((diffrax.Euler(), 1, 210.0), (diffrax.Heun(), 4, 212.5)):
        y = simulate(Clock(), lambda t: jnp.stack([t]), dt=1.0, t0=40.0, t1=45.0, solver=solver,
                     substeps=substeps).outputs  # fmt: skip
        np.testing.assert_allclose(y[-1], [total, total], rtol=1e-12)


def test_save_keeps_what_it_says():
    u = np.random.default_rng(0).normal(size=(3, 5, 1))
    both = simulate(Leak(), u, dt=0.5)
    assert both.states.shape == both.outputs.shape == (3, 5, 1)
    states = simulate(Leak(), u, dt=0.5, save="states")
    outputs = simulate(Leak(), u, dt=0.5, save="outputs")
    final = simulate(Leak(), u, dt=0.5, save="final")
    assert states.outputs is None
    assert outputs.states is None
    np.testing.assert_array_equal(states.states, both.states)
    np.testing.assert_array_equal(outputs.outputs, both.outputs)
    np.testing.assert_array_equal(final.states, both.states[:, -1:])
    np.testing.assert_array_equal(final.outputs, both.outputs[:, -1:])
    np.testing.assert_array_equal(final.ts, [2.5])


def test_batches_come_from_inputs_states_or_their_size():
    u = np.random.default_rng(0).normal(size=(4, 6, 1))
    starts = floats(*range(4))[:, None]
    whole = simulate(Leak(), u, dt=0.5, initial_state=starts).outputs
    for i in range(4):
        alone = simulate(Leak(), u[i], dt=0.5, initial_state=starts[i]).outputs
        np.testing.assert_allclose(whole[i], alone, rtol=0, atol=1e-15)
    shared = simulate(Leak(), u[0], dt=0.5, initial_state=starts).outputs
    np.testing.assert_allclose(shared[0], whole[0], rtol=0, atol=1e-15)
    assert simulate(Leak(), dt=0.5, t1=1.0, batch_size=3).outputs.shape == (3, 2, 1)
    assert simulate(Leak(), u[0], dt=0.5, batch_size=3).outputs.shape == (3, 6, 1)


def test_gradients_equal_those_of_a_hand_written_scan_under_every_adjoint():
    model = NMRNN.init(5, 2, 3, 2, 1, tau_x=5.0, tau_z=20.0, key=jax.random.key(0))
    u = jnp.asarray(np.random.default_rng(0).normal(size=(3, 13, 2)))

    def by_hand(model):
        m = model.prepared()

        def trial(v):
            def step(state, vt):
                state = m.step(0.0, state, vt, 1.0)
                return state, m.readout(state)

            return jax.lax.scan(step, m.initial_state(), v)[1]

        return jnp.sum(jax.vmap(trial)(u) ** 2)

    floating = jax.tree.map(jnp.asarray, model)
    expected = jax.jit(jax.grad(by_hand))(floating)
    adjoints = [None, diffrax.RecursiveCheckpointAdjoint()]
    adjoints += [diffrax.RecursiveCheckpointAdjoint(checkpoints=n) for n in (5, 40)]
    for adjoint in adjoints:
        gradient = jax.jit(
            jax.grad(lambda m, a=adjoint: jnp.sum(simulate(m, u, dt=1.0, adjoint=a).outputs ** 2))
        )(floating)
        for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected)):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def test_a_higher_order_solver_has_derivatives_in_both_modes():
    def loss(u, adjoint):
        y = simulate(Riccati(), u, dt=1.0, solver=diffrax.Tsit5(), substeps=3, adjoint=adjoint)
        return y.outputs[-1, 0]

    u, du = jnp.asarray(U), jnp.array([[0.3], [-0.2], [0.1], [1.0]])
    step = 1e-6
    edges = np.arange(5.0)
    up, down = (
        exact(Riccati(), edges, (U + sign * step * np.asarray(du))[:, 0])[-1] for sign in (1, -1)
    )
    slopes = [
        jax.jvp(lambda v, a=adjoint: loss(v, a), (u,), (du,))[1]
        for adjoint in (diffrax.ForwardMode(), None)
    ]
    slopes += [
        jnp.sum(jax.grad(lambda v, a=adjoint: loss(v, a))(u) * du)
        for adjoint in (None, diffrax.RecursiveCheckpointAdjoint(checkpoints=3))
    ]
    np.testing.assert_allclose(slopes, (up - down) / 2 / step, rtol=1e-3)
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-12)


def test_a_second_run_of_the_same_shape_is_not_traced_again():
    traces = []

    class Counted(Dynamics):
        gain: float

        def initial_state(self):
            return floats(0.0)

        def vector_field(self, t, state, input):
            traces.append(1)
            return self.gain * input - state

        def readout(self, state):
            return state

    model = Counted(jnp.array(2.0))
    function = lambda t: jnp.stack([jnp.sin(t)])  # noqa: E731
    runs = [
        lambda a: simulate(model, a * U, dt=1.0),
        lambda a: simulate(model, np.stack([U, a * U]), dt=1.0),
        lambda a: simulate(model, Steps(np.arange(4.0), a * U), dt=1.0, t1=4.0),
        lambda a: simulate(model, function, dt=1.0, t1=4.0),
        lambda a: simulate(model, a * U, dt=1.0, noise=0.1 * a, key=jax.random.key(int(a))),
        lambda a: simulate(
            Counted(jnp.array(a)), U, dt=1.0,
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-3),
        ),
    ]  # fmt: skip
    for number, run in enumerate(runs):
        run(1.0)
        count = len(traces)
        assert count > 0
        run(2.0)
        assert len(traces) == count, f"run {number} was traced twice"


BAD = [
    ({"inputs": np.zeros((5, 2))}, "2 channels, but Leak takes 1"),
    ({"inputs": np.zeros(5)}, r"inputs must be \(time, channel\)"),
    ({"inputs": np.zeros((0, 5, 1))}, "empty batch"),
    ({"inputs": np.zeros((2, 0, 1))}, "empty time axis"),
    ({"inputs": np.where(np.arange(10).reshape(2, 5, 1) == 8, np.nan, 0)},
     "trial 1, time index 3, channel 0"),
    ({"inputs": np.where(np.arange(5)[:, None] == 2, np.inf, 0)}, "time index 2, channel 0"),
    ({"inputs": "pulse", "t1": 1.0}, "got str"),
    ({"dt": 0.0}, "dt must be a positive"),
    ({"dt": -0.1}, "dt must be a positive"),
    ({"dt": np.nan}, "dt must be a positive"),
    ({"inputs": None}, r"pass t1="),
    ({"t1": 2.0}, "5 samples, but"),
    ({"inputs": None, "t0": 1.0, "t1": 1.0}, "must come after"),
    ({"substeps": 0}, "substeps must be"),
    ({"save": "all"}, "save"),
    ({"batch_size": 0}, "at least one trial"),
    ({"initial_state": np.zeros(2)}, "leaves of shapes"),
    ({"initial_state": {"x": np.zeros(1)}}, "structure"),
    ({"inputs": np.zeros((2, 5, 1)), "initial_state": jnp.zeros((3, 1))}, "is not clear"),
    ({"inputs": np.zeros((2, 5, 1)), "batch_size": 3}, "batch_size says 3"),
    ({"noise": 0.1}, "needs a key"),
    ({"noise": -0.1, "key": jax.random.key(0)}, "must not be negative"),
    ({"noise": np.nan, "key": jax.random.key(0)}, "must not be negative"),
    ({"adjoint": diffrax.BacksolveAdjoint()}, "BacksolveAdjoint works with"),
    ({"stepsize_controller": diffrax.ConstantStepSize()}, "takes fixed steps"),
    ({"stepsize_controller": diffrax.PIDController(rtol=1e-3, atol=1e-3), "substeps": 2},
     "an adaptive run chooses"),
    ({"stepsize_controller": diffrax.PIDController(rtol=1e-3, atol=1e-3),
          "solver": diffrax.Euler()}, "no error estimate"),
    ({"stepsize_controller": diffrax.PIDController(rtol=1e-3, atol=1e-3), "noise": 0.1,
          "key": jax.random.key(0)}, "needs the fixed grid"),
    ({"solver": diffrax.ShARK(), "noise": 0.1, "key": jax.random.key(0)}, "Lévy areas"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), BAD, ids=[message for _, message in BAD])
def test_arguments_that_do_not_fit_are_refused(options, message):
    arguments = {"inputs": np.zeros((5, 1)), "dt": 0.1, **options}
    # What a signature rules out is refused by the type checker of the test run, too.
    with pytest.raises((ValueError, TypeError), match=message):
        simulate(Leak(), **arguments)


def test_what_is_not_a_model_is_refused():
    with pytest.raises((ValueError, TypeError), match=r"must be a neurosim Dynamics|Dynamics"):
        simulate(lambda t: t, dt=0.1, t1=1.0)  # pyright: ignore[reportArgumentType]


def test_silence_is_an_input_of_zeros():
    models = [
        VanillaRNN.init(4, 2, 1, tau=3.0, key=jax.random.key(0)),
        LowRankRNN.init(4, 1, 2, 1, tau=3.0, key=jax.random.key(0)),
    ]
    for model in models:
        silent = simulate(model, dt=1.0, t1=3.0).outputs
        zeros = simulate(model, np.zeros((3, 2)), dt=1.0).outputs
        np.testing.assert_array_equal(silent, zeros)


def test_initial_states_take_the_precision_of_the_model():
    model, u = golden(), golden_inputs()[:3]
    y = simulate(model, u, dt=1.0).outputs
    single = jax.tree.map(lambda a: np.asarray(a, np.float32), model.initial_state())
    np.testing.assert_allclose(
        simulate(model, u, dt=1.0, initial_state=single).outputs, y, atol=1e-8
    )
    whole = np.zeros((2, 1), int)
    assert simulate(Leak(), U, dt=0.5, initial_state=whole).states.dtype == jnp.float64
