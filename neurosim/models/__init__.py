"""Published circuits as Equinox modules."""

from .bottleneck_rnn import BottleneckRNN
from .dynamics import (
    Dynamics,
    HasDiffusion,
    HasNoisyStep,
    HasPrepared,
    HasStep,
    HasTimeConstants,
    fixed_field,
    is_fixed,
)
from .feedback_reservoir import FeedbackReservoir, circuit_weights
from .gain_modulated_rnn import GainModulatedRNN
from .gated_integrator import GatedIntegrator, rotation_weights
from .gated_rnn import GRU, LSTM, LSTMState
from .interpolated_place_map import InterpolatedPlaceMap
from .leaky_rnn import LeakyRNN
from .linear_map import LinearMap
from .low_rank_rnn import LowRankRNN
from .nm_rnn import NMRNN, NMRNNState, clamp_gains
from .noisy_place_cells import NoisyPlaceCells
from .normalization_layer import NormalizationLayer
from .normalization_rest import RestPoint
from .organics import ORGaNICs, ORGaNICsState
from .organics_cell import FixedTimeConstants, LearnedTimeConstants, ORGaNICsCell
from .organics_three_type import ORGaNICs3, ORGaNICs3RestPoint, ORGaNICs3State
from .place_cell_noise import ConstantNoise, PoissonLikeNoise, RateNoise
from .place_field_statistics import Environment, FieldStatistics
from .place_map import PlaceMap, sample_place_map
from .place_map_ensemble import PlaceMapEnsemble
from .prepared_organics_cell import ORGaNICsCellState
from .reaching_network import ReachingNetwork, ReachingState
from .rodent_motion import RodentMotion, RodentMotionState
from .ssn import SSN
from .ssn_presets import (
    line_input,
    line_positions,
    ring_input,
    ssn_line,
    ssn_orientation_ring,
    ssn_two_population,
)
from .static_organics import StaticORGaNICs, StaticORGaNICsState
from .supralinear_rest import SSNRestPoint
from .vanilla_rnn import VanillaRNN
from .visual_ring import normalization_ring, ring_weights

__all__ = [
    "GRU",
    "LSTM",
    "NMRNN",
    "SSN",
    "BottleneckRNN",
    "ConstantNoise",
    "Dynamics",
    "Environment",
    "FeedbackReservoir",
    "FieldStatistics",
    "FixedTimeConstants",
    "GainModulatedRNN",
    "GatedIntegrator",
    "HasDiffusion",
    "HasNoisyStep",
    "HasPrepared",
    "HasStep",
    "HasTimeConstants",
    "InterpolatedPlaceMap",
    "LSTMState",
    "LeakyRNN",
    "LearnedTimeConstants",
    "LinearMap",
    "LowRankRNN",
    "NMRNNState",
    "NoisyPlaceCells",
    "NormalizationLayer",
    "ORGaNICs",
    "ORGaNICs3",
    "ORGaNICs3RestPoint",
    "ORGaNICs3State",
    "ORGaNICsCell",
    "ORGaNICsCellState",
    "ORGaNICsState",
    "PlaceMap",
    "PlaceMapEnsemble",
    "PoissonLikeNoise",
    "RateNoise",
    "ReachingNetwork",
    "ReachingState",
    "RestPoint",
    "RodentMotion",
    "RodentMotionState",
    "SSNRestPoint",
    "StaticORGaNICs",
    "StaticORGaNICsState",
    "VanillaRNN",
    "circuit_weights",
    "clamp_gains",
    "fixed_field",
    "is_fixed",
    "line_input",
    "line_positions",
    "normalization_ring",
    "ring_input",
    "ring_weights",
    "rotation_weights",
    "sample_place_map",
    "ssn_line",
    "ssn_orientation_ring",
    "ssn_two_population",
]
