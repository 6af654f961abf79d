"""Components, loops and voids counted in clouds where their number is known."""

import sys

import numpy as np
import pytest

from neurosim.analysis.betti_numbers import betti_numbers
from neurosim.analysis.manifold_cloud import manifold_cloud
from neurosim.analysis.rips_persistence import RipsPersistence, rips_persistence
from neurosim.analysis.shuffled_persistence import ShuffledPersistence, shuffled_persistence
from neurosim.kernels import ideal_grid_module

RNG = np.random.default_rng(0)
CENTRES = (np.arange(40) + 0.5) / 40
POSITIONS = np.stack(np.meshgrid(CENTRES, CENTRES, indexing="ij"), axis=-1).reshape(-1, 2)


def noisy_module(n_per_side, noise):
    rates = ideal_grid_module(POSITIONS, n_per_side=n_per_side, spacing=0.3).T
    return rates + noise * RNG.normal(size=rates.shape)


def persistence_of(*lengths, apart=1):
    """Bars of the given lengths in each dimension, in units of a cloud of size 2."""
    diagrams = [np.stack([np.zeros(len(q)), 2.0 * np.asarray(q, float)], axis=1) for q in lengths]
    lasting = np.tile([[0.0, np.inf]], (apart, 1))
    diagrams = [np.concatenate([lasting, diagrams[0]]), *diagrams[1:]]
    return RipsPersistence(
        diagrams, np.arange(4), 0.0, 3.6, 2.0, 2, np.zeros((4, 4)), None
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([1.0, 0.9, 0.3, 0.28], 2),
        ([1.0, 0.9, 0.8, 0.2], 3),
        # The largest ratio, 1.74, is too small; 1.76 is not.
        ([0.696] + [0.4] * 12, 0),
        ([0.704] + [0.4] * 12, 1),
        # Bars too short to count, and what comes after counted as 0.125 at least.
        ([0.24, 0.01], 0),
        ([0.26, 0.01], 1),
        ([0.21 + 0.01 * 4, 0.15, 0.001], 0),
        ([1.0, 0.26, 0.01], 1),
        ([0.5, 0.26, 0.01], 2),
        ([], 0),
        # Of twelve, eleven are looked at.
        ([1.0] * 11 + [0.1], 11),
        ([1.0] * 12, 0),
    ],
)
def test_bars_count_up_to_the_largest_gap(lengths, expected):
    assert betti_numbers(persistence_of([0.5] * 3, lengths)) == (1, expected)


def test_parts_that_are_never_joined_are_components():
    assert betti_numbers(persistence_of([0.5] * 3, apart=3)) == (3,)
    distance = np.where(np.eye(4), 0, np.inf)
    distance[0, 1] = distance[1, 0] = 1.0
    for n in (3, None):
        result = rips_persistence(distance, metric="precomputed", n_landmarks=n)
        assert betti_numbers(result) == (3, 0, 0)
    # More than the gap looks for.
    assert betti_numbers(persistence_of([0.5] * 3, apart=15)) == (15,)
    # Two parts that are joined late.
    assert betti_numbers(persistence_of([1.5, 0.1, 0.1])) == (2,)
    # Without a gap there is one all the same.
    assert betti_numbers(persistence_of([1.7, 1.5, 1.2, 1.0, 0.8, 0.6])) == (1,)


def test_bars_count_that_are_longer_than_all_of_shuffles():
    null = ShuffledPersistence(np.array([[0.6, 0.3], [0.5, 0.4]]))
    assert betti_numbers(persistence_of([0.55], [0.9, 0.5, 0.35]), null=null) == (1, 2)
    with pytest.raises(ValueError, match="null has 2 dimensions, the persistence 3"):
        betti_numbers(persistence_of([0.5], [1.0], [1.0]), null=null)


@pytest.mark.parametrize(("n_per_side", "noise"), [(5, 0.1), (8, 0.3)])
def test_a_noisy_module_of_grid_cells_is_a_torus(n_per_side, noise):
    cloud = manifold_cloud(noisy_module(n_per_side, noise))
    assert betti_numbers(rips_persistence(cloud, n_landmarks=110)) == (1, 2, 1)


def test_head_direction_cells_are_a_ring():
    angle = RNG.uniform(0, 2 * np.pi, 800)
    preferred = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    rates = np.exp(2 * np.cos(angle[:, None] - preferred) - 2) + 0.1 * RNG.normal(size=(800, 20))
    result = rips_persistence(manifold_cloud(rates), n_landmarks=60)
    assert betti_numbers(result) == (1, 1, 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_clouds_of_noise_have_no_loops_and_no_voids(seed, kind):
    points = getattr(np.random.default_rng(seed), kind)(size=(800, 6))
    cloud = manifold_cloud(points, n_components=None)
    assert betti_numbers(rips_persistence(cloud, n_landmarks=60)) == (1, 0, 0)


def test_shuffled_units_are_no_torus_and_time_shifts_keep_their_time_course():
    module = noisy_module(6, 0.1)
    done = []
    options = {"n_landmarks": 150, "max_dim": 1}
    null = shuffled_persistence(
        module, n_shuffles=2, progress=lambda i, n: done.append((i, n)), **options
    )
    assert done == [(1, 2), (2, 2)]
    assert null.longest.shape == (2, 2)
    result = rips_persistence(manifold_cloud(module), **options)
    assert betti_numbers(result, null=null) == (1, 2)
    again = shuffled_persistence(module, n_shuffles=1, **options)
    np.testing.assert_array_equal(again.longest, null.longest[:1])
    rolled = shuffled_persistence(module, n_shuffles=1, shuffle="roll", **options)
    assert betti_numbers(result, null=rolled)[1] == 2


def test_each_trial_is_rolled_within_itself(monkeypatch):
    seen = []
    module = sys.modules[shuffled_persistence.__module__]
    monkeypatch.setattr(module, "manifold_cloud", lambda x, **options: seen.append(x) or x)
    trials = [np.arange(12.0)[:, None] * [1, 100], 50 + np.arange(8.0)[:, None] * [1, 100]]
    shuffled_persistence(trials, n_shuffles=1, shuffle="roll", max_dim=0)
    for given, got in zip(trials, (seen[0][:12], seen[0][12:]), strict=True):
        for unit in range(2):
            start = int(np.flatnonzero(given[:, unit] == got[0, unit])[0])
            np.testing.assert_array_equal(np.roll(given[:, unit], -start), got[:, unit])
    assert not np.array_equal(np.concatenate(trials), seen[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shuffle": "maps"}, "shuffle must be 'permute' or 'roll'"),
        ({"n_shuffles": 0}, "n_shuffles must be at least 1"),
        ({"metric": "cosine"}, "metric cannot be given"),
        ({"landmarks": 9}, "landmarks cannot be given"),
    ],
)
def test_bad_options_of_shuffles_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        shuffled_persistence(POSITIONS[:50], n_components=2, **options)
