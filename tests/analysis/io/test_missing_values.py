"""Each policy on one array with a NaN whose place is known."""

import numpy as np
import pytest

from neurosim.analysis.io.missing_values import complete_trials

CLEAN = np.arange(24.0).reshape(2, 4, 3)
X = CLEAN.copy()
X[1, 3] = np.nan  # padding
X[0, 2, 1] = np.nan  # missing


def test_padding_is_masked_whatever_the_policy():
    padded = CLEAN.copy()
    padded[1, 3] = np.nan
    found = complete_trials(padded)
    np.testing.assert_array_equal(found.mask, [[1, 1, 1, 1], [1, 1, 1, 0]])
    np.testing.assert_array_equal(found.X[1, 3], [0, 0, 0])
    np.testing.assert_array_equal(found.X[0], CLEAN[0])


def test_raise_names_the_place():
    with pytest.raises(ValueError, match=r"1 missing value.*trial 0, time 2, unit 1"):
        complete_trials(X)


def test_mask_drops_the_sample():
    found = complete_trials(X, nan_policy="mask")
    np.testing.assert_array_equal(found.mask, [[1, 1, 0, 1], [1, 1, 1, 0]])
    np.testing.assert_array_equal(found.X[0, 2], [0, 0, 0])
    assert np.isfinite(found.X).all()


def test_omit_units_says_how_many():
    with pytest.warns(UserWarning, match="left out 1 of 3 units with missing values: 1"):
        found = complete_trials(X, nan_policy="omit_units")
    np.testing.assert_array_equal(found.kept_units, [0, 2])
    np.testing.assert_array_equal(found.X[0], CLEAN[0][:, [0, 2]])


def test_omit_trials_says_how_many():
    with pytest.warns(UserWarning, match="left out 1 of 2 trials with missing values: 0"):
        found = complete_trials(X, nan_policy="omit_trials")
    np.testing.assert_array_equal(found.kept_trials, [1])
    np.testing.assert_array_equal(found.X[0, :3], CLEAN[1, :3])


def test_what_the_mask_leaves_out_is_not_looked_at():
    mask = np.ones((2, 4), bool)
    mask[0, 2] = False
    found = complete_trials(X, mask=mask)
    np.testing.assert_array_equal(found.mask, mask & [[1, 1, 1, 1], [1, 1, 1, 0]])


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (X, {"nan_policy": "ignore"}, "nan_policy must be one of"),
        (X[0], {}, r"must be \(trial, time, unit\)"),
        (np.where(np.isnan(X), np.inf, X), {}, "infinite at trial 0, time 2, unit 1"),
        (X, {"mask": np.ones((2, 3), bool)}, "mask must be booleans of shape"),
        (X, {"mask": np.zeros((2, 4), bool)}, "trial 0 has no sample"),
        (np.where(np.arange(2)[:, None, None] == 1, np.nan, CLEAN), {}, "trial 1 has no sample"),
        (
            np.where(np.arange(4)[:, None] == 1, np.nan, CLEAN),
            {"nan_policy": "omit_trials"},
            "every",
        ),
    ],
)
def test_bad_input_is_refused(given, options, message):
    with pytest.raises(ValueError, match=message):
        complete_trials(given, **options)
