"""Path-integrating networks: their transforms against their equations and against each other."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.leaky_transform import LeakyTransform
from neurosim.models.linear_group_transform import LinearGroupTransform
from neurosim.models.lstm_transform import LSTMTransform
from neurosim.models.path_integrating_rnn import PathIntegratingRNN
from neurosim.models.place_cell_readout import PlaceCellReadout
from neurosim.models.position_embedding import PositionEmbedding
from neurosim.models.relu_transform import ReLUTransform

RNG = np.random.default_rng(0)
VALUES = RNG.uniform(0, 0.5, (6, 5, 5))
A = RNG.normal(size=(2, 3, 3)) * 0.6
B = RNG.normal(size=(6, 2))
DX = RNG.uniform(-0.2, 0.2, (4, 2))
LSTM_WEIGHTS = RNG.normal(size=(2, 12, 2)), RNG.normal(size=(2, 12, 3)), RNG.normal(size=(2, 12))
X0 = (2.0, 1.0)


def network(transform, dtype=np.float64):
    values = jnp.asarray(VALUES, dtype)
    return PathIntegratingRNN(
        PositionEmbedding(values, 3), PlaceCellReadout(values[::-1]), transform
    )


def dense(blocks):
    whole = np.zeros((6, 6))
    whole[:3, :3], whole[3:, 3:] = blocks
    return whole


@pytest.mark.usefixtures("double_precision")
def test_relu_recursion_is_the_published_one_through_rollout_and_simulate():
    model = network(ReLUTransform(A, B, 0.05))
    np.testing.assert_array_equal(model.initial_state(), VALUES[:, 2, 2])
    r, expected = VALUES[:, 2, 1], []
    for dx in DX:
        r = np.maximum(r @ dense(A) + B @ dx + 0.05, 0)
        expected.append(r)
    found = model.rollout(X0, DX)
    np.testing.assert_allclose(found[0], VALUES[:, 2, 1], rtol=1e-14)
    np.testing.assert_allclose(found[1:], expected, rtol=1e-13, atol=1e-15)
    run = simulate(model, DX, dt=1.0, initial_state=model.start(X0))
    np.testing.assert_allclose(run.states, expected, rtol=1e-13, atol=1e-15)
    activity = np.asarray(expected) @ VALUES[::-1].reshape(6, 25)
    np.testing.assert_allclose(run.outputs, activity, rtol=1e-12)
    # Velocities for shorter steps are the same displacements.
    short = simulate(model, DX * 20, dt=0.05, initial_state=model.start(X0))
    np.testing.assert_allclose(short.states, expected, rtol=1e-12, atol=1e-15)
    with pytest.raises(ValueError, match="cannot take substeps"):
        simulate(model, DX, dt=1.0, substeps=2)


@pytest.mark.usefixtures("double_precision")
def test_leaky_units_with_steps_of_tau_are_the_recursion_bit_for_bit():
    tau = 0.25
    relu, leaky = ReLUTransform(A, B, 0.05), LeakyTransform(A, B, 0.05, tau, "euler")
    r = v = network(relu).start(X0)
    for dx in jnp.asarray(DX):
        r, v = relu.step(r, dx / tau, tau), leaky.step(v, dx / tau, tau)
        np.testing.assert_array_equal(r, v)
    model = network(leaky)
    euler = simulate(model, DX / tau, dt=tau, initial_state=model.start(X0), solver=diffrax.Euler())
    np.testing.assert_allclose(euler.states[-1], r, rtol=1e-13)
    with pytest.raises(ValueError, match="unstable"):
        simulate(model, DX, dt=1.0)


@pytest.mark.usefixtures("double_precision")
def test_leaky_units_relax_exponentially_to_a_constant_drive():
    tau = jnp.linspace(0.5, 2.0, 6)
    model = network(LeakyTransform(0 * A, B, 0.05, tau))
    v = np.array([0.3, -0.2])
    target = np.maximum(B @ v * np.asarray(tau) + 0.05, 0)
    start = VALUES[:, 2, 1]
    exact = target + (start - target) * np.exp(-0.8 / np.asarray(tau))
    inputs = np.tile(v, (4, 1))
    first = model.start(X0)
    published = simulate(model, inputs, dt=0.2, initial_state=first).states[-1]
    np.testing.assert_allclose(published, exact, rtol=1e-13)
    flow = simulate(model, inputs, dt=0.2, initial_state=first, solver=diffrax.Tsit5(), substeps=8)
    np.testing.assert_allclose(flow.states[-1], exact, rtol=1e-9)


@pytest.mark.usefixtures("double_precision")
def test_conformal_normalization_moves_the_code_by_the_same_length_in_every_direction():
    model = ReLUTransform(np.abs(A), B, 0.05, 7.0)
    r = jnp.asarray(VALUES[:, 0, 0])
    step = jax.jit(lambda dx: model.step(r, dx, 1.0))
    at_rest = step(jnp.zeros(2))
    for angle in (0.0, 1.0, 2.5, 4.0):
        dx = 1e-4 * np.array([np.cos(angle), np.sin(angle)])
        assert np.linalg.norm(step(dx) - at_rest) == pytest.approx(7e-4, rel=1e-9)
    slope = jax.jit(jax.jacfwd(lambda v: model.step(r, v, 1.0)))(jnp.zeros(2))
    assert np.all(np.isfinite(slope))
    silent = ReLUTransform(0 * A, B, 0.0, 7.0).step(r, dx, 1.0)
    np.testing.assert_array_equal(silent, 0)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


@pytest.mark.usefixtures("double_precision")
def test_lstm_blocks_are_lstms_that_start_at_the_code():
    transform = LSTMTransform(*LSTM_WEIGHTS)
    found = network(transform).rollout(X0, DX)
    for k in range(2):
        parts = transform.W_in[k], transform.W_rec[k], transform.b[k]
        W_in, W_rec, b = (np.asarray(part) for part in parts)
        h, c = VALUES[3 * k : 3 * k + 3, 2, 1], np.zeros(3)
        for t, dx in enumerate(DX):
            i, f, g, o = np.split(W_in @ dx + W_rec @ h + b, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            np.testing.assert_allclose(found[t + 1, 3 * k : 3 * k + 3], h, rtol=1e-12)


@pytest.mark.usefixtures("double_precision")
def test_flows_have_the_recursions_as_euler_steps_of_tau():
    r, dx = jnp.asarray(VALUES[:, 0, 0]), jnp.asarray(DX[0])
    lstm = LSTMTransform(*LSTM_WEIGHTS, 0.5)
    for transform in (ReLUTransform(A, B, 0.05, None, 0.5), lstm):
        state = transform.start(r)
        flow = transform.flow(state, dx / 0.5)
        wanted = transform.step(state, dx / 0.5, 0.5)
        for s, f, w in zip(*map(jax.tree.leaves, (state, flow, wanted))):
            np.testing.assert_allclose(s + 0.5 * f, w, rtol=1e-13, atol=1e-15)


@pytest.mark.usefixtures("double_precision")
def test_the_series_of_a_linear_group_is_its_exponential():
    G = RNG.normal(size=(2, 2, 3, 3))
    r, dx = jnp.asarray(VALUES[:, 0, 0]), jnp.asarray([0.3, -0.2])
    exact = LinearGroupTransform(G, None).displaced(r, dx)
    np.testing.assert_allclose(LinearGroupTransform(G, 20).displaced(r, dx), exact, rtol=1e-12)
    np.testing.assert_allclose(
        LinearGroupTransform(G / 10, 20, 10.0).displaced(r, dx), exact, rtol=1e-12
    )
    # A plane rotation by z: the remainder of N terms is about z^(N + 1) / (N + 1)!.
    turn = np.zeros((2, 1, 2, 2))
    turn[0, 0] = [[0, -2], [2, 0]]
    for n_terms, error in ((8, 1.4e-3), (12, 1.3e-6)):
        found = LinearGroupTransform(turn, n_terms).displaced(jnp.asarray([1.0, 0]), jnp.eye(2)[0])
        off = np.linalg.norm(found - np.array([np.cos(2), np.sin(2)]))
        assert 0.8 * error < off < 1.2 * error
    moved = LinearGroupTransform(G, None).step(r, dx / 0.1, 0.1)
    np.testing.assert_allclose(moved, np.maximum(exact, 0), rtol=1e-12)
    plain = LinearGroupTransform(G, 20, rectify=False)
    np.testing.assert_allclose(plain.step(r, dx / 0.1, 0.1), exact, rtol=1e-12)
    slope = (plain.step(r, dx, 1e-6) - r) / 1e-6
    np.testing.assert_allclose(plain.flow(r, dx), slope, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("kind", ["relu", "conformal", "leaky", "group", "lstm"])
def test_forward_derivatives_are_those_of_finite_differences(kind):
    transform = {
        "relu": lambda: ReLUTransform(A, B, 0.05),
        "conformal": lambda: ReLUTransform(A, B, 0.05, 7.0),
        "leaky": lambda: LeakyTransform(A, B, 0.05, 2.0),
        "group": lambda: LinearGroupTransform(RNG.normal(size=(2, 2, 3, 3)), 6),
        "lstm": lambda: LSTMTransform(*LSTM_WEIGHTS),
    }[kind]()
    arrays, rest = eqx.partition(network(transform), eqx.is_array)
    tangent = jax.tree.map(lambda a: RNG.normal(size=a.shape), arrays)

    def loss(s):
        moved = eqx.combine(jax.tree.map(lambda a, d: a + s * d, arrays, tangent), rest)
        state = moved.step(0.0, moved.start(X0), DX[0], 1.0)
        return jnp.sum(moved.readout(moved.step(0.0, state, DX[1], 1.0)) ** 2)

    @jax.jit
    def both():
        return jax.jacfwd(loss)(0.0), jax.vmap(loss)(jnp.asarray([1e-6, -1e-6]))

    slope, (up, down) = both()
    assert float(slope) == pytest.approx(float(up - down) / 2e-6, rel=2e-6)
    assert float(slope) != 0


@pytest.mark.parametrize(
    "kind", [ReLUTransform, LeakyTransform, LinearGroupTransform, LSTMTransform]
)
def test_networks_stay_in_single_precision_and_batch(kind):
    def make(key):
        return PathIntegratingRNN.init(6, 3, 5, key=key, transform=kind)

    def run(model):
        x0, dx = np.full((2, 2), 1.5), np.zeros((2, 3, 2))
        outputs = simulate(model, dx, dt=1.0, initial_state=model.start(x0)).outputs
        return model.rollout(x0, dx), outputs, model.initial_state(), model.integration_error(x0)

    model = eqx.filter_eval_shape(make, jax.random.key(0))
    r, outputs, first, error = eqx.filter_eval_shape(run, model)
    assert r.shape == (2, 4, 6)
    assert outputs.shape == (2, 3, 25)
    assert error.shape == (2,)
    leaves = (r, outputs, error, *jax.tree.leaves(first))
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype("float32")}


def test_the_published_initialisation():
    model = PathIntegratingRNN.init(120, 12, 10, key=jax.random.key(0))
    for values, deviation in ((model.embedding.values, 1e-3), (model.place_cells.values, 1e-3),
                              (model.transform.A, 1e-3 / 3**0.5)):  # fmt: skip
        assert np.std(values) == pytest.approx(deviation, rel=0.05)
    assert model.transform.A.shape == (10, 12, 12)
    assert np.max(np.abs(model.transform.B)) <= 1e-3
    assert float(model.transform.b) == 0


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_named():
    values = np.zeros((6, 5, 5), np.float32)
    a, b = np.zeros((2, 3, 3), np.float32), np.zeros((6, 2), np.float32)
    good = network(ReLUTransform(a, b, 0.0), np.float32)
    for bad, match in (
        (lambda: ReLUTransform(a[:, :2], b, 0.0), "A must be"),
        (lambda: ReLUTransform(a, b[:3], 0.0), "B must be .* 6 units"),
        (lambda: ReLUTransform(a, b, 0.0, -1.0), "speed must be positive"),
        (lambda: ReLUTransform.init(6, 4, key=jax.random.key(0)), "block_size must divide"),
        (lambda: LinearGroupTransform.init(6, 4, key=jax.random.key(0)), "must divide"),
        (lambda: LSTMTransform.init(6, 4, key=jax.random.key(0)), "block_size must divide"),
        (lambda: LeakyTransform(a, b, 0.0, 0.0), "tau must be positive"),
        (lambda: LeakyTransform(a, b, 0.0, np.ones(2)), "tau must be a number or"),
        (lambda: LeakyTransform(a, b, 0.0, 1.0, "rk4"), "update must be"),
        (lambda: LinearGroupTransform(a), "generators must be"),
        (lambda: LinearGroupTransform(a[None].repeat(2, 0), 0), "n_terms must be"),
        (lambda: LSTMTransform(np.zeros((2, 12, 2)), np.zeros((2, 9, 3)), np.zeros((2, 12))),
         "W_in, W_rec and b"),
        (lambda: PathIntegratingRNN(PositionEmbedding(values[:3], 3), good.place_cells,
                                    good.transform), "of one shape"),
        (lambda: PathIntegratingRNN(PositionEmbedding(values[:3], 3),
                                    PlaceCellReadout(values[:3]), good.transform), "moves 6 units"),
        (lambda: PathIntegratingRNN(good.embedding, good.place_cells, good.transform, (1.0,)),
         "x0 must be a position"),
        (lambda: good.start((7.0, 0.0)), "must lie in the arena"),
        (lambda: good.rollout((1.0, 1.0), np.zeros((2, 3, 2))), r"x0 must be \(..., 2\) and dx"),
        (lambda: good.integration_error((1.0, 1.0)), "positions must be"),
        (lambda: good.integration_error(np.full((3, 2), 9.0)), "must lie in the arena"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            bad()
