"""Correlations of population vectors against definitions and expectations of model populations."""

import numpy as np
import pytest

from neurosim.analysis.population_vector_correlation import population_vector_correlation

RNG = np.random.default_rng(0)
A = RNG.gamma(2.0, size=(30, 4, 5))
B = A + RNG.gamma(1.0, size=A.shape)


def gamma_poisson_maps(propensity, rng, *, peak):
    """Rates at both walls and the centre of a 1 m track: fields of width 1/3 m, baseline 0.1 Hz."""
    x = np.linspace(0, 1, 101)
    n = rng.poisson(propensity)
    fields = np.zeros((len(n), len(x)))
    for k in range(n.max()):
        centre = rng.uniform(size=len(n))
        bump = np.exp(-2 * (x - centre[:, None]) ** 2 * 9)
        fields += np.where((n > k)[:, None], bump, 0)
    top = np.maximum(fields.max(axis=1, keepdims=True), 1e-9) if peak else 1.0
    return 0.1 + 29.9 * (fields / top)[:, [0, 50, 100]]


def test_by_definition():
    found = population_vector_correlation(A, B)
    for i, j in np.ndindex(4, 5):
        r = np.corrcoef(A[:, i, j], B[:, i, j])[0, 1]
        assert found.values[i, j] == pytest.approx(r, abs=1e-12)
    assert found.mean == pytest.approx(found.values.mean(), abs=1e-12)
    assert len(found.null) == 0
    assert np.isnan(found.p_value)
    cross = population_vector_correlation(A, B, cross=True)
    assert cross.values.shape == (4, 5, 4, 5)
    r = np.corrcoef(A[:, 1, 2], B[:, 3, 0])[0, 1]
    assert cross.values[1, 2, 3, 0] == pytest.approx(r, abs=1e-12)
    assert cross.mean == pytest.approx(found.mean, abs=1e-12)


def test_null_is_of_cells_in_random_order():
    found = population_vector_correlation(A, B, n_shuffles=200, random_state=1)
    orders = np.random.default_rng(1).permuted(np.tile(np.arange(30), (200, 1)), axis=1)
    for value, order in list(zip(found.null, orders))[:5]:
        expected = population_vector_correlation(A, B[order]).mean
        assert value == pytest.approx(expected, abs=1e-12)
    assert found.p_value == 1 / 201
    assert abs(found.null.mean()) < 0.05
    independent = population_vector_correlation(
        A, RNG.gamma(2.0, size=A.shape), n_shuffles=200, random_state=1
    )
    assert independent.p_value > 0.05


def test_invariances():
    found = population_vector_correlation(A, B)
    order = RNG.permutation(30)
    again = population_vector_correlation(B[order], A[order])
    np.testing.assert_allclose(again.values, found.values, atol=1e-12)
    np.testing.assert_allclose(
        population_vector_correlation(1e200 * A, B + 3).values, found.values, atol=1e-12
    )
    # Cells of high rate decide, unless each is taken over its own spread.
    gains = RNG.lognormal(sigma=2, size=(30, 1, 1))
    assert abs(population_vector_correlation(gains * A, gains * B).mean - found.mean) > 0.05
    own = population_vector_correlation(A, B, z_score=True)
    scaled = population_vector_correlation(gains * A, gains * B, z_score=True)
    np.testing.assert_allclose(scaled.values, own.values, atol=1e-12)
    # A cell that never changes is 0, not NaN.
    still = np.concatenate([A, np.full((1, 4, 5), 7.0)])
    more = np.concatenate([B, np.full((1, 4, 5), 7.0)])
    assert np.isfinite(population_vector_correlation(still, more, z_score=True).values).all()


def test_unvisited_and_flat_bins():
    a, b = A.copy(), B.copy()
    a[:, 0, 0], b[3, 1, 1], b[:, 2, 2] = np.nan, np.nan, 4.0
    found = population_vector_correlation(a, b, n_shuffles=50)
    left_out = np.zeros((4, 5), bool)
    left_out[[0, 1, 2], [0, 1, 2]] = True
    np.testing.assert_array_equal(np.isnan(found.values), left_out)
    assert found.mean == pytest.approx(found.values[~left_out].mean(), abs=1e-12)
    assert np.isfinite(found.null).all()
    flat = population_vector_correlation(A, 0 * A + 2, n_shuffles=5)
    assert np.isnan([flat.mean, flat.p_value]).all()
    assert len(flat.null) == 0


def test_model_populations():
    # Standard errors for 20,000 cells are below 0.01; heavy tails make them twice that at walls.
    rng = np.random.default_rng(2)
    n = 20_000
    propensity = rng.gamma(1.5, 1 / 4, size=n)
    first = gamma_poisson_maps(propensity, rng, peak=True)
    new = gamma_poisson_maps(rng.gamma(1.5, 1 / 4, size=n), rng, peak=True)
    assert population_vector_correlation(first, new).mean == pytest.approx(0, abs=0.02)
    # A share of 0.3 of the cells remaps.
    partly = np.where((rng.random(n) < 0.3)[:, None], new, first)
    assert population_vector_correlation(first, partly).mean == pytest.approx(0.7, abs=0.03)
    # Contexts that share propensities alone, in closed form for fields that add up.
    a, b = (gamma_poisson_maps(propensity, rng, peak=False) for _ in range(2))
    wall, centre, other = population_vector_correlation(a, b).values
    assert (wall + other) / 2 == pytest.approx(0.068773, abs=0.03)
    assert centre == pytest.approx(0.128093, abs=0.03)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: population_vector_correlation(A, B[:, :3]), "the same cells and bins"),
        (lambda: population_vector_correlation(A[:1], B[:1]), "needs two of them, got 1"),
        (lambda: population_vector_correlation(A, np.nan * B), "no bin is known for all cells"),
        (lambda: population_vector_correlation(A, B, n_shuffles=-1), "n_shuffles must not be neg"),
        (lambda: population_vector_correlation(A, B, random_state=None), "random_state must be"),
        (lambda: population_vector_correlation(A[0, 0], B), r"maps_a must be \(cell, \*bins\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
