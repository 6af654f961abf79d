"""Rooms, widths, dimensions and noise: which maps tell more contexts apart, or places better.

Moments and exponents of 30 pairs of 200 cells: standard errors of mu are lam / sqrt(200 * 30), of
an exponent 30 %, unless stated.
"""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import (
    capacity_exponent,
    cramer_rao_bound,
    distance_moments,
    position_fisher_information,
)
from neurosim.kernels import min_distance
from neurosim.models import (
    Environment,
    FieldStatistics,
    PlaceMap,
    PlaceMapEnsemble,
    sample_place_map,
)

Noise = Literal["constant", "poisson"]
KEY, N, PAIRS = jax.random.key(3), 200, 30
#: Of one shape whatever the room, so that one program does for all.
MOST_FIELDS = 100


def moments(room, width, *, noise: Noise = "constant", bins=41):
    statistics = FieldStatistics.preset(f"rooke2024_{room.dim}d")
    most = MOST_FIELDS if room.dim == 1 else None
    ensemble = PlaceMapEnsemble(room, statistics, width, max_fields=most)
    maps = np.asarray(sample_place_map(KEY, 2 * PAIRS * N, ensemble)(room.grid(bins)), np.float64)
    pairs = maps.reshape(len(maps), 2, PAIRS, N).transpose(1, 2, 0, 3)
    distances = [min_distance(a, b, noise).value for a, b in zip(*pairs, strict=True)]
    return distance_moments(distances, N, noise=noise)


def exponent(room, width, noise: Noise = "constant"):
    level = 2.0 if noise == "constant" else 0.5
    return capacity_exponent(*moments(room, width, noise=noise), noise=noise, level=level)


def test_wide_fields_harm_in_large_rooms():
    small, large, hall = Environment(1.0), Environment(8.0), Environment(16.0)
    half, twice = exponent(hall, 8.0), exponent(hall, 32.0)
    assert half == pytest.approx(0.47, rel=0.7)
    assert twice == pytest.approx(0.09, rel=0.7)
    assert half > 2 * twice
    # In Poisson-like noise, too: the room's own size is best in a small one, and not in a large.
    poisson = [exponent(small, w, "poisson") for w in (0.5, 1.0)]
    assert poisson[1] > 1.3 * poisson[0]
    poisson = [exponent(large, w, "poisson") for w in (4.0, 8.0)]
    assert poisson[0] > 1.3 * poisson[1]


def test_contexts_in_a_box_are_nearer_than_on_a_track():
    box = Environment(1.0, 2)
    # That of a track is 7.98 at a third of its length.
    assert moments(box, 1 / 3, bins=15).mu == pytest.approx(1.82, abs=4 * 0.09)


def test_narrow_fields_place_better():
    """Median of the bound over positions and 15 maps, N = 200 and sigma = 2."""
    track, found = Environment(1.0), []
    statistics = FieldStatistics.preset("rooke2024_1d")
    for width in (0.04, 1.0):
        ensemble = PlaceMapEnsemble(track, statistics, width, max_fields=MOST_FIELDS)
        m = sample_place_map(KEY, 2 * PAIRS * N, ensemble)
        x = track.grid(41)
        rates, jacobian = (np.asarray(y)[:, : 15 * N] for y in (m(x), m.jacobian(x)))
        information = position_fisher_information(
            rates.reshape(41, 15, N), jacobian.reshape(41, 15, N, 1), noise="constant", level=2.0
        )
        found.append(np.log(cramer_rao_bound(information, reduction="median")))
    # A median of 15 maps with 41 positions, most of them correlated.
    np.testing.assert_allclose(found, [-13.1, -9.1], atol=0.4)


@pytest.mark.parametrize("width", [0.4, 0.7])
def test_information_in_the_bulk_of_a_box(width):
    """Of the density A0^2 pi / 2 whatever the width: fields on a lattice give it exactly."""
    axis = np.linspace(0, 3, 61)
    centres = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 1, 2)
    n = len(centres)
    m = PlaceMap(
        jnp.asarray(centres, float), jnp.ones((n, 1), bool), jnp.full((n, 1), width),
        jnp.full(n, 29.9),
    )  # fmt: skip
    x = np.array([[1.5, 1.52]])
    found = position_fisher_information(m(x), m.jacobian(x), noise="constant", level=1.0)
    density = 1 / 0.05**2
    np.testing.assert_allclose(
        found[0], np.eye(2) * density * 29.9**2 * np.pi / 2, rtol=2e-4, atol=5
    )
