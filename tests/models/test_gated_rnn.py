"""LSTM and GRU against loops written from their equations."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models import GRU, LSTM

pytestmark = pytest.mark.usefixtures("double_precision")


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def test_lstm_is_the_textbook_cell_whatever_the_step():
    model = LSTM.init(4, 2, 3, key=jax.random.key(0))
    W_in, W_rec, b = (np.asarray(a) for a in (model.W_in, model.W_rec, model.b))
    h, c = np.asarray(model.h0), np.asarray(model.c0)
    u, hs, cs = np.random.default_rng(0).normal(size=(12, 2)), [], []
    for v in u:
        a = W_in @ v + W_rec @ h + b
        i, f, g, o = a[:4], a[4:8], a[8:12], a[12:]
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        hs.append(h)
        cs.append(c)
    for dt in (1.0, 20.0):
        trajectory = simulate(model, u, dt=dt)
        np.testing.assert_allclose(trajectory.states.h, hs, rtol=0, atol=1e-14)
        np.testing.assert_allclose(trajectory.states.c, cs, rtol=0, atol=1e-14)
        np.testing.assert_allclose(trajectory.outputs, hs @ np.asarray(model.C).T, atol=1e-14)


def test_gru_is_the_textbook_cell_whatever_the_step():
    model = GRU.init(4, 2, 3, key=jax.random.key(0))
    W_in, W_rec, b = (np.asarray(a) for a in (model.W_in, model.W_rec, model.b))
    h = np.asarray(model.h0)
    u, hs = np.random.default_rng(0).normal(size=(12, 2)), []
    for v in u:
        a, m = W_in @ v + b, W_rec @ h
        r, q = sigmoid(a[:4] + m[:4]), sigmoid(a[4:8] + m[4:8])
        h = q * h + (1 - q) * np.tanh(a[8:] + r * m[8:])
        hs.append(h)
    for dt in (1.0, 20.0):
        trajectory = simulate(model, u, dt=dt)
        np.testing.assert_allclose(trajectory.states, hs, rtol=0, atol=1e-14)
        expected = hs @ np.asarray(model.C).T + np.asarray(model.d)
        np.testing.assert_allclose(trajectory.outputs, expected, rtol=0, atol=1e-14)


def test_the_flow_has_the_recurrence_as_its_euler_step():
    u = np.random.default_rng(0).normal(size=(6, 2))
    for kind in (LSTM, GRU):
        model = kind.init(4, 2, 1, key=jax.random.key(1))
        euler = simulate(model, u, dt=1.0, solver=diffrax.Euler()).outputs
        np.testing.assert_allclose(euler, simulate(model, u, dt=1.0).outputs, rtol=0, atol=1e-14)


def test_a_cell_without_weights_settles_where_its_candidate_says():
    bias = np.zeros(12)
    bias[6:9] = 1.0  # every gate half open: c = c / 2 + tanh(1) / 2, h = tanh(c) / 2
    model = LSTM(jnp.zeros((12, 1)), jnp.zeros((12, 3)), jnp.asarray(bias), jnp.ones((1, 3)),
                 h0=jnp.ones(3), c0=jnp.ones(3))  # fmt: skip
    h, c = simulate(model, np.zeros((60, 1)), dt=1.0, save="final").states
    np.testing.assert_allclose(c, np.full((1, 3), 0.76159416), atol=5e-9)
    np.testing.assert_allclose(h, np.full((1, 3), 0.32100750), atol=5e-9)


def test_initialisations_have_the_published_variances():
    for kind in (LSTM, GRU):
        model = kind.init(100, 8, 50, key=jax.random.key(2))
        for name, variance in {"W_in": 1 / 8, "W_rec": 1 / 100, "b": 1 / 100, "C": 1 / 100}.items():
            values = np.asarray(getattr(model, name))
            assert np.mean(values**2) == pytest.approx(variance, rel=4 * np.sqrt(2 / values.size))
        for leaf in jax.tree.leaves(model.initial_state()):
            assert np.all(leaf == jnp.float64(0.1))
        with pytest.raises(ValueError, match="n_in must be"):
            kind.init(4, 0, 1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="tau must be positive"):
        LSTM(model.W_in, model.W_rec, model.b, model.C, h0=model.h0, c0=model.h0, tau=0.0)
