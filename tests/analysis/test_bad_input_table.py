"""What the guide's table of bad input says of NaN and masked arrays, for each public function.

A function is given good activity first, so that the refusal is of what was put into it.
"""

import inspect
import re
import warnings
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import neurosim.analysis as analysis
from neurosim.analysis import io
from neurosim.kernels import ideal_grid_module

TABLE = Path(__file__).parents[2] / "docs" / "guide" / "bad_input.md"

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 8, 5)).cumsum(axis=1)
Y = X @ rng.normal(size=(5, 4)) + 0.3 * rng.normal(size=(12, 8, 4))
SAME = X @ rng.normal(size=(5, 5))
SAMPLES = rng.normal(size=(40, 5))
COUNTS = rng.poisson(4, size=(12, 8, 5)).astype(float)
PATTERNS = rng.normal(size=(24, 4, 5))
CROSSED = {"a": np.arange(24) % 2, "b": np.arange(24) // 2 % 2}
AVERAGES = rng.normal(size=(3, 2, 10, 5))
FACTORS = ("stimulus", "decision", "time")
ANGLES = rng.uniform(0, 2, size=12)
STEP = rng.normal(size=(40, 2)) / 4
TURN = np.array([[0.8, -0.6], [0.6, 0.8]])
DISTANCES = np.abs(PATTERNS[:6, 0, :1] - PATTERNS[:6, 0, :1].T)
VALUES = np.abs(SAMPLES[0])
RING = np.stack([np.cos(np.arange(40)), np.sin(np.arange(40)), SAMPLES[:, 0] / 9], axis=1)
LEFT, RIGHT = rng.normal(size=(2, 20, 2)) / 5
IN, OUT = rng.normal(size=(20, 1)), rng.normal(size=(1, 20))
INPUTS, GAINS, REST = np.ones((12, 8, 1)), np.ones((12, 8, 2)), np.zeros(20)
SYSTEM = analysis.LinearGaussianSystem(
    0.9 * np.eye(2), np.eye(2), rng.normal(size=(5, 2)), np.zeros(5), np.ones(5), np.zeros(2),
    np.eye(2),
)  # fmt: skip
CIRCUIT = {"W": np.ones((5, 5)), "sigma": 0.1, "b": 0.5, "b0": 0.5}
TAUS = {"tau_y": 0.002, "tau_a": 0.002}
CLOCK = np.arange(0, 60, 0.1)
TRACK = 0.5 + 0.4 * np.sin(CLOCK)
SPIKES = np.linspace(1, 59, 80)
BINS = {"bin_size": 0.1, "extent": (0, 1)}
PLANE = np.stack(np.meshgrid(np.arange(20) / 20, np.arange(20) / 20, indexing="ij"), axis=-1)
GRIDS = ideal_grid_module(PLANE, n_per_side=2, spacing=0.3)
HEADING = rng.uniform(0, 6.28, 60)
TUNED = np.cos(HEADING[:, None] - np.arange(5)) + rng.normal(size=(60, 5)) / 20
BARS = np.array([[0.0, 1.0], [0.0, 0.9], [0.2, 0.4]])
LAG = np.hypot(*np.meshgrid(np.arange(-9, 10), np.arange(-9, 10)))
CONTEXT = {"mean": 0.5, "onsets": np.arange(8) == 0}
REDUCED = analysis.exact_reduction(LEFT, RIGHT, IN, INPUTS, x0=REST, tau=5.0)


def _fit(name, *args, y=None, **settings):
    return lambda x: getattr(analysis, name)(*args, **settings).fit(x, y)


def _call(name, *args, **settings):
    return lambda x: getattr(analysis, name)(x, *args, **settings)


def _io(name, *args, **settings):
    return lambda x: getattr(io, name)(x, *args, **settings)


def _xarray(x):
    xarray = pytest.importorskip("xarray")
    return io.from_xarray(xarray.DataArray(x, dims=("trial", "time", "unit")))


#: For each function: how to call it, and what with.
TAKES = {
    "capacity_exponent": (_call("capacity_exponent", 1.0, noise="constant", level=0.1), VALUES),
    "cramer_rao_bound": (_call("cramer_rao_bound"), np.eye(5)),
    "context_position_tradeoff": (_call("context_position_tradeoff", VALUES, 0.5), VALUES),
    "optimal_width": (_call("optimal_width", VALUES, VALUES, 0.5), np.arange(1.0, 6.0)),
    "log_overlap_probability": (_call("log_overlap_probability", 1.0), VALUES**2),
    "distance_moments": (_call("distance_moments", 10, noise="constant"), VALUES**2),
    "large_deviation_rate": (_call("large_deviation_rate", 0.1), VALUES**2),
    "soft_overlap_rate": (_call("soft_overlap_rate", 1.0), VALUES**2),
    "mean_distance_surface": (_call("mean_distance_surface"), SAMPLES),
    "position_fisher_information": (
        lambda x: analysis.position_fisher_information(
            x, np.ones((*np.shape(x), 1)), noise="constant", level=1.0
        ),
        SAMPLES**2,
    ),
    "log_context_capacity": (_call("log_context_capacity"), -(VALUES**2)),
    "context_capacity": (_call("context_capacity"), -(VALUES**2)),
    "rate_maps": (_call("rate_maps", CLOCK, TRACK, **BINS), SPIKES),
    "adaptive_rate_maps": (_call("adaptive_rate_maps", CLOCK, TRACK, **BINS), SPIKES),
    "map_stability": (_call("map_stability", CLOCK, TRACK, **BINS), SPIKES),
    "spatial_information_test": (
        _call("spatial_information_test", CLOCK, TRACK, n_shuffles=2, **BINS),
        SPIKES,
    ),
    "head_direction_tuning": (_call("head_direction_tuning", CLOCK, TRACK), SPIKES),
    "decode_position": (_call("decode_position", SAMPLES[:5] ** 2, 0.1), COUNTS[0]),
    "decode_context": (
        lambda x: analysis.decode_context(x, [SAMPLES[:5] ** 2, SAMPLES[5:10] ** 2], 0.1),
        COUNTS[0],
    ),
    "decoding_confusion": (
        _call("decoding_confusion", np.ones(40), edges=np.arange(6.0)),
        SAMPLES**2,
    ),
    "poisson_spikes": (lambda x: analysis.poisson_spikes(abs, np.arange(5.0), x), VALUES),
    "PCA": (_fit("PCA"), X),
    "CrossValidatedPCA": (_fit("CrossValidatedPCA", n_splits=2, y=np.arange(12) % 4), X),
    "FactorAnalysis": (_fit("FactorAnalysis"), X),
    "DMD": (_fit("DMD"), X),
    "JPCA": (_fit("JPCA", 2), X),
    "TDR": (_fit("TDR", 3, y=SAMPLES[:12, :2]), X),
    "SoftNormalizer": (_fit("SoftNormalizer"), X),
    "ShapeMetric": (_fit("ShapeMetric", y=Y), X),
    "ReducedRankRegression": (_fit("ReducedRankRegression", 2, y=Y), X),
    "NullPotent": (_fit("NullPotent", 1, y=Y), X),
    "LinearDynamicalSystem": (_fit("LinearDynamicalSystem", 1, tolerance=0.1), X),
    "DPCA": (_fit("DPCA", FACTORS, ridge=0.1), AVERAGES),
    "participation_ratio": (_call("participation_ratio"), X),
    "participation_ratio_of_spectrum": (_call("participation_ratio_of_spectrum"), VALUES),
    "effective_rank": (_call("effective_rank", kind="covariance"), X),
    "diff_erank": (_call("diff_erank", X), X),
    "bi_cross_validation": (_call("bi_cross_validation"), SAMPLES),
    "cross_validated_spectrum": (_call("cross_validated_spectrum"), X),
    "dimension_of_shuffles": (_call("dimension_of_shuffles", n_shuffles=2), X),
    "factor_dimension": (_call("factor_dimension", max_factors=1), SAMPLES),
    "principal_axes": (_call("principal_axes"), X),
    "explained_variance": (_call("explained_variance", X), X),
    "autocorrelation": (_call("autocorrelation", 3), X),
    "autocorrelation_time": (_call("autocorrelation_time", 0.1), X),
    "tangling": (_call("tangling", dt=0.1), X),
    "rotation_test": (_call("rotation_test", analysis.JPCA(2), n_surrogates=2), X),
    "maximum_entropy_tensor": (_call("maximum_entropy_tensor", tolerance=0.1), X),
    "cca": (_call("cca", Y), X),
    "cca_shuffle_level": (_call("cca_shuffle_level", Y, n_shuffles=2), X),
    "cross_validated_cca": (_call("cross_validated_cca", Y), X),
    "svcca": (_call("svcca", Y), X),
    "cka": (_call("cka", Y), X),
    "procrustes_distance": (_call("procrustes_distance", Y), X),
    "shape_distances": (lambda x: analysis.shape_distances([x, Y]), X),
    "mean_shape": (lambda x: analysis.mean_shape([x, Y]), X),
    "shape_distance_floor": (_call("shape_distance_floor", n_splits=2), X),
    "cross_validated_shape_distance": (_call("cross_validated_shape_distance", Y), X),
    "reduced_rank_scores": (_call("reduced_rank_scores", Y), X),
    "shared_subspace": (_call("shared_subspace", SAME, 2, n_random=2), X),
    "alignment_index": (_call("alignment_index", SAME, 2), X),
    "shuffle_test": (lambda x: analysis.shuffle_test(analysis.cka, x, Y, n_shuffles=2), X),
    "dsa": (_call("dsa", X, dmd=analysis.DMD(), n_starts=1), X),
    "principal_angles": (_call("principal_angles", SAMPLES[:, :2] + 1), SAMPLES),
    "subspace_distance": (_call("subspace_distance", SAMPLES[:, :2] + 1), SAMPLES),
    "rdm": (_call("rdm", np.arange(24) % 2), PATTERNS),
    "crossnobis": (_call("crossnobis", np.arange(24) % 2), PATTERNS),
    "noise_precision": (_call("noise_precision", np.arange(24) % 2), PATTERNS),
    "compare_rdms": (_call("compare_rdms", DISTANCES), DISTANCES),
    "rdm_shuffle_test": (_call("rdm_shuffle_test", DISTANCES, n_shuffles=2), DISTANCES),
    "ccgp": (_call("ccgp", CROSSED, "a"), PATTERNS),
    "parallelism_score": (_call("parallelism_score", CROSSED, "a"), PATTERNS),
    "shattering_dimension": (_call("shattering_dimension", CROSSED, n_folds=2), PATTERNS),
    "manifold_capacity": (_call("manifold_capacity", np.arange(40) % 4, n_draws=5), SAMPLES),
    "cross_temporal_decode": (_call("cross_temporal_decode", np.arange(24) % 2), PATTERNS),
    "cross_temporal_regress": (_call("cross_temporal_regress", np.arange(24.0)), PATTERNS),
    "kalman_filter": (_call("kalman_filter", SYSTEM), X),
    "kalman_smoother": (_call("kalman_smoother", SYSTEM), X),
    "marginalise": (_call("marginalise", FACTORS), AVERAGES),
    "align_to_events": (_call("align_to_events", np.full(12, 4), before=2, after=2), X),
    "shuffle_trials_per_unit": (_call("shuffle_trials_per_unit", random_state=0), X),
    "grouped_error": (_call("grouped_error", X), X),
    "half_change_times": (_call("half_change_times"), X),
    "line_score": (_call("line_score", np.arange(40.0)), SAMPLES),
    "ring_score": (_call("ring_score", np.arange(40.0)), RING),
    "ring_persistence": (_call("ring_persistence", n_landmarks=10), RING),
    "project_modes": (_call("project_modes", SAMPLES[:5, :2]), X),
    "project_on_span": (_call("project_on_span", SAMPLES[:5, :2]), X),
    "circular_mean": (_call("circular_mean"), ANGLES),
    "circular_correlation": (_call("circular_correlation", ANGLES), ANGLES),
    "fisher_lee_correlation": (_call("fisher_lee_correlation", ANGLES), ANGLES),
    "state_pairs": (_call("state_pairs", 0.1), X),
    "fit_linear_map": (_call("fit_linear_map", SAMPLES), SAMPLES),
    "fit_skew_map": (_call("fit_skew_map", SAMPLES), SAMPLES),
    "fit_rotation_logarithm": (_call("fit_rotation_logarithm", STEP @ TURN, 1.0), STEP),
    "rotation_planes": (_call("rotation_planes"), TURN - TURN.T),
    "find_fixed_points": (
        lambda x: analysis.find_fixed_points(lambda s: -s, x, kind="flow", warmup_steps=0),
        SAMPLES[:4],
    ),
    "continue_fixed_points": (
        lambda x: analysis.continue_fixed_points(
            lambda s, u: u - s, x, np.zeros((2, x.shape[1])), kind="flow", n_steps=2
        ),
        SAMPLES[:4],
    ),
    "slow_manifold": (
        lambda x: analysis.slow_manifold(
            lambda s: jnp.array([0, -1.0, -2]) * s,
            x,
            kind="flow",
            step=0.1,
            largest_speed=1,
            n_steps=2,
        ),
        np.array([0.5, 0.0, 0.0]),
    ),
    "to_dynamax_inputs": (_call("to_dynamax_inputs"), X),
    "from_dynamax_inputs": (_call("from_dynamax_inputs"), X),
    "context_kalman_filter": (
        _call("context_kalman_filter", **CONTEXT, time_constant=3.0, observation_std=1.0),
        X[:, :, 0],
    ),
    "random_context_filter": (_call("random_context_filter", **CONTEXT), X[:, :, 0]),
    "reference_errors": (
        _call("reference_errors", X[:, :, 1], **CONTEXT, time_constant=3.0, observation_std=1.0),
        X[:, :, 0],
    ),
    "stationary_filter_error": (_call("stationary_filter_error", 1.0), 1 + VALUES),
    "linearise": (lambda x: analysis.linearise(lambda s: -s, x, kind="flow"), SAMPLES[0]),
    "lyapunov_spectrum": (
        lambda x: analysis.lyapunov_spectrum(lambda s: s / 2, x, n_steps=10, kind="map"),
        SAMPLES[0],
    ),
    "effective_jacobian_eigenvalues": (
        _call("effective_jacobian_eigenvalues", SAMPLES[:5, :2], SAMPLES[5:10, :2], tau=1.0),
        SAMPLES,
    ),
    "exact_reduction": (
        lambda x: analysis.exact_reduction(LEFT, RIGHT, IN, x, x0=REST, tau=5.0),
        INPUTS,
    ),
    "ablate_gains": (
        lambda x: analysis.ablate_gains(LEFT, RIGHT, IN, OUT, INPUTS, x, x0=REST, tau=5.0),
        GAINS,
    ),
    "hold_gains": (_call("hold_gains", [0]), GAINS),
    "output_components": (
        lambda x: analysis.output_components(REDUCED, x, IN, OUT, x0=REST),
        LEFT,
    ),
    "reconstruct_states": (lambda x: analysis.reconstruct_states(REDUCED, x, IN, x0=REST), LEFT),
    "overlaps": (_call("overlaps", RIGHT), LEFT),
    "mode_timescales": (_call("mode_timescales", RIGHT, tau=1.0), LEFT),
    "reduced_fixed_points": (
        _call("reduced_fixed_points", RIGHT, starts=np.zeros((1, 2)), warmup_steps=0),
        LEFT,
    ),
    "mode_decay": (_call("mode_decay", np.arange(5.0), tau=5.0), VALUES),
    "mode_decay_discrete": (_call("mode_decay_discrete", tau=5.0), VALUES),
    "mean_field_overlap": (_call("mean_field_overlap"), 1 + VALUES),
    "minimum_ramp_overlap": (
        _call("minimum_ramp_overlap", tau=5.0, start=-0.5, offset=-1.0),
        10 + VALUES,
    ),
    "required_gain": (_call("required_gain", VALUES, tau=5.0, overlap=2.0), VALUES),
    "required_gain_discrete": (_call("required_gain_discrete", tau=5.0, overlap=2.0), VALUES),
    "permutation_p_value": (lambda x: analysis.permutation_p_value(x[0], x), VALUES),
    "average_by": (_io("average_by", np.arange(12) % 2), X),
    "complete_trials": (_io("complete_trials"), X),
    "drop_silent_units": (_io("drop_silent_units"), X),
    "fano_factor": (_io("fano_factor"), COUNTS),
    "variance_stabilise": (_io("variance_stabilise", kind="sqrt"), COUNTS),
    "smooth": (_io("smooth", 2.0, dt=1.0), X),
    "pad_trials": (lambda x: io.pad_trials(list(x)), X),
    "unpad_trials": (_io("unpad_trials", np.ones((12, 8), bool)), X),
    "bin_spikes": (lambda x: io.bin_spikes(list(x), bin=0.1, epochs=[[0, 1]]), np.array([[0.5]])),
    "cut_signal": (_io("cut_signal", np.arange(40.0), epochs=[[0, 9], [20, 29]]), SAMPLES),
    "pseudo_population": (
        lambda x: io.pseudo_population([(x, np.arange(12) % 2)], random_state=0),
        X,
    ),
    "poincare_hopf_sum": (_call("poincare_hopf_sum"), SAMPLES),
    "normalization_equation": (_call("normalization_equation", **CIRCUIT), SAMPLES),
    "normalization_first_order": (
        _call("normalization_first_order", np.eye(5), **CIRCUIT),
        SAMPLES,
    ),
    "oscillator_form": (_call("oscillator_form", **CIRCUIT, **TAUS), SAMPLES),
    "stability_certificate": (_call("stability_certificate", **CIRCUIT, **TAUS), SAMPLES),
    "spectral_abscissa": (_call("spectral_abscissa"), SAMPLES[:5]),
    "lyapunov_weights": (_call("lyapunov_weights"), 3 * np.eye(5) - 0.1),
    "strict_lyapunov_matrix": (
        _call("strict_lyapunov_matrix", np.ones(5)),
        3 * np.eye(5) - 0.1,
    ),
    "normalization_energy": (
        _call("normalization_energy", SAMPLES**2, VALUES, **CIRCUIT, **TAUS),
        SAMPLES,
    ),
    "energy_decay": (_call("energy_decay", SAMPLES, VALUES, **CIRCUIT, **TAUS), SAMPLES),
    "fixed_points_2d": (
        _call("fixed_points_2d", w=1.0, b=0.5, b0=0.5, sigma=0.1, **TAUS),
        np.array(1.0),
    ),
    "basins_of_attraction": (
        lambda x: analysis.basins_of_attraction(
            lambda s: -s, x, np.zeros((1, 5)), dt=0.1, n_steps=3
        ),
        SAMPLES,
    ),
    "stationary_covariance": (
        _call("stationary_covariance", amplitude=1.0),
        SAMPLES[:5] - 9 * np.eye(5),
    ),
    "noise_spectrum": (
        _call("noise_spectrum", VALUES, amplitude=1.0),
        SAMPLES[:5] - 9 * np.eye(5),
    ),
    "coherence": (_call("coherence"), np.eye(5)),
    "hyperbolic_ratio": (_call("hyperbolic_ratio", r_max=1.0, c50=0.1, exponent=2.0), VALUES),
    "contrast_response": (_call("contrast_response", np.arange(5.0)), VALUES),
    "cross_orientation_suppression": (_call("cross_orientation_suppression", VALUES), VALUES),
    "summation_index": (_call("summation_index", VALUES, VALUES), VALUES),
    "surround_suppression": (
        lambda x: analysis.surround_suppression(np.arange(5.0), x),
        VALUES,
    ),
    "read_epochs": (_io("read_epochs"), np.array([[0.0, 1], [2, 3]])),
    "from_xarray": (_xarray, X),
    "fit_gamma_poisson": (_call("fit_gamma_poisson"), COUNTS[0, :, 0]),
    "pullback_metric_of": (
        lambda x: analysis.pullback_metric_of(lambda at: at, x),
        SAMPLES[:, :2],
    ),
    "manifold_cloud": (_call("manifold_cloud", n_components=2), X),
    "nearest_neighbour_mean": (_call("nearest_neighbour_mean"), SAMPLES),
    "max_min_landmarks": (_call("max_min_landmarks", 5), SAMPLES),
    "rips_persistence": (_call("rips_persistence", n_landmarks=10), SAMPLES),
    "rips_cost": (_call("rips_cost"), SAMPLES),
    "fuzzy_distance": (_call("fuzzy_distance", n_neighbours=5), SAMPLES),
    "density_downsample": (_call("density_downsample", n_points=5, n_neighbours=5), SAMPLES),
    "shuffled_persistence": (
        _call("shuffled_persistence", n_shuffles=1, n_components=2, n_landmarks=10),
        SAMPLES,
    ),
    "CircularCoordinates": (
        _fit("CircularCoordinates", n_circles=1, n_components=2, n_neighbours=3),
        TUNED,
    ),
    "diagram_distance": (_call("diagram_distance", BARS), BARS),
    "toroidality": (_call("toroidality"), BARS),
    "lattice_spectrum": (_call("lattice_spectrum"), 2 * np.eye(2) + 0.5),
}

#: Functions for which NaN has a meaning, which the table gives.
ALLOWED = {
    "spatial_autocorrelogram": (_call("spatial_autocorrelogram"), GRIDS),
    "spatial_crosscorrelogram": (_call("spatial_crosscorrelogram", GRIDS), GRIDS),
    "grid_score": (_call("grid_score"), GRIDS),
    "autocorrelogram_grid_score": (_call("autocorrelogram_grid_score"), np.cos(LAG)),
    "grid_geometry": (_call("grid_geometry", bin_size=0.05), GRIDS),
    "autocorrelogram_geometry": (_call("autocorrelogram_geometry", bin_size=1), np.cos(LAG)),
    "grid_phases": (_call("grid_phases", bin_size=0.05), GRIDS),
    "grid_modules": (_call("grid_modules", bin_size=0.05), GRIDS),
    "border_score": (_call("border_score", bin_size=0.05, min_area=0), GRIDS),
    "band_score": (_call("band_score", bin_size=0.05), GRIDS),
    "band_power_share": (_call("band_power_share"), GRIDS),
    "change_map": (_call("change_map", GRIDS), GRIDS),
    "population_vector_correlation": (_call("population_vector_correlation", GRIDS), GRIDS),
    "spatial_correlation": (_call("spatial_correlation", GRIDS), GRIDS),
    "rate_overlap": (_call("rate_overlap", GRIDS), GRIDS),
    "activity_overlap": (_call("activity_overlap", GRIDS), GRIDS),
    "centroid_shift": (_call("centroid_shift", GRIDS, bin_size=0.05), GRIDS),
    "remapping_report": (
        _call("remapping_report", GRIDS, bin_size=0.05, min_rate=0.5, n_shuffles=2, n_resamples=2),
        GRIDS,
    ),
    "running_speed": (lambda x: analysis.running_speed(CLOCK, x), TRACK),
    "angular_speed": (lambda x: analysis.angular_speed(CLOCK, x), TRACK),
    "angular_velocity": (lambda x: analysis.angular_velocity(CLOCK, x), TRACK),
    "smooth_maps": (_call("smooth_maps", sigma=1.0), SAMPLES),
    "spatial_information": (_call("spatial_information", np.ones(5)), SAMPLES**2),
    "sparsity": (_call("sparsity", np.ones(5)), SAMPLES**2),
    "selectivity": (_call("selectivity", np.ones(5)), SAMPLES**2),
    "spatial_coherence": (_call("spatial_coherence"), SAMPLES**2),
    "detect_place_fields": (_call("detect_place_fields"), SAMPLES**2),
    "decoding_error": (_call("decoding_error", ANGLES), ANGLES),
    "decode_population_angle": (_call("decode_population_angle", np.arange(5.0)), SAMPLES**2),
    "decode_angle": (lambda x: analysis.decode_angle(x[:, 0], x[:, 2]), SAMPLES[:5]),
    "circular_difference": (_call("circular_difference", 0.5), ANGLES),
    "circular_distance": (_call("circular_distance", 0.5), ANGLES),
    "ramp_crossing_times": (_call("ramp_crossing_times", 0), np.linspace(0, 1, 12).reshape(3, 4)),
    "angular_accuracy": (_call("angular_accuracy", ANGLES), SAMPLES[:12, :2]),
    "responses_correct": (
        _call("responses_correct", ANGLES, right_angle=ANGLES, respond=np.ones(12, bool)),
        ANGLES,
    ),
    "interval_scaling": (_call("interval_scaling", np.arange(12.0) % 3), ANGLES),
    "gain_is_feasible": (_call("gain_is_feasible"), VALUES),
    "DPCA, single trials": (
        _fit("DPCA", FACTORS, ridge=0.1),
        rng.normal(size=(3, *AVERAGES.shape)),
    ),
    "padding_mask": (_io("padding_mask"), X),
    "manifold_distance": (_call("manifold_distance", GRIDS), GRIDS),
    "capacity_from_maps": (
        _call("capacity_from_maps", n_cells=5, noise="constant", level=1.0, n_resamples=3),
        np.abs(X),
    ),
    "pullback_metric": (_call("pullback_metric", bin_size=0.05), GRIDS),
    "conformal_scale_fit": (
        _call("conformal_scale_fit", bin_size=0.05, max_distance=0.1),
        GRIDS,
    ),
    "manifold_size": (_call("manifold_size"), GRIDS),
    "repeated_radius": (_call("repeated_radius", GRIDS), GRIDS),
    "change_profile": (
        _call("change_profile", GRIDS + 1, center=(0.5, 0.5), bin_size=0.05),
        GRIDS,
    ),
}

#: Those that take no activity: labels, numbers of trials, spectra, other libraries' objects, or an
#: estimator that reads it; and what is tested with those that it calls.
OTHERS = {
    "asymptotic_log_capacity", "gaussian_log_overlap", "infinite_width", "infinite_width_exponent",
    "infinite_width_log_overlap", "optimal_boundary_bias", "separability_threshold",
    "random_foraging", "betti_numbers", "circular_classes",
    "Estimator", "accuracy_by_label", "ball_capacity", "bootstrap_trials", "circular_shifts",
    "dpca_significance", "from_dynamax", "from_neo", "from_nwb", "from_pynapple", "grouped_folds",
    "modulated_fixed_points", "point_capacity", "shuffle_labels", "to_dynamax",
}  # fmt: skip


#: What compiles for seconds, and is called with good activity by its own tests.
SLOW = {
    "LinearDynamicalSystem", "continue_fixed_points", "find_fixed_points", "kalman_filter",
    "kalman_smoother",
    "lyapunov_spectrum", "reduced_fixed_points",
}  # fmt: skip


def _public():
    return {
        name
        for room in (analysis, io)
        for name in room.__all__
        if inspect.isfunction(getattr(room, name)) or hasattr(getattr(room, name), "fit")
    }


def _call_with(name, change, *, first_as_it_is=True):
    run, good = (TAKES | ALLOWED)[name]
    place = tuple(size // 2 for size in good.shape)
    with warnings.catch_warnings():
        # Of small samples, which is what these are.
        warnings.simplefilter("ignore", UserWarning)
        if first_as_it_is:
            run(good.copy())
        return run(change(good.copy(), place))


def _with_nan(x, place):
    x[place] = np.nan
    return x


def _masked(x, place):
    mask = np.zeros(x.shape, bool)
    mask[place] = True
    return np.ma.array(x, mask=mask)


def test_every_public_function_has_its_case():
    assert {name.split(",")[0] for name in TAKES | ALLOWED} | OTHERS == _public()


def test_every_public_function_is_in_the_table():
    told = set(re.findall(r"`(\w+)", TABLE.read_text()))
    assert _public() - {"Estimator"} <= told


@pytest.mark.parametrize("name", TAKES)
def test_nan_is_refused(name):
    with pytest.raises(ValueError, match=r"(?i)finite|missing|nan|trial\(s\)"):
        _call_with(name, _with_nan, first_as_it_is=name not in SLOW)


@pytest.mark.parametrize("name", ALLOWED)
def test_nan_is_allowed_where_it_means_something(name):
    _call_with(name, _with_nan)


@pytest.mark.parametrize("name", [n for n in TAKES | ALLOWED if n != "from_xarray"])
def test_masked_values_are_refused(name):
    with pytest.raises(ValueError, match="masked"):
        _call_with(name, _masked, first_as_it_is=False)


@pytest.mark.parametrize(
    "run",
    [
        lambda labels: analysis.accuracy_by_label(np.ones(12, bool), labels),
        lambda labels: analysis.bootstrap_trials(12, n_resamples=2, random_state=0, labels=labels),
        lambda labels: analysis.grouped_folds(labels, n_folds=2, random_state=0),
        lambda labels: analysis.shuffle_labels(labels, random_state=0),
    ],
    ids=["accuracy_by_label", "bootstrap_trials", "grouped_folds", "shuffle_labels"],
)
def test_masked_labels_are_refused(run):
    labels = np.arange(12.0) // 3
    run(labels)
    with pytest.raises(ValueError, match="masked"):
        run(_masked(labels, (6,)))


def test_a_repeat_that_no_split_draws_is_looked_at():
    holed = X[:3].copy()
    holed[1, 2, 3] = np.nan
    # One of three repeats is left out of each split: by some seed it is the bad one.
    for seed in range(5):
        with pytest.raises(ValueError, match="at trial 1, time 2, unit 3"):
            analysis.shape_distance_floor(holed, n_splits=1, random_state=seed)
