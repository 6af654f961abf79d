"""Adaptive filtering: waiting times, ranges and autocorrelations of its contexts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks.adaptive_filtering import AdaptiveFiltering

KEY = jax.random.key(0)


def gaps_between(onsets):
    trial, step = np.nonzero(onsets)
    return np.diff(step)[np.diff(trial) == 0]


def test_contexts_last_as_long_as_they_should():
    task = AdaptiveFiltering(length=1500, min_context=20, mean_wait=10)
    trials = jax.jit(task.sample, static_argnums=1)(KEY, 200)
    onsets = np.asarray(trials.info["onsets"])
    assert onsets[:, 0].all()
    gaps = gaps_between(onsets)
    assert gaps.min() == 20
    # From step 20 on, geometric with mean 9 and standard deviation sqrt(90).
    assert gaps.mean() == pytest.approx(29, abs=4 * np.sqrt(90 / len(gaps)) + 0.2)
    assert np.mean(gaps == 20) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / len(gaps)))


def test_contexts_are_uniform_and_change_at_onsets_only():
    trials = AdaptiveFiltering(length=800, min_context=5, mean_wait=2).sample(KEY, 100)
    onsets = np.asarray(trials.info["onsets"])
    for name, (low, high) in {
        "time_constant": (1, 10),
        "mean": (-3, 3),
        "observation_std": (0.1, 3),
    }.items():
        values = np.asarray(trials.info[name])
        changes = values[:, 1:] != values[:, :-1]
        np.testing.assert_array_equal(changes, onsets[:, 1:])
        drawn = values[onsets]
        assert low <= drawn.min()
        assert drawn.max() <= high
        width, n = high - low, drawn.size
        assert drawn.mean() == pytest.approx((low + high) / 2, abs=4 * width / np.sqrt(12 * n))
        assert drawn.var() == pytest.approx(width**2 / 12, rel=4 * np.sqrt(0.8 / n))


def test_signal_is_stationary_with_the_autocorrelation_of_its_context():
    task = AdaptiveFiltering(
        length=40, min_context=40, tau_range=(4, 4), mean_range=(2, 2), process_std=1.5,
        observation_std_range=(0.5, 0.5),
    )  # fmt: skip
    trials = task.sample(KEY, 5000)
    x = np.asarray(trials.targets[..., 0]) - 2
    noise = np.asarray(trials.inputs[..., 0]) - 2 - x
    # At every step: mean b, variance sigma^2, and covariance sigma^2 a^lag, here a = 3/4.
    assert np.abs(x.mean(axis=0)).max() < 5 * 1.5 / np.sqrt(5000)
    for t in (0, 1, 20):
        for lag in (0, 1, 5):
            covariance = np.mean(x[:, t] * x[:, t + lag])
            assert covariance == pytest.approx(2.25 * 0.75**lag, abs=4 * 2.25 * np.sqrt(2 / 5000))
    assert noise.std() == pytest.approx(0.5, rel=4 / np.sqrt(2 * noise.size))
    assert np.mean(noise * x) == pytest.approx(0, abs=4 * 0.75 / np.sqrt(noise.size) * 3)


def test_the_signal_starts_anew_with_its_context():
    task = AdaptiveFiltering(length=300, min_context=3, mean_wait=3, tau_range=(10, 10))
    trials = task.sample(KEY, 200)
    onsets = np.asarray(trials.info["onsets"])[:, 1:]
    x = np.asarray(trials.targets[..., 0] - trials.info["mean"])
    before, after = x[:, :-1][onsets], x[:, 1:][onsets]
    n = before.size
    assert np.corrcoef(before, after)[0, 1] == pytest.approx(0, abs=4 / np.sqrt(n))
    assert after.std() == pytest.approx(1, rel=4 / np.sqrt(2 * n))


def test_everything_is_finite_and_asked_for():
    trials = AdaptiveFiltering(length=50, process_std=0).sample(KEY, 3)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(trials))
    assert np.all(np.asarray(trials.mask) == 1)
    # Without process noise the signal is the mean of its context.
    np.testing.assert_allclose(trials.targets[..., 0], trials.info["mean"], rtol=1e-5)


def test_a_trial_does_not_change_when_the_batch_grows():
    task = AdaptiveFiltering(length=60, min_context=10, mean_wait=5)
    few, many = (task.sample(jax.random.key(3), n) for n in (2, 5))
    np.testing.assert_array_equal(few.inputs, many.inputs[:2])
    np.testing.assert_array_equal(few.info["mean"], many.info["mean"][:2])
    assert len(np.unique(np.asarray(many.targets).reshape(5, -1), axis=0)) == 5


def test_double_precision():
    with jax.enable_x64(True):
        trials = AdaptiveFiltering(length=8).sample(KEY, 2)
        assert trials.inputs.dtype == trials.targets.dtype == jnp.float64


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dt": 0}, "dt must be"),
        ({"length": 0}, "length must be at least 1 step"),
        ({"length": 3.0}, "length must be a whole number"),
        ({"min_context": 0}, "min_context must be at least 1"),
        ({"mean_wait": 0.5}, "mean_wait must be finite and at least 1"),
        ({"mean_wait": float("nan")}, "mean_wait must be"),
        ({"process_std": -1}, "process_std must be"),
        ({"tau_range": (0.5, 2)}, "tau_range must be .* at least 1"),
        ({"tau_range": (3, 2)}, "tau_range must be .* in order"),
        ({"mean_range": (0, float("inf"))}, "mean_range must be two finite"),
        ({"observation_std_range": (-1, 2)}, "observation_std_range must be"),
        ({"mean_range": 3}, "mean_range must be two numbers"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveFiltering(**fields)
