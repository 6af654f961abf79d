"""Stateless array functions: the innermost numerics."""

from .band_units import replace_by_bands
from .contact import NearestPair, contact_function, min_distance
from .diffeomorphic_push import Diffeomorphism, diffeomorphism, pushed_rates, radial_push
from .distance_surface import distance_surface
from .divisive_normalization import (
    Rectify,
    normalization_flow,
    normalization_jacobian,
    normalized_response,
    pooled_activity,
    recurrent_drive,
)
from .ideal_grid import grid_lattice_vectors, grid_wave_vectors, ideal_grid_map, ideal_grid_module
from .integrated_ornstein_uhlenbeck import VelocityStep, reflect, velocity_step
from .lattice_interpolation import interpolate_lattice, lattice_points
from .lorenz import lorenz_field, lorenz_trajectory
from .low_rank import low_rank_drive
from .normalization_fixed_point import (
    normalization_fixed_point,
    normalization_guess,
    normalization_iterate,
)
from .orthonormal import orthonormal_columns
from .place_field import place_field, place_field_map
from .rate_noise import position_information, rate_noise_variance, separability_thresholds
from .recurrent_scale import recurrent_scale
from .ring_smoothing import ring_smoothed_rates
from .safe_math import entropy_of_shares, safe_cosine, safe_norm, safe_sqrt, safe_std
from .smoothed_grid_map import smoothed_grid_map, wave_attenuation
from .spectral_norm import spectral_norm, spectrally_normalized
from .tangents import project_curvature, push_tangents
from .time_grid import check_dt, steps_between, steps_in, time_grid
from .two_joint_arm import (
    START_ANGLES,
    TwoJointArm,
    arm_acceleration,
    arm_energy,
    arm_step,
    coriolis_torque,
    hand_jacobian,
    hand_position,
    hand_velocity,
    inertia_matrix,
    joint_angles,
    reachable,
)
from .whole_number import whole_number

__all__ = [
    "START_ANGLES",
    "Diffeomorphism",
    "NearestPair",
    "Rectify",
    "TwoJointArm",
    "VelocityStep",
    "arm_acceleration",
    "arm_energy",
    "arm_step",
    "check_dt",
    "contact_function",
    "coriolis_torque",
    "diffeomorphism",
    "distance_surface",
    "entropy_of_shares",
    "grid_lattice_vectors",
    "grid_wave_vectors",
    "hand_jacobian",
    "hand_position",
    "hand_velocity",
    "ideal_grid_map",
    "ideal_grid_module",
    "inertia_matrix",
    "interpolate_lattice",
    "joint_angles",
    "lattice_points",
    "lorenz_field",
    "lorenz_trajectory",
    "low_rank_drive",
    "min_distance",
    "normalization_fixed_point",
    "normalization_flow",
    "normalization_guess",
    "normalization_iterate",
    "normalization_jacobian",
    "normalized_response",
    "orthonormal_columns",
    "place_field",
    "place_field_map",
    "pooled_activity",
    "position_information",
    "project_curvature",
    "push_tangents",
    "pushed_rates",
    "radial_push",
    "rate_noise_variance",
    "reachable",
    "recurrent_drive",
    "recurrent_scale",
    "reflect",
    "replace_by_bands",
    "ring_smoothed_rates",
    "safe_cosine",
    "safe_norm",
    "safe_sqrt",
    "safe_std",
    "separability_thresholds",
    "smoothed_grid_map",
    "spectral_norm",
    "spectrally_normalized",
    "steps_between",
    "steps_in",
    "time_grid",
    "velocity_step",
    "wave_attenuation",
    "whole_number",
]
