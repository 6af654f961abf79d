"""Counts in bins against exact arithmetic, and what the door refuses."""

from fractions import Fraction

import jax
import numpy as np
import pytest

from neurosim.analysis.io.spikes import bin_spikes


@pytest.mark.parametrize("start", [0, 61520])
@pytest.mark.parametrize("times_of", [lambda k: k / 30000, lambda k: k * (1 / 30000)])
def test_spikes_at_samples_fall_one_into_each_bin_of_a_sample(start, times_of):
    k = np.arange(61520, 61530)
    epoch = (times_of(start), times_of(61530))
    found = bin_spikes(times_of(k), epochs=epoch, bin=1 / 30000)
    assert found.counts.shape == (1, 61530 - start, 1)
    np.testing.assert_array_equal(np.flatnonzero(found.counts), k - start)
    assert found.counts.dtype == np.int64


def test_samples_late_in_a_recording_stay_distinct():
    k = np.arange(3600 * 30000, 3601 * 30000)
    for times in (k / 30000, 3600 + (k - k[0]) / 30000):
        found = bin_spikes(times, epochs=(3600, 3601), bin=1 / 30000)
        np.testing.assert_array_equal(found.counts, np.ones((1, 30000, 1)))


@pytest.mark.parametrize("dt", [0.1, 0.7, 0.025, 1e-3, 0.3])
def test_decimals_are_on_the_edges_that_they_are_written_as(dt):
    written = [float(Fraction(repr(dt)) * k) for k in range(200)]
    computed = dt * np.arange(200)
    for times in (written, computed):
        found = bin_spikes(np.array(times), epochs=(0, 200 * dt), bin=dt)
        np.testing.assert_array_equal(found.counts, np.ones((1, 200, 1)))


def test_counts_equal_those_of_exact_arithmetic():
    rng = np.random.default_rng(0)
    samples = np.sort(rng.integers(0, 20 * 30000, 3000))
    events = np.array([2.3, 7.1, 7.2, 15.05])
    found = bin_spikes(samples / 30000, events=events, window=(-0.3, 0.9), bin=0.02)
    expected = np.zeros((4, 60), int)
    for i, event in enumerate(["2.3", "7.1", "7.2", "15.05"]):
        first = Fraction(event) - Fraction("0.3")
        for s in samples:
            place = (Fraction(int(s), 30000) - first) / Fraction("0.02")
            if 0 <= place < 60:
                expected[i, place.__floor__()] += 1
    np.testing.assert_array_equal(found.counts[..., 0], expected)
    # Both windows that overlap hold the spikes that they share.
    np.testing.assert_array_equal(found.counts[1, 5:, 0], found.counts[2, :-5, 0])


def test_the_last_bin_that_is_not_whole_is_dropped_and_reported():
    found = bin_spikes([0.1, 2.5, 3.0], epochs=[[0, 3]], bin=2)
    np.testing.assert_array_equal(found.edges, [0, 2])
    np.testing.assert_array_equal(found.counts, [[[1]]])
    np.testing.assert_array_equal(found.remainders, [1.0])
    np.testing.assert_array_equal(found.n_in_remainder, [[1]])
    np.testing.assert_array_equal(found.n_at_end, [[1]])
    assert "1 after the last whole bin, 1 exactly at an end" in repr(found)


def test_bins_are_half_open_and_an_end_is_excluded():
    found = bin_spikes([0.0, 1.0, 2.0], epochs=(0, 2), bin=1)
    np.testing.assert_array_equal(found.counts[0, :, 0], [1, 1])
    np.testing.assert_array_equal(found.n_at_end, [[1]])
    np.testing.assert_array_equal(found.remainders, [0.0])
    computed = bin_spikes([0.1 * 3], epochs=(0, 0.3), bin=0.1)  # 0.30000000000000004
    assert computed.counts.sum() == 0
    assert computed.n_at_end == 1


def test_no_bin_spans_the_gap_between_epochs():
    # A grid that went on through the gap would have bins [0.9, 1.2) and [2.1, 2.4).
    found = bin_spikes([0.95, 1.5, 2.05], epochs=[[0, 1], [2, 2.9]], bin=0.3)
    np.testing.assert_array_equal(found.counts[..., 0], [[0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(found.n_in_remainder[:, 0], [1, 0])
    np.testing.assert_allclose(found.remainders, [0.1, 0], atol=1e-12)
    np.testing.assert_array_equal(found.origins, [0, 2])


def test_every_spike_of_an_epoch_is_counted_or_reported():
    rng = np.random.default_rng(1)
    times = np.sort(np.r_[rng.uniform(0, 10, 500), [1.0, 4.0, 7.5]])
    epochs = np.array([[0.0, 1.0], [1.0, 4.0], [5.0, 7.5]])
    found = bin_spikes(times, epochs=epochs, bin=0.4)
    inside = [((times >= a) & (times <= b)).sum() for a, b in epochs]
    totals = found.counts.sum(axis=1) + found.n_in_remainder + found.n_at_end
    np.testing.assert_array_equal(totals[:, 0], inside)
    np.testing.assert_array_equal(found.n_at_end[:, 0], [1, 1, 1])
    for i, (a, _) in enumerate(epochs):
        n = int(found.mask[i].sum())
        histogram, _ = np.histogram(times, bins=a + found.edges[: n + 1])
        np.testing.assert_array_equal(found.counts[i, :n, 0], histogram)


def test_epochs_of_unequal_length_are_masked():
    found = bin_spikes([0.5, 5.5], epochs=[[0, 1], [5, 8]], bin=1)
    np.testing.assert_array_equal(found.mask, [[True, False, False], [True, True, True]])
    np.testing.assert_array_equal(found.counts[..., 0], [[1, 0, 0], [1, 0, 0]])


def test_edges_are_the_decimals_of_the_window():
    found = bin_spikes([1.0], events=[1.0, 2.0], window=(-0.2, 1.0), bin=0.05)
    np.testing.assert_array_equal(found.edges, [(k - 4) * 5 / 100 for k in range(25)])
    assert found.counts[0, 4, 0] == 1  # the spike at the event is in the bin that starts there
    np.testing.assert_allclose(found.times[:2], [-0.175, -0.125])
    np.testing.assert_array_equal(found.rates[0, 4], [20.0])
    assert found.mask.all()


def test_layouts_of_units():
    a, b = [0.5, 1.5], np.array([1.2])
    two = {"epochs": (0, 2), "bin": 1}
    expected = [[1, 0], [1, 1]]
    for given in ([a, b], (np.array(a), b), {0: a, 1: b}, _cells(a, b)):
        found = bin_spikes(given, **two)
        np.testing.assert_array_equal(found.counts[0], expected)
        np.testing.assert_array_equal(found.unit_ids, [0, 1])
    for given in (a, np.array(a), [np.array(a)], jax.numpy.array(a)):
        np.testing.assert_array_equal(bin_spikes(given, **two).counts[0], [[1], [1]])
    named = bin_spikes({("probe", 3): a, "x": []}, **two)
    assert named.unit_ids.tolist() == [("probe", 3), "x"]
    np.testing.assert_array_equal(named.counts[0, :, 1], [0, 0])
    assert bin_spikes(np.zeros(0), **two).counts.shape == (1, 2, 1)


def _cells(*trains):
    cells = np.empty((len(trains), 1), dtype=object)
    for i, train in enumerate(trains):
        cells[i, 0] = np.asarray(train)
    return cells


def test_any_unit_of_time_will_do():
    ms = bin_spikes(np.array([500, 1500, 1999]), epochs=(0, 2000), bin=1000)
    np.testing.assert_array_equal(ms.counts[0, :, 0], [1, 2])


def test_labels_of_a_table_come_along():
    table = {"start_time": [0.0, 1.0], "stop_time": [1.0, 2.0], "cue": ["a", "b"], "n": [1, 2]}
    found = bin_spikes([0.5], epochs=table, bin=0.5)
    assert found.labels["cue"].tolist() == ["a", "b"]
    assert found.labels["n"].tolist() == [1, 2]


def test_single_precision_serves_where_it_is_fine_enough():
    times = (np.arange(10) * 0.1).astype(np.float32)
    np.testing.assert_array_equal(bin_spikes(times, epochs=(0, 1), bin=0.1).counts, 1)
    late = np.float32(3600) + np.arange(3, dtype=np.float32)
    with pytest.raises(ValueError, match=r"finer than the times: in single precision.*float64"):
        bin_spikes(late, epochs=(3600, 3603), bin=1 / 30000)


A, EPOCH = [0.5], {"epochs": (0, 2), "bin": 1}


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([np.array([0.1, 0.3, 0.2])], EPOCH, r"unit 0 are not sorted: spike 2 \(0.2\)"),
        ({"a": [0.1, np.nan]}, EPOCH, "unit 'a': spike 1 is nan"),
        ([A, [np.inf]], EPOCH, "unit 1: spike 0 is inf"),
        ([np.zeros((2, 2))], EPOCH, r"\(spike,\), got shape \(2, 2\)"),
        (np.zeros((2, 1)), EPOCH, r"shape \(2, 1\). Pass them as .ravel"),
        ([["a"]], EPOCH, "must be real numbers"),
        ([np.array([True])], EPOCH, "must be real numbers"),
        ([], EPOCH, "holds no unit"),
        ({}, EPOCH, "holds no unit"),
        (np.ma.masked_less(np.array([0.1, 0.2]), 0.15), EPOCH, "masked"),
        (A, {"bin": 1}, "either epochs, or events"),
        (A, {"bin": 1, "epochs": (0, 1), "events": [1]}, "either epochs, or events"),
        (A, {"bin": 1, "epochs": (0, 1), "window": (0, 1)}, "window goes with events"),
        (A, {"bin": 1, "events": [1.0]}, "window must be"),
        (A, {"bin": 1, "events": [1.0], "window": (1, 0)}, "start < stop"),
        (A, {"bin": 1, "events": [1.0, np.nan], "window": (0, 1)}, "event 1 is nan"),
        (A, {"bin": 1, "events": [], "window": (0, 1)}, "at least one"),
        (A, {"bin": 1, "epochs": [[0, 1], [2, 2]]}, "epoch 1 goes from 2 to 2"),
        (A, {"bin": 1, "epochs": [[0, np.nan]]}, "epoch 0 goes from 0 to nan"),
        (A, {"bin": 1, "epochs": [[0, 1, 2]]}, r"got shape \(1, 3\)"),
        (A, {"bin": 1, "epochs": "trials"}, "must be numbers"),
        (A, {"bin": 1, "epochs": np.zeros((0, 2))}, "epochs is empty"),
        (A, {"bin": 1, "epochs": {"start_time": ["x"], "stop_time": [1]}}, "must be numbers"),
        (A, {"bin": 1, "epochs": {"start_time": [0], "stop_time": [1, 2]}}, "1 starts and 2 stops"),
        (A, {"bin": 1, "epochs": [[0, 2], [3, 3.5]]}, "epoch 1, from 3 to 3.5, is shorter"),
        (A, {"bin": 0, "epochs": (0, 1)}, "dt must be a positive"),
        ([1e9], {"bin": 1e-7, "epochs": (1e9, 1e9 + 1)}, "in float64 they are only known"),
    ],
)
def test_bad_input_is_refused(given, options, message):
    with pytest.raises(ValueError, match=message):
        bin_spikes(given, **options)


def test_traced_times_are_refused():
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda t: bin_spikes([t], **EPOCH).counts)(np.array(A))
