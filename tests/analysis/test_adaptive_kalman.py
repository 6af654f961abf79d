"""Filters of a changing signal, against dense Gaussian conditioning and the published errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.adaptive_kalman import (
    context_kalman_filter,
    random_context_filter,
    reference_errors,
    stationary_filter_error,
)
from neurosim.tasks.adaptive_filtering import AdaptiveFiltering

RNG = np.random.default_rng(0)
#: Two contexts of 4 and 5 steps.
ONSETS = np.isin(np.arange(9), (0, 4))
CONTEXT = {
    "time_constant": np.where(np.arange(9) < 4, 5.0, 1.5),
    "mean": np.where(np.arange(9) < 4, 2.0, -1.0),
    "observation_std": np.where(np.arange(9) < 4, 0.7, 1.3),
    "onsets": ONSETS,
}


def conditioned(y, tau, b, std, sigma):
    """Mean and variance of the last state of one context given all observations of it."""
    n = len(y)
    a = 1 - 1 / tau
    prior = sigma**2 * a ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weights = np.linalg.solve(prior + std**2 * np.eye(n), prior[-1])
    return b + weights @ (y - b), sigma**2 - weights @ prior[-1]


def test_equals_gaussian_conditioning_within_each_context():
    y = RNG.normal(size=(3, 9))
    found = context_kalman_filter(y, **CONTEXT, process_std=1.2)
    assert found.estimates.dtype == found.variances.dtype == np.float64
    for trial in range(3):
        for t in range(9):
            first = 0 if t < 4 else 4
            context = [CONTEXT[k][t] for k in ("time_constant", "mean", "observation_std")]
            expected = conditioned(y[trial, first : t + 1], *context, 1.2)
            got = found.estimates[trial, t], found.variances[trial, t]
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)


@pytest.mark.usefixtures("double_precision")
def test_jax_gives_the_same_and_has_derivatives():
    y = RNG.normal(size=(3, 9))
    arrays = {name: jnp.asarray(value) for name, value in CONTEXT.items()}
    found = jax.jit(lambda y: context_kalman_filter(y, **arrays))(jnp.asarray(y))
    assert isinstance(found.estimates, jax.Array)
    for one, other in zip(found, context_kalman_filter(y, **CONTEXT)):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)
    # The filter is linear in the observations up to the mean.
    point, direction = jnp.asarray(y), jnp.ones(y.shape)
    slope = jax.jvp(lambda y: context_kalman_filter(y, **arrays).estimates, (point,), (direction,))[
        1
    ]
    shifted = context_kalman_filter(y + 1, **CONTEXT).estimates - found.estimates
    np.testing.assert_allclose(slope, shifted, atol=1e-13)


def test_limits_of_the_noise():
    y = RNG.normal(size=9)
    exact = context_kalman_filter(y, **(CONTEXT | {"observation_std": 0.0}))
    np.testing.assert_allclose(exact.estimates, y, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(exact.variances, 0)
    blind = context_kalman_filter(y, **(CONTEXT | {"observation_std": 1e9}))
    np.testing.assert_allclose(blind.estimates, CONTEXT["mean"], atol=1e-15)
    still = context_kalman_filter(y, **CONTEXT, process_std=0.0)
    np.testing.assert_allclose(still.estimates, CONTEXT["mean"], atol=1e-15)


def test_variance_settles_at_the_stationary_error():
    tau, std = np.array([[1.0], [2.0], [10.0]]), np.array([[0.1], [1.0], [3.0]])
    found = context_kalman_filter(
        np.zeros((3, 200)), time_constant=tau, mean=0.0, observation_std=std, process_std=0.8,
        onsets=np.arange(200) == 0,
    )  # fmt: skip
    expected = stationary_filter_error(tau[:, 0], std[:, 0], process_std=0.8)
    np.testing.assert_allclose(found.variances[:, -1], expected, rtol=1e-12)
    # Without memory the prior is N(b, sigma^2) at every step.
    assert expected[0] == pytest.approx(0.64 * 0.01 / 0.65, rel=1e-12)
    # Averaged over the published ranges.
    x, w = np.polynomial.legendre.leggauss(40)
    errors = stationary_filter_error(5.5 + 4.5 * x[:, None], 1.55 + 1.45 * x)
    assert w @ errors @ w / 4 == pytest.approx(0.4906, abs=1e-4)


def test_published_errors():
    trials = AdaptiveFiltering(length=2000).sample(jax.random.key(0), 1000)
    errors = reference_errors(trials.targets[..., 0], trials.inputs[..., 0], **trials.info)
    # Between batches of this size the errors of all filters vary by about 1 %.
    assert errors.kalman == pytest.approx(0.4928, abs=0.012)
    assert errors.random_context == pytest.approx(0.948, abs=0.03)
    assert errors.random_step == pytest.approx(1.188, abs=0.03)
    assert errors.random_drift == pytest.approx(1.3612788, abs=0.035)
    assert errors.observation == pytest.approx(26.999 / 8.7, abs=0.07)
    assert errors.mean == pytest.approx(1, abs=0.01)


def test_guesses_are_drawn_once_a_context_or_at_every_step():
    y, ones = RNG.normal(size=(4, 9)), {"mean": 0.0, "onsets": ONSETS}
    # With the true values as the only ones to draw, guessing is knowing.
    known = context_kalman_filter(y, time_constant=3.0, observation_std=0.5, **ones)
    for redraw in ("context", "step"):
        sure = {"tau_range": (3.0, 3.0), "observation_std_range": (0.5, 0.5), "redraw": redraw}
        for more in ({}, {"time_constant": 3.0}):
            found = random_context_filter(y, **ones, **sure, **more)
            np.testing.assert_allclose(found.estimates, known.estimates, atol=1e-14)
    # Within a context the variance only falls if the guess stays.
    for redraw, stays in (("context", True), ("step", False)):
        variances = random_context_filter(y, **ones, redraw=redraw, random_state=1).variances
        falls = np.diff(variances, axis=1)[:, ~ONSETS[1:]] <= 1e-12
        assert falls.all() == stays
    first, again, other = (
        random_context_filter(y, **ones, random_state=seed).estimates for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert np.all(first != other)


def test_the_true_decay_with_a_guessed_drift():
    # One step by hand: m = a b + b / tau, P = a^2 sigma^2 + Q, a of 4 steps and the rest of 2.
    found = context_kalman_filter(
        np.array([1.0]), time_constant=2.0, decay_time_constant=4.0, mean=2.0, observation_std=1.0,
        onsets=np.array([True]),
    )  # fmt: skip
    m, P = 0.75 * 2 + 2 / 2, 0.75**2 + 0.75
    assert found.estimates[0] == pytest.approx(m + P / (P + 1) * (1 - m), rel=1e-14)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observations": np.zeros((2, 0))}, "observations must be .* not empty"),
        ({"observations": np.array([1, np.nan])}, "observations must be finite"),
        ({"observations": np.zeros(7)}, "time_constant has shape .* does not fit"),
        ({"time_constant": 0.5}, "time_constant must be at least 1, got 0.5"),
        ({"decay_time_constant": 0.5}, "decay_time_constant must be at least 1"),
        ({"observation_std": -1.0}, "observation_std must be at least 0"),
        ({"observation_std": 0.0, "process_std": 0.0}, "must not both be 0"),
        ({"process_std": -1.0}, "process_std must be"),
        ({"mean": np.inf}, "mean must be finite"),
        ({"onsets": np.zeros(9)}, "onsets must be booleans, got float64"),
    ],
)
def test_bad_arguments_are_named(changes, message):
    arguments = {"observations": np.zeros(9)} | CONTEXT | changes
    with pytest.raises(ValueError, match=message):
        context_kalman_filter(arguments.pop("observations"), **arguments)


def test_other_bad_arguments_are_named():
    y, ones = np.zeros(9), {"mean": 0.0, "onsets": ONSETS}
    with pytest.raises(ValueError, match=r"tau_range must be .* at least 1"):
        random_context_filter(y, **ones, tau_range=(0.1, 2.0))
    with pytest.raises(ValueError, match="signal must have the shape"):
        reference_errors(y[:3], y, **CONTEXT)
    with pytest.raises(ValueError, match="must be positive"):
        stationary_filter_error(2.0, 0.0)
    with pytest.raises(ValueError, match="time_constant must be at least 1"):
        stationary_filter_error(0.5, 1.0)
