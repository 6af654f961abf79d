"""Distances of measured maps, their bias, and the capacity that follows from them."""

from typing import Any

import jax
import numpy as np
import pytest

from neurosim.analysis import distance_moments, log_context_capacity
from neurosim.analysis.capacity_exponent import capacity_exponent, gaussian_log_overlap
from neurosim.analysis.capacity_from_maps import capacity_from_maps
from neurosim.analysis.manifold_distance import manifold_distance
from neurosim.analysis.rate_maps import RateMaps
from neurosim.kernels import min_distance
from neurosim.models import Environment, FieldStatistics, PlaceMapEnsemble, sample_place_map

RATES = np.array([[5.0, 0.1, 12.0], [1.0, 0.1, 8.0]])[..., None]
T, BINS = 10.0, 1000
UNKNOWN: Any = "none"


@pytest.fixture(scope="module")
def halves():
    """Two halves of two contexts, of which all bins are alike: `(context, half, cell, bin)`."""
    rng = np.random.default_rng(0)
    return rng.poisson(RATES[:, None] * T / 2, (2, 2, 3, BINS)) / (T / 2)


def test_bias_of_measured_distances(halves):
    a, b = halves.mean(axis=1)
    spent = np.full(BINS, T)
    times: Any = {"occupancy_a": spent, "occupancy_b": spent}
    # Four standard errors: that of a pair is (sum 4 delta^2 (r_A + r_B) / T)^(1/2) = 13.
    slack = 4 * 13 / BINS**0.5
    cases: Any = (
        ({}, 34.62),
        ({"bias": "poisson", **times}, 32.0),
        ({"bias": "crossval", "halves_a": halves[0], "halves_b": halves[1]}, 32.0),
    )
    for options, expected in cases:
        found = manifold_distance(a, b, **options)
        assert found.surface.mean() == pytest.approx(expected, abs=slack)
        least = found.surface[found.bin_a + found.bin_b]
        assert least == found.surface.min()
        assert found.distance == max(least, 0) ** 0.5
    assert least < 0
    (a1, a2), (b1, b2) = halves
    products = ((a1 - b1) * (a2 - b2)).sum(axis=0)
    np.testing.assert_allclose(np.diag(found.surface), products, atol=1e-9)
    # Exactly: what is taken off does not depend on the draw of the other context.
    plain, corrected = manifold_distance(a, b), manifold_distance(a, b, bias="poisson", **times)
    off = plain.surface - corrected.surface
    np.testing.assert_allclose(off, (a.sum(axis=0)[:, None] + b.sum(axis=0)) / T, atol=1e-9)
    # Rate maps are taken as they were before smoothing.
    maps = [
        RateMaps(x * 0 + 3.0, spent, x * T, (np.arange(BINS + 1.0),), (False,), np.arange(3),
                 np.zeros(3, int))
        for x in (a, b)
    ]  # fmt: skip
    found = manifold_distance(*maps, bias="poisson")
    np.testing.assert_allclose(found.surface, corrected.surface, atol=1e-9)
    assert manifold_distance(*maps).distance == 0


def test_nearest_pair_of_maps_with_unvisited_bins():
    rng = np.random.default_rng(1)
    a, b = rng.gamma(1, 10, (25, 4, 5)), rng.gamma(1, 10, (25, 7))
    a[:, 0, 1], a[3, 2, 2], b[:, 6] = np.nan, np.nan, np.nan
    rows = a.reshape(25, -1).T
    known = np.isfinite(rows).all(axis=1)
    for noise in ("constant", "poisson"):
        found = manifold_distance(a, b, noise=noise)
        nearest = min_distance(rows[known], b[:, :6].T, noise)
        assert found.distance == pytest.approx(nearest.value, rel=1e-9)
        place = np.flatnonzero(known)[nearest.index_a]
        assert found.bin_a == tuple(np.unravel_index(place, (4, 5)))
        assert found.bin_b == (nearest.index_b,)
        assert found.surface.shape == (4, 5, 7)
        lost = np.isnan(found.surface)
        assert lost[[0, 2], [1, 2]].all()
        assert lost[..., 6].all()
        assert lost.sum() == 4 * 5 * 7 - 18 * 6


def test_capacity_of_measured_cells():
    """A bootstrap over many cells of two contexts has the moments of populations drawn anew."""
    room = Environment(1.0)
    ensemble = PlaceMapEnsemble(room, FieldStatistics.preset("rooke2024_1d"), 1 / 3)
    maps = sample_place_map(jax.random.key(2), 12000, ensemble)(room.grid(41))
    contexts = np.asarray(maps, np.float64).reshape(41, 3, 4000).transpose(1, 2, 0)
    options: Any = {"noise": "constant", "level": 2.0, "n_resamples": 150}
    found = capacity_from_maps(contexts, n_cells=(100, 200), **options)
    # Three standard errors of 150 resamples, and of the 1000 pairs of the reference.
    np.testing.assert_allclose(found.mu, [7.61, 7.98], atol=0.27)
    np.testing.assert_allclose(found.lam, [8.91, 9.26], atol=1.8)
    assert found.distances.shape == (2, 150)
    for i, n in enumerate((100, 200)):
        mu, lam = distance_moments(found.distances[i], n, noise="constant")
        assert (found.mu[i], found.lam[i]) == (mu, lam)
        overlap = gaussian_log_overlap(mu, lam, n, noise="constant", level=2.0)
        assert found.log_contexts[i] == log_context_capacity(overlap)
        assert found.exponent[i] == capacity_exponent(mu, lam, noise="constant", level=2.0)
    again = capacity_from_maps(contexts, n_cells=100, **options)
    np.testing.assert_array_equal(again.distances[0], found.distances[0])
    poisson = capacity_from_maps(contexts, n_cells=200, noise="poisson", level=0.5, n_resamples=40)
    assert poisson.mu[0] == pytest.approx(1.62, abs=0.15)


def test_every_pair_of_contexts_has_its_turn():
    x, y = np.random.default_rng(0).gamma(1, 10, (2, 40, 5))
    found = capacity_from_maps(
        [x, x, y], n_cells=30, noise="constant", level=1.0, n_resamples=9
    ).distances  # fmt: skip
    np.testing.assert_array_equal(found[0] > 0, [False, True, True] * 3)


def test_few_cells_or_contexts_are_said():
    few = np.random.default_rng(0).gamma(1, 10, (3, 12, 5))
    options: Any = {"n_cells": 12, "noise": "constant", "level": 1.0, "n_resamples": 5}
    with pytest.warns(UserWarning, match="12 cells"):
        capacity_from_maps(few, **options)
    with pytest.warns(UserWarning, match="one pair of contexts"):
        capacity_from_maps(np.tile(few[:2], (1, 3, 1)), **options)


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_refused(halves):
    a, b = halves[0, 0], halves[1, 0]
    options: Any = {"n_cells": 10, "noise": "constant", "level": 1.0}
    for run, message in (
        (lambda: manifold_distance(a, b[:2]), "same cells"),
        (lambda: manifold_distance(a[0], b[0]), "not one map"),
        (lambda: manifold_distance(-a, b), "not negative"),
        (lambda: manifold_distance(a, b, bias=UNKNOWN), "bias must"),
        (lambda: manifold_distance(a, b, noise=UNKNOWN), "noise must"),
        (lambda: manifold_distance(a, b, noise="poisson", bias="poisson"), "constant noise"),
        (lambda: manifold_distance(a, b, bias="poisson"), "occupancy of maps_a"),
        (lambda: manifold_distance(a, b, bias="crossval"), "halves_a"),
        (
            lambda: manifold_distance(a, b, bias="crossval", halves_a=[a, a], halves_b=[b, b[:2]]),
            "halves_b must have the cells",
        ),
        (lambda: manifold_distance(np.where(np.eye(3, BINS) + 1, np.nan, a), b), "NaN in every"),
        (lambda: capacity_from_maps([a], **options), "at least two contexts"),
        (lambda: capacity_from_maps([a, b], **{**options, "n_cells": 0}), "n_cells"),
        (lambda: capacity_from_maps([a, b], **{**options, "level": -1.0}), "level must"),
        (lambda: capacity_from_maps([a, b], **options, n_resamples=1), "n_resamples"),
    ):
        with pytest.raises(ValueError, match=message):
            run()
