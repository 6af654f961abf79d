"""Cost of training the ORGaNICs cell over a hand-written `lax.scan` and over a loop in PyTorch.

64 units, one input, 196 steps, batch 256, float32: loss, gradient and an update of Adam. Calls
alternate, so that all see the same machine; the figures are ratios of medians, compile time apart.
The part with PyTorch runs where PyTorch is installed, which nothing here asks for.
"""

import os
import statistics
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import neurosim
from neurosim.models.organics_cell import ORGaNICsCell

N_UNITS, N_CLASSES, N_STEPS, BATCH, ROUNDS = 64, 10, 196, 256, 11


def problem():
    cell = ORGaNICsCell.init(N_UNITS, 1, N_CLASSES, key=jax.random.key(0))
    rng = np.random.default_rng(0)
    inputs = rng.uniform(size=(BATCH, N_STEPS, 1)).astype(np.float32)
    return cell, jnp.asarray(inputs), jnp.asarray(rng.integers(N_CLASSES, size=BATCH))


def through_the_door(cell, inputs):
    return neurosim.simulate(cell, inputs, dt=1.0, save="final").outputs[:, -1]


def hand_written(cell, inputs):
    """The published recursion as one would write it for this cell alone, batch first."""
    sigmoid, shares = jax.nn.sigmoid, (0.05, 0.01, 0.1, 0.1)
    logits = (cell.theta.y, cell.theta.a, cell.theta.b, cell.theta.b0)
    k_y, k_a, k_b, k_b0 = (m * sigmoid(t) for m, t in zip(shares, logits))
    W = jnp.clip(jnp.exp(cell.log_W), 0, 1)

    def body(state, x):
        y, a, b, b0 = state
        root = jnp.sqrt(jax.nn.relu(a))
        drive = b * jax.nn.relu(x @ cell.W_zx.T) + (1 - root) * jax.nn.relu(y @ cell.W_r.T)
        pooled = (jax.nn.relu(y) ** 2 * jax.nn.relu(a)) @ W.T
        f_b = sigmoid(x @ cell.W_bx.T + y @ cell.W_by.T + a @ cell.W_ba.T)
        f_b0 = sigmoid(x @ cell.W_b0x.T + y @ cell.W_b0y.T + a @ cell.W_b0a.T)
        new = (
            y + k_y * (drive - y),
            a + k_a * ((b0 * cell.sigma) ** 2 + pooled - a),
            b + k_b * (f_b - b),
            b0 + k_b0 * (f_b0 - b0),
        )
        return new, None

    start = tuple(jnp.broadcast_to(x, (BATCH, N_UNITS)) for x in cell.start)
    state, _ = jax.lax.scan(body, start, jnp.swapaxes(inputs, 0, 1))
    return state[0] @ cell.C.T + cell.d


def training_step(run, cell, inputs, labels):
    """A function of no arguments that makes one update and waits for it."""
    optimizer = optax.adam(1e-3)
    params, rest = eqx.partition(cell, eqx.is_inexact_array)

    @jax.jit
    def update(params, state, inputs, labels):
        def loss(params):
            outputs = run(eqx.combine(params, rest), inputs)
            return optax.softmax_cross_entropy_with_integer_labels(outputs, labels).mean()

        value, gradient = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state, value

    state = optimizer.init(params)
    return lambda: jax.block_until_ready(update(params, state, inputs, labels))


def torch_step(cell, inputs, labels):
    """The same in PyTorch, a loop over time as in the released code."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(len(os.sched_getaffinity(0)))

    def tensor(x):
        return torch.tensor(np.array(x))

    names = ("W_r", "log_W", "W_zx", "W_bx", "W_by", "W_ba", "W_b0x", "W_b0y", "W_b0a", "C", "d")
    p = {name: tensor(getattr(cell, name)).requires_grad_() for name in names}
    theta = [tensor(getattr(cell.theta, k)).requires_grad_() for k in ("y", "a", "b", "b0")]
    x, target, sigma = tensor(inputs), tensor(labels).long(), tensor(cell.sigma)
    start = [tensor(s).expand(BATCH, -1) for s in cell.start]
    optimizer = torch.optim.Adam([*p.values(), *theta], lr=1e-3)

    def logits():
        k_y, k_a, k_b, k_b0 = (m * torch.sigmoid(t) for m, t in zip((0.05, 0.01, 0.1, 0.1), theta))
        W = torch.clip(torch.exp(p["log_W"]), 0, 1)
        y, a, b, b0 = start
        for t in range(N_STEPS):
            u = x[:, t]
            recurrent = torch.relu(y @ p["W_r"].T)
            drive = b * torch.relu(u @ p["W_zx"].T) + (1 - torch.sqrt(torch.relu(a))) * recurrent
            pooled = (torch.relu(y) ** 2 * torch.relu(a)) @ W.T
            f_b = torch.sigmoid(u @ p["W_bx"].T + y @ p["W_by"].T + a @ p["W_ba"].T)
            f_b0 = torch.sigmoid(u @ p["W_b0x"].T + y @ p["W_b0y"].T + a @ p["W_b0a"].T)
            y, a, b, b0 = (
                y + k_y * (drive - y),
                a + k_a * ((b0 * sigma) ** 2 + pooled - a),
                b + k_b * (f_b - b),
                b0 + k_b0 * (f_b0 - b0),
            )
        return y @ p["C"].T + p["d"]

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits(), target).backward()
        optimizer.step()

    with torch.no_grad():
        difference = logits().numpy() - np.asarray(hand_written(cell, inputs))
    assert np.abs(difference).max() < 1e-4
    return step


def medians(runs):
    times = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def test_training_step_over_hand_written_scan():
    given = problem()
    difference = through_the_door(*given[:2]) - hand_written(*given[:2])
    assert float(jnp.max(jnp.abs(difference))) < 1e-4
    found = medians(
        {
            "simulate": training_step(through_the_door, *given),
            "scan": training_step(hand_written, *given),
        }
    )
    ratio = found["simulate"] / found["scan"]
    print(
        f"\nORGaNICs cell, a training step: simulate {1e3 * found['simulate']:.0f} ms, scan "
        f"{1e3 * found['scan']:.0f} ms, ratio {ratio:.2f} (bound 1.15)"
    )
    assert ratio <= 1.15


def test_training_step_over_torch():
    given = problem()
    found = medians(
        {"simulate": training_step(through_the_door, *given), "torch": torch_step(*given)}
    )
    ratio = found["simulate"] / found["torch"]
    print(
        f"\nORGaNICs cell, a training step: simulate {1e3 * found['simulate']:.0f} ms, PyTorch "
        f"{1e3 * found['torch']:.0f} ms, ratio {ratio:.2f} (bound 0.5)"
    )
    assert ratio <= 0.5
