"""Functions and estimators on arrays, recorded or simulated: no model needed."""

from .activity import ActivityLike
from .dimensionality import effective_rank, participation_ratio, participation_ratio_of_spectrum
from .fixed_point_set import FixedPoints
from .fixed_points import find_fixed_points
from .gain_theory import (
    gain_is_feasible,
    mean_field_overlap,
    minimum_ramp_overlap,
    mode_decay,
    mode_decay_discrete,
    required_gain,
    required_gain_discrete,
)
from .pca import PCA, PrincipalAxes, explained_variance, principal_axes
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
    "ActivityLike",
    "FixedPoints",
    "PrincipalAxes",
    "angular_accuracy",
    "circular_difference",
    "circular_distance",
    "circular_mean",
    "decode_angle",
    "effective_rank",
    "explained_variance",
    "find_fixed_points",
    "gain_is_feasible",
    "mean_field_overlap",
    "minimum_ramp_overlap",
    "mode_decay",
    "mode_decay_discrete",
    "participation_ratio",
    "participation_ratio_of_spectrum",
    "principal_axes",
    "ramp_crossing_times",
    "required_gain",
    "required_gain_discrete",
]
