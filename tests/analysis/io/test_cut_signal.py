"""Signals in trials: which samples, and what becomes of gaps."""

import numpy as np
import pytest

from neurosim.analysis.io.signals import cut_signal

CLOCK = np.arange(40) * 0.25
SIGNAL = np.column_stack([np.arange(40.0), -np.arange(40.0)])


def test_an_epoch_of_4_s_has_8_samples_at_2_per_s():
    clock = np.arange(0, 4.25, 0.5)
    found = cut_signal(clock, clock, epochs=(0, 4))
    np.testing.assert_array_equal(found.values[0, :, 0], np.arange(8) * 0.5)
    np.testing.assert_array_equal(found.times[0], np.arange(8) * 0.5)


def test_trials_of_unequal_length_and_labels():
    table = {"start_time": [0.0, 2.1], "stop_time": [1.0, 2.6], "cue": ["a", "b"]}
    found = cut_signal(SIGNAL, CLOCK, epochs=table)
    np.testing.assert_array_equal(found.values[0, :, 0], [0, 1, 2, 3])
    np.testing.assert_array_equal(found.values[1], [[9, -9], [10, -10], [0, 0], [0, 0]])
    np.testing.assert_array_equal(found.mask[1], [1, 1, 0, 0])
    np.testing.assert_array_equal(found.lengths, [4, 2])
    np.testing.assert_allclose(found.times[1], [2.25, 2.5, 2.75, 3.0])
    assert found.labels["cue"].tolist() == ["a", "b"]
    assert "2 trials of 2 to 4 samples" in repr(found)


def test_windows_about_events():
    found = cut_signal(SIGNAL, CLOCK, events=[1.0, 5.0], window=(-0.5, 0.5))
    np.testing.assert_array_equal(found.values[..., 0], [[2, 3, 4, 5], [18, 19, 20, 21]])


def test_jitter_does_not_add_up():
    rng = np.random.default_rng(0)
    clock = np.cumsum(np.full(2000, 1 / 30) * rng.uniform(0.9, 1.1, 2000))
    found = cut_signal(np.arange(2000.0), clock, epochs=(0, clock[-1] + 1))
    np.testing.assert_array_equal(found.values[0, :, 0], np.arange(2000))


def test_samples_after_a_gap_stay_in_their_place():
    keep = np.delete(np.arange(40), [5, 6])
    with pytest.raises(ValueError, match=r"left out by the clock.*trial 0, time 5"):
        cut_signal(SIGNAL[keep], CLOCK[keep], epochs=(0, 3))
    found = cut_signal(SIGNAL[keep], CLOCK[keep], epochs=(0, 3), nan_policy="mask")
    np.testing.assert_array_equal(np.flatnonzero(~found.mask[0]), [5, 6])
    np.testing.assert_array_equal(found.values[0, 7:, 0], np.arange(7, 12))
    np.testing.assert_allclose(found.times[0], CLOCK[:12])


def test_a_lost_sample_at_the_end_of_a_trial_is_missing_and_no_padding():
    lost = SIGNAL.copy()
    lost[3] = np.nan
    with pytest.raises(ValueError, match="trial 0, time 3, unit 0"):
        cut_signal(lost, CLOCK, epochs=[[0, 1], [1, 2]])
    table = {"start_time": [0, 1], "stop_time": [1, 2], "cue": ["a", "b"]}
    with pytest.warns(UserWarning, match="left out 1 of 2 trials"):
        found = cut_signal(lost, CLOCK, epochs=table, nan_policy="omit_trials")
    assert found.labels["cue"].tolist() == ["b"]
    np.testing.assert_allclose(found.times[0], [1, 1.25, 1.5, 1.75])


@pytest.mark.parametrize(
    ("signal", "times", "epochs", "message"),
    [
        (SIGNAL, CLOCK[:-1], (0, 1), r"times \(time,\); got"),
        (SIGNAL[None], CLOCK, (0, 1), "signal must be"),
        (SIGNAL, CLOCK[::-1], (0, 1), "times must increase: sample 0"),
        (SIGNAL, np.r_[CLOCK[:-1], CLOCK[-2]], (0, 1), "sample 38 is at 9.5, sample 39 at 9.5"),
        (SIGNAL, np.r_[CLOCK[:-1], np.nan], (0, 1), "times must increase"),
        (SIGNAL, CLOCK, [[0, 1], [50, 60]], "epoch 1, from 50 to 60, has no sample"),
        (SIGNAL, np.r_[CLOCK[:-1], CLOCK[-2] + 0.01], (0, 20), "less than half a step"),
        (SIGNAL.astype(str), CLOCK, (0, 1), "real numbers"),
    ],
)
def test_bad_input_is_refused(signal, times, epochs, message):
    with pytest.raises(ValueError, match=message):
        cut_signal(signal, times, epochs=epochs)
