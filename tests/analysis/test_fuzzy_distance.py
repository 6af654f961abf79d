"""Fuzzy neighbourhoods against their definition."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from neurosim.analysis.fuzzy_distance import density_downsample, fuzzy_distance
from neurosim.analysis.rips_persistence import rips_persistence

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(40, 3))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_memberships_sum_to_the_logarithm_and_either_way_counts(metric):
    k = 8
    raw = cdist(POINTS, POINTS, metric)
    nearest = np.argsort(raw, axis=1)[:, 1:k]
    one = np.zeros((40, 40))
    for i, others in enumerate(nearest):
        d = raw[i, others]
        # Newton's method for sigma, apart from the bisection.
        rate = 1 / d.mean()
        for _ in range(50):
            e = np.exp(-rate * d)
            rate += (e.sum() - np.log2(k)) / (e * d).sum()
        one[i, others] = np.exp(-rate * d)
    both = one + one.T - one * one.T
    with np.errstate(divide="ignore"):
        expected = -np.log(both)
    np.fill_diagonal(expected, 0)
    result = fuzzy_distance(POINTS, n_neighbours=k, metric=metric)
    np.testing.assert_allclose(result, expected, rtol=1e-8, atol=1e-9)
    assert np.isinf(result).any()
    np.testing.assert_array_equal(result, result.T)


def test_the_distance_is_the_same_in_any_unit():
    result = fuzzy_distance(POINTS * 1e-7, n_neighbours=10, metric="euclidean")
    expected = fuzzy_distance(POINTS, n_neighbours=10, metric="euclidean")
    np.testing.assert_allclose(result, expected, rtol=1e-8, atol=1e-9)


def test_points_are_taken_from_the_densest_part_and_apart():
    angle = np.concatenate([RNG.uniform(0, 2 * np.pi, 300), RNG.normal(size=100) / 10])
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    chosen = density_downsample(ring, n_points=40, n_neighbours=20, metric="euclidean")
    assert len(np.unique(chosen)) == 40
    # With nothing taken off, the ones of the greatest memberships, in order.
    shared = np.exp(-fuzzy_distance(ring, n_neighbours=20, metric="euclidean"))
    np.fill_diagonal(shared, 0)
    strongest = np.argsort(-shared.sum(axis=1), kind="stable")[:5]
    plain = density_downsample(ring, n_points=5, n_neighbours=20, omega=0, metric="euclidean")
    np.testing.assert_array_equal(plain, strongest)
    assert chosen[0] == strongest[0]
    # Away from outliers, and all round the ring.
    gaps = np.diff(np.sort(np.arctan2(ring[chosen, 1], ring[chosen, 0])))
    assert gaps.max() < 0.8


def test_a_ring_is_one_loop_in_the_fuzzy_distance_too():
    angle = RNG.uniform(0, 2 * np.pi, 400)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.05 * RNG.normal(size=(400, 2))
    few = ring[density_downsample(ring, n_points=80, n_neighbours=40, metric="euclidean")]
    distance = fuzzy_distance(few, n_neighbours=20, metric="euclidean")
    bars = rips_persistence(
        distance, metric="precomputed", n_landmarks=None, max_dim=1, coefficient=47
    )
    length = np.minimum(bars.diagrams[1][:, 1], bars.threshold) - bars.diagrams[1][:, 0]
    assert len(length) == 1 or length[0] > 1.75 * length[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fuzzy_distance(POINTS), "n_neighbours is 800, but there are 40 points"),
        (lambda: fuzzy_distance(POINTS, n_neighbours=2), "n_neighbours must be at least 3"),
        (lambda: density_downsample(POINTS), "n_points is 1200, but there are 40 points"),
        (
            lambda: density_downsample(POINTS, n_points=4, n_neighbours=9, omega=-1),
            "omega must be finite and not negative",
        ),
        (lambda: fuzzy_distance(0 * POINTS, n_neighbours=9), "has length 0"),
        (lambda: fuzzy_distance(np.where(POINTS > 1, np.nan, POINTS)), "not finite"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
