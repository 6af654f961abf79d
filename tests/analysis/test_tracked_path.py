"""Paths cut at edges: which piece a time falls in, and time that adds up."""

import numpy as np
import pytest

from neurosim.analysis.tracked_path import tracked_path

RNG = np.random.default_rng(0)
T = np.cumsum(RNG.exponential(0.1, 400) + 1e-3)
X = np.cumsum(RNG.normal(size=(400, 2)), axis=0)


def test_times_are_found_in_uneven_pieces_as_by_bisection():
    path = tracked_path(T, X, bin_size=0.7, epochs=[[5, 12], [20, 30]])
    # Enough of them for the table; before, between, after, and on the edges themselves.
    times = np.concatenate([RNG.uniform(-5, T[-1] + 5, 9000), path.starts, path.stops])
    expected = np.searchsorted(path.starts, times, side="right") - 1
    inside = (expected >= 0) & (times < path.stops[expected])
    assert np.array_equal(path.pieces_at(times), np.where(inside, expected, -1))
    few = path.pieces_at(times[:50])
    assert np.array_equal(few, path.pieces_at(times)[:50])
    assert path.elapsed[-1] == pytest.approx(17)
    k = np.searchsorted(path.elapsed, 3.21, side="right") - 1
    assert path.pieces_after(np.array([3.21])).tolist() == [k]


def test_time_adds_up_and_pieces_lie_in_their_bins():
    path = tracked_path(T, X, bin_size=0.7, max_gap=9)
    assert path.occupancy.sum() == pytest.approx(T[-1] - T[0])
    for share in (0.01, 0.5, 0.99):
        times = path.starts + share * path.durations
        where = np.stack([np.interp(times, T, X[:, k]) for k in range(2)], axis=1)
        # Up to rounding, of pieces that are hardly longer than it.
        long = path.durations > 1e-9
        assert np.array_equal(path.bins.indices(where)[long], path.places[long])
