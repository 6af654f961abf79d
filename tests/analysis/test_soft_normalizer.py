import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scikit_learn_checks import assert_passes_the_checks_of_scikit_learn

from neurosim.analysis.soft_normalizer import SoftNormalizer

# Ranges of 45, 5 and 0 spikes/s.
RATES = np.array([[0.0, 2, 7], [45, 7, 7], [20, 3, 7], [10, 4, 7]])


def test_divides_by_the_range_and_five():
    soft = SoftNormalizer().fit(RATES)
    np.testing.assert_array_equal(soft.range_, [45, 5, 0])
    np.testing.assert_array_equal(soft.scale_, [50, 10, 5])
    np.testing.assert_array_equal(soft.transform(RATES), RATES / [50, 10, 5])
    np.testing.assert_allclose(soft.inverse_transform(soft.transform(RATES)), RATES)


def test_without_a_constant_every_range_is_one():
    X = RATES[:, :2]
    normal = SoftNormalizer(0).fit_transform(X)
    np.testing.assert_allclose(np.ptp(normal, axis=0), 1)


def test_ranges_are_over_all_trials_and_layouts_are_kept():
    trials = np.random.default_rng(0).normal(size=(3, 6, 2))
    soft = SoftNormalizer(1.0).fit(trials)
    np.testing.assert_array_equal(soft.range_, np.ptp(trials, axis=(0, 1)))
    assert soft.transform(trials).shape == (3, 6, 2)
    unequal = [trials[0], trials[1, :2]]
    assert [x.shape for x in soft.transform(unequal)] == [(6, 2), (2, 2)]
    in_jax = SoftNormalizer(1.0).fit_transform(jnp.asarray(trials))
    assert isinstance(in_jax, jax.Array)
    np.testing.assert_allclose(in_jax, soft.transform(trials), atol=1e-6)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"neuron 2 does not vary \(1 in all\)"):
        SoftNormalizer(0).fit(RATES)
    for constant in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="constant must be finite and not negative"):
            SoftNormalizer(constant).fit(RATES)
    with pytest.raises(ValueError, match="not fitted"):
        SoftNormalizer().transform(RATES)
    for method in ("transform", "inverse_transform"):
        with pytest.raises(ValueError, match="X has 2 features"):
            getattr(SoftNormalizer().fit(RATES), method)(RATES[:, :2])
    with pytest.raises(ValueError, match="time 1, neuron 0"):
        SoftNormalizer().fit(np.where(RATES == 45, np.nan, RATES))


def test_passes_the_checks_of_scikit_learn():
    assert_passes_the_checks_of_scikit_learn(SoftNormalizer())
