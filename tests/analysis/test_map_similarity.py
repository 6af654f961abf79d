"""Measures by cell against definitions and expectations under independence."""

import numpy as np
import pytest

from neurosim.analysis.map_similarity import (
    activity_overlap,
    centroid_shift,
    rate_overlap,
    spatial_correlation,
)
from neurosim.analysis.rate_maps import rate_maps

RNG = np.random.default_rng(0)
A = RNG.gamma(2.0, size=(20, 6, 5))
B = A + RNG.gamma(0.5, size=A.shape)
LINE = np.arange(50) + 0.5


def bumps(centres, width=2.0):
    return np.exp(-((LINE - np.asarray(centres)[:, None]) ** 2) / (2 * width**2))


def same_null(measure, a, b, **settings):
    """The null is the mean of the measure for cells in the orders that the seed draws."""
    found = measure(a, b, n_shuffles=40, random_state=3, **settings)
    orders = np.random.default_rng(3).permuted(np.tile(np.arange(len(a)), (40, 1)), axis=1)
    for value, order in list(zip(found.null, orders))[:5]:
        assert value == pytest.approx(measure(a, b[order], **settings).mean, abs=1e-12)
    return found


# Spatial correlation


def test_spatial_correlation_by_definition():
    a = np.where(RNG.random(A.shape) < 0.1, np.nan, A)
    a[:, 0, 0] = A[:, 0, 0]
    found = spatial_correlation(a, B)
    for i, (x, y) in enumerate(zip(a, B)):
        known = np.isfinite(x)
        assert found.values[i] == pytest.approx(np.corrcoef(x[known], y[known])[0, 1], abs=1e-12)
    assert same_null(spatial_correlation, A, B).p_value == 1 / 41


def test_spatial_correlation_knows_nothing_of_rates():
    gains = RNG.lognormal(size=(20, 1, 1))
    np.testing.assert_allclose(spatial_correlation(A, gains * A + 1).values, 1)
    independent = spatial_correlation(A, A[::-1, ::-1], n_shuffles=99)
    assert independent.p_value > 0.01


def test_flat_maps_have_no_spatial_correlation():
    b = B.copy()
    b[4] = 0
    b[7] = 0.1
    found = spatial_correlation(A, b, n_shuffles=20)
    assert np.flatnonzero(np.isnan(found.values)).tolist() == [4, 7]
    assert found.mean == pytest.approx(np.nanmean(found.values))
    assert np.isfinite(found.null).all()
    none = spatial_correlation(A, 0 * B, n_shuffles=20)
    assert np.isnan([none.mean, none.p_value]).all()


# Rate overlap


def test_rate_overlap():
    found = rate_overlap(np.array([1.0, 4, 0, 0]), np.array([2.0, 1, 3, 0]))
    np.testing.assert_array_equal(found.values, [0.5, 0.25, 0, np.nan])
    assert found.mean == pytest.approx(0.25)
    same_null(rate_overlap, *RNG.exponential(size=(2, 30)))
    # Means of maps, with and without the time in each bin.
    r = rate_overlap(A, B).values
    np.testing.assert_allclose(r, A.mean(axis=(1, 2)) / B.mean(axis=(1, 2)))
    time = RNG.uniform(size=(6, 5))
    time[2, 2] = np.nan
    weighted = [np.nansum(x * time, axis=(1, 2)) / np.nansum(time) for x in (A, B)]
    found = rate_overlap(A, B, occupancy_a=time, occupancy_b=time)
    np.testing.assert_allclose(found.values, weighted[0] / weighted[1])


def test_rate_overlap_by_chance():
    # 4,000 cells, 50 shuffles: far below 0.01.
    uniform = rate_overlap(*RNG.uniform(size=(2, 4000)), n_shuffles=50)
    assert uniform.null.mean() == pytest.approx(1 / 2, abs=0.01)
    exponential = rate_overlap(*RNG.exponential(size=(2, 4000)), n_shuffles=50)
    assert exponential.null.mean() == pytest.approx(2 * np.log(2) - 1, abs=0.01)


def test_rate_maps_bring_their_occupancy():
    t = np.arange(0, 100, 0.1)
    x = np.sin(t) ** 3
    maps = rate_maps([t[::3], t[::7][:50]], t, x, bin_size=0.1, extent=(-1, 1))
    slower = rate_maps([t[::6], t[::7][:50]], t, x, bin_size=0.1, extent=(-1, 1))
    expected = slower.mean_rates / maps.mean_rates
    np.testing.assert_allclose(rate_overlap(maps, slower).values, expected)


# Activity overlap


def test_activity_overlap():
    a, b = np.array([1, 1, 0, 0, 1], bool), np.array([1, 0, 1, 0, 1], bool)
    found = activity_overlap(a, b)
    np.testing.assert_array_equal(found.values, [1, 0, 0, np.nan, 1])
    assert found.mean == pytest.approx(1 / 2)
    same_null(activity_overlap, *(RNG.random((2, 40)) < 0.4))
    found = activity_overlap(np.where(a[:, None], A[:5, 0] + 1, 0.9), b)
    assert found.mean == pytest.approx(1 / 2)
    none = activity_overlap(0 * a > 1, 0 * a > 1, n_shuffles=3)
    assert np.isnan([none.mean, none.p_value]).all()


def test_activity_overlap_by_chance():
    # Numbers of fields on a 1 m track: gamma-Poisson, active share 0.284458.
    n = RNG.poisson(RNG.gamma(1.5, 1 / 4, size=(2, 20_000)))
    assert np.mean(n > 0) == pytest.approx(0.284458, abs=0.01)
    found = activity_overlap(*(n > 0), n_shuffles=20)
    # 0.284458 / (2 - 0.284458), standard error 0.004.
    assert found.mean == pytest.approx(0.165812, abs=0.015)
    assert found.null.mean() == pytest.approx(0.165812, abs=0.005)


# Centroid shift


def test_centroid_shift():
    found = centroid_shift(bumps([15, 20.0]), bumps([25, 20.5]), bin_size=0.1)
    np.testing.assert_allclose(found.values, [1.0, 0.05], atol=1e-5)
    one, two = bumps([20, 20]), bumps([20, 20])
    one[:, 45:] = 0.3
    assert (centroid_shift(one, two, bin_size=1).values > 1).all()
    np.testing.assert_allclose(centroid_shift(one, two, bin_size=1, threshold=0.5).values, 0)
    plane = np.zeros((1, 10, 10))
    moved = plane.copy()
    plane[0, 2, 3], moved[0, 5, 7] = 4.0, 2.0
    assert centroid_shift(plane, moved, bin_size=2).values[0] == pytest.approx(10)
    assert centroid_shift(plane, moved, bin_size=(2, 1)).values[0] == pytest.approx(52**0.5)


def test_centroid_shift_round_the_end():
    a, b = np.roll(bumps([25]), 24, axis=1), np.roll(bumps([25]), -24, axis=1)
    assert centroid_shift(a, b, bin_size=1, wrap=True).values[0] == pytest.approx(2)
    assert centroid_shift(a, b, bin_size=1).values[0] > 10


def test_centroid_shift_against_chance():
    centres = RNG.uniform(5, 45, 20)
    found = same_null(
        lambda a, b, **k: centroid_shift(a, b, bin_size=1, **k), bumps(centres), bumps(centres + 1)
    )
    assert found.mean == pytest.approx(1, abs=0.05)
    assert found.p_value == 1 / 41
    silent = centroid_shift(bumps([10, 20]) * [[1], [0]], bumps([10, 20]), bin_size=1)
    assert np.isnan(silent.values).tolist() == [False, True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spatial_correlation(A, B[:3]), "the same cells and bins"),
        (lambda: rate_overlap(A, B[:3]), "must have the same cells, got 20 and 3"),
        (lambda: rate_overlap(-A, B), "maps_a must be finite and not negative"),
        (lambda: rate_overlap(A, B, occupancy_a=np.ones(3)), r"occupancy must be \(6, 5\)"),
        (lambda: rate_overlap(np.nan * A, B), "maps_a: cell 0 has no bin with a rate"),
        (lambda: rate_overlap(np.array([np.nan]), np.ones(1)), "must be finite and not negative"),
        (lambda: activity_overlap(A, B, min_rate=-1), "min_rate must be finite"),
        (lambda: activity_overlap(np.ones(3), B), r"or \(cell,\) of true and false"),
        (lambda: activity_overlap(np.nan * A, B), "maps_a: cell 0 is NaN in every bin"),
        (lambda: activity_overlap(A, B[:2]), "must have the same cells"),
        (lambda: centroid_shift(A, B, bin_size=-1), "bin_size must be a positive number"),
        (lambda: centroid_shift(A, B, bin_size=1, threshold=1), "threshold must be at least 0"),
        (lambda: centroid_shift(A, -B, bin_size=1), "maps_b must be finite and not negative"),
        (lambda: centroid_shift(A, B, bin_size=1, wrap=(True,)), "wrap must be true or false"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
