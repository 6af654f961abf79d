"""Cost of `fit` over a hand-written, jitted `lax.scan` of the same updates, in one process.

NM-RNN, 100 units, 110 steps, batch 16, 1,000 updates; compile time apart. What the figure holds
beyond 1 is the price of logging, of the checks for bad numbers, and of Python.
"""

import statistics
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import neurosim
from neurosim.models import NMRNN
from neurosim.tasks import MeasureWaitGo
from neurosim.training import fit, trainable_leaves

STEPS, BATCH, ROUNDS = 1000, 16, 5


def test_fit_over_hand_written_scan():
    task = MeasureWaitGo()
    trials = task.sample(jax.random.key(0), BATCH)
    model = NMRNN.init(100, 3, 5, 3, 1, key=jax.random.key(1))
    optimizer = optax.adam(1e-3)

    def ours():
        return fit(
            model, trials, optimizer=optimizer, steps=STEPS, key=jax.random.key(2), dt=task.dt,
            progress=False,
        ).losses  # fmt: skip

    params, rest = eqx.partition(model, trainable_leaves(model))

    def loss(p):
        outputs = neurosim.simulate(eqx.combine(p, rest), trials.inputs, dt=task.dt).outputs
        return jnp.mean((outputs - trials.targets) ** 2)

    @jax.jit
    def by_hand(p):
        def update(carry, _):
            p, state = carry
            value, gradient = jax.value_and_grad(loss)(p)
            updates, state = optimizer.update(gradient, state, p)
            return (optax.apply_updates(p, updates), state), value

        return jax.lax.scan(update, (p, optimizer.init(p)), None, length=STEPS)[1]

    def theirs():
        return jax.block_until_ready(by_hand(params))

    times = {ours: [], theirs: []}
    for run in times:
        run()
    for _ in range(ROUNDS):
        for run, taken in times.items():
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    medians = {run: statistics.median(taken) for run, taken in times.items()}
    ratio = medians[ours] / medians[theirs]
    print(
        f"\nfit {1e3 * medians[ours] / STEPS:.2f} ms a step, scan "
        f"{1e3 * medians[theirs] / STEPS:.2f} ms a step, ratio {ratio:.3f} (bound 1.05)"
    )
    assert ratio <= 1.05
