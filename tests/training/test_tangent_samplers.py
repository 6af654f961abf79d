"""Distributions of tangents against their closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sketch_problems import flat

from neurosim.training.earlier_tangents import draw_unseen
from neurosim.training.tangent_samplers import (
    GaussianTangents,
    IdentityTangents,
    PerLeafTangents,
    RademacherTangents,
    RankOneTangents,
)

PARAMS = {"W": jnp.zeros((4, 5)), "b": jnp.zeros(5), "s": jnp.zeros(())}
KEY = jax.random.key(0)


def draws(sampler, params, k, n):
    keys = jax.random.split(KEY, n)
    drawn = jax.jit(jax.vmap(lambda key: sampler.sample(key, params, k)))(keys)
    return np.concatenate([np.asarray(x).reshape(n, k, -1) for x in jax.tree.leaves(drawn)], -1)


@pytest.mark.parametrize("eta", [1.0, 0.5])
def test_contraction_of_an_isotropic_quadratic(eta):
    """L_new / L_old = 1 - eta (2 - eta) K / P on average."""
    theta = np.random.default_rng(0).normal(size=200)
    V = draws(GaussianTangents(), jnp.zeros(200), 20, 4000)
    np.testing.assert_allclose(V[0] @ V[0].T, np.eye(20), atol=1e-5)
    along = V @ theta
    ratio = 1 - eta * (2 - eta) * np.sum(along**2, -1) / np.sum(theta**2)
    expected = 1 - eta * (2 - eta) * 20 / 200
    spread = ratio.std() / len(ratio) ** 0.5
    assert spread < 6e-4
    assert ratio.mean() == pytest.approx(expected, abs=4 * spread)


def test_orthonormal_frames_are_uniform():
    """E[V' V] = (K / P) I."""
    V = draws(GaussianTangents(), PARAMS, 3, 4000)
    mean = np.einsum("nki,nkj->ij", V, V) / len(V)
    np.testing.assert_allclose(mean, 3 / 26 * np.eye(26), atol=0.02)


@pytest.mark.parametrize("sampler", [GaussianTangents, RademacherTangents])
def test_forward_gradient_is_unbiased(sampler):
    """E[(v.g) v] = g, for v scaled back to its length of about sqrt(P)."""
    g = np.random.default_rng(1).normal(size=50)
    unit = draws(sampler(orthonormalize=False), jnp.zeros(50), 1, 20000)[:, 0]
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-5)
    # Directions are independent of lengths, whose mean square is P.
    estimate = 50 * (unit @ g)[:, None] * unit
    spread = estimate.std(0) / len(unit) ** 0.5
    assert np.all(np.abs(estimate.mean(0) - g) < 5 * spread)


def test_second_moment_of_the_forward_gradient():
    """E |(v.g) v|^2 = (P + 2) |g|^2 for normal v; P |g|^2 for signs and for normal directions."""
    g = np.random.default_rng(1).normal(size=50)
    for sampler in (GaussianTangents, RademacherTangents):
        unit = draws(sampler(orthonormalize=False), jnp.zeros(50), 1, 20000)[:, 0]
        # |v|^2 is P for signs. For normal numbers E |v|^4 = P (P + 2), of which a direction has
        # nothing.
        second = np.mean((unit @ g) ** 2) * 50**2 / np.sum(g**2)
        assert second == pytest.approx(50, rel=0.05)
    v = jax.random.normal(KEY, (20000, 50))
    squares = (np.asarray(v) @ g) ** 2 * np.sum(np.asarray(v) ** 2, 1)
    assert np.mean(squares) / np.sum(g**2) == pytest.approx(52, rel=0.05)


def test_signs():
    unit = draws(RademacherTangents(orthonormalize=False), PARAMS, 4, 3)
    np.testing.assert_allclose(np.abs(unit), 26**-0.5, rtol=1e-6)
    V = draws(RademacherTangents(), PARAMS, 4, 3)
    np.testing.assert_allclose(V @ V.transpose(0, 2, 1), np.tile(np.eye(4), (3, 1, 1)), atol=1e-5)


def test_tangents_of_one_leaf_each():
    """Leaves come in the order of the tree: W, b, s."""
    V = flat(PerLeafTangents((3, 2, 1)).sample(KEY, PARAMS, 6), 6)
    np.testing.assert_allclose(V @ V.T, np.eye(6), atol=1e-5)
    blocks = {"W": slice(0, 20), "b": slice(20, 25), "s": slice(25, 26)}
    for name, rows in (("W", slice(0, 3)), ("b", slice(3, 5)), ("s", slice(5, 6))):
        np.testing.assert_allclose(np.linalg.norm(V[rows, blocks[name]], axis=1), 1, rtol=1e-5)


def test_tangents_are_shared_out_by_size():
    V = flat(PerLeafTangents().sample(KEY, PARAMS, 13), 13)
    held = [np.any(V[:, block] != 0, axis=1).sum() for block in np.split(np.arange(26), [20, 25])]
    assert sum(held) == 13
    # From one each, whichever has most entries for each tangent is given the next.
    assert held == [9, 3, 1]


def test_rank_one():
    drawn = RankOneTangents(orthonormalize=False).sample(KEY, PARAMS, 3)
    for matrix in np.asarray(drawn["W"]):
        assert np.linalg.matrix_rank(matrix, tol=1e-5) == 1
    np.testing.assert_allclose(np.linalg.norm(flat(drawn, 3), axis=1), 1, rtol=1e-5)
    V = flat(RankOneTangents().sample(KEY, PARAMS, 3), 3)
    np.testing.assert_allclose(V @ V.T, np.eye(3), atol=1e-5)


def test_identity():
    np.testing.assert_array_equal(flat(IdentityTangents().sample(KEY, PARAMS, 26), 26), np.eye(26))


def test_tangents_that_earlier_updates_have_not_seen():
    sampler, seeds, drawn = GaussianTangents(), jnp.zeros(2, jnp.uint32), []
    for i, key in enumerate(jax.random.split(KEY, 5)):
        V, seeds = draw_unseen(sampler, key, PARAMS, 6, seeds, jnp.asarray(i))
        drawn.append(flat(V, 6))
    for i, V in enumerate(drawn):
        np.testing.assert_allclose(V @ V.T, np.eye(6), atol=1e-5)
        for j in range(max(0, i - 2), i):
            # The first one remembered is the whole span of its draw.
            if j == 0:
                np.testing.assert_allclose(V @ drawn[j].T, 0, atol=1e-5)
    # With nothing before, nothing is left out.
    alone, _ = draw_unseen(sampler, KEY, PARAMS, 6, jnp.zeros(2, jnp.uint32), jnp.asarray(0))
    assert np.linalg.matrix_rank(flat(alone, 6)) == 6


def test_earlier_tangents_in_double_precision(double_precision):
    params, seeds = {"W": jnp.zeros((8, 9))}, jnp.zeros(1, jnp.uint32)
    first, seeds = draw_unseen(GaussianTangents(), KEY, params, 4, seeds, jnp.asarray(0))
    second, _ = draw_unseen(GaussianTangents(), jax.random.key(1), params, 4, seeds, jnp.asarray(1))
    assert seeds.dtype == jnp.uint32
    np.testing.assert_allclose(flat(first, 4) @ flat(second, 4).T, 0, atol=1e-13)


def test_old_and_new_keys_serve():
    for key in (jax.random.PRNGKey(3), jax.random.key(3), jax.random.key(3, impl="rbg")):
        V, _ = draw_unseen(
            GaussianTangents(), key, PARAMS, 2, jnp.zeros(1, jnp.uint32), jnp.asarray(1)
        )
        assert np.all(np.isfinite(flat(V, 2)))


@pytest.mark.parametrize(
    ("sampler", "k", "message"),
    [
        (IdentityTangents(), 5, "n_tangents = 26, the number of trainable parameters; got 5"),
        (PerLeafTangents((1, 2)), 3, "one count for each of"),
        (PerLeafTangents((3, 2, 1)), 7, "n_tangents = 7 in all"),
        (PerLeafTangents(), 2, "at least 3, one for each of"),
        (PerLeafTangents((1, 1, 2)), 4, "2 tangents for .*s.*, which has 1 entries"),
    ],
)
def test_what_does_not_fit_is_refused(sampler, k, message):
    with pytest.raises(ValueError, match=message):
        sampler.check(PARAMS, k)
