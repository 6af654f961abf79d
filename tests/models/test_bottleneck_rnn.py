"""The recurrence through a hidden layer: its equations, its published sizes and variances."""

import diffrax
import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.bottleneck_rnn import BottleneckRNN
from neurosim.training import parameter_count

KEY = jax.random.key(0)


def relu(x):
    return np.maximum(x, 0)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("logits", ["relu", "plain"])
def test_equations_with_inputs(logits):
    model = BottleneckRNN.one_shot(4, 6, 2, 3, key=KEY, logits=logits)
    model = eqx.tree_at(lambda m: m.A, model, 0.3 * jnp.eye(4))
    A, W, C, b, B, d, O, z = (
        np.asarray(getattr(model, name)) for name in ("A", "W", "C", "b", "B", "d", "O", "z0")
    )
    u, ys = np.random.default_rng(0).normal(size=(9, 2)), []
    for v in u:
        z = A @ z + W @ relu(C @ z + b) + B @ v + d
        ys.append(relu(O @ z) if logits == "relu" else O @ z)
    for dt in (1.0, 7.0):
        np.testing.assert_allclose(simulate(model, u, dt=dt).outputs, ys, rtol=0, atol=1e-13)
    flow = simulate(model, u, dt=1.0, solver=diffrax.Euler()).outputs
    np.testing.assert_allclose(flow, ys, rtol=0, atol=1e-13)


@pytest.mark.usefixtures("double_precision")
def test_equations_without_inputs_from_states_of_the_trials():
    model = BottleneckRNN.lorenz(5, key=KEY)
    assert model.n_inputs == 0
    z = np.random.default_rng(0).normal(size=(2, 3))
    trajectory = simulate(model, np.zeros((2, 6, 0)), dt=0.01, initial_state=z)
    for k in range(6):
        hidden = relu(z @ np.asarray(model.C).T + np.asarray(model.b))
        z = z @ np.asarray(model.A).T + hidden @ np.asarray(model.W).T
        np.testing.assert_allclose(trajectory.outputs[:, k], z, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(trajectory.outputs, trajectory.states)
    silent = simulate(model, dt=0.01, t1=0.06, initial_state=trajectory.states[0, 0])
    np.testing.assert_allclose(silent.outputs[:5], trajectory.outputs[0, 1:], atol=1e-13)


def test_published_numbers_of_parameters():
    assert parameter_count(BottleneckRNN.lorenz(400, key=KEY)) == 2809
    assert parameter_count(BottleneckRNN.lorenz(100, key=KEY)) == 709
    assert parameter_count(BottleneckRNN.one_shot(100, 400, key=KEY)) == 91_500


def test_published_variances():
    lorenz = BottleneckRNN.lorenz(4000, key=KEY)
    np.testing.assert_array_equal(lorenz.A, np.eye(3))
    one_shot = BottleneckRNN.one_shot(200, 800, 399, 100, key=KEY)
    assert np.all(np.asarray(one_shot.A) == 0)
    for model, variances in (
        (lorenz, {"W": 0.01 / 4000, "C": 1 / 4, "b": 1 / 4}),
        (
            one_shot,
            {"W": 1 / 800, "C": 1 / 201, "b": 1 / 201, "B": 1 / 400, "d": 1 / 400, "O": 1 / 200},
        ),
    ):
        for name, variance in variances.items():
            values = np.asarray(getattr(model, name))
            assert np.mean(values**2) == pytest.approx(variance, rel=4 * np.sqrt(2 / values.size))


def test_either_precision():
    for double, dtype in ((False, jnp.float32), (True, jnp.float64)):
        with jax.enable_x64(double):
            for model in (
                BottleneckRNN.lorenz(5, key=KEY),
                BottleneckRNN.one_shot(4, 5, 2, 2, key=KEY),
            ):
                trajectory = simulate(model, np.ones((3, model.n_inputs)), dt=0.01)
                assert trajectory.outputs.dtype == trajectory.states.dtype == dtype
                assert np.all(np.isfinite(trajectory.outputs))


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="n_hidden must be"):
        BottleneckRNN.lorenz(0, key=KEY)
    with pytest.raises(ValueError, match="tau must be positive"):
        BottleneckRNN.lorenz(5, key=KEY, tau=0.0)
    with pytest.raises(ValueError, match="n_out must be"):
        BottleneckRNN.one_shot(4, 5, 2, 0, key=KEY)
