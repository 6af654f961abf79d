"""Models and arguments that do not fit are named before anything runs."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import DivergenceError, simulate
from neurosim.inputs import Pulses
from neurosim.models import Dynamics, VanillaRNN
from neurosim.simulate_checks import check_options


class Leaky(Dynamics):
    """y' = -y + u with two units, and a field or a readout of a shape to choose."""

    field: tuple[int, ...] = (2,)
    start: Any = (0.0, 0.0)
    rate: float = 1.0

    def initial_state(self):
        return jnp.asarray(self.start)

    def vector_field(self, t, state, input):
        return -self.rate * jnp.resize(state, self.field) + input[0]

    def readout(self, state):
        return state


def test_whole_numbers_in_the_initial_state_are_numbers():
    # y' = -y + 1 from 0: Euler gives 1 - (1 - dt)^n.
    run = simulate(Leaky(start=(0, 0)), np.ones((5, 1)), dt=0.1)
    np.testing.assert_allclose(run.outputs[:, 0], 1 - 0.9 ** np.arange(1, 6), rtol=1e-6)


@pytest.mark.parametrize("field", [(1,), (3,), (2, 2)])
def test_derivative_of_another_shape_is_not_broadcast(field):
    with pytest.raises(ValueError, match=r"vector_field returns arrays of shapes .* state has \(2"):
        simulate(Leaky(field=field), np.ones((5, 1)), dt=0.1)


def test_wrong_structure_and_readout_are_named():
    class Pair(Leaky):
        def initial_state(self):
            return (jnp.zeros(2), jnp.zeros(2))

        def vector_field(self, t, state, input):
            return [state[0], state[1]]

    with pytest.raises(ValueError, match=r"vector_field returns PyTreeDef.*but the state is"):
        simulate(Pair(), np.ones((5, 1)), dt=0.1)

    class Scalar(Leaky):
        def readout(self, state):
            return state[0]

    with pytest.raises(ValueError, match="readout must return one array"):
        simulate(Scalar(), np.ones((5, 1)), dt=0.1)


def test_inputs_that_a_model_cannot_take_are_named():
    class Matrix(Leaky):
        def vector_field(self, t, state, input):
            return -state + jnp.ones((2, 2)) @ input

    with pytest.raises(ValueError, match=r"vector_field cannot take an input of shape \(3,\)"):
        simulate(Matrix(), np.ones((5, 3)), dt=0.1)
    with pytest.raises(ValueError, match=r"cannot take no input; pass inputs, or give the model"):
        simulate(Leaky(), dt=0.1, t1=1.0)
    network = VanillaRNN.init(4, 2, 1, key=jax.random.key(0), tau=1.0)
    with pytest.raises(ValueError, match=r"cannot take an input of shape \(3,\)"):
        simulate(network, Pulses([0.1], 0.1, [[1.0, 2.0, 3.0]]), dt=0.1, t1=1.0)
    pulse = Pulses([0.1], 0.1, [[1.0, 2.0]])
    with pytest.raises(ValueError, match="one Input serves all trials"):
        simulate(network, [pulse, pulse], dt=0.1, t1=1.0)


def test_solvers_and_keys_of_the_wrong_kind_are_named():
    # Called directly: in the tests, signatures are checked before the function is.
    fine = {
        "solver": None, "substeps": 1, "controller": None, "adjoint": None, "noise": 0.1,
        "key": jax.random.key(0), "save": "both",
    }  # fmt: skip
    check_options(Leaky(), **fine)
    for solver in (diffrax.Tsit5, "euler"):
        with pytest.raises(ValueError, match="solver must be a Diffrax solver"):
            check_options(Leaky(), **(fine | {"solver": solver}))
    with pytest.raises(ValueError, match="key must be a PRNG key"):
        check_options(Leaky(), **(fine | {"key": 0}))
    with pytest.raises(ValueError, match="model must be a neurosim Dynamics"):
        check_options(jnp.tanh, **fine)


def test_running_out_of_steps_is_not_called_divergence():
    # Stiff but stable: an explicit method needs about rate / 3 steps for each unit of time.
    controller = diffrax.PIDController(rtol=1e-3, atol=1e-6)
    with pytest.raises(DivergenceError, match=r"more than max_steps = 50 .* Raise max_steps"):
        simulate(
            Leaky(rate=1e4), np.ones((2, 1)), dt=1.0, max_steps=50, stepsize_controller=controller
        )
    done = simulate(
        Leaky(rate=1e4), np.ones((2, 1)), dt=1.0, max_steps=50, stepsize_controller=controller,
        solver=diffrax.Kvaerno3(),
    )  # fmt: skip
    np.testing.assert_allclose(done.outputs, 1e-4, rtol=1e-2)
