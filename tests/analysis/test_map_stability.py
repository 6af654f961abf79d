"""Stability: maps that stay, maps that move, and the splits of a session."""

import numpy as np
import pytest

from neurosim.analysis.map_stability import map_stability
from neurosim.analysis.random_foraging import poisson_spikes, random_foraging
from neurosim.analysis.rate_maps import rate_maps

PATH = random_foraging(1200, 0.05, box=(0, 1), speed=0.2, random_state=3)
T, X = PATH.times, PATH.positions[:, 0]
HALF = T < 600
CENTRES = np.where(HALF, 0.3, 0.7)


def _spikes():
    def rates(x):
        stays = 20 * np.exp(-((x[:, 0] - 0.3) ** 2) / 0.01)
        moves = 20 * np.exp(-((x[:, 0] - CENTRES) ** 2) / 0.01)
        return np.stack([stays, moves, np.zeros(len(x))], axis=1)

    return poisson_spikes(rates, T, X, random_state=0)


SPIKES = _spikes()
TRACK = {"bin_size": 0.05, "extent": (0, 1)}


def test_halves_tell_what_moves_and_turns_do_not():
    halves = map_stability(SPIKES, T, X, **TRACK)
    assert halves.correlation[0] > 0.95
    assert halves.correlation[1] < 0
    assert np.isnan(halves.correlation[2])
    turns = map_stability(SPIKES, T, X, split="odd_even", block=30, **TRACK)
    assert (turns.correlation[:2] > 0.9).all()
    # The parts are those of the session.
    for split in (halves, turns):
        assert split.first.occupancy.sum() == pytest.approx(600)
        whole = rate_maps(SPIKES, T, X, **TRACK)
        assert np.array_equal(split.first.counts + split.second.counts, whole.counts)
        np.testing.assert_allclose(split.first.occupancy + split.second.occupancy, whole.occupancy)
    first = rate_maps(SPIKES, T, X, epochs=[0, 600], **TRACK)
    np.testing.assert_allclose(halves.first.rates, first.rates)


def test_epochs_in_turns():
    # Laps that touch are told apart.
    laps = np.stack([np.arange(0, 1200, 100), np.arange(100, 1300, 100)], axis=1)
    found = map_stability(SPIKES, T, X, split="epochs", epochs=laps, **TRACK)
    odd = rate_maps(SPIKES, T, X, epochs=laps[1::2], **TRACK)
    np.testing.assert_allclose(found.second.occupancy, odd.occupancy)
    assert np.array_equal(found.second.counts, odd.counts)
    a, b = found.first.rates[0], found.second.rates[0]
    assert found.correlation[0] == pytest.approx(np.corrcoef(a, b)[0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "thirds"}, "split must be"),
        ({"split": "epochs"}, "needs epochs"),
        ({"split": "epochs", "epochs": [[0, 9], [5, 20]]}, "epochs overlap"),
        ({"split": "epochs", "epochs": [0, 9]}, "one part has no time"),
        ({"split": "odd_even", "block": 0}, "block must be positive"),
        ({"split": "odd_even", "block": 5000}, "one part has no time"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        map_stability(SPIKES, T, X, **TRACK, **options)
