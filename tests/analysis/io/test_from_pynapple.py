"""Arrays from pynapple objects, next to what pynapple itself makes of them."""

import numpy as np
import pynapple as nap
import pytest

from neurosim.analysis.io.pynapple_objects import from_pynapple
from neurosim.analysis.io.spikes import bin_spikes

EPOCHS = nap.IntervalSet([0, 2], [1, 3.5], metadata={"cue": ["x", "y"]})
GROUP = nap.TsGroup(
    {3: nap.Ts(np.array([0.1, 0.2, 1.5, 2.75])), 7: nap.Ts(np.array([0.0, 1.0, 2.5]))},
    time_support=nap.IntervalSet(0, 4),
    metadata={"region": ["CA1", "CA3"]},
)
CLOCK = np.arange(0, 4.25, 0.5)
FRAME = nap.TsdFrame(
    t=CLOCK, d=np.arange(18.0).reshape(9, 2), columns=["x", "y"], metadata={"depth": [10, 20]}
)


def test_a_group_is_counted_with_its_names():
    found = from_pynapple(GROUP, EPOCHS, bin=0.5)
    assert found.counts.shape == (2, 3, 2)
    np.testing.assert_array_equal(found.counts[..., 0], [[2, 0, 0], [0, 1, 0]])
    # The spike at the end of the first epoch is no part of it; pynapple would count it.
    np.testing.assert_array_equal(found.counts[..., 1], [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(found.n_at_end, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(found.mask, [[1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(found.unit_ids, [3, 7])
    assert found.unit_info["region"].tolist() == ["CA1", "CA3"]
    assert found.labels["cue"].tolist() == ["x", "y"]


def test_counts_away_from_edges_are_those_of_pynapple():
    rng = np.random.default_rng(0)
    trains = {i: nap.Ts(np.sort(rng.uniform(0, 100, 300))) for i in range(3)}
    group = nap.TsGroup(trains, time_support=nap.IntervalSet(0, 100))
    epochs = nap.IntervalSet([3, 40], [20, 57])
    found = from_pynapple(group, epochs, bin=0.25)
    expected = nap.build_tensor(group, epochs, bin_size=0.25)  # (unit, trial, time)
    np.testing.assert_array_equal(np.moveaxis(found.counts, -1, 0), expected)


def test_without_epochs_the_time_support_is_the_trial():
    assert from_pynapple(GROUP, bin=0.5).counts.shape == (1, 8, 2)
    one = from_pynapple(nap.Ts(np.array([0.0, 0.3, 1.0])), bin=0.5)
    np.testing.assert_array_equal(one.counts[0, :, 0], [2, 0])
    np.testing.assert_array_equal(one.n_at_end, [[1]])


def test_a_frame_is_cut_half_open():
    found = from_pynapple(FRAME, nap.IntervalSet(0, 4))
    assert found.values.shape == (1, 8, 2)  # build_tensor gives 9
    np.testing.assert_array_equal(found.values[0], np.asarray(FRAME.values)[:8])
    np.testing.assert_array_equal(found.times[0], CLOCK[:8])
    assert found.unit_ids.tolist() == ["x", "y"]
    assert found.unit_info["depth"].tolist() == [10, 20]
    whole = from_pynapple(FRAME)
    np.testing.assert_array_equal(whole.values[0], FRAME.values)


def test_each_epoch_of_a_time_support_is_a_trial():
    found = from_pynapple(FRAME.restrict(EPOCHS))
    np.testing.assert_array_equal(found.lengths, [3, 4])
    np.testing.assert_array_equal(found.values[1, :, 0], [8, 10, 12, 14])


def test_a_single_signal_and_a_tensor():
    tsd = nap.Tsd(t=CLOCK, d=np.arange(9.0))
    found = from_pynapple(tsd, EPOCHS)
    np.testing.assert_array_equal(found.values[..., 0], [[0, 1, 0], [4, 5, 6]])
    np.testing.assert_array_equal(found.mask, [[1, 1, 0], [1, 1, 1]])
    tensor = nap.TsdTensor(t=CLOCK, d=np.arange(54.0).reshape(9, 2, 3))
    flat = from_pynapple(tensor)
    assert flat.values.shape == (1, 9, 6)
    unit = flat.unit_ids.tolist().index([1, 2])
    np.testing.assert_array_equal(flat.values[0, :, unit], tensor.values[:, 1, 2])


@pytest.mark.parametrize("align", ["start", "end"])
def test_built_tensors_move_their_axes_and_lose_their_padding(align):
    built = nap.build_tensor(FRAME, EPOCHS, align=align)  # (unit, trial, time)
    found = from_pynapple(built)
    assert found.values.shape == (2, 4, 2)
    row = [1, 1, 1, 0] if align == "start" else [0, 1, 1, 1]
    np.testing.assert_array_equal(found.mask, [row, [1, 1, 1, 1]])
    np.testing.assert_array_equal(found.values[0][found.mask[0]], FRAME.values[:3])
    one = from_pynapple(nap.build_tensor(FRAME["y"], EPOCHS))
    np.testing.assert_array_equal(one.values[1, :, 0], FRAME.values[4:8, 1])


def test_warped_tensors_are_accepted():
    warped = nap.warp_tensor(FRAME, EPOCHS, num_bins=5)
    found = from_pynapple(warped)
    np.testing.assert_array_equal(found.values, np.moveaxis(warped, 0, -1))
    assert found.mask.all()


def test_events_of_pynapple():
    events = nap.Ts(np.array([0.5, 2.5]))
    found = bin_spikes(GROUP, events=events, window=(-0.5, 0.5), bin=0.5)
    np.testing.assert_array_equal(found.counts[..., 1], [[1, 0], [0, 1]])
    np.testing.assert_array_equal(found.origins, [0.5, 2.5])


def test_missing_values_of_a_frame():
    values = np.array(FRAME.values)
    values[1, 1] = np.nan
    lost = nap.TsdFrame(t=CLOCK, d=values, columns=["x", "y"], metadata={"depth": [10, 20]})
    with pytest.raises(ValueError, match="trial 0, time 1, unit 1"):
        from_pynapple(lost, EPOCHS)
    with pytest.warns(UserWarning, match="left out 1 of 2 units"):
        found = from_pynapple(lost, EPOCHS, nan_policy="omit_units")
    assert found.unit_ids.tolist() == ["x"]
    assert found.unit_info["depth"].tolist() == [10]


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (GROUP, {}, "a TsGroup holds spike times: pass bin"),
        (FRAME, {"bin": 1}, "sampled already"),
        (np.zeros((2, 2, 2)), {"bin": 1}, "takes no epochs and no bin"),
        (np.zeros(3), {}, r"must be \(unit, trial, time\)"),
        ([0.1, 0.2], {"bin": 1}, "must be a Ts, TsGroup"),
        (FRAME, {"epochs": [[5, 6]]}, "epoch 0, from 5 to 6, has no sample"),
    ],
)
def test_bad_input_is_refused(source, options, message):
    with pytest.raises(ValueError, match=message):
        from_pynapple(source, **options)
