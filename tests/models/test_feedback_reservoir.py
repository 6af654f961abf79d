"""The reservoir with feedback against its recursion and published sizes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.feedback_reservoir import FeedbackReservoir, circuit_weights
from neurosim.tasks import FlipFlop
from neurosim.training import parameter_count


@pytest.mark.parametrize("bias", [False, True])
def test_published_recursion(double_precision, bias):
    model = FeedbackReservoir.init(7, 2, 3, key=jax.random.key(0), bias=bias)
    W = 0.3 * jax.random.normal(jax.random.key(1), (3, 7))
    model = eqx.tree_at(lambda m: m.W, model, W)
    extra = np.zeros(7)
    if bias:
        extra = np.linspace(-1, 1, 7)
        model = eqx.tree_at(lambda m: m.b, model, jnp.asarray(extra))
    J, B, W_fb, z = (np.asarray(a) for a in (model.J, model.B, model.W_fb, model.z0))
    u, xs = np.random.default_rng(0).normal(size=(12, 2)), []
    for v in u:
        # With tau in steps, as published; the model has it in ms, at a dt of 10 ms.
        z = z + (-z + J @ np.tanh(z) + extra + W_fb @ (W @ np.tanh(z)) + B @ v) / 10
        xs.append(W @ np.tanh(z))
    np.testing.assert_allclose(simulate(model, u, dt=10.0).outputs, xs, rtol=0, atol=1e-13)


def test_published_numbers_of_parameters():
    # The readout of 1000 units to 3 bits; 128 (128 + 1) + 128 3 + 3 128 for the small network.
    key = jax.random.key(0)
    assert parameter_count(FeedbackReservoir.init(key=key)) == 3000
    assert parameter_count(FeedbackReservoir.small(key=key), circuit_weights) == 17_280
    without_bias = FeedbackReservoir.init(8, key=key)
    assert parameter_count(without_bias, circuit_weights) == 8 * 8 + 2 * 8 * 3


def test_initialisation_has_the_published_distributions():
    model = FeedbackReservoir.init(300, key=jax.random.key(2), gain=1.5)
    for values, sd in ((model.J, 1.5 / 300**0.5), (model.z0, 0.1)):
        assert np.std(values) == pytest.approx(sd, rel=4 / (2 * values.size) ** 0.5)
    for values in (model.B, model.W_fb):
        assert -1 <= np.min(values) < -0.98
        assert 0.98 < np.max(values) <= 1
        assert np.std(values) == pytest.approx(3**-0.5, rel=0.06)
    assert np.all(model.W == 0)
    assert model.b is None
    small = FeedbackReservoir.small(4, key=jax.random.key(2))
    assert np.all(small.b == 0)
    np.testing.assert_array_equal(small.phi(jnp.array([-1.0, 2.0])), [0, 2])


@pytest.mark.parametrize("make", [FeedbackReservoir.init, FeedbackReservoir.small])
def test_forward_mode_against_finite_differences(double_precision, make):
    model = make(6, key=jax.random.key(0))
    W = 0.3 * jax.random.normal(jax.random.key(1), (3, 6))
    model = eqx.tree_at(lambda m: m.W, model, W)
    u = FlipFlop(duration=200).sample(jax.random.key(0), 2).inputs + 0.3
    params, fixed = eqx.partition(model, eqx.is_array)

    @jax.jit
    def outputs(params):
        return simulate(eqx.combine(params, fixed), u, dt=10.0).outputs

    def tangent(key):
        leaves, structure = jax.tree.flatten(params)
        keys = jax.random.split(key, len(leaves))
        pushed = [jax.random.normal(k, x.shape, x.dtype) for k, x in zip(keys, leaves)]
        return jax.tree.unflatten(structure, pushed)

    tangents = jax.vmap(tangent)(jax.random.split(jax.random.key(3), 2))
    found = jax.jit(jax.vmap(lambda v: jax.jvp(outputs, (params,), (v,))[1]))(tangents)
    v = jax.tree.map(lambda x: x[1], tangents)
    up, down = (
        outputs(jax.tree.map(lambda p, d, s=sign: p + s * 1e-6 * d, params, v)) for sign in (1, -1)
    )
    np.testing.assert_allclose(found[1], (up - down) / 2e-6, rtol=0, atol=1e-7)
    gradient = jax.jit(jax.grad(lambda p: jnp.sum(outputs(p) ** 2)))(params)
    inner = sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(v)))
    assert float(inner) == pytest.approx(float(jnp.sum(2 * outputs(params) * found[1])), rel=1e-9)


def test_single_precision():
    model = FeedbackReservoir.small(5, key=jax.random.key(0))
    trajectory = simulate(model, np.ones((2, 4, 3)), dt=10.0)
    assert trajectory.states.dtype == trajectory.outputs.dtype == jnp.float32
    assert model.n_inputs == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_units": 0}, "n_units must be"),
        ({"n_out": -1}, "n_out must be"),
        ({"tau": -1.0}, "tau must be positive"),
        ({"gain": float("nan")}, "gain must be a finite number"),
        ({"gain": -0.5}, "gain must be a finite number"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        FeedbackReservoir.init(**{"n_units": 4, **options}, key=jax.random.key(0))
