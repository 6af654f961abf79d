"""From place maps to capacity, against published-size Monte-Carlo moments with their errors."""

import jax
import numpy as np
import pytest

from neurosim.analysis.boundary_bias import mean_distance_surface
from neurosim.analysis.capacity_exponent import capacity_exponent, distance_moments
from neurosim.analysis.overlap_rates import large_deviation_rate, soft_overlap_rate
from neurosim.analysis.position_resolution import position_fisher_information
from neurosim.analysis.separability import log_overlap_probability, separability_threshold
from neurosim.kernels.contact import min_distance
from neurosim.models.place_field_statistics import Environment, FieldStatistics
from neurosim.models.place_map import sample_place_map
from neurosim.models.place_map_ensemble import PlaceMapEnsemble

KEY, TRACK = jax.random.key(3), FieldStatistics.preset("rooke2024_1d")
N, PAIRS = 100, 200


@pytest.fixture(scope="module")
def rates():
    room = Environment(1.0)
    ensemble, x = PlaceMapEnsemble(room, TRACK, 1 / 3), room.grid(101)

    @jax.jit
    @jax.vmap
    def draw(key):
        return sample_place_map(key, N, ensemble)(x)

    return np.asarray(draw(jax.random.split(KEY, 2 * PAIRS)), np.float64)


def test_moments_and_overlap_in_constant_noise(rates):
    found = [min_distance(a, b) for a, b in zip(rates[::2], rates[1::2], strict=True)]
    distances = np.array([pair.value for pair in found])
    moments = distance_moments(distances, N, noise="constant")
    # Three standard errors of 200 pairs, and of the 1000 of the reference.
    assert moments.mu == pytest.approx(7.61, abs=0.21)
    assert moments.lam == pytest.approx(8.91, abs=1.5)
    at_walls = [
        min(p.index_a, 100 - p.index_a) <= 5 and min(p.index_b, 100 - p.index_b) <= 5 for p in found
    ]
    assert np.mean(at_walls) == pytest.approx(0.89, abs=0.075)
    for sigma, q, share in ((2.5, 2.0, 0.951), (3.0, 0.0, 0.951), (3.0, 2.0, 0.678)):
        threshold = separability_threshold(N, noise="constant", level=sigma, q=q)
        separable = np.mean(distances > threshold)
        # Three standard errors of this share and of that of 2000 pairs.
        error = (share * (1 - share) * (1 / PAIRS + 1 / 2000)) ** 0.5
        assert separable == pytest.approx(share, abs=3 * error)
    counted = log_overlap_probability(distances, threshold, method="empirical")
    assert np.exp(counted) == pytest.approx(1 - separable)


def test_moments_in_poisson_noise(rates):
    pairs = zip(rates[::2], rates[1::2], strict=True)
    distances = [min_distance(a[::2], b[::2], "poisson").value for a, b in pairs]
    moments = distance_moments(distances, N, noise="poisson")
    # Three standard errors of 200 pairs, and of the 400 of the reference.
    assert moments.mu == pytest.approx(1.57, abs=0.085)
    assert moments.lam == pytest.approx(3.12, abs=0.65)


def test_mean_distance_and_tails_at_the_walls(rates):
    surface = mean_distance_surface(rates[:, ::10])
    # 40000 cells, of which each contributes with a deviation of about twice the mean.
    assert surface[0, 0] ** 0.5 == pytest.approx(8.75, abs=0.2)
    assert surface[5, 5] ** 0.5 == pytest.approx(11.91, abs=0.2)
    assert surface.min() == pytest.approx(surface[[0, 0, -1, -1], [0, -1, 0, -1]].min())
    y = (rates[::2, 0] - rates[1::2, 0]).ravel() ** 2
    for sigma, gamma, soft in (
        (1, 0.0703, 0.264), (2, 0.0366, 0.223), (3, 0.0132, 0.194), (4, 0.0011, 0.170),
    ):  # fmt: skip
        # 20000 cells: standard errors of about 0.001 and 0.003.
        assert large_deviation_rate(y, 4 * sigma**2) / 2 == pytest.approx(gamma, abs=0.005)
        assert soft_overlap_rate(y, sigma) == pytest.approx(soft, abs=0.01)


@pytest.mark.parametrize(("bias", "least", "place"), [(0.8, 9.58, 0), (0.5, 9.98, 10)])
def test_centres_near_walls_move_confusions_to_the_middle(bias, least, place):
    ensemble = PlaceMapEnsemble(Environment(1.0), TRACK, 1 / 3, bias=bias)
    m = sample_place_map(KEY, 20000, ensemble)
    surface = mean_distance_surface(m(ensemble.environment.grid(21))) ** 0.5
    assert surface.min() == pytest.approx(least, abs=0.2)
    i, j = np.unravel_index(surface.argmin(), surface.shape)
    assert {min(i, 20 - i), min(j, 20 - j)} <= {place, abs(place - 1)}


def test_wide_fields_tell_more_contexts_apart_in_a_small_room():
    room, found = Environment(1.0), {}
    for width in (1 / 3, 1.0):
        ensemble, x = PlaceMapEnsemble(room, TRACK, width), room.grid(41)
        maps = np.asarray(sample_place_map(KEY, 300 * 200, ensemble)(x), np.float64)
        pairs = maps.reshape(41, 2, 150, 200).transpose(1, 2, 0, 3)
        d = [min_distance(a, b).value for a, b in zip(*pairs, strict=True)]
        moments = distance_moments(d, 200, noise="constant")
        found[width] = capacity_exponent(*moments, noise="constant", level=2.0)
    # Standard errors of 150 pairs are 15 %, of these and of the references.
    assert found[1 / 3] == pytest.approx(0.038, rel=0.6)
    assert found[1.0] == pytest.approx(0.23, rel=0.6)
    assert found[1.0] / found[1 / 3] > 3


def test_information_in_the_bulk():
    ensemble = PlaceMapEnsemble(Environment(4.0), TRACK, 0.3, normalization="field")
    m = sample_place_map(KEY, 8000, ensemble)
    x = np.linspace(0.75, 3.25, 11)[:, None]
    found = position_fisher_information(m(x), m.jacobian(x), noise="constant", level=1.0)
    # Standard error about 1.5 %.
    assert found.mean() / 8000 == pytest.approx(1980.74, rel=0.05)
