"""Numbers of parameters of the published networks."""

import dataclasses

import jax
import pytest

from neurosim.models import LSTM, NMRNN, LowRankRNN, VanillaRNN
from neurosim.training import match_width, parameter_count

KEY = jax.random.key(0)


def test_timing_networks():
    assert parameter_count(NMRNN.init(100, 3, 5, 3, 1, key=KEY)) == 1059
    assert parameter_count(LowRankRNN.init(106, 3, 3, 1, key=KEY)) == 1061
    assert parameter_count(VanillaRNN.init(31, 3, 1, key=KEY)) == 1086
    assert parameter_count(LSTM.init(14, 3, 1, key=KEY)) == 1022
    assert parameter_count(LSTM.init(15, 3, 1, key=KEY)) == 1155


def test_multitask_networks():
    # Three task channels, and one context channel for each of three tasks or, in transfer, four.
    assert parameter_count(NMRNN.init(100, 4, 5, 3, 3, n_context=3, key=KEY)) == 1482
    assert parameter_count(NMRNN.init(100, 3, 20, 3, 3, n_context=4, key=KEY)) == 1806
    assert parameter_count(LowRankRNN.init(100, 3, 7, 3, key=KEY)) == 1603
    assert parameter_count(VanillaRNN.init(18, 7, 3, key=KEY)) == 507
    assert parameter_count(LSTM.init(8, 7, 3, key=KEY)) == 536
    # W_z, B_z, A_z, b_z: the neuromodulatory part, which alone trains in transfer.
    model = NMRNN.init(100, 3, 20, 3, 3, n_context=4, key=KEY)
    assert parameter_count(model, lambda m: (m.W_z, m.B_z, m.A_z, m.b_z)) == 603


@pytest.mark.parametrize(
    ("n_nm", "n_units", "rank", "count"),
    [(5, 18, 8, 497), (5, 13, 12, 510), (10, 14, 5, 483), (10, 12, 7, 509), (15, 6, 5, 497)],
)
def test_element_finder_networks(n_nm, n_units, rank, count):
    assert parameter_count(NMRNN.init(n_units, rank, n_nm, 1, 1, key=KEY, scheme="eft")) == count


def test_element_finder_baselines():
    assert parameter_count(LSTM.init(10, 1, 1, key=KEY)) == 490
    low_rank = LowRankRNN.init(30, 8, 1, 1, key=KEY, scheme="eft", orthonormal_left=None)
    assert parameter_count(low_rank) == 540
    # Without an offset: 21 x 21, and 21 each for input and readout.
    vanilla = dataclasses.replace(VanillaRNN.init(21, 1, 1, key=KEY), d=None)
    assert parameter_count(vanilla) == 483


def test_match_width_comes_nearest():
    assert match_width(lambda n: LSTM.init(n, 3, 1, key=KEY), 1059, largest=64) == (14, 1022)
    assert match_width(lambda n: VanillaRNN.init(n, 3, 1, key=KEY), 1059, largest=64) == (31, 1086)


def test_match_width_refuses_what_it_cannot_reach():
    with pytest.raises(ValueError, match="fewer than 1000"):
        match_width(lambda n: VanillaRNN.init(n, 1, 1, key=KEY), 1000, largest=8)
    with pytest.raises(ValueError, match="at least 1"):
        match_width(lambda n: VanillaRNN.init(n, 1, 1, key=KEY), 0)
