"""Functions and estimators on arrays, recorded or simulated: no model needed."""

from .abstraction import CCGP, ParallelismScore, ccgp, parallelism_score
from .activity import ActivityLike
from .adaptive_kalman import (
    FilteredSignal,
    ReferenceErrors,
    context_kalman_filter,
    random_context_filter,
    reference_errors,
    stationary_filter_error,
)
from .adaptive_rate_maps import adaptive_rate_maps
from .attractor_scores import LineScore, RingScore, line_score, ring_score
from .autocorrelation import autocorrelation, autocorrelation_time
from .band_score import band_power_share, band_score
from .basins import Basins, basins_of_attraction
from .betti_numbers import betti_numbers
from .bi_cross_validation import BiCrossValidation, bi_cross_validation
from .border_score import BorderScores, border_score
from .boundary_bias import mean_distance_surface, optimal_boundary_bias
from .capacity_exponent import (
    DistanceMoments,
    asymptotic_log_capacity,
    capacity_exponent,
    distance_moments,
    gaussian_log_overlap,
)
from .capacity_from_maps import MeasuredCapacity, capacity_from_maps
from .cca import (
    SVCCA,
    CanonicalCorrelations,
    CCAShuffleLevel,
    CrossValidatedCCA,
    cca,
    cca_shuffle_level,
    cross_validated_cca,
    svcca,
)
from .change_map import ChangeMap, change_map
from .change_profile import ChangeProfile, change_profile
from .change_times import IntervalScaling, half_change_times, interval_scaling
from .circular_classes import CircularClasses, circular_classes
from .circular_coordinates import CircularCoordinates
from .circular_correlation import circular_correlation, fisher_lee_correlation
from .cka import cka
from .communication_subspace import RankScores, ReducedRankRegression, reduced_rank_scores
from .conformal_scale import ConformalScale, conformal_scale_fit
from .context_capacity import context_capacity, log_context_capacity
from .context_decoding import DecodedContext, decode_context
from .contrast_response import (
    ContrastResponse,
    SurroundSuppression,
    contrast_response,
    cross_orientation_suppression,
    hyperbolic_ratio,
    summation_index,
    surround_suppression,
)
from .cross_temporal_decoding import CrossTemporalDecoding, cross_temporal_decode
from .cross_temporal_regression import CrossTemporalRegression, cross_temporal_regress
from .crossnobis import crossnobis
from .cvpca import CrossValidatedPCA, CrossValidatedSpectrum, cross_validated_spectrum
from .decoding_error import decoding_confusion, decoding_error
from .diagram_distance import diagram_distance
from .dimension_shuffles import DimensionTest, dimension_of_shuffles
from .dimensionality import (
    diff_erank,
    effective_rank,
    participation_ratio,
    participation_ratio_of_spectrum,
)
from .dmd import DMD
from .dpca import DPCA
from .dpca_marginalisation import marginalise
from .dpca_significance import DPCASignificance, dpca_significance
from .dsa import DynamicalSimilarity, dsa
from .dynamax_parameters import from_dynamax, from_dynamax_inputs, to_dynamax, to_dynamax_inputs
from .estimator import Estimator, NotFittedError
from .event_alignment import AlignedTrials, align_to_events
from .factor_analysis import FactorAnalysis, FactorDimension, factor_dimension
from .fixed_point_continuation import FixedPointBranch, continue_fixed_points
from .fixed_point_set import FixedPoints
from .fixed_points import find_fixed_points
from .fuzzy_distance import density_downsample, fuzzy_distance
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
from .gamma_poisson import GammaPoissonFit, fit_gamma_poisson
from .grid_geometry import GridGeometry, autocorrelogram_geometry, grid_geometry
from .grid_modules import GridModules, grid_modules
from .grid_phases import GridPhases, grid_phases
from .grid_score import GridScores, autocorrelogram_grid_score, grid_score
from .grouped_error import GroupedError, grouped_error
from .grouped_folds import Fold, grouped_folds
from .head_direction import HeadDirectionTuning, head_direction_tuning
from .infinite_width import (
    InfiniteWidth,
    infinite_width,
    infinite_width_exponent,
    infinite_width_log_overlap,
)
from .jpca import JPCA
from .jpca_significance import RotationTest, rotation_test
from .kalman import (
    FilteredStates,
    LinearGaussianSystem,
    SmoothedStates,
    kalman_filter,
    kalman_smoother,
)
from .lattice_spectrum import LatticeSpectrum, lattice_spectrum
from .linear_dynamical_system import LinearDynamicalSystem
from .linear_dynamics_fit import (
    RotationPlanes,
    StatePairs,
    fit_linear_map,
    fit_rotation_logarithm,
    fit_skew_map,
    rotation_planes,
    state_pairs,
)
from .linear_noise import coherence, noise_spectrum, stationary_covariance
from .linearisation import LinearisedDynamics, linearise
from .low_rank_fixed_points import LowRankFixedPoints, reduced_fixed_points
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
from .lyapunov import LyapunovSpectrum, lyapunov_spectrum
from .manifold_capacity import ManifoldCapacity, ball_capacity, manifold_capacity, point_capacity
from .manifold_cloud import manifold_cloud, nearest_neighbour_mean
from .manifold_distance import ManifoldDistance, manifold_distance
from .manifold_size import ManifoldSize, manifold_size, repeated_radius
from .map_pairs import MapComparison
from .map_similarity import activity_overlap, centroid_shift, rate_overlap, spatial_correlation
from .map_smoothing import smooth_maps
from .map_stability import MapStability, map_stability
from .max_min_landmarks import MaxMinLandmarks, max_min_landmarks
from .maximum_entropy_tensor import MaximumEntropyTensor, maximum_entropy_tensor
from .mode_projection import SpanCoordinates, project_modes, project_on_span
from .modulated_fixed_points import ModulatedFixedPoints, modulated_fixed_points
from .noise_precision import NoisePrecision, noise_precision
from .normalization_energy import (
    EnergyDecay,
    NormalizationEnergy,
    energy_decay,
    normalization_energy,
)
from .normalization_equation import (
    NormalizationState,
    normalization_equation,
    normalization_first_order,
)
from .normalization_fixed_points import PlanarFixedPoints, fixed_points_2d
from .normalization_stability import (
    OscillatorForm,
    StabilityCertificate,
    lyapunov_weights,
    oscillator_form,
    spectral_abscissa,
    stability_certificate,
    strict_lyapunov_matrix,
)
from .null_potent import NullPotent, TuningRatio
from .overlap_rates import large_deviation_rate, soft_overlap_rate
from .pca import PCA, PrincipalAxes, explained_variance, principal_axes
from .persistent_homology import RingPersistence, ring_persistence
from .place_fields import PlaceField, PlaceFields, detect_place_fields
from .poincare_hopf import poincare_hopf_sum
from .population_vector_correlation import population_vector_correlation
from .position_decoding import DecodedPosition, decode_position
from .position_resolution import (
    context_position_tradeoff,
    cramer_rao_bound,
    optimal_width,
    position_fisher_information,
)
from .procrustes import procrustes_distance
from .pullback_metric import PullbackMetric, pullback_metric, pullback_metric_of
from .random_foraging import Foraging, poisson_spikes, random_foraging
from .rate_maps import RateMaps, rate_maps
from .rdm import RDM, rdm
from .remapping import RemappingMeasure, RemappingReport, remapping_report
from .resampling import (
    bootstrap_trials,
    circular_shifts,
    permutation_p_value,
    shuffle_labels,
    shuffle_trials_per_unit,
)
from .response_accuracy import (
    Accuracy,
    accuracy_by_label,
    decode_population_angle,
    responses_correct,
)
from .rips_cost import RipsCost, rips_cost
from .rips_persistence import RipsPersistence, rips_persistence
from .rsa import compare_rdms, rdm_shuffle_test
from .running_speed import angular_speed, angular_velocity, running_speed
from .separability import log_overlap_probability, separability_threshold
from .shape_distances import (
    CrossValidatedShapeDistance,
    MeanShape,
    ShapeDistanceFloor,
    cross_validated_shape_distance,
    mean_shape,
    shape_distance_floor,
    shape_distances,
)
from .shape_metric import ShapeMetric
from .shared_subspace import SharedSubspace, alignment_index, shared_subspace
from .shattering_dimension import ShatteringDimension, shattering_dimension
from .shuffle_test import ShuffleTest, shuffle_test
from .shuffled_persistence import ShuffledPersistence, shuffled_persistence
from .slow_manifold import SlowManifold, slow_manifold
from .soft_normalizer import SoftNormalizer
from .spatial_autocorrelogram import spatial_autocorrelogram, spatial_crosscorrelogram
from .spatial_information import (
    SpatialInformation,
    selectivity,
    sparsity,
    spatial_coherence,
    spatial_information,
)
from .spatial_information_test import SpatialInformationTest, spatial_information_test
from .subspace_angles import principal_angles, subspace_distance
from .tangling import tangling
from .targeted_dimensionality_reduction import TDR
from .task_metrics import (
    angular_accuracy,
    circular_difference,
    circular_distance,
    circular_mean,
    decode_angle,
    ramp_crossing_times,
)
from .toroidality import toroidality

__all__ = [
    "CCGP",
    "DMD",
    "DPCA",
    "JPCA",
    "PCA",
    "RDM",
    "SVCCA",
    "TDR",
    "Accuracy",
    "ActivityLike",
    "AlignedTrials",
    "Basins",
    "BiCrossValidation",
    "BorderScores",
    "CCAShuffleLevel",
    "CanonicalCorrelations",
    "ChangeMap",
    "ChangeProfile",
    "CircularClasses",
    "CircularCoordinates",
    "ConformalScale",
    "ContrastResponse",
    "CrossTemporalDecoding",
    "CrossTemporalRegression",
    "CrossValidatedCCA",
    "CrossValidatedPCA",
    "CrossValidatedShapeDistance",
    "CrossValidatedSpectrum",
    "DPCASignificance",
    "DecodedContext",
    "DecodedPosition",
    "DimensionTest",
    "DistanceMoments",
    "DynamicalSimilarity",
    "EnergyDecay",
    "Estimator",
    "FactorAnalysis",
    "FactorDimension",
    "FilteredSignal",
    "FilteredStates",
    "FixedPointBranch",
    "FixedPoints",
    "Fold",
    "Foraging",
    "GainAblation",
    "GammaPoissonFit",
    "GridGeometry",
    "GridModules",
    "GridPhases",
    "GridScores",
    "GroupedError",
    "HeadDirectionTuning",
    "InfiniteWidth",
    "IntervalScaling",
    "JacobianSpectrum",
    "LatticeSpectrum",
    "LineScore",
    "LinearDynamicalSystem",
    "LinearGaussianSystem",
    "LinearisedDynamics",
    "LowRankFixedPoints",
    "LowRankReduction",
    "LyapunovSpectrum",
    "ManifoldCapacity",
    "ManifoldDistance",
    "ManifoldSize",
    "MapComparison",
    "MapStability",
    "MaxMinLandmarks",
    "MaximumEntropyTensor",
    "MeanShape",
    "MeasuredCapacity",
    "ModeTimescales",
    "ModulatedFixedPoints",
    "NoisePrecision",
    "NormalizationEnergy",
    "NormalizationState",
    "NotFittedError",
    "NullPotent",
    "OscillatorForm",
    "OutputComponents",
    "Overlaps",
    "ParallelismScore",
    "PlaceField",
    "PlaceFields",
    "PlanarFixedPoints",
    "PrincipalAxes",
    "PullbackMetric",
    "RankScores",
    "RateMaps",
    "ReducedRankRegression",
    "ReferenceErrors",
    "RemappingMeasure",
    "RemappingReport",
    "RingPersistence",
    "RingScore",
    "RipsCost",
    "RipsPersistence",
    "RotationPlanes",
    "RotationTest",
    "ShapeDistanceFloor",
    "ShapeMetric",
    "SharedSubspace",
    "ShatteringDimension",
    "ShuffleTest",
    "ShuffledPersistence",
    "SlowManifold",
    "SmoothedStates",
    "SoftNormalizer",
    "SpanCoordinates",
    "SpatialInformation",
    "SpatialInformationTest",
    "StabilityCertificate",
    "StatePairs",
    "SurroundSuppression",
    "TuningRatio",
    "ablate_gains",
    "accuracy_by_label",
    "activity_overlap",
    "adaptive_rate_maps",
    "align_to_events",
    "alignment_index",
    "angular_accuracy",
    "angular_speed",
    "angular_velocity",
    "asymptotic_log_capacity",
    "autocorrelation",
    "autocorrelation_time",
    "autocorrelogram_geometry",
    "autocorrelogram_grid_score",
    "ball_capacity",
    "band_power_share",
    "band_score",
    "basins_of_attraction",
    "betti_numbers",
    "bi_cross_validation",
    "bootstrap_trials",
    "border_score",
    "capacity_exponent",
    "capacity_from_maps",
    "cca",
    "cca_shuffle_level",
    "ccgp",
    "centroid_shift",
    "change_map",
    "change_profile",
    "circular_classes",
    "circular_correlation",
    "circular_difference",
    "circular_distance",
    "circular_mean",
    "circular_shifts",
    "cka",
    "coherence",
    "compare_rdms",
    "conformal_scale_fit",
    "context_capacity",
    "context_kalman_filter",
    "context_position_tradeoff",
    "continue_fixed_points",
    "contrast_response",
    "cramer_rao_bound",
    "cross_orientation_suppression",
    "cross_temporal_decode",
    "cross_temporal_regress",
    "cross_validated_cca",
    "cross_validated_shape_distance",
    "cross_validated_spectrum",
    "crossnobis",
    "decode_angle",
    "decode_context",
    "decode_population_angle",
    "decode_position",
    "decoding_confusion",
    "decoding_error",
    "density_downsample",
    "detect_place_fields",
    "diagram_distance",
    "diff_erank",
    "dimension_of_shuffles",
    "distance_moments",
    "dpca_significance",
    "dsa",
    "effective_jacobian_eigenvalues",
    "effective_rank",
    "energy_decay",
    "exact_reduction",
    "explained_variance",
    "factor_dimension",
    "find_fixed_points",
    "fisher_lee_correlation",
    "fit_gamma_poisson",
    "fit_linear_map",
    "fit_rotation_logarithm",
    "fit_skew_map",
    "fixed_points_2d",
    "from_dynamax",
    "from_dynamax_inputs",
    "fuzzy_distance",
    "gain_is_feasible",
    "gaussian_log_overlap",
    "grid_geometry",
    "grid_modules",
    "grid_phases",
    "grid_score",
    "grouped_error",
    "grouped_folds",
    "half_change_times",
    "head_direction_tuning",
    "hold_gains",
    "hyperbolic_ratio",
    "infinite_width",
    "infinite_width_exponent",
    "infinite_width_log_overlap",
    "interval_scaling",
    "kalman_filter",
    "kalman_smoother",
    "large_deviation_rate",
    "lattice_spectrum",
    "line_score",
    "linearise",
    "log_context_capacity",
    "log_overlap_probability",
    "lyapunov_spectrum",
    "lyapunov_weights",
    "manifold_capacity",
    "manifold_cloud",
    "manifold_distance",
    "manifold_size",
    "map_stability",
    "marginalise",
    "max_min_landmarks",
    "maximum_entropy_tensor",
    "mean_distance_surface",
    "mean_field_overlap",
    "mean_shape",
    "minimum_ramp_overlap",
    "mode_decay",
    "mode_decay_discrete",
    "mode_timescales",
    "modulated_fixed_points",
    "nearest_neighbour_mean",
    "noise_precision",
    "noise_spectrum",
    "normalization_energy",
    "normalization_equation",
    "normalization_first_order",
    "optimal_boundary_bias",
    "optimal_width",
    "oscillator_form",
    "output_components",
    "overlaps",
    "parallelism_score",
    "participation_ratio",
    "participation_ratio_of_spectrum",
    "permutation_p_value",
    "poincare_hopf_sum",
    "point_capacity",
    "poisson_spikes",
    "population_vector_correlation",
    "position_fisher_information",
    "principal_angles",
    "principal_axes",
    "procrustes_distance",
    "project_modes",
    "project_on_span",
    "pullback_metric",
    "pullback_metric_of",
    "ramp_crossing_times",
    "random_context_filter",
    "random_foraging",
    "rate_maps",
    "rate_overlap",
    "rdm",
    "rdm_shuffle_test",
    "reconstruct_states",
    "reduced_fixed_points",
    "reduced_rank_scores",
    "reference_errors",
    "remapping_report",
    "repeated_radius",
    "required_gain",
    "required_gain_discrete",
    "responses_correct",
    "ring_persistence",
    "ring_score",
    "rips_cost",
    "rips_persistence",
    "rotation_planes",
    "rotation_test",
    "running_speed",
    "selectivity",
    "separability_threshold",
    "shape_distance_floor",
    "shape_distances",
    "shared_subspace",
    "shattering_dimension",
    "shuffle_labels",
    "shuffle_test",
    "shuffle_trials_per_unit",
    "shuffled_persistence",
    "slow_manifold",
    "smooth_maps",
    "soft_overlap_rate",
    "sparsity",
    "spatial_autocorrelogram",
    "spatial_coherence",
    "spatial_correlation",
    "spatial_crosscorrelogram",
    "spatial_information",
    "spatial_information_test",
    "spectral_abscissa",
    "stability_certificate",
    "state_pairs",
    "stationary_covariance",
    "stationary_filter_error",
    "strict_lyapunov_matrix",
    "subspace_distance",
    "summation_index",
    "surround_suppression",
    "svcca",
    "tangling",
    "to_dynamax",
    "to_dynamax_inputs",
    "toroidality",
]
