"""The fit of numbers of place fields, against a published one and against what drew them."""

import numpy as np
import pytest
from scipy.stats import nbinom

from neurosim.analysis.gamma_poisson import fit_gamma_poisson
from neurosim.models import Environment, FieldStatistics

#: Mites on 150 apple leaves: leaves with 0, 1, ... of them.
MITES = np.repeat(np.arange(8), [70, 38, 17, 10, 9, 3, 2, 1])


def test_published_fit():
    """Bliss & Fisher (1953), Fitting the negative binomial distribution to biological data."""
    fit = fit_gamma_poisson(MITES)
    assert fit.density == pytest.approx(1.14667, abs=5e-6)
    assert fit.alpha == pytest.approx(1.02459, abs=5e-6)
    expected = nbinom.logpmf(MITES, fit.alpha, fit.alpha / (fit.alpha + fit.density)).sum()
    assert fit.log_likelihood == pytest.approx(expected, rel=1e-12)
    # Observed information of the density at the best alpha: mean (1 + mean / alpha) / n.
    assert fit.density_error == pytest.approx(
        (fit.density * (1 + fit.density / fit.alpha) / 150) ** 0.5, rel=1e-9
    )
    # In rooms of another size densities change, and shapes do not.
    large = fit_gamma_poisson(MITES, 8.0)
    assert large.alpha == pytest.approx(fit.alpha, rel=1e-6)
    assert large.beta0 == pytest.approx(8 * fit.beta0, rel=1e-6)
    assert large.beta0_error == pytest.approx(8 * fit.beta0_error, rel=1e-5)


@pytest.mark.parametrize("preset", ["rooke2024_1d", "rich2014"])
def test_statistics_that_drew_the_counts(preset):
    statistics = FieldStatistics.preset(preset)
    rng = np.random.default_rng(0)
    lengths = np.repeat([2.0, 8.0, 16.0], 200)
    alpha = float(statistics.alpha)
    p = np.array([statistics.beta(Environment(L)) for L in lengths])
    fits = [
        fit_gamma_poisson(rng.negative_binomial(alpha, p / (1 + p)), lengths) for _ in range(40)
    ]
    for name, truth in (("alpha", alpha), ("beta0", float(statistics.beta0))):
        found = np.array([getattr(f, name) for f in fits])
        errors = np.array([getattr(f, f"{name}_error") for f in fits])
        # Deviations in standard errors have mean 0, but for small samples, and variance 1.
        z = (found - truth) / errors
        assert abs(z.mean()) < 0.6
        assert z.std() == pytest.approx(1, abs=0.4)
        assert np.median(errors) < 0.2 * truth


def test_the_likelihood_has_its_maximum_there():
    sizes = np.tile([1.0, 4.0, 16.0], 50)
    fit = fit_gamma_poisson(MITES, sizes)

    def log_likelihood(alpha, density):
        return nbinom.logpmf(MITES, alpha, alpha / (alpha + density * sizes)).sum()

    at = fit.alpha, fit.density
    assert fit.log_likelihood == pytest.approx(log_likelihood(*at), rel=1e-12)
    h = 1e-4
    for way in (np.array([1, 0]), np.array([0, 1])):
        ends = [log_likelihood(*(at * (1 + sign * h * way))) for sign in (1, -1)]
        slope, bend = (ends[0] - ends[1]) / (2 * h), (sum(ends) - 2 * fit.log_likelihood) / h**2
        assert abs(slope) < 1e-4 * abs(bend)
        assert bend < 0


def test_counts_that_vary_no_more_than_poisson_ones():
    with pytest.warns(UserWarning, match="no more than Poisson"):
        fit = fit_gamma_poisson([2, 2, 3, 2, 3], 4.0)
    assert (fit.alpha, fit.beta0) == (np.inf, np.inf)
    assert fit.density == pytest.approx(0.6)
    assert fit.density_error == pytest.approx((0.6 / 20) ** 0.5)
    with pytest.warns(UserWarning, match="no cell has a field"):
        fit = fit_gamma_poisson(np.zeros(5, int))
    assert (fit.alpha, fit.density, fit.log_likelihood) == (np.inf, 0, 0)


def test_bad_input_is_refused():
    for counts, size, message in (
        ([1], 1.0, "two or more whole"),
        ([1, -1], 1.0, "from 0 on"),
        ([1, 0.5], 1.0, "whole numbers"),
        ([1, np.nan], 1.0, "counts"),
        ([1, 2], 0.0, "size must"),
        ([1, 2], [1.0, 2.0, 3.0], "size must"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_gamma_poisson(counts, size)
