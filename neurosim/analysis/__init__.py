"""Functions and estimators on arrays, recorded or simulated: no model needed."""

from .activity import ActivityLike
from .attractor_scores import LineScore, RingScore, line_score, ring_score
from .autocorrelation import autocorrelation, autocorrelation_time
from .change_times import IntervalScaling, half_change_times, interval_scaling
from .circular_correlation import circular_correlation, fisher_lee_correlation
from .dimensionality import effective_rank, participation_ratio, participation_ratio_of_spectrum
from .event_alignment import AlignedTrials, align_to_events
from .fixed_point_set import FixedPoints
from .fixed_points import find_fixed_points
from .gain_ablation import GainAblation, ablate_gains, hold_gains
from .gain_theory import (
    gain_is_feasible,
    mean_field_overlap,
    minimum_ramp_overlap,
    mode_decay,
    mode_decay_discrete,
    required_gain,
    required_gain_discrete,
)
from .grouped_error import GroupedError, grouped_error
from .low_rank_fixed_points import LowRankFixedPoints, index_sum, reduced_fixed_points
from .low_rank_overlaps import Overlaps, overlaps
from .low_rank_reduction import (
    LowRankReduction,
    OutputComponents,
    exact_reduction,
    output_components,
    reconstruct_states,
)
from .low_rank_spectra import (
    JacobianSpectrum,
    ModeTimescales,
    effective_jacobian_eigenvalues,
    mode_timescales,
)
from .mode_projection import SpanCoordinates, project_modes, project_on_span
from .modulated_fixed_points import ModulatedFixedPoints, modulated_fixed_points
from .pca import PCA, PrincipalAxes, explained_variance, principal_axes
from .persistent_homology import RingPersistence, ring_persistence
from .response_accuracy import (
    Accuracy,
    accuracy_by_label,
    decode_population_angle,
    responses_correct,
)
from .shared_subspace import SharedSubspace, alignment_index, shared_subspace
from .subspace_angles import principal_angles, subspace_distance
from .task_metrics import (
    angular_accuracy,
    circular_difference,
    circular_distance,
    circular_mean,
    decode_angle,
    ramp_crossing_times,
)

__all__ = [
    "PCA",
    "Accuracy",
    "ActivityLike",
    "AlignedTrials",
    "FixedPoints",
    "GainAblation",
    "GroupedError",
    "IntervalScaling",
    "JacobianSpectrum",
    "LineScore",
    "LowRankFixedPoints",
    "LowRankReduction",
    "ModeTimescales",
    "ModulatedFixedPoints",
    "OutputComponents",
    "Overlaps",
    "PrincipalAxes",
    "RingPersistence",
    "RingScore",
    "SharedSubspace",
    "SpanCoordinates",
    "ablate_gains",
    "accuracy_by_label",
    "align_to_events",
    "alignment_index",
    "angular_accuracy",
    "autocorrelation",
    "autocorrelation_time",
    "circular_correlation",
    "circular_difference",
    "circular_distance",
    "circular_mean",
    "decode_angle",
    "decode_population_angle",
    "effective_jacobian_eigenvalues",
    "effective_rank",
    "exact_reduction",
    "explained_variance",
    "find_fixed_points",
    "fisher_lee_correlation",
    "gain_is_feasible",
    "grouped_error",
    "half_change_times",
    "hold_gains",
    "index_sum",
    "interval_scaling",
    "line_score",
    "mean_field_overlap",
    "minimum_ramp_overlap",
    "mode_decay",
    "mode_decay_discrete",
    "mode_timescales",
    "modulated_fixed_points",
    "output_components",
    "overlaps",
    "participation_ratio",
    "participation_ratio_of_spectrum",
    "principal_angles",
    "principal_axes",
    "project_modes",
    "project_on_span",
    "ramp_crossing_times",
    "reconstruct_states",
    "reduced_fixed_points",
    "required_gain",
    "required_gain_discrete",
    "responses_correct",
    "ring_persistence",
    "ring_score",
    "shared_subspace",
    "subspace_distance",
]
