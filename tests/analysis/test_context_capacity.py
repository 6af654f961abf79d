"""Capacity for contexts against closed forms, and against exact binomial numbers."""

from typing import Any

import numpy as np
import pytest
from scipy.special import log_ndtr

from neurosim.analysis.capacity_exponent import (
    asymptotic_log_capacity,
    capacity_exponent,
    distance_moments,
    gaussian_log_overlap,
)
from neurosim.analysis.context_capacity import (
    context_capacity,
    log_context_capacity,
)
from neurosim.analysis.infinite_width import (
    infinite_width,
    infinite_width_exponent,
    infinite_width_log_overlap,
)
from neurosim.analysis.overlap_rates import large_deviation_rate, soft_overlap_rate
from neurosim.analysis.separability import log_overlap_probability, separability_threshold
from neurosim.kernels.contact import contact_function

#: Active fraction by length of the track, with p, mu, lam, critical sigma and gamma at sigma = 2.
WIDE = {
    1: (0.284458, 0.407084, 19.0771, 11.5117, 9.5386, 0.428846),
    2: (0.455669, 0.496070, 21.0592, 10.6127, 10.5296, 0.645960),
    4: (0.646447, 0.457107, 20.2153, 11.0154, 10.1076, 0.541742),
    8: (0.807550, 0.310826, 16.6698, 12.4110, 8.3349, 0.260536),
    16: (0.910557, 0.162885, 12.0674, 13.6783, 6.0337, 0.086963),
}
UNKNOWN: Any = "unknown"
THETA = 1 - 0.8**1.5


def test_contexts_by_the_probability_of_overlap():
    expected = {0.1: 1.606197, 0.01: 3.733772, 0.001: 10.638308, 1e-6: 320.7917}
    M = context_capacity(np.log(list(expected)))
    np.testing.assert_allclose(M, list(expected.values()), rtol=3e-7)
    assert context_capacity(0.0) == 1
    # Far beyond float64, and on both sides of each change of formula.
    logs = log_context_capacity(np.array([-1e5, -90.0 - 1e-9, -90.0, -36.0 - 1e-9, -36.0]))
    assert logs[0] == pytest.approx(5e4 + np.log(-2 * np.log(0.95)) / 2, rel=1e-12)
    np.testing.assert_allclose(np.diff(logs[1:])[[0, 2]], 0, atol=1e-8)
    ratio = context_capacity(-60.0) / context_capacity(-60.0, bound="union")
    assert ratio == pytest.approx((-np.log(0.95) / 0.05) ** 0.5, rel=1e-9)


def test_many_cells():
    options = {"noise": "constant", "level": 2.0}
    assert capacity_exponent(8.0, 9.5, **options) == pytest.approx(0.0443213, abs=1e-7)
    exact = log_context_capacity(gaussian_log_overlap(8.0, 9.5, 400, q=0.0, **options))
    assert exact == pytest.approx(18.121662, abs=1e-6)
    near = asymptotic_log_capacity(8.0, 9.5, 400, **options)
    assert near == pytest.approx(18.114845, abs=1e-6)
    assert capacity_exponent(3.9, 9.5, **options) == 0
    poisson = {"noise": "poisson", "level": 0.5}
    assert capacity_exponent(1.7, 3.0, **poisson) == pytest.approx(0.04)
    shift = gaussian_log_overlap(1.7, 3.0, 400, **poisson)
    assert shift == pytest.approx(log_ndtr(-(1.7 * 400 - 0.5 * 22**2) / 60))


def test_moments_of_published_distances():
    n, mu, lam = (
        (50, 100, 200, 400, 800),
        (6.86, 7.61, 7.98, 8.24, 8.42),
        (9.43, 8.91, 9.26, 9.41, 9.70),
    )
    for q, expected in (
        (0.0, (1.12, 4.17, 9.49, 20.8, 42.2)),
        (2.0, (0.48, 2.48, 6.98, 17.1, 37.1)),
    ):
        overlap = gaussian_log_overlap(mu, lam, n, noise="constant", level=2.0, q=q)
        # The moments are given to three figures.
        np.testing.assert_allclose(log_context_capacity(overlap), expected, rtol=0.02, atol=0.02)
    d = np.array([60.0, 80.0, 100.0])
    assert distance_moments(d, 100, noise="constant") == pytest.approx((8, 20))
    assert distance_moments(d, 100, noise="poisson") == pytest.approx((0.8, 2))


@pytest.mark.parametrize("length", WIDE)
def test_wide_fields(length):
    theta, *expected, gamma = WIDE[length]
    assert 1 - (4 / (4 + length)) ** 1.5 == pytest.approx(theta, abs=5e-7)
    wide = infinite_width(1 - (4 / (4 + length)) ** 1.5)
    np.testing.assert_allclose(wide, expected, atol=6e-5)
    found = capacity_exponent(wide.mu, wide.lam, noise="constant", level=2.0)
    assert found == pytest.approx(gamma, abs=1e-6)


def test_wide_fields_in_poisson_noise():
    # As many cells active in the one context alone as in the other: each adds 29.9^2 / 60.2.
    a = np.repeat([30.0, 0.1, 30.0, 0.1], 5)
    b = np.repeat([30.0, 0.1, 0.1, 30.0], 5)
    contact, s = contact_function(a, b)
    assert contact == pytest.approx(10 * 14.8507, abs=5e-4)
    assert s == pytest.approx(1 / 2, abs=1e-9)
    # Where numbers differ it is larger: moments of 200 cells and 4000 pairs, against the maximum
    # over s by the numbers of such cells, of 100,000 pairs.
    words = np.random.default_rng(2).random((2, 4000, 200)) < THETA
    d = contact_function(*np.where(words, 30.0, 0.1))[0]
    found = distance_moments(d, 200, noise="poisson")
    assert found.mu == pytest.approx(6.355, abs=0.04)
    assert found.lam == pytest.approx(8.45, rel=0.05)
    assert found.mu > 14.8507 * 2 * THETA * (1 - THETA) + 0.2


def test_binomial_numbers():
    expected = {
        (4, 50): 1818.19,
        (4, 100): 1999073,
        (6, 50): 25.863,
        (6, 100): 1072.92,
        (6, 200): 1633295,
    }
    for (sigma, n), M in expected.items():
        found = context_capacity(infinite_width_log_overlap(THETA, n, sigma))
        assert found == pytest.approx(M, rel=3e-5)
    for sigma, slope in ((2, 0.2201), (4, 0.1479), (6, 0.0720)):
        log_m = log_context_capacity(infinite_width_log_overlap(THETA, 400, sigma))
        assert log_m / 400 == pytest.approx(slope, abs=6e-5)
    assert infinite_width_log_overlap(THETA, 1600, 2.0) < -600
    assert infinite_width_log_overlap(THETA, 10, 100.0) == pytest.approx(0, abs=1e-12)


def test_large_deviations():
    p = 2 * THETA * (1 - THETA)
    for sigma, gamma in ((2, 0.219847), (4, 0.145947), (6, 0.070914)):
        assert infinite_width_exponent(THETA, sigma) == pytest.approx(gamma, abs=1e-6)
        rate = large_deviation_rate([0, 29.9**2], 4 * sigma**2, [1 - p, p])
        assert rate / 2 == pytest.approx(gamma, abs=1e-6)
    assert infinite_width_exponent(THETA, 9.6) == 0
    assert large_deviation_rate([0.0, 4.0], 2.0) == 0
    assert large_deviation_rate([0.0, 4.0], 0.0) == pytest.approx(np.log(2))
    assert large_deviation_rate([1.0, 4.0], 0.5) == np.inf
    # Chi-squared with one degree of freedom: (t - 1 - ln t) / 2; standard error about 0.002.
    y = np.random.default_rng(0).normal(size=200000) ** 2
    assert large_deviation_rate(y, 0.5) == pytest.approx((np.log(2) - 0.5) / 2, abs=0.006)
    # Bhattacharyya of the same: ln(1 + 1 / (4 sigma^2)) / 2.
    assert soft_overlap_rate(y, 0.5) == pytest.approx(np.log(2) / 2, abs=0.003)


def test_tails_by_each_method():
    d = 50 + 10 * np.random.default_rng(1).normal(size=2000)
    t = 35.0
    truth = log_ndtr(-1.5)
    # Standard errors: 0.05 and, by counting, sqrt(14 / 2000) = 0.085.
    assert log_overlap_probability(d, t) == pytest.approx(truth, abs=0.2)
    assert log_overlap_probability(d, t, method="empirical") == pytest.approx(truth, abs=0.34)
    assert log_overlap_probability(d, t, method="kde") == pytest.approx(truth, abs=0.34)
    assert log_overlap_probability(d, -350.0) == pytest.approx(-800, rel=0.1)
    with pytest.warns(UserWarning, match="0 of 2000"):
        assert log_overlap_probability(d, 1.0, method="empirical") == -np.inf
    assert separability_threshold(100, noise="constant", level=2.0) == 48
    assert separability_threshold(100, noise="poisson", level=0.5, q=0.0) == 50


def test_bad_input_is_refused():
    good = {"noise": "constant", "level": 1.0}
    for make, message in (
        (lambda: context_capacity(0.1), "log_overlap must"),
        (lambda: context_capacity(np.nan), "log_overlap must"),
        (lambda: context_capacity(-1.0, confidence=1.0), "confidence must"),
        (lambda: asymptotic_log_capacity(8, 9, 10, confidence=0.0, **good), "confidence must"),
        (lambda: capacity_exponent(8.0, 0.0, **good), "lam must"),
        (lambda: capacity_exponent(np.nan, 1.0, **good), "mu"),
        (lambda: capacity_exponent(8.0, 1.0, noise="constant", level=-1.0), "level must"),
        (lambda: gaussian_log_overlap(8.0, 1.0, 0, **good), "n_cells must"),
        (lambda: distance_moments([1.0], 10, noise="constant"), "distances must"),
        (lambda: distance_moments([1.0, 2.0], 0, noise="constant"), "n_cells must"),
        (lambda: separability_threshold(0, **good), "n_cells must"),
        (lambda: separability_threshold(1, q=-1.0, **good), "q must"),
        (lambda: log_overlap_probability([1.0], 1.0), "at least two"),
        (lambda: log_overlap_probability([1.0, 1.0], 1.0), "all 1.0"),
        (lambda: log_overlap_probability([1.0, np.nan], 1.0), "distances"),
        (lambda: log_overlap_probability([1.0, 2.0], np.nan), "threshold"),
        (lambda: infinite_width(1.0), "active_fraction must"),
        (lambda: infinite_width(0.5, rate=0.0), "rate must"),
        (lambda: infinite_width_log_overlap(0.5, 0, 1.0), "n_cells must"),
        (lambda: infinite_width_exponent(0.5, -1.0), "sigma and q"),
        (lambda: large_deviation_rate([1.0], -1.0), "threshold must"),
        (lambda: large_deviation_rate([-1.0], 1.0), "must not be negative"),
        (lambda: large_deviation_rate([1.0], 1.0, [1.0, 2.0]), "must be"),
        (lambda: soft_overlap_rate([1.0], 0.0), "sigma must"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize("noise", ["constant", "poisson"])
@pytest.mark.usefixtures("unchecked_signatures")
def test_unknown_options_are_refused(noise):
    with pytest.raises(ValueError, match="bound must"):
        context_capacity(-1.0, bound=UNKNOWN)
    with pytest.raises(ValueError, match="method must"):
        log_overlap_probability([1.0, 2.0], 1.0, method=UNKNOWN)
    with pytest.raises(ValueError, match="noise must"):
        separability_threshold(10, noise=noise.upper(), level=1.0)
