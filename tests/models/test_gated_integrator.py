"""The gated integrator: load, hold, clear, and activity that goes round while it is held."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.gated_integrator import GatedIntegrator, rotation_weights
from neurosim.training import parameter_count

pytestmark = pytest.mark.usefixtures("double_precision")

ADAPTIVE = {
    "solver": diffrax.Tsit5(),
    "stepsize_controller": diffrax.PIDController(rtol=1e-10, atol=1e-13),
}


def test_load_hold_and_clear():
    model = GatedIntegrator.from_parameters(W_r=np.eye(2), tau=0.01)
    z = np.array([0.8, -0.3])
    # 100 ms of each: (z, a, b).
    inputs = np.array([[*z, 1, 1], [*z, 0, 0], [*(5 * z), 0, 0], [*z, 1, 0]])
    y = simulate(model, inputs, dt=0.1, **ADAPTIVE).outputs
    loaded = 0.9932620530 * z  # 1 - exp(-5): the time constant is 2 tau
    np.testing.assert_allclose(y[0], loaded, rtol=2e-10)
    np.testing.assert_allclose(y[1], y[0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(y[2], y[0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(y[3], loaded * np.exp(-5), rtol=1e-8)


def test_held_activity_goes_round_and_can_be_read_at_any_time():
    slow, fast = 2 * np.pi * 2, 2 * np.pi * 5  # 2 and 5 Hz
    model = GatedIntegrator.from_parameters(
        W_r=rotation_weights([slow, fast], tau=0.01), y0=[1, 0, 0, 0.5]
    )
    run = simulate(model, np.zeros((16, 6)), dt=0.03125, **ADAPTIVE)
    t = run.ts
    expected = np.stack([np.cos(slow * t), np.sin(slow * t), -0.5 * np.sin(fast * t),
                         0.5 * np.cos(fast * t)], 1)  # fmt: skip
    np.testing.assert_allclose(run.outputs, expected, rtol=0, atol=1e-8)
    # After half a second the first pair is back.
    np.testing.assert_allclose(run.outputs[-1, :2], [1, 0], rtol=0, atol=1e-8)


def test_input_weights_and_readout():
    model = GatedIntegrator.from_parameters(
        W_r=np.eye(2), W_zx=[[1.0], [-2.0]], C=[[1.0, 1.0]], d=[0.25], tau=[0.01, 0.02]
    )
    assert model.n_inputs == 3
    assert parameter_count(model) == 4 + 2 + 2 + 1
    out = simulate(model, [[1.0, 1.0, 1.0]], dt=1.0, **ADAPTIVE).outputs
    np.testing.assert_allclose(out, [[1 - 2 + 0.25]], rtol=1e-9)


def test_derivatives_exist_at_closed_gates():
    model = GatedIntegrator.from_parameters(W_r=rotation_weights(3.0), y0=[0.5, 0.1])

    def end(u):
        return jnp.sum(simulate(model, u, dt=0.001).outputs[-1] * jnp.array([1.0, 2.0]))

    u = jnp.array([[0.3, 0.2, 0.1, 0.4]] * 2)
    tangent = jnp.array([[1.0, -1.0, 0.5, 0.2], [0.0, 1.0, 1.0, 1.0]])
    slope = jax.jvp(end, (u,), (tangent,))[1]
    difference = (end(u + 1e-6 * tangent) - end(u - 1e-6 * tangent)) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-7)
    assert np.isfinite(jax.jvp(end, (0 * u,), (tangent,))[1])


def test_single_precision():
    with jax.enable_x64(False):
        model = GatedIntegrator.from_parameters(W_r=[[1.0]])
        assert simulate(model, np.ones((2, 3)), dt=0.001).outputs.dtype == jnp.float32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"W_r": [[1.0, 2.0]]}, "W_r must have shape"),
        ({"W_r": [[np.nan]]}, "W_r must be finite"),
        ({"tau": 0.0}, "tau must be positive"),
        ({"W_zx": [1.0]}, "W_zx must have shape"),
        ({"d": [1.0]}, "without C"),
        ({"y0": [1.0, 2.0]}, "y0 must have shape"),
    ],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        GatedIntegrator.from_parameters(**{"W_r": [[1.0]], **changes})


def test_bad_frequencies_are_refused():
    for omega, tau, message in (
        (np.inf, 0.01, "omega must be finite"),
        ([[1.0]], 0.01, "omega must be a number or a vector"),
        (1.0, -0.01, "tau must be positive"),
        (1.0, np.inf, "tau must be positive and finite"),
    ):
        with pytest.raises(ValueError, match=message):
            rotation_weights(omega, tau=tau)
