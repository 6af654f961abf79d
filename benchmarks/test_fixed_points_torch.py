"""The fixed-point search over Adam alone, in torch: 1,024 starts, a GRU of 100 units, float32.

The peer is the joint optimisation of FixedPointFinder (Golub & Sussillo 2018), written here: Adam
on the mean over starts of q = |F(x) - x|^2 / 2, from a rate of 0.05 times 0.7 every 500 iterations,
until q < 1e-12 everywhere or 5,000 iterations. Ours is timed with its compilation, its merging of
points, and its Jacobians, which the peer's time leaves out.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import find_fixed_points
from neurosim.models import GRU

torch = pytest.importorskip("torch")

N_STARTS, N_UNITS, MAX_ITERATIONS, TOLERANCE = 1024, 100, 5000, 1e-12


def _network():
    network = GRU.init(N_UNITS, 1, 1, key=jax.random.key(0))
    starts = np.random.default_rng(0).normal(size=(N_STARTS, N_UNITS)).astype(np.float32)
    # Within the unit cube, as states are.
    return network, np.tanh(starts)


def _speeds(network, x):
    """q of each state, in float64 by NumPy."""
    x = np.asarray(x, np.float64)
    W, b = np.asarray(network.W_rec, np.float64), np.asarray(network.b, np.float64)
    r_rec, q_rec, n_rec = np.split(x @ W.T, 3, axis=1)
    r_in, q_in, n_in = np.split(b, 3)
    r, q = (1 / (1 + np.exp(-z)) for z in (r_rec + r_in, q_rec + q_in))
    return ((1 - q) ** 2 * (np.tanh(n_in + r * n_rec) - x) ** 2).sum(axis=1) / 2


def _by_adam(network, starts):
    """States, and `(seconds, q of each start)` after every 50 iterations."""
    W, b = (torch.from_numpy(np.array(p)) for p in (network.W_rec, network.b))
    cell = torch.nn.GRUCell(1, N_UNITS)
    with torch.no_grad():
        # The second bias stays within the reset gate's product, so the candidate's is zero.
        cell.weight_ih.zero_()
        cell.weight_hh.copy_(W)
        cell.bias_ih.copy_(b)
        cell.bias_hh.zero_()
    for parameter in cell.parameters():
        parameter.requires_grad_(False)
    inputs = torch.zeros(len(starts), 1)
    x = torch.from_numpy(starts.copy()).requires_grad_(True)
    optimizer = torch.optim.Adam([x], lr=0.05)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=500, gamma=0.7)
    course, begin = [], time.perf_counter()
    for k in range(MAX_ITERATIONS):
        optimizer.zero_grad()
        q = 0.5 * ((cell(inputs, x) - x) ** 2).sum(dim=1)
        if bool((q < TOLERANCE).all()):
            break
        q.mean().backward()
        optimizer.step()
        schedule.step()
        if k % 50 == 49:
            course.append((time.perf_counter() - begin, q.detach().numpy()))
    return x.detach().numpy(), time.perf_counter() - begin, course


def test_over_adam():
    network, starts = _network()

    def step(x):
        return network.step(0.0, x, jnp.zeros(1), 1.0)

    jax.clear_caches()
    begin = time.perf_counter()
    found = find_fixed_points(step, starts, kind="map", tolerance=TOLERANCE)
    ours = time.perf_counter() - begin
    states, theirs, course = _by_adam(network, starts)
    q = _speeds(network, states)
    share = [(found.start_point >= 0).mean(), (q <= TOLERANCE).mean()]
    meanwhile = next((q for seconds, q in course if seconds >= ours), q)
    print(
        f"\n1,024 starts of a GRU of 100 units: {ours:.1f} s, {len(found)} points, largest q "
        f"{found.q.max():.1e}, {share[0]:.3f} of starts below 1e-12; Adam {theirs:.0f} s, median q "
        f"{np.median(q):.1e}, {share[1]:.3f} below; after our {ours:.1f} s its median q is "
        f"{np.median(meanwhile):.1e}, {(meanwhile <= TOLERANCE).mean():.3f} below"
    )
    assert share[0] >= share[1]
    assert theirs / ours >= 10 or found.q.max() < np.median(meanwhile)
