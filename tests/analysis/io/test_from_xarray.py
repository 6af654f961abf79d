"""Arrays from labelled ones, by the names of their axes."""

import numpy as np
import pytest
import xarray as xr

from neurosim.analysis.io.xarray_objects import from_xarray

VALUES = np.arange(24.0).reshape(2, 3, 4)  # trial, unit, time
ARRAY = xr.DataArray(
    VALUES,
    dims=("trial", "unit", "time"),
    coords={
        "time": [0.0, 0.1, 0.2, 0.3],
        "unit": ["a", "b", "c"],
        "cue": ("trial", ["left", "right"]),
        "depth": ("unit", [1, 2, 3]),
        "session": 7,
    },
)


def test_axes_go_by_name():
    found = from_xarray(ARRAY)
    np.testing.assert_array_equal(found.values, VALUES.transpose(0, 2, 1))
    for order in (("time", "trial", "unit"), ("unit", "time", "trial")):
        other = from_xarray(ARRAY.transpose(*order))
        np.testing.assert_array_equal(other.values, found.values)
        np.testing.assert_array_equal(other.unit_ids, ["a", "b", "c"])
    np.testing.assert_array_equal(found.times, [[0.0, 0.1, 0.2, 0.3]] * 2)
    assert {name: values.tolist() for name, values in found.labels.items()} == {
        "cue": ["left", "right"]
    }
    assert {name: values.tolist() for name, values in found.unit_info.items()} == {
        "depth": [1, 2, 3]
    }


def test_names_can_be_others_and_one_trial_needs_no_axis():
    one = ARRAY[0].drop_vars("cue").rename(unit="neuron", time="t")
    found = from_xarray(one, unit="neuron", time="t")
    np.testing.assert_array_equal(found.values, VALUES[:1].transpose(0, 2, 1))
    bare = from_xarray(xr.DataArray(VALUES[0].T, dims=("time", "unit")))
    np.testing.assert_array_equal(bare.times, [[0, 1, 2, 3]])
    np.testing.assert_array_equal(bare.unit_ids, [0, 1, 2])


def test_dates_and_time_differences_become_seconds():
    steps = np.array([0, 250, 500, 750], "timedelta64[ms]").astype("timedelta64[ns]")
    for clock in (steps, np.datetime64("2020-01-01", "ns") + steps):
        found = from_xarray(ARRAY.assign_coords(time=clock))
        np.testing.assert_array_equal(found.times[0], [0, 0.25, 0.5, 0.75])


def test_padding_is_masked_and_other_gaps_are_a_choice():
    padded = ARRAY.copy()
    padded[1, :, 3] = np.nan
    found = from_xarray(padded)
    np.testing.assert_array_equal(found.mask, [[1, 1, 1, 1], [1, 1, 1, 0]])
    padded[0, 1, 1] = np.nan
    with pytest.raises(ValueError, match="trial 0, time 1, unit 1"):
        from_xarray(padded)
    with pytest.warns(UserWarning, match="left out 1 of 3 units"):
        found = from_xarray(padded, nan_policy="omit_units")
    assert found.unit_ids.tolist() == ["a", "c"]
    assert found.unit_info["depth"].tolist() == [1, 3]
    with pytest.warns(UserWarning, match="left out 1 of 2 trials"):
        found = from_xarray(padded, nan_policy="omit_trials")
    assert found.labels["cue"].tolist() == ["right"]


def test_levels_of_stacked_trials_become_labels():
    stacked = xr.DataArray(
        np.zeros((2, 2, 3, 1)),
        dims=("cue", "repeat", "time", "unit"),
        coords={"cue": ["l", "r"], "repeat": [0, 1]},
    ).stack(trial=("cue", "repeat"))
    found = from_xarray(stacked)
    assert found.labels["cue"].tolist() == ["l", "l", "r", "r"]
    assert found.labels["repeat"].tolist() == [0, 1, 0, 1]
    assert set(found.labels) == {"cue", "repeat"}


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (VALUES, {}, "must be an xarray.DataArray, got ndarray"),
        (ARRAY.to_dataset(name="rates"), {}, r"Dataset: choose one of its variables, \['rates'\]"),
        (ARRAY, {"unit": "neuron"}, r"has axes \('trial', 'unit', 'time'\)"),
        (ARRAY.expand_dims("probe"), {}, "select along others first"),
        (ARRAY.assign_coords(time=list("abcd")), {}, "numbers or dates"),
        (ARRAY, {"nan_policy": "skip"}, "nan_policy must be one of"),
    ],
)
def test_bad_input_is_refused(given, options, message):
    with pytest.raises(ValueError, match=message):
        from_xarray(given, **options)
