"""What every model owes: derivatives in forward mode, batches of them, both precisions."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden_network import golden, golden_inputs

from neurosim import simulate
from neurosim.models import (
    GRU,
    LSTM,
    NMRNN,
    SSN,
    BottleneckRNN,
    FeedbackReservoir,
    GainModulatedRNN,
    HasPrepared,
    HasStep,
    HasTimeConstants,
    LeakyRNN,
    LinearMap,
    LowRankRNN,
    ORGaNICs,
    ORGaNICsCell,
    ReachingNetwork,
    StaticORGaNICs,
    VanillaRNN,
    clamp_gains,
    is_fixed,
)


def make(name, key):
    ones = jnp.ones
    return {
        "vanilla": lambda: VanillaRNN.init(4, 2, 2, tau=3.0, key=key),
        "low rank": lambda: LowRankRNN.init(4, 2, 2, 2, tau=3.0, rec_scale="unit", key=key),
        "nm": lambda: NMRNN.init(4, 2, 3, 2, 2, tau_x=3.0, tau_z=9.0, key=key),
        "nm with feedback": lambda: clamp_gains(
            NMRNN.init(4, 2, 3, 2, 2, scheme="eft", key=key), {0: 0.5}
        ),
        "gain modulated": lambda: GainModulatedRNN(
            0.3 * ones((4, 1)), ones((4, 1)), ones((4, 1)), ones((2, 4)), None, x0=ones(4), tau=3.0
        ),
        "gru": lambda: GRU.init(4, 2, 2, key=key),
        "lstm": lambda: LSTM.init(4, 2, 2, key=key),
        "bottleneck": lambda: BottleneckRNN.one_shot(4, 5, 2, 2, key=key),
        "leaky": lambda: LeakyRNN.init(4, 2, 2, key=key, phi=jnp.tanh),
        "linear": lambda: LinearMap.init(2, 2, key=key),
        "reservoir": lambda: FeedbackReservoir.init(4, 2, 2, key=key, tau=10.0),
        "reaching": lambda: ReachingNetwork.init(4, 2, key=key, tau=50.0, phi=jnp.tanh),
        "organics": lambda: ORGaNICs.init(4, 2, 2, key=key, tau_y=3.0, tau_a=4.0),
        "organics cell": lambda: ORGaNICsCell.init(4, 2, 2, key=key, recurrence="spectral"),
        "static organics": lambda: StaticORGaNICs.init(2, 4, 2, key=key, recurrence="spectral"),
        "ssn": lambda: SSN.init(3, 1, 2, 2, key=key, tau_e=3.0, tau_i=4.0),
    }[name]()


NAMES = [
    "vanilla", "low rank", "nm", "nm with feedback", "gain modulated", "gru", "lstm", "bottleneck",
    "leaky", "linear", "reservoir", "reaching", "organics", "organics cell", "static organics",
    "ssn",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_forward_derivatives_agree_with_finite_differences_alone_and_in_batches(name):
    with jax.enable_x64(True):
        model = make(name, jax.random.key(0))
        u = jnp.asarray(np.random.default_rng(0).normal(size=(2, 6, 2)))
        weights, rest = eqx.partition(model, eqx.is_inexact_array)
        flat, unravel = jax.flatten_util.ravel_pytree(weights)

        @jax.jit
        def loss(w):
            y = simulate(eqx.combine(unravel(w), rest), u, dt=1.0).outputs
            return jnp.sum(y**2) + jnp.sum(y)

        tangents = jnp.asarray(np.random.default_rng(1).normal(size=(3, flat.size)))
        slopes = jax.jit(jax.vmap(lambda v: jax.jvp(loss, (flat,), (v,))[1]))(tangents)
        step = 1e-6
        expected = [(loss(flat + step * v) - loss(flat - step * v)) / 2 / step for v in tangents]
        np.testing.assert_allclose(slopes, expected, rtol=1e-6)
        np.testing.assert_allclose(slopes, tangents @ jax.jit(jax.grad(loss))(flat), rtol=1e-9)
        alone = jax.jit(lambda v: jax.jvp(loss, (flat,), (v,))[1])(tangents[0])
        np.testing.assert_allclose(slopes[0], alone, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_states_and_outputs_keep_the_precision_of_the_parameters(name):
    for double, dtype in ((False, jnp.float32), (True, jnp.float64)):
        with jax.enable_x64(double):
            model = make(name, jax.random.key(0))
            trajectory = simulate(model, np.ones((3, 2)), dt=1.0)
            for leaf in jax.tree.leaves((trajectory.states, trajectory.outputs)):
                assert leaf.dtype == dtype
                assert np.all(np.isfinite(leaf))


def test_the_same_key_gives_the_same_bits_and_another_key_other_ones():
    for name in NAMES[:4]:
        first, again, other = (
            jax.tree.leaves(make(name, jax.random.key(seed))) for seed in (0, 0, 1)
        )
        assert all(np.array_equal(a, b) for a, b in zip(first, again))
        assert not all(np.array_equal(a, b) for a, b in zip(first, other))


def test_time_constants_and_initial_states_are_fixed_leaves_with_derivatives():
    fixed = {f.name for f in dataclasses.fields(NMRNN) if is_fixed(f)}
    assert fixed == {"x0", "z0", "tau_x", "tau_z", "gain_clamp"}
    with jax.enable_x64(True):
        u = jnp.asarray(golden_inputs()[10:20])

        def end(tau):
            return simulate(golden(tau_x=tau), u, dt=1.0, save="final").outputs[0, 0]

        tau, step = jnp.array(10.0), 1e-5
        expected = (end(tau + step) - end(tau - step)) / 2 / step
        np.testing.assert_allclose(jax.grad(end)(tau), expected, rtol=1e-7)
        mapped = jax.vmap(end)(jnp.array([8.0, 10.0]))
        np.testing.assert_allclose(mapped[1], end(tau), rtol=1e-12)


def test_capabilities_are_those_that_the_models_have():
    key = jax.random.key(0)
    with_step = {name for name in NAMES if isinstance(make(name, key), HasStep)}
    recursions = {"bottleneck", "leaky", "linear"}
    normalizing = {"organics cell", "static organics"}
    assert with_step == {"nm", "nm with feedback", "gru", "lstm", *normalizing} | recursions
    leaky = {name for name in NAMES if isinstance(make(name, key), HasTimeConstants)}
    assert leaky == set(NAMES) - {"gru", "lstm", "static organics"} - recursions
    prepared = {name for name in NAMES if isinstance(make(name, key), HasPrepared)}
    assert prepared == {"low rank", "nm", "nm with feedback", "organics cell"}
