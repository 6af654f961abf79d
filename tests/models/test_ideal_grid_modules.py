"""Ideal grid modules: exact generators, closed forms, and positions that are kept."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.ideal_grid_modules import ideal_grid_modules

pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.fixture(scope="module")
def published():
    """Eight modules of sixteen units."""
    with jax.enable_x64(True):
        scales = np.geomspace(0.3, 1, 8)
        return ideal_grid_modules(scales, np.deg2rad(37 * np.arange(8) % 60), 16, 24, 0.12)


def test_generators_are_antisymmetric_and_commute(published):
    G = published.transform.generators
    assert G.shape == (2, 8, 16, 16)
    assert float(jnp.max(jnp.abs(published.transform.commutator()))) < 1e-12
    np.testing.assert_allclose(G, -jnp.swapaxes(G, -1, -2), rtol=0, atol=1e-12)
    # The frequencies of a displacement along the axis are the waves' components there.
    values = np.sort(np.abs(np.linalg.eigvals(G[0, 0]).imag))[::-1][:6]
    k = 4 * np.pi / (3**0.5 * 0.3)
    expected = np.abs(k * np.cos(np.deg2rad([30, 90, 150])))
    np.testing.assert_allclose(values, np.sort(np.repeat(expected, 2))[::-1], atol=1e-9)


def test_code_has_norm_one_and_the_conformal_scale_of_its_spacing():
    lam = 0.3
    model = ideal_grid_modules(lam, 0.2, 64, 24, 0.12, n_terms=30)
    np.testing.assert_allclose(jnp.linalg.norm(model.embedding.values, axis=0), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.project().embedding.values, model.embedding.values)
    r = model.embedding((7.0, 11.0))
    metric = jax.jacfwd(lambda v: model.transform.displaced(r, v))(jnp.zeros(2))
    s2 = 16 * np.pi**2 / (15 * lam**2)
    np.testing.assert_allclose(metric.T @ metric, s2 * np.eye(2), rtol=0, atol=1e-9)
    # |r(x + d) - r(x)|^2 = 4 N / 81 sum (1 - cos k.d), with |r|^2 = 5 N / 27 scaled to 1.
    d = np.array([0.05, -0.08])
    k = 4 * np.pi / (3**0.5 * lam) * np.stack(
        [f(0.2 + np.deg2rad([30, 90, 150])) for f in (np.cos, np.sin)], axis=-1
    )  # fmt: skip
    moved = model.transform.displaced(r, jnp.asarray(d)) - r
    expected = 4 / 15 * np.sum(1 - np.cos(k @ d))
    assert float(moved @ moved) == pytest.approx(expected, abs=1e-12)


def test_a_circle_leads_back(published):
    # Tsit5 round a circle of radius 0.15 in the arena, by its exact velocity.
    model = ideal_grid_modules(0.3, 0.2, 64, 24, 0.12)
    radius, first = 0.15, model.start((17.0, 12.0))

    def velocity(t):
        return radius * jnp.stack([-jnp.sin(t), jnp.cos(t)])

    run = simulate(
        model, velocity, dt=np.pi / 8, t1=2 * np.pi, initial_state=first, save="states",
        stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-9),
    )  # fmt: skip
    t = np.pi / 8 * np.arange(1, 17)
    way = radius * np.stack([np.cos(t) - 1, np.sin(t)], axis=-1)
    exact = jax.vmap(lambda d: _exactly(model, first, d))(jnp.asarray(way))
    np.testing.assert_allclose(run.states, exact, rtol=0, atol=3e-9)
    np.testing.assert_allclose(run.states[-1], first, rtol=0, atol=3e-9)


def _exactly(model, r, d):
    G = jnp.einsum("a,akij->kij", d, model.transform.generators)[0]
    return jax.scipy.linalg.expm(G) @ r


def test_positions_are_decoded_along_a_walk_of_whole_steps(published):
    start, steps = np.array([10.0, 14.0]), np.array([[1, 2], [2, -1], [0, -2], [-1, 0]])
    path = start + np.concatenate([np.zeros((1, 2)), np.cumsum(np.tile(steps, (2, 1)), axis=0)])
    for reencode in (False, True):
        np.testing.assert_array_equal(published.integration_error(path, reencode=reencode), 0)
    v = published.embedding.values.reshape(128, -1)
    wanted = published.place_cells.target(np.argwhere(np.ones((24, 24)))).reshape(576, 576)
    shown = v.T @ published.place_cells.values.reshape(128, -1)
    relative = jnp.linalg.norm(shown - wanted) / jnp.linalg.norm(wanted)
    assert float(relative) == pytest.approx(0.096, abs=5e-4)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([0.3], 0.0, 8, 20, 0.1), "a square from 9 on"),
        (([0.3], 0.0, 4, 20, 0.1), "a square from 9 on"),
        (([], 0.0, 9, 20, 0.1), "scales must be"),
        (([0.3, 0.4, 0.5], [0.0, 0.1], 9, 20, 0.1), "orientations must be one or 3"),
        (([-0.3], 0.0, 9, 20, 0.1), "spacing must be positive"),
        (([0.3], 0.0, 9, 20, 0.0), "place_sigma must be positive"),
    ],
)
def test_bad_input_is_named(arguments, match):
    with pytest.raises(ValueError, match=match):
        ideal_grid_modules(*arguments)
