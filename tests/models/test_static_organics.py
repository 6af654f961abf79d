"""Layers in a row against NumPy, and as a model like any other."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from neurosim import simulate
from neurosim.models.static_organics import StaticORGaNICs
from neurosim.tasks import Trials
from neurosim.training import fit, parameter_count, softmax_cross_entropy


def by_numpy(layer, x):
    v = np.asarray(layer.W_zx) @ x
    z = v / np.linalg.norm(v)
    drive = z / (1 + np.exp(-np.asarray(layer.W_bx) @ x))
    a = np.asarray(layer.b0 * layer.sigma) ** 2 + np.exp(np.asarray(layer.log_W)) @ drive**2
    return drive / np.sqrt(a), a


def test_a_step_has_every_layer_at_rest(double_precision):
    model = StaticORGaNICs.init(4, (5, 3), 2, key=jax.random.key(0))
    inputs = np.random.default_rng(0).normal(size=(2, 3, 4))
    run = simulate(model, inputs, dt=1.0)
    for trial, step in ((0, 0), (1, 2)):
        y1, a1 = by_numpy(model.layers[0], inputs[trial, step])
        y2, a2 = by_numpy(model.layers[1], np.maximum(y1, 0) ** 2)
        states = run.states
        for found, expected in zip((*states.y, *states.a), (y1, y2, a1, a2)):
            np.testing.assert_allclose(found[trial, step], expected, rtol=1e-11)
        output = np.asarray(model.C) @ np.maximum(y2, 0) ** 2 + np.asarray(model.d)
        np.testing.assert_allclose(run.outputs[trial, step], output, rtol=1e-11)
    # 4 N and N^2 of each layer, and the readout.
    assert parameter_count(model) == 5 * (4 + 4 + 1 + 5) + 3 * (5 + 5 + 1 + 3) + 2 * (3 + 1)
    # The flow relaxes to there, in units of tau.
    x = jnp.asarray(inputs[0, 0])
    start = model.initial_state()
    flow = model.vector_field(0.0, start, x)
    np.testing.assert_allclose(flow.y[1], states.y[1][0, 0], rtol=1e-12)
    np.testing.assert_allclose(flow.a[0], states.a[0][0, 0] - 0.25, rtol=1e-11)
    for jacobian, n in zip(model.jacobians(x), (5, 3)):
        assert jacobian.shape == (2 * n, 2 * n)
        assert np.linalg.eigvals(jacobian).real.max() < 0
    with pytest.raises(ValueError, match="applied once for each grid step"):
        simulate(model, inputs, dt=1.0, substeps=2)


def test_it_learns_classes_from_trials_of_one_step():
    """Four orthogonal inputs; the derivatives are those of rest points without a closed form."""
    inputs = jnp.eye(4)[:, None]
    trials = Trials(inputs, inputs, jnp.ones_like(inputs), {})
    model = StaticORGaNICs.init(4, 8, 4, key=jax.random.key(1), recurrence="spectral")
    result = fit(
        model, trials, optimizer=optax.adam(3e-2), steps=60, key=jax.random.key(2), dt=1.0,
        loss=softmax_cross_entropy, progress=False,
    )  # fmt: skip
    assert result.losses[0] > 1
    assert result.losses[-1] < 0.2


def test_bad_input_is_refused(unchecked_signatures):
    key = jax.random.key(0)
    with pytest.raises(ValueError, match="n_units must name at least one layer"):
        StaticORGaNICs.init(4, (), 2, key=key)
    with pytest.raises(ValueError, match="n_out must be a whole number from 1"):
        StaticORGaNICs.init(4, 3, 0, key=key)
    with pytest.raises(ValueError, match="n_units must be a whole number from 1"):
        StaticORGaNICs.init(4, (3, 0), 2, key=key)
    model = StaticORGaNICs.init(4, 3, 2, key=key)
    with pytest.raises(ValueError, match="layer 1 takes 4 inputs, and the layer before it has 3"):
        StaticORGaNICs(model.layers * 2, model.C, model.d)
    with pytest.raises(ValueError, match="layers must hold at least one"):
        StaticORGaNICs((), model.C, model.d)
    with pytest.raises(ValueError, match="tau must be positive"):
        StaticORGaNICs(model.layers, model.C, model.d, tau=0.0)
    with pytest.raises(ValueError, match="inputs have 3 channels, but StaticORGaNICs takes 4"):
        simulate(model, np.ones((1, 3)), dt=1.0)
