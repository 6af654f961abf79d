"""Transforms, Fano factor and silence of counts, against sums over the Poisson distribution."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import poisson

from neurosim.analysis.io.count_statistics import (
    drop_silent_units,
    fano_factor,
    variance_stabilise,
)


def test_transforms_by_their_definition():
    n = np.array([[0, 1, 4]])
    np.testing.assert_allclose(variance_stabilise(n, kind="sqrt"), [[0, 1, 2]])
    expected = [[2 * 0.375**0.5, 2 * 1.375**0.5, 2 * 4.375**0.5]]
    np.testing.assert_allclose(variance_stabilise(n, kind="anscombe"), expected)
    trials = variance_stabilise([n, n[:, ::-1]], kind="sqrt")
    np.testing.assert_allclose(trials[1], [[2, 1, 0]])


@pytest.mark.parametrize(("kind", "variance"), [("sqrt", 0.25), ("anscombe", 1.0)])
def test_the_variance_of_poisson_counts_is_even(kind, variance):
    n = np.arange(200.0)[:, None]
    values = variance_stabilise(n, kind=kind)[:, 0]
    tolerance = {"sqrt": 0.05, "anscombe": 0.01}[kind]
    for mean in (10, 20, 40):
        p = poisson.pmf(np.arange(200), mean)
        found = p @ values**2 - (p @ values) ** 2
        assert found == pytest.approx(variance, rel=tolerance)


def test_the_root_in_jax_has_a_finite_slope_at_no_spike():
    n = jnp.array([[0.0, 4.0]])
    slope = jax.grad(lambda x: variance_stabilise(x, kind="sqrt").sum())(n)
    np.testing.assert_allclose(slope, [[0, 0.25]])
    slope = jax.grad(lambda x: variance_stabilise(x, kind="anscombe").sum())(n)
    np.testing.assert_allclose(slope, [[0.375**-0.5, 4.375**-0.5]], rtol=1e-6)


def test_fano_factor_by_hand():
    counts = np.array([[[1, 5]], [[3, 5]]])
    np.testing.assert_allclose(fano_factor(counts), [[1.0, 0.0]])  # variances 2 and 0, means 2, 5


@pytest.mark.parametrize(("n_trials", "total"), [(2, 3), (3, 4)])
def test_it_is_1_for_poisson_counts_without_bias(n_trials, total):
    # Given their total, Poisson counts are multinomial: every way of dealing spikes is as likely.
    found = []
    for owner in product(range(n_trials), repeat=total):
        counts = np.bincount(owner, minlength=n_trials)
        found.append(fano_factor(counts[:, None, None])[0, 0])
    assert np.mean(found) == pytest.approx(1.0, abs=1e-12)


def test_conditions_have_their_own():
    counts = np.array([1, 3, 10, 10, 20])[:, None, None]
    labels = ["a", "a", "b", "b", "c"]
    found = fano_factor(counts, labels=labels)
    np.testing.assert_allclose(found[:, 0, 0], [1.0, 0.0, np.nan])
    two = fano_factor(counts[:4], labels={"x": [0, 0, 1, 1], "y": [0, 0, 0, 0]})
    assert two.shape == (2, 1, 1, 1)


def test_what_has_no_fano_factor_is_nan():
    counts = np.array([[[0, 2], [1, 1]], [[0, 4], [5, 1]]])
    found = fano_factor(counts, mask=np.array([[True, True], [True, False]]))
    np.testing.assert_allclose(found, [[np.nan, 2 / 3], [np.nan, np.nan]])


@pytest.mark.parametrize("x64", [False, True])
def test_fano_factor_in_jax(x64):
    with jax.enable_x64(x64):
        dtype = jnp.float64 if x64 else jnp.float32
        counts = np.random.default_rng(0).poisson(3.0, size=(20, 4, 2))
        counts[:, 0, 0] = 0
        found = fano_factor(jnp.asarray(counts, dtype))
        assert found.dtype == dtype
        np.testing.assert_allclose(found, fano_factor(counts), rtol=1e-5)
        slope = jax.jit(jax.grad(lambda x: jnp.nansum(fano_factor(x))))(jnp.asarray(counts, dtype))
        assert np.isfinite(slope).all()
        assert fano_factor(jnp.asarray(counts, jnp.float32)).dtype == jnp.float32


def test_silent_units_are_left_out_and_counted():
    X = np.random.default_rng(0).normal(size=(4, 6, 3)) + 1e6
    X[..., 1] = 0.1  # whose mean over samples is not 0.1
    with pytest.warns(UserWarning, match="left out 1 of 3 units that never change"):
        found = drop_silent_units(X)
    np.testing.assert_array_equal(found.kept, [0, 2])
    np.testing.assert_array_equal(found.X, X[..., [0, 2]])
    with pytest.warns(UserWarning, match="1 of 3"):
        as_list = drop_silent_units(list(X))
    np.testing.assert_array_equal(as_list.X[2], X[2][:, [0, 2]])
    kept = drop_silent_units(X[..., [0, 2]])
    np.testing.assert_array_equal(kept.kept, [0, 1])


def test_only_samples_that_count_are_looked_at():
    X = np.random.default_rng(0).normal(size=(2, 3, 2))
    X[..., 1] = 5.0
    X[0, 0] = np.nan
    mask = np.ones((2, 3), bool)
    mask[0, 0] = False
    with pytest.warns(UserWarning, match="1 of 2"):
        found = drop_silent_units(X, mask=mask)
    np.testing.assert_array_equal(found.kept, [0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: variance_stabilise([[[1.0]]], kind="log"), "kind must be 'sqrt' or 'anscombe'"),
        (lambda: variance_stabilise(np.array([[-1.0]]), kind="sqrt"), "not be negative, got -1"),
        (lambda: variance_stabilise(np.array([[np.nan]]), kind="sqrt"), "not finite"),
        (lambda: fano_factor(np.full((2, 1, 1), -1)), "not be negative"),
        (lambda: fano_factor(np.ones((2, 3))), "must have trials"),
        (lambda: drop_silent_units(np.ones((5, 2))), "none of the 2 units"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
