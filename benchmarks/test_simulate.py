"""Cost of `simulate` over a hand-written `lax.scan` of the same network, in one process.

NM-RNN, 100 units, rank 3, 5 neuromodulatory units, 300 steps, batch 64. Calls alternate, so that
both see the same machine; the figure is the ratio of medians, compile time apart.
"""

import statistics
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import neurosim
from neurosim.models import NMRNN

N_UNITS, RANK, N_NM, N_STEPS, BATCH, ROUNDS = 100, 3, 5, 300, 64, 25


def hand_written(model, inputs):
    """The published recursion as one would write it for this network alone, batch first."""
    ax, az = 10.0 / model.tau_x, 10.0 / model.tau_z
    q, t = jnp.linalg.qr(model.L)
    left = q * jnp.where(jnp.diagonal(t) < 0, -1.0, 1.0)

    def body(carry, u):
        x, z = carry
        z = (1 - az) * z + az * (jnp.tanh(z) @ model.W_z.T + u @ model.B_z.T)
        s = jax.nn.sigmoid(z @ model.A_z.T + model.b_z)
        x = (1 - ax) * x + ax * ((s * (jnp.tanh(x) @ model.R)) @ left.T + u @ model.B_x.T)
        return (x, z), x @ model.C.T + model.d

    start = (
        jnp.broadcast_to(model.x0, (BATCH, N_UNITS)),
        jnp.broadcast_to(model.z0, (BATCH, N_NM)),
    )
    _, outputs = jax.lax.scan(body, start, jnp.swapaxes(inputs, 0, 1))
    return jnp.swapaxes(outputs, 0, 1)


def through_the_door(model, inputs):
    return neurosim.simulate(model, inputs, dt=10.0, save="outputs").outputs


def problem():
    model = NMRNN.init(N_UNITS, RANK, N_NM, 3, 1, key=jax.random.key(0))
    inputs = jax.random.normal(jax.random.key(1), (BATCH, N_STEPS, 3))
    return model, inputs


def forward(run):
    return lambda model, inputs: run(model, inputs)


def gradient(run):
    return eqx.filter_grad(lambda model, inputs: jnp.mean(run(model, inputs) ** 2))


def jvp(run):
    def derivative(model, inputs):
        params, rest = eqx.partition(model, eqx.is_inexact_array)
        tangent = jax.tree.map(jnp.ones_like, params)
        return jax.jvp(lambda p: run(eqx.combine(p, rest), inputs), (params,), (tangent,))

    return derivative


def ratio_of_medians(ours, theirs, *args):
    for run in (ours, theirs):
        jax.block_until_ready(run(*args))
    times = {ours: [], theirs: []}
    for _ in range(ROUNDS):
        for run in (ours, theirs):
            start = time.perf_counter()
            jax.block_until_ready(run(*args))
            times[run].append(time.perf_counter() - start)
    return {run: statistics.median(values) for run, values in times.items()}


@pytest.mark.parametrize(
    ("name", "transform", "bound"),
    [("forward", forward, 1.15), ("gradient", gradient, 1.3), ("jvp", jvp, 1.3)],
)
def test_simulate_over_hand_written_scan(name, transform, bound):
    model, inputs = problem()
    ours = eqx.filter_jit(transform(through_the_door))
    theirs = eqx.filter_jit(transform(hand_written))
    difference = through_the_door(model, inputs) - hand_written(model, inputs)
    assert float(jnp.max(jnp.abs(difference))) < 1e-4
    medians = ratio_of_medians(ours, theirs, model, inputs)
    ratio = medians[ours] / medians[theirs]
    print(
        f"\n{name}: simulate {1e3 * medians[ours]:.2f} ms, scan {1e3 * medians[theirs]:.2f} ms, "
        f"ratio {ratio:.2f} (bound {bound})"
    )
    assert ratio <= bound
