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
from .ideal_grid_modules import ideal_grid_modules
from .interpolated_place_map import InterpolatedPlaceMap
from .leaky_rnn import LeakyRNN
from .leaky_transform import LeakyTransform
from .linear_group_transform import LinearGroupTransform
from .linear_map import LinearMap
from .low_rank_rnn import LowRankRNN
from .lstm_transform import LSTMTransform
from .nm_rnn import NMRNN, NMRNNState, clamp_gains
from .noisy_place_cells import NoisyPlaceCells
from .normalization_layer import NormalizationLayer
from .normalization_rest import RestPoint
from .organics import ORGaNICs, ORGaNICsState
from .organics_cell import FixedTimeConstants, LearnedTimeConstants, ORGaNICsCell
from .organics_three_type import ORGaNICs3, ORGaNICs3RestPoint, ORGaNICs3State
from .path_integrating_rnn import PathIntegratingRNN
from .place_cell_noise import ConstantNoise, PoissonLikeNoise, RateNoise
from .place_cell_readout import PlaceCellReadout
from .place_cell_supervised_rnn import PlaceCellSupervisedRNN
from .place_field_statistics import Environment, FieldStatistics
from .place_map import PlaceMap, sample_place_map
from .place_map_ensemble import PlaceMapEnsemble
from .position_embedding import PositionEmbedding
from .prepared_organics_cell import ORGaNICsCellState
from .reaching_network import ReachingNetwork, ReachingState
from .recurrent_transform import RecurrentTransform
from .relu_transform import ReLUTransform
from .rodent_motion import RodentMotion, RodentMotionState
from .saliency import gaussian_saliency, left_half_saliency
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
    "LSTMTransform",
    "LeakyRNN",
    "LeakyTransform",
    "LearnedTimeConstants",
    "LinearGroupTransform",
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
    "PathIntegratingRNN",
    "PlaceCellReadout",
    "PlaceCellSupervisedRNN",
    "PlaceMap",
    "PlaceMapEnsemble",
    "PoissonLikeNoise",
    "PositionEmbedding",
    "RateNoise",
    "ReLUTransform",
    "ReachingNetwork",
    "ReachingState",
    "RecurrentTransform",
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
    "gaussian_saliency",
    "ideal_grid_modules",
    "is_fixed",
    "left_half_saliency",
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
