"""Published circuits as Equinox modules."""

from .bottleneck_rnn import BottleneckRNN
from .dynamics import (
    Dynamics,
    HasDiffusion,
    HasPrepared,
    HasStep,
    HasTimeConstants,
    fixed_field,
    is_fixed,
)
from .feedback_reservoir import FeedbackReservoir, circuit_weights
from .gain_modulated_rnn import GainModulatedRNN
from .gated_rnn import GRU, LSTM, LSTMState
from .leaky_rnn import LeakyRNN
from .linear_map import LinearMap
from .low_rank_rnn import LowRankRNN
from .nm_rnn import NMRNN, NMRNNState, clamp_gains
from .reaching_network import ReachingNetwork, ReachingState
from .vanilla_rnn import VanillaRNN

__all__ = [
    "GRU",
    "LSTM",
    "NMRNN",
    "BottleneckRNN",
    "Dynamics",
    "FeedbackReservoir",
    "GainModulatedRNN",
    "HasDiffusion",
    "HasPrepared",
    "HasStep",
    "HasTimeConstants",
    "LSTMState",
    "LeakyRNN",
    "LinearMap",
    "LowRankRNN",
    "NMRNNState",
    "ReachingNetwork",
    "ReachingState",
    "VanillaRNN",
    "circuit_weights",
    "clamp_gains",
    "fixed_field",
    "is_fixed",
]
