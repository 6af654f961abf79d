"""Smoothing against the Gaussian itself, and its edges."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from neurosim.analysis.io.smoothing import smooth

X = np.random.default_rng(0).normal(size=(3, 40, 2))


def test_away_from_the_ends_it_is_a_gaussian_filter():
    found = smooth(X, 0.03, dt=0.01)
    expected = gaussian_filter1d(X, 3.0, axis=1, truncate=4.0)
    np.testing.assert_allclose(found[:, 12:-12], expected[:, 12:-12], atol=1e-14)


def test_the_first_sample_is_the_mean_of_half_a_gaussian():
    found = smooth(X, 2.0, dt=1)
    weights = np.exp(-0.5 * (np.arange(9) / 2) ** 2)
    np.testing.assert_allclose(
        found[:, 0], np.einsum("t,itu->iu", weights, X[:, :9]) / weights.sum()
    )


@pytest.mark.parametrize("causal", [False, True])
def test_a_constant_stays_what_it_is(causal):
    mask = np.random.default_rng(1).random((3, 40)) < 0.5
    mask[:, 0] = True
    found = smooth(np.full((3, 40, 2), 7.0), 3.0, dt=1, causal=causal, mask=mask)
    np.testing.assert_allclose(found, 7.0, rtol=1e-14)


def test_nothing_leaks_between_trials_or_into_the_past():
    impulse = np.zeros((2, 30, 1))
    impulse[0, 15] = 1
    found = smooth(impulse, 3.0, dt=1, causal=True)
    assert (found[1] == 0).all()
    assert (found[0, :15] == 0).all()
    # Half a Gaussian: e^(-1/2) of its peak one width later.
    assert found[0, 18, 0] / found[0, 15, 0] == pytest.approx(np.exp(-0.5))
    acausal = smooth(impulse, 2.0, dt=1)[0, :, 0]
    assert acausal[13] == pytest.approx(acausal[17])
    assert acausal[13] / acausal[15] == pytest.approx(np.exp(-0.5))


def test_samples_that_do_not_count_enter_no_average_and_come_back():
    mask = np.ones((3, 40), bool)
    mask[1, 20:] = False
    poisoned = np.where(mask[..., None], X, np.nan)
    found = smooth(poisoned, 3.0, dt=1, mask=mask)
    np.testing.assert_allclose(found[1, :20], smooth(X[1, :20], 3.0, dt=1), atol=1e-14)
    assert np.isnan(found[1, 20:]).all()
    np.testing.assert_allclose(found[0], smooth(X[0], 3.0, dt=1), atol=1e-14)


def test_a_mask_may_differ_between_units():
    mask = np.ones(X.shape, bool)
    mask[0, :, 1] = False
    mask[0, 3, 1] = True
    found = smooth(X, 3.0, dt=1, mask=mask)
    np.testing.assert_allclose(found[..., 0], smooth(X, 3.0, dt=1)[..., 0], atol=1e-14)
    assert found[0, 3, 1] == pytest.approx(X[0, 3, 1])


def test_layouts_come_back():
    trials = [X[0], X[1, :25]]
    found = smooth(trials, 2.0, dt=1)
    for trial, given in zip(found, trials, strict=True):
        np.testing.assert_allclose(trial, smooth(given, 2.0, dt=1), atol=1e-14)
    assert smooth(np.ones((5, 2), int), 2.0, dt=1).dtype == np.float64
    assert smooth(X[0, :1], 2.0, dt=1).shape == (1, 2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("x64", [False, True])
def test_jax_equals_numpy(causal, x64):
    with jax.enable_x64(x64):
        dtype = jnp.float64 if x64 else jnp.float32
        mask = np.ones((3, 40), bool)
        mask[2, 10:15] = False
        given = jnp.asarray(X, dtype)
        found = smooth(given, 2.5, dt=1, causal=causal, mask=mask)
        assert found.dtype == dtype
        assert smooth(given.astype(jnp.float32), 2.5, dt=1, mask=mask).dtype == jnp.float32
        expected = smooth(X, 2.5, dt=1, causal=causal, mask=mask)
        np.testing.assert_allclose(found, expected, atol=1e-12 if x64 else 2e-6)


def test_jax_can_be_differentiated():
    # Linear: the derivative along X is the smoothed X.
    given = jnp.asarray(X, jnp.float32)
    value, slope = jax.jvp(lambda x: smooth(x, 2.0, dt=1), (given,), (given,))
    np.testing.assert_allclose(slope, value, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0, "dt": 1}, "width must be positive"),
        ({"width": np.nan, "dt": 1}, "width must be positive"),
        ({"width": 1, "dt": 0}, "dt must be a positive"),
        ({"width": 1, "dt": 1, "truncate": 0}, "truncate must be positive"),
        ({"width": 1, "dt": 1, "mask": np.ones((3, 39), bool)}, "mask must be booleans"),
        ({"width": 1, "dt": 1, "mask": np.zeros((3, 40), bool)}, "trial 0 of X has no sample"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        smooth(X, options.pop("width"), **options)


def test_missing_values_are_refused_with_their_place():
    broken = X.copy()
    broken[1, 5, 1] = np.nan
    with pytest.raises(ValueError, match="trial 1, time 5, unit 1"):
        smooth(broken, 1, dt=1)
    with pytest.raises(ValueError, match="trial 1, time 5, unit 1"):
        smooth(broken, 1, dt=1, mask=np.ones((3, 40), bool))
    with pytest.raises(ValueError, match="mask is for an array"):
        smooth(list(X), 1, dt=1, mask=np.ones((3, 40), bool))
