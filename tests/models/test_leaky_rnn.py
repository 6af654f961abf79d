"""The leaky recurrence: its equations, the step at time 0, published sizes and variances."""

import diffrax
import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.leaky_rnn import LeakyRNN
from neurosim.training import parameter_count

KEY = jax.random.key(0)


def relu(x):
    return np.maximum(x, 0)


@pytest.mark.usefixtures("double_precision")
def test_equations_with_the_first_step_in_full():
    model = LeakyRNN.init(5, 2, 3, key=KEY)
    C, B, e, O = (np.asarray(a) for a in (model.C, model.B, model.e, model.O))
    u = np.random.default_rng(0).normal(size=(8, 2))
    zs = [relu(B @ u[0] + e)]
    for v in u[1:]:
        zs.append(0.75 * zs[-1] + 0.25 * relu(C @ zs[-1] + B @ v + e))
    for dt in (1.0, 20.0):
        trajectory = simulate(model, u, dt=dt)
        np.testing.assert_allclose(trajectory.states, zs, rtol=0, atol=1e-13)
        np.testing.assert_allclose(trajectory.outputs, zs @ O.T, rtol=0, atol=1e-13)
    # A run that goes on later is the same run.
    rest = simulate(model, u[3:], dt=1.0, t0=3.0, initial_state=trajectory.states[2])
    np.testing.assert_allclose(rest.states, zs[3:], rtol=0, atol=1e-13)


@pytest.mark.usefixtures("double_precision")
def test_without_the_full_first_step_the_flow_has_it_as_its_euler_step():
    model = LeakyRNN.init(5, 2, 3, key=KEY, alpha=0.4)
    leaky = eqx.tree_at(lambda m: m.z0, model, jnp.full(5, 0.2))
    leaky = LeakyRNN(leaky.C, leaky.B, leaky.e, leaky.O, leaky.z0, 0.4, full_first_step=False)
    u = np.random.default_rng(0).normal(size=(8, 2))
    trajectory = simulate(leaky, u, dt=1.0)
    drive = np.asarray(leaky.C) @ np.full(5, 0.2) + np.asarray(leaky.B) @ u[0] + leaky.e
    expected = 0.6 * 0.2 + 0.4 * relu(np.asarray(drive))
    np.testing.assert_allclose(trajectory.states[0], expected, rtol=0, atol=1e-13)
    euler = simulate(leaky, u, dt=1.0, solver=diffrax.Euler())
    np.testing.assert_allclose(euler.states, trajectory.states, rtol=0, atol=1e-13)


def test_published_numbers_of_parameters():
    for sizes, number in (((100, 1, 1), 10_300), ((64, 2, 1), 4352), ((128, 2, 2), 17_024)):
        assert parameter_count(LeakyRNN.init(*sizes, key=KEY)) == number


def test_published_variances_and_readout():
    model = LeakyRNN.init(400, 1, 1, key=KEY)
    for name, variance in {"C": 1 / 400, "B": 1 / 2, "e": 1 / 2}.items():
        values = np.asarray(getattr(model, name))
        assert np.mean(values**2) == pytest.approx(variance, rel=4 * np.sqrt(2 / values.size))
    # With linear units the readout would repeat the input.
    np.testing.assert_allclose(model.O @ model.B, [[1.0]], rtol=1e-5)
    two = LeakyRNN.init(400, 2, 2, key=KEY, readout="inverse")
    np.testing.assert_allclose(np.diag(np.asarray(two.O @ two.B)), [1, 1], rtol=1e-5)
    plain = np.asarray(LeakyRNN.init(400, 2, 5, key=KEY).O)
    assert np.mean(plain**2) == pytest.approx(1 / 400, rel=4 * np.sqrt(2 / plain.size))


def test_either_precision():
    for double, dtype in ((False, jnp.float32), (True, jnp.float64)):
        with jax.enable_x64(double):
            trajectory = simulate(LeakyRNN.init(4, 2, 1, key=KEY), np.ones((3, 2)), dt=1.0)
            assert trajectory.outputs.dtype == trajectory.states.dtype == dtype


def test_bad_parameters_are_refused():
    for options, message in (
        ({"n_units": 0}, "n_units must be"),
        ({"alpha": 0.0}, "alpha must be above 0 and at most 1, got 0.0"),
        ({"alpha": 1.1}, "alpha must be"),
        ({"alpha": float("nan")}, "alpha must be"),
        ({"n_out": 2, "readout": "inverse"}, "2 outputs are more than the 1 inputs"),
    ):
        sizes = {"n_units": 4, "n_in": 1, "n_out": 1, **options}
        with pytest.raises(ValueError, match=message):
            LeakyRNN.init(**sizes, key=KEY)
