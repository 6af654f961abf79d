"""Resolution of position and the bias to walls, against closed forms and roots."""

from typing import Any

import jax
import numpy as np
import pytest

from neurosim.analysis.boundary_bias import mean_distance_surface, optimal_boundary_bias
from neurosim.analysis.position_resolution import (
    context_position_tradeoff,
    cramer_rao_bound,
    optimal_width,
    position_fisher_information,
)

UNKNOWN: Any = "unknown"
F, J = 26.486657, 131.933286
CONSTANT = {"noise": "constant", "level": 2.0}
POISSON = {"noise": "poisson", "level": 0.5}


def test_information_of_one_cell():
    found = position_fisher_information([[F]], [[[J]]], **CONSTANT)
    assert found[0, 0, 0] == pytest.approx(4351.5981, rel=1e-7)
    found = position_fisher_information([[F]], [[[J]]], **POISSON)
    assert found[0, 0, 0] == pytest.approx(1326.7575, rel=1e-7)


@pytest.mark.parametrize("options", [CONSTANT, POISSON])
def test_information_adds_over_cells_and_is_positive(options):
    rng = np.random.default_rng(0)
    f, jac = rng.gamma(1, 10, (7, 12)) + 0.1, rng.normal(size=(7, 12, 2))
    whole = position_fisher_information(f, jac, **options)
    parts = [
        position_fisher_information(f[:, c], jac[:, c], **options)
        for c in (slice(5), slice(5, None))
    ]
    np.testing.assert_allclose(whole, sum(parts), rtol=1e-12, atol=1e-12)
    assert (np.linalg.eigvalsh(whole) > 0).all()
    assert cramer_rao_bound(whole, reduction="none") == pytest.approx(
        np.trace(np.linalg.inv(whole), axis1=1, axis2=2)
    )


def test_information_is_that_of_the_likelihood():
    """Mean curvature of the log likelihood, of Gaussian noise with variance phi f(x)."""

    def negative(x, r):
        f = 3 + 2 * np.sin(0.4) + 2 * np.cos(0.4) * x
        return (r - f) ** 2 / (2 * 0.5 * f) + jax.numpy.log(f) / 2

    f = 3 + 2 * np.sin(0.4)
    r = f + np.sqrt(0.5 * f) * np.array([-1.0, 1.0])
    # Two points with the mean and the variance of the noise suffice: it is quadratic in r.
    curvature = np.mean([jax.hessian(negative)(0.0, v) for v in r])
    found = position_fisher_information([f], [[2 * np.cos(0.4)]], **POISSON)
    assert found[0, 0] == pytest.approx(curvature, rel=1e-4)


def test_reductions_with_gaps():
    information = np.array([4.0, 2.0, 1.0, 0.0])[:, None, None]
    assert cramer_rao_bound(information) == np.inf
    assert cramer_rao_bound(information, reduction="median") == 0.75
    assert cramer_rao_bound(information, reduction="harmonic") == pytest.approx(4 / 7)
    assert cramer_rao_bound(np.zeros((4, 1, 1)), reduction="median") == np.inf
    assert cramer_rao_bound(np.zeros((4, 2, 2)), reduction="harmonic") == np.inf
    assert cramer_rao_bound(np.array([[1.0, 1.0], [1.0, 1.0]])) == np.inf


def test_tradeoff_moves_from_narrow_to_wide():
    widths = np.array([0.1, 0.2, 0.4])
    contexts, error = np.array([0.0, 1.0, 10.0]), np.array([-3.0, -2.0, -1.0])
    assert context_position_tradeoff(2.0, -3.0, 0.25) == -2.75
    found = [optimal_width(widths, contexts, error, weight) for weight in (0, 0.1, 0.5, 1)]
    assert found == [0.1, 0.1, 0.4, 0.4]
    gaps = np.array([np.inf, -2.0, -1.0])
    assert optimal_width(widths, contexts, gaps, 0.0) == 0.2
    assert optimal_width(widths, np.array([-np.inf, 0, 0]), error, 0.0) == 0.1


def test_mean_distance_is_that_between_all_pairs_of_cells():
    rates = np.random.default_rng(1).gamma(1, 10, (4, 3000))
    other = np.roll(rates, 7, axis=1)
    surface = mean_distance_surface(rates)
    direct = ((rates[:, None] - other) ** 2).mean(axis=-1)
    # Standard error: about 240 / sqrt(3000) of a value of 200.
    np.testing.assert_allclose(surface, direct, atol=4 * 6)
    np.testing.assert_allclose(
        mean_distance_surface(rates.reshape(4, 2, 1500).transpose(1, 0, 2)), surface, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("width", "root"),
    [
        (0.05, 0.7983),
        (0.1, 0.7515),
        (0.2, 0.6801),
        (1 / 3, 0.5978),
        (0.5, 0.4904),
        (0.75, 0.3104),
        (1, 0.1463),
    ],
)
def test_best_bias(width, root):
    assert optimal_boundary_bias(width, 1.0) == pytest.approx(root, abs=6e-5)
    assert optimal_boundary_bias(3 * width, 3.0) == pytest.approx(root, abs=6e-5)


def test_very_wide_fields_have_no_best_bias():
    assert np.isnan(optimal_boundary_bias(1.5, 1.0))


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_refused():
    fisher = position_fisher_information
    for make, message in (
        (lambda: fisher([[1.0]], [[1.0]], **CONSTANT), "jacobian must"),
        (lambda: fisher([[0.0]], [[[1.0]]], **POISSON), "rates must be positive"),
        (lambda: fisher([[np.nan]], [[[1.0]]], **CONSTANT), "rates"),
        (lambda: fisher([[1.0]], [[[1.0]]], noise="constant", level=0.0), "level must"),
        (lambda: fisher([[1.0]], [[[1.0]]], noise=UNKNOWN, level=1.0), "noise must"),
        (lambda: cramer_rao_bound([1.0]), "information must be"),
        (lambda: cramer_rao_bound([[-1.0]]), "positive semi-definite"),
        (lambda: cramer_rao_bound([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (lambda: cramer_rao_bound([[1.0]], reduction=UNKNOWN), "reduction must"),
        (lambda: context_position_tradeoff(1.0, 1.0, 2.0), "weight must"),
        (lambda: context_position_tradeoff(np.nan, 1.0, 0.5), "log_contexts must"),
        (lambda: context_position_tradeoff(1.0, -np.inf, 0.5), "log_error must"),
        (lambda: optimal_width([1.0], [1.0, 2.0], [1.0, 2.0], 0.5), "widths must"),
        (lambda: optimal_width([1.0], [1.0], [np.inf], 0.5), "infinite at every width"),
        (lambda: mean_distance_surface([1.0]), "rates must be"),
        (lambda: mean_distance_surface([[1.0]]), "two cells"),
        (lambda: optimal_boundary_bias(0.0, 1.0), "width must"),
        (lambda: optimal_boundary_bias(1.0, np.inf), "length must"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
