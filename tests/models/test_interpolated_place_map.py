"""Maps between bins against functions that linear interpolation keeps, and a map that is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import position_fisher_information
from neurosim.models import PlaceMap
from neurosim.models.interpolated_place_map import InterpolatedPlaceMap

EDGES = (np.array([0.0, 0.1, 0.3, 0.4, 1.0]), np.linspace(-1, 1, 6))
CENTRES = [(e[1:] + e[:-1]) / 2 for e in EDGES]


def plane(x, y):
    return np.stack([3 + 2 * x + y + 0.5 * x * y, 7 - x + 0 * y])


@eqx.filter_jit
def at(m, x):
    """Rates, their derivatives, and those that JAX finds."""
    return m(x), m.jacobian(x), jax.vmap(jax.jacfwd(m))(x)


@pytest.mark.usefixtures("double_precision")
def test_bilinear_rates_are_kept_and_so_are_their_slopes():
    m = InterpolatedPlaceMap.from_rate_maps(plane(*np.meshgrid(*CENTRES, indexing="ij")), EDGES)
    assert m.n_cells == 2
    x = np.array([[0.2, -0.31], [0.5, 0.0], [0.69, 0.79]])
    slopes = np.array([[[2 + 0.5 * y, 1 + 0.5 * u], [-1, 0]] for u, y in x])
    # At centres the bins themselves, and no more change beyond the last of them.
    ends = np.array([[CENTRES[0][1], CENTRES[1][2]], [1.0, -1.0]])
    rates, jacobian, found = at(m, jnp.asarray(np.concatenate([x, ends])))
    np.testing.assert_allclose(rates[:3], plane(*x.T).T, rtol=1e-12)
    np.testing.assert_allclose(rates[3:], [m.rates[:, 1, 2], m.rates[:, -1, 0]], rtol=1e-12)
    np.testing.assert_allclose(jacobian[:3], slopes, atol=1e-12)
    np.testing.assert_allclose(jacobian[4], 0, atol=1e-12)
    np.testing.assert_allclose(found, jacobian, atol=1e-12)


def test_ends_that_meet():
    rates, edges = np.array([[1.0, 5, 3, 9]]), np.linspace(0, 360, 5)
    x = jnp.array([[0.0], [360.0], [22.5], [-45.0], [350.0]])
    ring = InterpolatedPlaceMap.from_rate_maps(rates, edges, wrap=True)
    found, slopes, _ = at(ring, x)
    np.testing.assert_allclose(found[:4, 0], [5, 5, 3, 9], rtol=1e-6)
    assert float(slopes[4, 0, 0]) == pytest.approx(-8 / 90, rel=1e-5)


def test_unvisited_bins():
    edges = np.linspace(0, 360, 5)
    for holes, wrap, filled in (
        ([np.nan, 5.0, 3.0, np.nan], False, [5, 5, 3, 3]),
        ([np.nan, np.nan, 3.0, 9], True, [9, 3, 3, 9]),
    ):
        m = InterpolatedPlaceMap.from_rate_maps([holes], edges, wrap=wrap, unvisited="nearest")
        np.testing.assert_array_equal(m.rates, [filled])


def test_a_map_in_fine_bins_is_the_map():
    exact = PlaceMap(
        jnp.array([[[0.3]], [[0.6]]]), jnp.ones((2, 1), bool), jnp.full((2, 1), 0.3),
        jnp.full(2, 29.9),
    )  # fmt: skip
    edges = np.linspace(0, 1, 101)
    x = np.linspace(0.2, 0.8, 31)[:, None]
    centres = (edges[1:] + edges[:-1])[:, None] / 2
    m = InterpolatedPlaceMap.from_rate_maps(np.asarray(exact(centres)).T, edges)
    # Errors h^2 f'' / 8 and h f'' / 2, with f'' = 4 A / w^2 at most.
    steep = 29.9 * 4 / 0.09
    found, slopes, _ = at(m, jnp.asarray(x, float))
    rates, jacobian = exact(x), exact.jacobian(x)
    np.testing.assert_allclose(found, rates, atol=1e-4 * steep / 8 + 1e-4)
    np.testing.assert_allclose(slopes, jacobian, atol=0.01 * steep / 2)
    options = {"noise": "constant", "level": 2.0}
    information = position_fisher_information(found, slopes, **options)
    known = position_fisher_information(rates, jacobian, **options)
    np.testing.assert_allclose(information.mean(), known.mean(), rtol=0.01)


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_refused():
    make = InterpolatedPlaceMap.from_rate_maps
    ones, edges = np.ones((1, 3)), np.arange(4.0)
    m = make(ones, edges)
    for run, message in (
        (lambda: make(ones), "need the edges"),
        (lambda: make(ones, edges[:3]), "one more than bins"),
        (lambda: make(ones, edges[::-1]), "must be finite and increase"),
        (lambda: make(np.ones(3), edges), "maps must be"),
        (lambda: make(-ones, edges), "not negative"),
        (lambda: make(np.array([[1, np.nan, 1]]), edges), "unvisited='nearest'"),
        (lambda: make(ones * np.nan, edges, unvisited="nearest"), "cell 0 is NaN"),
        (lambda: make(ones, edges, unvisited="drop"), "unvisited must be"),  # pyright: ignore
        (lambda: m([4.0]), "must lie within"),
        (lambda: m([np.nan]), "must lie within"),
        (lambda: m([1.0, 2.0]), "positions must be"),
    ):
        with pytest.raises(ValueError, match=message):
            run()
