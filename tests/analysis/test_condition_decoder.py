"""The discriminant between conditions in closed form, and in the span of few trials."""

import numpy as np
import pytest

from neurosim.analysis.condition_decoder import (
    ConditionMoments,
    condition_moments,
    correct_by_discriminant,
    linear_discriminant,
    mean_over_conditions,
)

SIDE = np.array([0, 1, 1, -1])


def draw(n_units, n=6, seed=0):
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(4), n)
    return rng.normal(size=(4, n_units))[index] + rng.normal(size=(4 * n, n_units)), index


def within_by_hand(X, index):
    """Noise and differences of conditions, on the sides that take part."""
    noise, means = np.zeros((3, X.shape[1], X.shape[1])), []
    for i in range(3):
        means.append(X[index == i].mean(axis=0))
        noise[i] = np.cov(X[index == i].T, bias=True)
    d = (means[2] - means[1]) / 2
    low, high = means[0], (means[1] + means[2]) / 2
    return noise.mean(axis=0) + 2 * np.outer(d, d) / 3, low, high


@pytest.mark.parametrize("n_units", [5, 40])
def test_weights_are_those_of_the_shrunk_covariance(n_units):
    """Also with more units than trials, where all is done in their span."""
    X, index = draw(n_units)
    within, low, high = within_by_hand(X, index)
    level = np.trace(within) / n_units
    shrunk = 0.7 * within + 0.3 * level * np.eye(n_units)
    expected = np.linalg.solve(shrunk, high - low) * level
    moments = condition_moments(X, index, 4)
    assert (moments.basis is None) == (n_units == 5)
    weights, threshold = linear_discriminant(moments, SIDE, shrinkage=0.3, n_units=n_units)
    np.testing.assert_allclose(weights, expected, atol=1e-10)
    assert threshold == pytest.approx(expected @ (low + high) / 2)


def test_equal_means_have_no_direction():
    means = np.array([[0.1, 0.2], [0.1, 0.2], [0.3, -0.1], [0.3, -0.1]])
    means[3] += [1e-15, -1e-15]
    moments = ConditionMoments(means, np.zeros((4, 2, 2)), None)
    weights, threshold = linear_discriminant(
        moments, np.array([0, 1, 0, 1]), shrinkage=0.1, n_units=2
    )
    correct = correct_by_discriminant(means, weights, threshold, np.array([0, 1, 0, 1]))
    np.testing.assert_array_equal(correct, 0.5)


def test_conditions_count_the_same():
    patterns, side = np.array([[1.0], [-1], [0], [2], [3]]), np.array([1, 1, 1, 1, 0])
    correct = correct_by_discriminant(patterns, np.array([2.0]), 0.0, side)
    np.testing.assert_array_equal(correct, [1, 0, 0.5, 1, 0])
    assert mean_over_conditions(correct, np.array([0, 0, 0, 1, 2])) == pytest.approx(0.5)
