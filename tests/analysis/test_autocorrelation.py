"""Autocorrelations by hand, and time constants of processes that have one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import lfilter

from neurosim.analysis.autocorrelation import autocorrelation, autocorrelation_time

NAN = np.nan


def autoregressive(tau, n_steps, *, n_trials=1, seed=0):
    """Samples at unit intervals of an Ornstein-Uhlenbeck process, from its stationary state."""
    rng = np.random.default_rng(seed)
    factor = np.exp(-1 / tau)
    noise = rng.normal(size=(n_trials, n_steps)) * np.sqrt(1 - factor**2)
    noise[:, 0] /= np.sqrt(1 - factor**2)
    return lfilter([1.0], [1.0, -factor], noise, axis=1)


def pairs(c):
    """Two trials of two steps, whose correlation over one step is 2 c / (1 + c^2)."""
    return np.array([[1.0, c], [-1.0, -c]])[..., None]


def test_correlations_by_hand():
    X = np.array([[1.0, 1], [2, -1], [3, 1], [4, -1]])
    expected = [[1, 1], [1 / 3, -1], [-0.6, 1], [-1.8, -1]]
    np.testing.assert_allclose(autocorrelation(X, 3), expected, atol=1e-12)
    np.testing.assert_allclose(autocorrelation(X + 1e3, 1), expected[:2], atol=1e-9)
    np.testing.assert_allclose(autocorrelation(X * [1e-180, 1e180], 3), expected, atol=1e-12)
    np.testing.assert_allclose(autocorrelation(pairs(0.5), 1)[:, 0], [1, 0.8])


def test_pairs_are_within_trials_of_any_length():
    rng = np.random.default_rng(0)
    trials = [rng.normal(size=(n, 2)) for n in (7, 4, 9)]
    mean = np.concatenate(trials).mean(axis=0)
    found = autocorrelation(trials, 8)
    variance = np.mean((np.concatenate(trials) - mean) ** 2, axis=0)
    for lag in range(9):
        products = [(x[: len(x) - lag] - mean) * (x[lag:] - mean) for x in trials if len(x) > lag]
        np.testing.assert_allclose(found[lag], np.concatenate(products).mean(axis=0) / variance)
    equal = np.stack([x[:4] for x in trials])
    np.testing.assert_allclose(autocorrelation(equal, 3), autocorrelation(list(equal), 3))


def test_a_constant_neuron_has_no_correlation():
    X = np.stack([np.arange(6.0), np.full(6, 0.1), np.zeros(6)], axis=1)
    found = autocorrelation(X, 2)
    assert np.isfinite(found[:, 0]).all()
    assert np.isnan(found[:, 1:]).all()
    np.testing.assert_array_equal(np.isnan(autocorrelation_time(X, 1)), [False, True, True])
    assert np.isnan(jax.jit(autocorrelation, static_argnums=1)(jnp.asarray(X), 2)[:, 1:]).all()


def test_correlations_in_jax_with_a_derivative():
    X = np.random.default_rng(0).normal(size=(3, 8, 2))
    single = jax.jit(autocorrelation, static_argnums=1)(jnp.asarray(X), 4)
    assert isinstance(single, jax.Array)
    np.testing.assert_allclose(single, autocorrelation(X, 4), atol=1e-5)
    with jax.enable_x64(True):
        way = np.random.default_rng(1).normal(size=X.shape)
        correlate = jax.jit(lambda x: autocorrelation(x, 4))
        _, slope = jax.jvp(correlate, (jnp.asarray(X),), (jnp.asarray(way),))
        h = 1e-6
        expected = (autocorrelation(X + h * way, 4) - autocorrelation(X - h * way, 4)) / (2 * h)
        np.testing.assert_allclose(slope, expected, atol=1e-7)


def test_time_of_an_exactly_known_correlation():
    # .8 after one step of 10 ms; .5 exactly; 1, which does not decay; and -.8.
    for c, expected in ((0.5, -10 / np.log(0.8)), (2 - 3**0.5, 10 / np.log(2)), (1.0, np.inf)):
        np.testing.assert_allclose(autocorrelation_time(pairs(c), 10), [expected], rtol=1e-6)
    np.testing.assert_array_equal(autocorrelation_time(pairs(-0.5), 10), [0])
    # Still positive at the last lag, so the integral is not known; and one line from 1 to -.8.
    assert np.isnan(autocorrelation_time(pairs(0.5), 10, method="integral")).all()
    np.testing.assert_allclose(
        autocorrelation_time(pairs(-0.5), 10, method="integral"), [10 / 1.8 / 2]
    )
    # Lags 0, 1, 2 of 1, 2, 3, 4: 1, 1/3, -.6.
    X = np.arange(4.0)[:, None]
    area = (1 + 1 / 3) / 2 + (1 / 3) ** 2 / (1 / 3 + 0.6) / 2
    np.testing.assert_allclose(autocorrelation_time(X, 1, method="integral"), [area])


@pytest.mark.parametrize("method", ["exponential", "integral"])
def test_ornstein_uhlenbeck_processes_have_their_time_constants(method):
    taus = (5.0, 20.0)
    X = np.stack([autoregressive(tau, 40_000, seed=3)[0] for tau in taus], axis=1)
    times = autocorrelation_time(X, 2, method=method, max_lag=500)
    assert times.dtype == np.float64
    # In steps of 2; the error of a correlation over 40,000 steps is some sqrt(2 tau / n).
    np.testing.assert_allclose(times, [10, 40], rtol=0.12)


def test_time_constant_from_many_trials_and_of_white_noise():
    # 200,000 steps, 16 of which make an independent sample: an error of some 3 %.
    trials = autoregressive(8.0, 100, n_trials=2000)[..., None]
    unequal = [trial[: 60 + i % 40] for i, trial in enumerate(trials)]
    for given in (trials, jnp.asarray(trials), unequal):
        assert autocorrelation_time(given, 1)[0] == pytest.approx(8, rel=0.1)
    white = np.random.default_rng(0).normal(size=(5000, 1))
    assert autocorrelation_time(white, 1, max_lag=50)[0] < 0.3
    # A trapezoid from 1 to 0.
    assert autocorrelation_time(white, 1, method="integral")[0] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("X", "max_lag", "message"),
    [
        (np.zeros((5, 2)), 5, "max_lag must lie between 0 and 4"),
        (np.zeros((5, 2)), -1, "max_lag must lie between 0 and 4"),
        ([np.zeros((5, 2)), np.zeros((9, 2))], 9, "max_lag must lie between 0 and 8"),
        (np.zeros(5), 1, r"X must be \(time, neurons\)"),
        (np.full((5, 2), NAN), 1, "not finite"),
        (np.ma.masked_equal(np.eye(3), 1), 1, "X is a masked array"),
    ],
)
def test_bad_traces_are_refused(X, max_lag, message):
    with pytest.raises(ValueError, match=message):
        autocorrelation(X, max_lag)
    with pytest.raises(ValueError, match=message):
        autocorrelation_time(X, 1, max_lag=max_lag)


def test_bad_options_are_refused():
    X = np.eye(4)
    with pytest.raises(ValueError, match="method must be"):
        autocorrelation_time(X, 1, method="fit")
    with pytest.raises(ValueError, match="dt must be"):
        autocorrelation_time(X, 0)
    with pytest.raises(ValueError, match="max_lag must be at least 1"):
        autocorrelation_time(X, 1, max_lag=0)
    with pytest.raises(ValueError, match="no trial of two time points"):
        autocorrelation_time(X[:, None], 1)


def test_times_of_values_that_are_not_known_yet_are_refused():
    for x in (jnp.eye(4), [jnp.eye(4)]):
        with pytest.raises(TypeError, match="autocorrelation_time is computed in NumPy"):
            jax.jit(lambda x: autocorrelation_time(x, 1))(x)
