"""Walks, pairs and triples on the lattice: within the arena, and of the published laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks.isometry_triples import adaptive_isometry_radii, isometry_triples
from neurosim.tasks.kernel_pairs import kernel_pairs
from neurosim.tasks.lattice_walk import LatticeWalk, lattice_steps, lattice_walks
from neurosim.tasks.local_displacements import local_displacements

KEY = jax.random.key(0)


def within(x, low, high):
    return np.all((np.asarray(x) >= low - 1e-4) & (np.asarray(x) <= high + 1e-4))


def test_there_are_29_steps_of_at_most_3():
    steps = lattice_steps(3.0)
    assert len(steps) == len({tuple(step) for step in steps}) == 29
    assert np.max(np.sum(steps**2, axis=1)) == 9
    assert (0, 0) in {tuple(step) for step in steps}
    assert len(lattice_steps(1)) == 5


def test_walks_stay_away_from_the_walls_and_take_every_step():
    walks = np.asarray(lattice_walks(KEY, 2000, 10, n_bins=40))
    assert walks.shape == (2000, 11, 2)
    np.testing.assert_array_equal(walks, np.round(walks))
    # Rounding half a bin down takes a walk at most one bin over its margin.
    assert within(walks, 1, 38)
    assert within(walks[:, 0], 2, 37)
    steps, counts = np.unique(np.diff(walks, axis=1).reshape(-1, 2), axis=0, return_counts=True)
    assert len(steps) == 29
    # Walks to both sides are rejected alike, so the mean step is zero to its standard error.
    assert np.all(np.abs(np.average(steps, axis=0, weights=counts)) < 4 * 1.5 / np.sqrt(20000))
    assert np.mean(walks[:, 0]) == pytest.approx(19.5, abs=0.5)


def test_walks_that_cannot_fit_are_refused_or_marked():
    with pytest.raises(ValueError, match=r"of 2000 draws stay in the arena.*shorten the walks"):
        lattice_walks(KEY, 2000, 10, n_bins=8)
    traced = jax.jit(lambda key: lattice_walks(key, 20, 60, n_bins=12))(KEY)
    assert np.isnan(traced[-1]).all()


def test_trials_are_the_walks_with_place_fields():
    task = LatticeWalk(n_bins=12, length=4)
    trials = task.sample(KEY, 3)
    walks = np.asarray(trials.info["positions"])
    np.testing.assert_allclose(trials.inputs * 12, np.diff(walks, axis=1), atol=1e-5)
    x = walks[1, 3]
    away = np.stack(np.meshgrid(*[np.arange(12)] * 2, indexing="ij"), -1) - x
    fields = np.exp(-np.sum(away**2, -1) / (2 * 144 * 0.07**2)).reshape(-1)
    np.testing.assert_allclose(trials.targets[1, 2], fields, rtol=1e-5, atol=1e-30)
    places = LatticeWalk(n_bins=12, length=4, target="positions").sample(KEY, 3)
    np.testing.assert_array_equal(places.targets, places.info["positions"][:, 1:])
    assert (task.n_inputs, task.n_outputs, task.n_steps) == (2, 144, 4)


def test_pairs_keep_to_the_arena_and_to_their_law():
    x, there = (np.asarray(a) for a in kernel_pairs(KEY, 5000, n_bins=40, spread=0.1))
    assert x.shape == there.shape == (5000, 2)
    assert within(x, -0.5, 39.5)
    assert within(there, -0.5, 39.5)
    d = there - x
    # E|d|^2 = (spread n)^2, as nothing is rejected at this spread; directions are uniform.
    assert np.mean(d**2) * 2 == pytest.approx(16, rel=4 * np.sqrt(2 / 5000))
    assert np.all(np.abs(np.mean(d, axis=0)) < 4 * np.sqrt(8 / 5000))
    inner = kernel_pairs(KEY, 5000, n_bins=40, spread=0.1, bounds=(0, 39))
    assert within(jnp.stack(inner), 0, 39)
    with pytest.raises(ValueError, match="lower spread"):
        kernel_pairs(KEY, 5000, n_bins=40, spread=100.0)


def test_triples_have_equal_lengths_that_are_uniform_over_discs():
    x, first, second = isometry_triples(KEY, 4000, n_bins=40, radii=[15.0, 4.0])
    assert x.shape == (4000, 2, 2)
    for d in (first, second):
        assert within(x + d, -0.5, 39.5)
    lengths = np.linalg.norm(first, axis=-1)
    np.testing.assert_allclose(lengths, np.linalg.norm(second, axis=-1), rtol=1e-5)
    # |d|^2 / R^2 is uniform.
    np.testing.assert_allclose(
        np.mean(lengths**2, axis=0) / [225, 16], 0.5, atol=4 / np.sqrt(48000)
    )
    cosines = np.sum(np.asarray(first * second), axis=-1) / lengths**2
    np.testing.assert_allclose(np.mean(cosines, axis=0), 0, atol=4 / np.sqrt(8000))


def test_radii_follow_the_largest_grid_of_each_block():
    scores = [0.5, 0.1, 0.9, 0.2, 1.2, np.nan]
    masks = [0.4, 0.2, 0.8, 0.6, 0.3, 0.9]
    # Grid cells are units 0, 2 and 4; the largest of their rings is 0.8.
    radii = adaptive_isometry_radii(scores, masks, block_size=2)
    np.testing.assert_allclose(radii, 15 * np.array([0.3, 0.7, 0.6]) / 0.8)
    none = adaptive_isometry_radii(np.zeros(6), masks, block_size=3)
    np.testing.assert_array_equal(none, [15, 15])


def test_local_displacements_have_radii_of_their_own():
    x, d = local_displacements(KEY, 4000, n_bins=40, radii=(0.15, 0.05))
    squared = np.sum(np.asarray(d) ** 2, axis=-1)
    np.testing.assert_allclose(np.mean(squared, axis=0) / [0.15**2, 0.05**2], 0.5, atol=0.02)
    assert within(x[:, None] + 40 * d, 0, 39)


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_named():
    for bad, match in (
        (lambda: lattice_steps(-1.0), "max_step must be"),
        (lambda: lattice_walks(KEY, 0, 5, n_bins=40), "n_walks must be at least 1"),
        (lambda: lattice_walks(KEY, 2, 5, n_bins=5), "margin must leave room"),
        (lambda: LatticeWalk(target="grid"), "target must be"),
        (lambda: LatticeWalk(field_size=0.0), "field_size must be"),
        (lambda: LatticeWalk(length=0), "length must be"),
        (lambda: LatticeWalk(dt=0.1), "dt must be 1"),
        (lambda: kernel_pairs(KEY, 5, n_bins=40, spread=0.0), "spread must be positive"),
        (lambda: kernel_pairs(KEY, 5, n_bins=40, bounds=(3, 50)), "bounds must be"),
        (lambda: isometry_triples(KEY, 5, n_bins=40, radii=[21.0]), "at most half of 40.0 bins"),
        (lambda: isometry_triples(KEY, 5, n_bins=40, radii=3.0), "radii must be .block"),
        (lambda: adaptive_isometry_radii([1.0], [0.5], block_size=2), "in blocks of 2"),
        (lambda: adaptive_isometry_radii([1.0], [np.nan], block_size=1), "must be positive"),
        (lambda: local_displacements(KEY, 5, n_bins=40, radii=(0.6,)), "at most 0.4875"),
    ):
        with pytest.raises(ValueError, match=match):
            bad()
