"""Contrast response and suppression, on curves that are known in closed form."""

import numpy as np
import pytest

from neurosim.analysis.contrast_response import (
    contrast_response,
    cross_orientation_suppression,
    hyperbolic_ratio,
    summation_index,
    surround_suppression,
)
from neurosim.analysis.normalization_equation import normalization_equation

C = np.geomspace(0.01, 1, 9)


def test_hyperbolic_ratio():
    assert hyperbolic_ratio(0.3, r_max=4, c50=0.3, exponent=2.5, baseline=1) == pytest.approx(3)
    values = hyperbolic_ratio([0.0, 1e300], r_max=4, c50=0.3, exponent=2.5, baseline=1)
    np.testing.assert_allclose(values, [1, 5])
    np.testing.assert_allclose(
        hyperbolic_ratio(C, r_max=2, c50=0.1, exponent=3), 2 * C**3 / (0.001 + C**3), rtol=1e-12
    )


@pytest.mark.parametrize("mask", [0.0, 0.2])
def test_of_the_normalization_equation(mask):
    """A squared rate, exponent 2; a mask of its own channel shifts c50 and nothing else."""
    z = np.stack([C, np.full_like(C, mask)], axis=1)
    rate = normalization_equation(z, W=np.ones((2, 2)), sigma=0.1, b=0.5).y[:, 0] ** 2
    fit = contrast_response(rate, C)
    assert fit.r_max == pytest.approx(1, rel=1e-6)
    assert fit.c50 == pytest.approx(np.hypot(0.1, mask), rel=1e-6)
    assert fit.exponent == pytest.approx(2, rel=1e-6)
    assert fit.baseline == pytest.approx(0, abs=1e-6)
    assert fit.r_squared == pytest.approx(1)
    np.testing.assert_allclose(fit.predicted, rate, atol=1e-7)


@pytest.mark.parametrize("r_max", [20.0, -3.0])
def test_recovers_what_made_it(r_max):
    order = np.random.default_rng(0).permutation(len(C))
    c = np.append(0, C)[np.append(0, 1 + order)]
    made = {"r_max": r_max, "c50": 0.25, "exponent": 3.2, "baseline": 5.0}
    fit = contrast_response(hyperbolic_ratio(c, **made), c)
    for name, value in made.items():
        assert getattr(fit, name) == pytest.approx(value, rel=1e-5)
    held = contrast_response(hyperbolic_ratio(c, **made), c, baseline=5.0)
    assert held.baseline == 5
    assert held.c50 == pytest.approx(0.25, rel=1e-6)


def test_noise_is_not_explained():
    rng = np.random.default_rng(1)
    c = np.tile(C, 20)
    clean = hyperbolic_ratio(c, r_max=1, c50=0.1, exponent=2)
    noisy = clean + rng.normal(scale=clean.std(), size=c.shape)
    fit = contrast_response(noisy, c)
    assert 0.3 < fit.r_squared < 0.7
    assert fit.c50 == pytest.approx(0.1, rel=0.3)
    worse = noisy - hyperbolic_ratio(c, r_max=1, c50=0.1, exponent=2)
    assert np.sum((fit.predicted - noisy) ** 2) <= np.sum(worse**2)


def test_responses_that_do_not_saturate_end_at_the_border():
    fit = contrast_response(C**2, C)
    assert fit.c50 == pytest.approx(10, rel=1e-2)


def test_cross_orientation_suppression():
    """(sigma^2 + c^2) / (sigma^2 + c^2 + m^2) of the response is left."""
    z = np.array([[0.1, 0.0], [0.1, 0.1]])
    alone, masked = normalization_equation(z, W=np.ones((2, 2)), sigma=0.1).y[:, 0] ** 2
    assert cross_orientation_suppression(alone, masked) == pytest.approx(1 / 3)
    np.testing.assert_allclose(cross_orientation_suppression([2.0, 4], [3.0, 0]), [-0.5, 1])


def test_summation_index():
    assert summation_index(1.0, 1.0, 2.0) == 1
    np.testing.assert_allclose(summation_index([1.0, 2], 3.0, [2.0, 2.5]), [0.5, 0.5])
    # Two orthogonal stimuli, each saturating: the average, but for sigma.
    z = np.array([[1.0, 0], [1, 1]])
    one, both = (normalization_equation(z, W=np.ones((2, 2)), sigma=0.1).y ** 2).sum(axis=1)
    assert summation_index(one, one, both) == pytest.approx(2.01 / 2.01 * (2 / 2.01) / (2 / 1.01))


def test_surround_suppression():
    sizes, curve = [1, 3, 9, 27], [9.229033, 9.873928, 7.149928, 0.026749]
    found = surround_suppression(sizes, curve)
    assert found.preferred_size == 3
    assert found.index == pytest.approx(1 - 0.026749 / 9.873928)
    two = surround_suppression(sizes, [curve, [1.0, 2, 3, 4]])
    np.testing.assert_allclose(two.index, [found.index, 0])
    np.testing.assert_allclose(two.preferred_size, [3, 27])


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_of_responses_does_not_matter(unit):
    found = contrast_response(unit * hyperbolic_ratio(C, r_max=2, c50=0.2, exponent=2), C)
    assert found.r_max == pytest.approx(2 * unit, rel=1e-5)
    assert found.r_squared == pytest.approx(1)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: contrast_response(C, C[:-1]), r"must both be \(contrast,\)"),
        (lambda: contrast_response(C[:3], C[:3]), "4 parameters need as many different contrasts"),
        (lambda: contrast_response(C[:2], C[:2], baseline=0), "3 parameters"),
        (lambda: contrast_response(np.ones(9), C), "responses are all 1"),
        (lambda: contrast_response(C, -C), "contrasts must not be negative, got -1"),
        (lambda: contrast_response(np.where(C > 0.5, np.nan, C), C), "responses must be finite"),
        (lambda: contrast_response(C, C, baseline=np.nan), "baseline must be finite"),
        (lambda: hyperbolic_ratio(C, r_max=1, c50=0, exponent=1), "c50 must be positive"),
        (lambda: hyperbolic_ratio(-C, r_max=1, c50=1, exponent=1), "must not be negative"),
        (lambda: cross_orientation_suppression(0.0, 1.0), "alone must be positive"),
        (lambda: cross_orientation_suppression(C, C[:2]), "shapes do not broadcast: alone"),
        (lambda: summation_index(1.0, -1.0, 1.0), r"a \+ b must be positive"),
        (lambda: surround_suppression([1, 1], [1, 2]), "ascending"),
        (lambda: surround_suppression([1], [1]), "two or more"),
        (lambda: surround_suppression([1, 2], [1, 2, 3]), r"\(\.\.\., size\) with 2 sizes"),
        (lambda: surround_suppression([1, 2], [0, 0]), "each curve needs a positive response"),
    ],
)
def test_bad_input(run, message):
    with pytest.raises(ValueError, match=message):
        run()
