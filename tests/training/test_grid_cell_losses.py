"""Losses of grid cells against the values of the published code, and in `fit`."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from neurosim import simulate
from neurosim.models.ideal_grid_modules import ideal_grid_modules
from neurosim.models.linear_group_transform import LinearGroupTransform
from neurosim.models.path_integrating_rnn import PathIntegratingRNN
from neurosim.models.place_cell_readout import PlaceCellReadout
from neurosim.models.place_cell_supervised_rnn import PlaceCellSupervisedRNN
from neurosim.models.position_embedding import PositionEmbedding
from neurosim.models.relu_transform import ReLUTransform
from neurosim.models.saliency import gaussian_saliency
from neurosim.tasks.local_displacements import local_displacements
from neurosim.training import fit
from neurosim.training.grid_cell_losses import (
    distance_loss,
    isometry_loss,
    path_consistency_loss,
    path_integration_loss,
    readout_penalty,
    readout_penalty_weight,
)
from neurosim.training.grid_cell_objective import (
    GridCellDraw,
    grid_cell_draws,
    grid_cell_learning_rate,
    grid_cell_terms,
)
from neurosim.training.grid_code_constraint import GridCodeConstraint
from neurosim.training.model_loss import model_loss
from neurosim.training.weight_penalty import weight_penalty

WALKS = np.array([[(3, 3), (4, 3), (4, 5), (3, 7)], [(6, 2), (5, 1), (5, 1), (7, 3)]])
X = np.array([(2.25, 7.5), (-0.5, 3), (9.4, 9.4), (4, 0.1)])
X_PRIME = np.array([(3, 6.25), (1.5, 2), (8, 9.5), (4.5, 4.5)])
TRIPLE = (
    np.array([[(2, 2), (5.5, 5), (3, 7)], [(6, 3), (1, 8), (4.2, 4.4)]]),
    np.array([[(1, 0), (0, 2), (1.5, 0)], [(0, 1), (1, 0), (0, -3)]]),
    np.array([[(0, 1), (2, 0), (0, 1.5)], [(-1, 0), (0, -1), (3, 0)]]),
)


def waves():
    """The network that the published losses are known for."""
    c, i, j = np.meshgrid(np.arange(12), np.arange(10), np.arange(10), indexing="ij")
    v = 0.5 + 0.5 * np.sin(0.7 * c + 0.9 * i + 0.5 * j)
    u = 0.2 * np.cos(0.4 * c - 0.3 * i + 0.8 * j)
    k, i, j = np.meshgrid(np.arange(3), np.arange(4), np.arange(4), indexing="ij")
    A = 0.6 * (i == j) + 0.05 * np.cos(k + 2 * i + 3 * j)
    i, a = np.meshgrid(np.arange(12), np.arange(2), indexing="ij")
    return PathIntegratingRNN(
        PositionEmbedding(v, 4, "zero"),
        PlaceCellReadout(u, 0.1, "zero"),
        ReLUTransform(A, 0.3 * np.sin(1 + i + 5 * a), 0.02),
    )


@eqx.filter_jit
def losses(model):
    saliency = partial(gaussian_saliency, center=(0.3, 0.7), width=0.2, strength=2.0)
    late = path_integration_loss(
        model, WALKS, saliency=lambda x: 1.0 * (x[..., 1] > 0.6), weight_at="agent"
    )
    draw = GridCellDraw((X, X_PRIME), WALKS, TRIPLE)
    return (
        *grid_cell_terms(saliency=saliency, n_samples=6)(model, draw),
        path_integration_loss(model, WALKS),
        isometry_loss(model, *TRIPLE),
        readout_penalty(model, 25, decay_steps=100),
        readout_penalty(model, 100, decay_steps=100),
        late,
    )


@pytest.mark.usefixtures("double_precision")
def test_losses_have_the_values_of_the_published_code():
    model = waves()
    *found, late = losses(model)
    expected = (1030.37698565, 4.46828768, 0.19141155, 1.73631904, 0.06380385, 3.60437412, 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    # Saliency at the agent asks for one time step of the first walk alone.
    r = np.asarray(model.embedding.values[:, 3, 3])
    A = [np.asarray(block) for block in model.transform.A]
    for dx in np.diff(WALKS[0], axis=0) / 10:
        moved = [part @ block for part, block in zip(np.split(r, 3), A)]
        r = np.maximum(np.concatenate(moved) + model.transform.B @ dx + 0.02, 0)
    i, j = np.meshgrid(np.arange(10), np.arange(10), indexing="ij")
    wanted = np.exp(-((i - 3) ** 2 + (j - 7) ** 2) / 2)
    error = np.tensordot(r, model.place_cells.values, 1) - wanted
    assert float(late) == pytest.approx(0.1 * np.sum(error**2) / 2, rel=1e-12)


@pytest.mark.usefixtures("double_precision")
def test_a_silent_network_loses_the_squared_place_fields():
    zero = eqx.tree_at(
        lambda m: (m.embedding.values, m.place_cells.values), waves(), replace_fn=jnp.zeros_like
    )
    plain = losses(zero)[3]
    bins = np.stack(np.meshgrid(*[np.arange(10)] * 2, indexing="ij"), axis=-1)
    squared = np.sum((WALKS[:, 1:, None, None] - bins) ** 2, axis=-1)
    assert float(plain) == pytest.approx(0.1 * np.sum(np.exp(-squared)) / 2, rel=1e-12)
    # That is the area pi sigma^2 n^2 of a squared field for each of three steps.
    assert float(plain) == pytest.approx(0.1 * 3 * np.pi, rel=0.01)


@pytest.mark.usefixtures("double_precision")
def test_ideal_modules_lose_nothing():
    lam = 0.3
    model = ideal_grid_modules(lam, 0.1, 64, 24, 0.12, n_terms=20)
    x, d = np.array([[4.0, 7.0], [12.0, 9.0]]), np.array([[1, 2], [-2, 1]]) / 24
    # |v(x + d) - v(x)| = s |d| in the limit of small d, whose deviation is of third order.
    scale = 4 * np.pi / (15**0.5 * lam)
    k = 4 * np.pi / (3**0.5 * lam) * np.stack(
        [f(0.1 + np.deg2rad([30, 90, 150])) for f in (np.cos, np.sin)], axis=-1
    )  # fmt: skip
    chord = np.sqrt(4 / 15 * np.sum(1 - np.cos(d @ k.T), axis=1))
    expected = np.mean((chord - scale * np.linalg.norm(d, axis=1)) ** 2)
    lost, moved, still = eqx.filter_jit(
        lambda m: (
            path_consistency_loss(m, x, d),
            distance_loss(m, x, d, scale=scale),
            distance_loss(m, x, d * 0, scale=scale),
        )
    )(model)
    np.testing.assert_allclose((lost, moved, still), (0, expected, 0), rtol=1e-9, atol=1e-20)


@pytest.mark.usefixtures("double_precision")
def test_constraints_are_rectified_code_positive_bias_and_then_the_norm():
    model = eqx.tree_at(lambda m: (m.embedding.values, m.transform.b), waves(),
                        (waves().embedding.values - 0.5, jnp.asarray(-0.3)))  # fmt: skip
    kept = GridCodeConstraint().start(model)
    v = np.maximum(np.asarray(model.embedding.values), 0).reshape(3, 4, 10, 10)
    norm = np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12)
    expected = v / norm / np.sqrt(3)
    np.testing.assert_allclose(kept.embedding.values, expected.reshape(12, 10, 10), rtol=1e-14)
    assert float(kept.transform.b) == pytest.approx(0.3)
    again = GridCodeConstraint().project(kept, model)
    assert eqx.tree_equal(kept, again)
    with pytest.raises(ValueError, match="needs a PathIntegratingRNN"):
        GridCodeConstraint(lambda m: m.embedding).start(model)


def test_fit_trains_a_linear_group_to_keep_distances_and_paths():
    n, s = 12, 8.0
    code = PositionEmbedding.init(12, n, 12, key=jax.random.key(0), projected=True)
    group = LinearGroupTransform.init(12, 12, key=jax.random.key(1), n_terms=3)
    network = PathIntegratingRNN(code, PlaceCellReadout(code.values), group)

    def terms(model, draw):
        x, d = draw
        kept = distance_loss(model, x, d[:, 0], scale=s)
        return kept, path_consistency_loss(model, x, d[:, 1])

    draw = partial(local_displacements, n_samples=100, n_bins=n, radii=(1.25 / s, 0.075))
    problem = model_loss(network, terms, draw)
    result = fit(
        problem.model, problem.task, loss=problem.loss, batch_size=1, steps=60,
        optimizer=optax.adam(1e-2), key=jax.random.key(2), progress=False,
        constraints=GridCodeConstraint(lambda m: m.model),
        trainable=lambda m: (m.model.embedding, m.model.transform),
    )  # fmt: skip
    first, last = result.losses[0], np.mean(result.losses[-5:])
    assert last < 0.5 * first
    trained = result.model.model
    assert np.min(trained.embedding.values) >= 0
    norms = np.linalg.norm(trained.embedding.values, axis=0)
    np.testing.assert_allclose(norms, 1, rtol=1e-5)
    np.testing.assert_array_equal(trained.place_cells.values, code.values)


@pytest.mark.usefixtures("double_precision")
def test_a_loss_of_a_model_is_the_sum_of_its_terms():
    draw = partial(local_displacements, n_samples=5, n_bins=10, radii=(0.1,))
    problem = model_loss(waves(), lambda m, d: (jnp.sum(m.embedding(d[0])), d[1].sum()), draw)
    trials = problem.task.sample(jax.random.key(0), 2)
    start = trials.info["initial_state"]
    run = simulate(problem.model, trials.inputs, dt=1.0, initial_state=start)
    x, d = start
    expected = (np.sum(waves().embedding(x)) + np.sum(d)) / 2
    assert float(problem.loss(run, trials)) == pytest.approx(float(expected), rel=1e-12)
    assert not np.array_equal(x[0], x[1])


def test_draws_have_the_published_sizes_and_rates():
    draw = jax.eval_shape(grid_cell_draws(n_bins=40, n_blocks=150), jax.random.key(1))
    assert [x.shape for x in draw.pair] == [(10000, 2)] * 2
    assert draw.walks.shape == (100, 11, 2)
    assert [x.shape for x in draw.triple] == [(10000, 150, 2)] * 3
    rates = grid_cell_learning_rate(np.array([0, 1000, 2000, 9999, 10000, 50000]))
    np.testing.assert_allclose(rates, [3e-6, 3.003e-3, 4.86e-3, 3.0057e-4, 3e-4, 3e-4], rtol=1e-5)


def test_a_penalty_is_the_gradient_of_squared_weights():
    shapes = ((3, 3), (3, 2), (3, 4), (4, 3))
    model = PlaceCellSupervisedRNN(*(jnp.ones(shape) for shape in shapes))
    params = eqx.filter(model, eqx.is_array)
    zeros = jax.tree.map(jnp.zeros_like, params)
    optimizer = optax.chain(weight_penalty(1e-4), optax.sgd(1.0))
    updates, _ = optimizer.update(zeros, optimizer.init(params), params)
    np.testing.assert_allclose(updates.J, -2e-4 * model.J, rtol=1e-6)
    assert not np.any(updates.W)
    with pytest.raises(ValueError, match="weight must not be negative"):
        weight_penalty(-1.0)
    fading = weight_penalty(
        partial(readout_penalty_weight, decay_steps=4), where=lambda m: m.place_cells.values
    )
    network = waves()
    params = eqx.filter(network, eqx.is_inexact_array)
    state, zeros = fading.init(params), jax.tree.map(jnp.zeros_like, params)
    for share in (1, 0.75, 0.5):
        updates, state = fading.update(zeros, state, params)
        found = updates.place_cells.values
        np.testing.assert_allclose(found, 0.4 * share * network.place_cells.values, rtol=1e-6)


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_named():
    model = waves()
    for terms, draw, match in (
        (lambda m, d: d, lambda key: jnp.zeros(3), "terms must return a tuple of scalars"),
        (lambda m, d: (d,), lambda key: jnp.zeros(3), "terms must return a tuple of scalars"),
        (lambda m, d: (0.0,), lambda key: jnp.zeros(3, int), "draw must return floating-point"),
    ):
        with pytest.raises(ValueError, match=match):
            model_loss(model, terms, draw)
