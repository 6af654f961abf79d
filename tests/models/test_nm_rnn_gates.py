"""Gains as gates: what of an LSTM a linear NM-RNN is, exactly and to second order."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models import LSTM, NMRNN

pytestmark = pytest.mark.usefixtures("double_precision")


def identity(x):
    return x


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def linear_network(rng, n_units, rank, *, feedback, **changes):
    """x linear with L = R orthonormal; z with its own dynamics, or one step of memory of x."""
    left, _ = np.linalg.qr(rng.normal(size=(n_units, rank)))
    fields = {
        "L": left, "R": left, "C": np.eye(n_units), "d": None,
        "B_x": rng.normal(size=(n_units, 2)) / 2,
        "W_z": np.zeros((rank, rank)) if feedback else rng.normal(size=(rank, rank)),
        "B_z": rng.normal(size=(rank, 2)), "A_z": rng.normal(size=(rank, rank)),
        "b_z": rng.normal(size=rank), "x0": np.zeros(n_units), "z0": np.zeros(rank),
        "B_zx": rng.normal(size=(rank, n_units)) / 2 if feedback else None,
        "b_zx": np.zeros(rank) if feedback else None,
        **changes,
    }  # fmt: skip
    arrays = {k: jnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in fields.items()}
    return NMRNN(**{"tau_x": 1.0, "tau_z": 1.0, "phi": identity, **arrays}), fields


def test_a_mode_keeps_what_its_gain_lets_it_keep_and_takes_all_of_its_input():
    """dt = tau_x: w_t = s_t * w_{t-1} + L^T B_x u_t with the gains of the new z, slow as it is."""
    rng = np.random.default_rng(0)
    model, w = linear_network(
        rng, 9, 3, feedback=False, tau_z=20.0, x0=rng.normal(size=9), z0=rng.normal(size=3)
    )
    u = rng.normal(size=(50, 2))
    x, z = simulate(model, u, dt=1.0).states
    s = np.asarray(jax.vmap(model.gains)(z))
    assert np.ptp(s, axis=0).min() > 0.1
    modes = np.concatenate([w["x0"][None], x]) @ w["L"]
    np.testing.assert_allclose(
        modes[1:], s * modes[:-1] + u @ w["B_x"].T @ w["L"], rtol=0, atol=1e-13
    )
    # What lies outside of the modes is the input of the step and remembers nothing.
    across = np.eye(9) - w["L"] @ w["L"].T
    np.testing.assert_allclose(x @ across, u @ w["B_x"].T @ across, rtol=0, atol=1e-13)


def lstm_cells(W_in, W_rec, b, u, *, size, candidate, output):
    """Cells of an LSTM, by its equations, with given activations in place of tanh."""
    h = c = np.zeros(size)
    cells = []
    for v in u:
        i, f, g, o = np.split(W_in @ v + W_rec @ h + b, 4)
        c = sigmoid(f) * c + sigmoid(i) * candidate(g)
        h = sigmoid(o) * output(c)
        cells.append(c)
    return np.array(cells)


def embedding(w, scale):
    """Weights of the LSTM whose cells are `scale` times the modes: i and o open, f the gains."""
    frame = w["L"]
    n = frame.shape[1]
    W_in, W_rec, b = np.zeros((4 * n, 2)), np.zeros((4 * n, n)), np.zeros(4 * n)
    b[:n] = b[3 * n :] = 60.0
    W_in[n : 2 * n], b[n : 2 * n] = w["A_z"] @ w["B_z"], w["b_z"]
    W_rec[n : 2 * n] = w["A_z"] @ w["B_zx"] @ frame / scale
    W_in[2 * n : 3 * n] = scale * frame.T @ w["B_x"]
    return W_in, W_rec, b


@pytest.mark.parametrize("seed", [0, 1])
def test_an_lstm_holds_a_linear_network_exactly_or_to_second_order_in_its_cells(seed):
    rng = np.random.default_rng(seed)
    model, w = linear_network(rng, 5, 5, feedback=True)
    u = rng.normal(size=(40, 2))
    modes = np.asarray(simulate(model, u, dt=1.0).states.x) @ w["L"]

    # With identity activations all of it, whatever the scale.
    for scale in (1.0, 0.3):
        linear = {"size": 5, "candidate": identity, "output": identity}
        cells = lstm_cells(*embedding(w, scale), u, **linear)
        np.testing.assert_allclose(cells / scale, modes, rtol=0, atol=1e-12)

    # With tanh, cells small enough to stay linear: halving them quarters the error.
    errors = []
    for scale in (0.1, 0.05, 0.025, 0.0125, 0.00625):
        weights = embedding(w, scale)
        arrays = [jnp.asarray(a) for a in (*weights, np.eye(5))]
        lstm = LSTM(*arrays, h0=jnp.zeros(5), c0=jnp.zeros(5))
        cells = np.asarray(simulate(lstm, u, dt=1.0).states.c)
        by_hand = lstm_cells(*weights, u, size=5, candidate=np.tanh, output=np.tanh)
        np.testing.assert_allclose(cells, by_hand, rtol=0, atol=1e-13)
        errors.append(np.max(np.abs(cells / scale - modes)))
    ratios = [coarse / fine for coarse, fine in itertools.pairwise(errors)]
    np.testing.assert_allclose(ratios, 4, atol=0.3)


def test_there_is_no_input_gate_of_its_own():
    """A gain of 0 shuts a mode off from its past alone, at dt = tau; below that, half of it stays.

    For dt = tau / 2 the gain of a linear network acts on what the leak has kept of mode and input.
    """
    rng = np.random.default_rng(0)
    shut = {"A_z": np.zeros((3, 3)), "b_z": np.full(3, -60.0)}
    model, w = linear_network(rng, 6, 3, feedback=False, **shut)
    u = rng.normal(size=(20, 2))
    x = np.asarray(simulate(model, u, dt=1.0).states.x)
    np.testing.assert_allclose(x, u @ w["B_x"].T, rtol=0, atol=1e-13)
    x = np.asarray(simulate(model, u, dt=0.5).states.x)
    filtered = np.zeros(2)
    for t in range(20):
        filtered = 0.5 * filtered + 0.5 * u[t]
        np.testing.assert_allclose(x[t], w["B_x"] @ filtered, rtol=0, atol=1e-13)
