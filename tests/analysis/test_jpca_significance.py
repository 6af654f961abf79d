import numpy as np
import pytest

from neurosim.analysis.jpca import JPCA
from neurosim.analysis.jpca_significance import rotation_test
from neurosim.analysis.maximum_entropy_tensor import maximum_entropy_tensor


def _rotations(rng, n_conditions=12, n_times=25, n_units=15):
    """Conditions that start anywhere in two planes, and turn in both."""
    Q = np.linalg.qr(rng.normal(size=(n_units, 4)))[0].T
    X = np.zeros((n_conditions, n_times, n_units))
    for plane, omega in ((Q[:2], 0.25), (Q[2:], 0.12)):
        start = rng.normal(size=(n_conditions, 1, 2)) @ np.array([1, 1j])[:, None]
        turn = start[..., 0] * np.exp(1j * omega * np.arange(n_times))
        X += np.stack([turn.real, turn.imag], axis=-1) @ plane
    return X + 0.05 * rng.normal(size=X.shape)


def test_tells_rotations_from_smooth_activity():
    rng = np.random.default_rng(0)
    X = _rotations(rng)
    jpca = JPCA(4, soft_constant=None)
    found = rotation_test(X, jpca, n_surrogates=39, random_state=1)
    assert found.r2_skew == pytest.approx(JPCA(4, soft_constant=None).fit(X).r2_skew_)
    assert found.r2_skew_p_value == pytest.approx(1 / 40)
    assert found.r2_ratio_p_value == pytest.approx(1 / 40)
    assert found.r2_skew_null.shape == found.r2_ratio_null.shape == (39,)
    # The analysis that was passed is left as it was.
    assert not hasattr(jpca, "components_")
    again = rotation_test(X, jpca, n_surrogates=39, random_state=1)
    np.testing.assert_array_equal(again.r2_skew_null, found.r2_skew_null)


def test_is_not_significant_for_surrogates_themselves():
    rng = np.random.default_rng(2)
    draw = maximum_entropy_tensor(_rotations(rng))
    p = [
        rotation_test(draw.sample(rng), JPCA(4), n_surrogates=19, random_state=i).r2_skew_p_value
        for i in range(12)
    ]
    # Near uniform: 12 of at most .05 each, more than 3 in 1 of 300 tests.
    assert np.sum(np.array(p) <= 0.05) <= 3
    assert np.mean(p) > 0.25


def test_bad_input_is_refused():
    X = _rotations(np.random.default_rng(0))
    with pytest.raises(ValueError, match="n_surrogates must be at least 1"):
        rotation_test(X, n_surrogates=0)
    with pytest.raises(ValueError, match="X has one condition"):
        rotation_test(X[:1])
