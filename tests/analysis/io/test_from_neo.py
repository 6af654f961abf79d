"""Arrays from neo objects: their units of time are converted, never dropped."""

import neo
import numpy as np
import pytest
import quantities as pq

from neurosim.analysis.io.epochs import read_epochs
from neurosim.analysis.io.neo_objects import from_neo
from neurosim.analysis.io.spikes import bin_spikes


def train(times, name=None, *, stop=3000.0, unit=pq.ms):
    return neo.SpikeTrain(times * unit, t_start=0 * unit, t_stop=stop * unit, name=name)


def segment(*trains, **annotations):
    found = neo.Segment(**annotations)
    for each in trains:
        found.spiketrains.append(each)
    return found


A = train([100.0, 200.0, 1500.0], "a")
B = train([0.25, 1.5], "b", stop=3.0, unit=pq.s)
SIGNAL = neo.AnalogSignal(
    np.arange(12.0).reshape(6, 2) * pq.mV,
    sampling_rate=2 * pq.kHz,
    t_start=500 * pq.ms,
    array_annotations={"channel_names": ["x", "y"]},
)


def test_milliseconds_become_seconds():
    found = from_neo([A, B], bin=0.5)
    np.testing.assert_array_equal(found.counts[0, :, 0], [2, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(found.counts[0, :, 1], [1, 0, 0, 1, 0, 0])
    assert found.unit_ids.tolist() == ["a", "b"]
    np.testing.assert_array_equal(from_neo(A, bin=0.5).counts, found.counts[..., :1])
    np.testing.assert_array_equal(bin_spikes(A, epochs=(0, 3), bin=0.5).counts[0, 0], [2])
    one = segment(A, B)
    np.testing.assert_array_equal(from_neo(one, bin=0.5).counts, found.counts)
    np.testing.assert_array_equal(from_neo(one.spiketrains, bin=0.5).counts, found.counts)


def test_epochs_of_neo_are_trials():
    epochs = neo.Epoch([0, 1.25] * pq.s, durations=[500, 1000] * pq.ms, labels=["rest", "run"])
    found = from_neo([A, B], epochs, bin=0.25)
    np.testing.assert_array_equal(found.counts[..., 0], [[2, 0, 0, 0], [0, 1, 0, 0]])
    np.testing.assert_array_equal(found.mask[0], [1, 1, 0, 0])
    assert found.labels["label"].tolist() == ["rest", "run"]
    np.testing.assert_array_equal(read_epochs(epochs).stops, [0.5, 2.25])


def test_events_of_neo():
    events = neo.Event([250, 1500] * pq.ms, labels=["cue", "cue"])
    found = bin_spikes([A, B], events=events, window=(-0.25, 0.25), bin=0.25)
    np.testing.assert_array_equal(found.counts[..., 0], [[2, 0], [0, 1]])


def test_segments_are_trials():
    first = segment(train([100.0], "a"), train([], "b"), cue="left", block=1)
    second = segment(train([600.0], "a", stop=1000.0), train([1.0], "b", stop=1000.0), cue="right")
    block = neo.Block()
    block.segments.extend([first, second])
    found = from_neo(block, bin=0.5)
    assert found.counts.shape == (2, 6, 2)
    np.testing.assert_array_equal(found.counts[..., 0], [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
    np.testing.assert_array_equal(found.counts[..., 1].sum(axis=1), [0, 1])
    np.testing.assert_array_equal(found.mask.sum(axis=1), [6, 2])
    assert {name: values.tolist() for name, values in found.labels.items()} == {
        "cue": ["left", "right"]
    }
    np.testing.assert_array_equal(from_neo([first, second], bin=0.5).counts, found.counts)


def test_signals_in_one_trial_several_or_one_each():
    found = from_neo(SIGNAL)
    np.testing.assert_array_equal(found.values[0], np.arange(12).reshape(6, 2))
    np.testing.assert_allclose(found.times[0], 0.5 + np.arange(6) / 2000, rtol=1e-15)
    assert found.unit_ids.tolist() == ["x", "y"]
    cut = from_neo(SIGNAL, [[0.5, 0.501], [0.501, 0.503]])
    np.testing.assert_array_equal(cut.values[..., 0], [[0, 2, 0, 0], [4, 6, 8, 10]])
    each = from_neo([SIGNAL, SIGNAL[:4]])
    np.testing.assert_array_equal(each.lengths, [6, 4])
    np.testing.assert_array_equal(each.values[1, :4], found.values[0, :4])


def test_irregular_signals_are_put_on_a_grid_if_they_have_one():
    lost = neo.IrregularlySampledSignal([0, 1, 2, 4, 5] * pq.s, np.arange(5.0)[:, None] * pq.V)
    with pytest.raises(ValueError, match="left out by the clock"):
        from_neo(lost)
    found = from_neo(lost, nan_policy="mask")
    np.testing.assert_array_equal(found.mask, [[1, 1, 1, 0, 1, 1]])
    np.testing.assert_array_equal(found.values[0, :, 0], [0, 1, 2, 0, 3, 4])


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (A, {}, "these are spike times: pass bin"),
        ([A, train([1.0], stop=2000.0)], {"bin": 1}, "recorded over different times"),
        (segment(), {"bin": 1}, "no spike trains"),
        (neo.Block(), {"bin": 1}, "block has no segments"),
        ([segment(A), segment(B)], {"bin": 1}, "segment 1 has units"),
        ([segment(A)], {"bin": 1, "epochs": (0, 1)}, "segments are trials themselves"),
        ([], {"bin": 1}, "at least one"),
        ([0.1, 0.2], {"bin": 1}, "neo objects"),
        (3, {"bin": 1}, "must be a SpikeTrain"),
        ([A, SIGNAL], {"bin": 1}, "not both"),
        (SIGNAL, {"bin": 1}, "sampled already"),
        ([SIGNAL, SIGNAL], {"epochs": (0, 1)}, "one trial each"),
        ([SIGNAL, SIGNAL.rescale("V")], {}, "in one unit of measurement"),
    ],
)
def test_bad_input_is_refused(source, options, message):
    with pytest.raises(ValueError, match=message):
        from_neo(source, **options)
