"""Windows about events, cut out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.event_alignment import align_to_events

NAN = np.nan
# Trial i at step t is 10 i + t.
TRIALS = 10 * np.arange(3)[:, None] + np.arange(6.0)


def test_windows_are_cut_out_about_the_event_and_padded_with_nan():
    aligned = align_to_events(TRIALS, [0, 3, 5], before=1, after=2)
    expected = [[NAN, 0, 1, 2], [12, 13, 14, 15], [24, 25, NAN, NAN]]
    np.testing.assert_array_equal(aligned.values, expected)
    np.testing.assert_array_equal(aligned.offsets, [-1, 0, 1, 2])
    assert aligned.values.dtype == np.float64
    # A step common to all trials, and no window but the event itself.
    np.testing.assert_array_equal(
        align_to_events(TRIALS, 2, before=0, after=0).values, [[2], [12], [22]]
    )


def test_a_trial_without_an_event_is_all_nan():
    aligned = align_to_events(TRIALS[..., None], np.array([NAN, 1, 2]), before=1, after=1)
    assert aligned.values.shape == (3, 3, 1)
    assert np.isnan(aligned.values[0]).all()
    np.testing.assert_array_equal(aligned.values[1:, :, 0], [[10, 11, 12], [21, 22, 23]])


def test_trials_of_unequal_length_end_where_they_end():
    traces = [TRIALS[0, :2], TRIALS[1, :5], TRIALS[2]]
    expected = [[0, 1, NAN], [12, 13, 14], [24, 25, NAN]]
    by_trace = align_to_events(traces, [1, 3, 5], before=1, after=1)
    np.testing.assert_array_equal(by_trace.values, expected)
    two = [np.stack([trace, -trace], axis=1) for trace in traces]
    cells = np.empty((3, 1), object)
    cells[:, 0] = two
    for given in (two, cells):
        values = align_to_events(given, [1, 3, 5], before=1, after=1).values
        np.testing.assert_array_equal(values, np.stack([expected, np.negative(expected)], axis=2))


def test_in_jax_under_jit_with_a_derivative():
    events = np.array([0, 3, NAN])

    def cut(x, events):
        return align_to_events(x, events, before=1, after=1).values

    for values in (
        jax.jit(cut)(jnp.asarray(TRIALS), jnp.asarray(events)),
        cut(jnp.asarray(TRIALS), events),
        cut([jnp.asarray(trial) for trial in TRIALS], events),
    ):
        assert isinstance(values, jax.Array)
        np.testing.assert_array_equal(values, [[NAN, 0, 1], [12, 13, 14], [NAN] * 3])
    slope = jax.grad(lambda x: jnp.nansum(cut(x, events)))(jnp.asarray(TRIALS))
    np.testing.assert_array_equal(slope, [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0], [0] * 6])
    # Under tracing an event outside of its trial cannot be refused.
    assert np.isnan(jax.jit(cut)(jnp.asarray(TRIALS), jnp.full(3, 9.0))).all()
    # Recorded traces stay NumPy, wherever the events were drawn.
    assert isinstance(cut(TRIALS, jnp.asarray(events)), np.ndarray)


@pytest.mark.parametrize(
    ("X", "events", "window", "message"),
    [
        (TRIALS[0], 1, (1, 1), r"X must be \(trials, time\).*shape \(6,\)"),
        ([TRIALS[0], TRIALS], 1, (1, 1), r"X must be .*shapes \[\(6,\), \(3, 6\)\]"),
        ([], 1, (1, 1), "X is an empty list"),
        (np.full((2, 3), NAN), 1, (1, 1), "not finite.*trial 0, time 0"),
        (np.ma.masked_less(TRIALS, 2), 1, (1, 1), "X is a masked array"),
        (TRIALS, [1, 2], (1, 1), r"events must hold one step for each of the 3 trials.*\(2,\)"),
        (TRIALS, [1, 6, 2], (1, 1), "events must hold a step.*got 6 for trial 1, of length 6"),
        (TRIALS, [1, -1, 2], (1, 1), "got -1 for trial 1"),
        (TRIALS, 1.5, (1, 1), "got 1.5 for trial 0"),
        (TRIALS, np.inf, (1, 1), "got inf for trial 0"),
        (TRIALS, np.ma.masked_equal([1, 2, 3], 2), (1, 1), "events is a masked array"),
        (TRIALS, 1, (-1, 1), "before must not be negative"),
        (TRIALS, 1, (1, -2), "after must not be negative"),
    ],
)
def test_bad_windows_are_refused(X, events, window, message):
    with pytest.raises(ValueError, match=message):
        align_to_events(X, events, before=window[0], after=window[1])
