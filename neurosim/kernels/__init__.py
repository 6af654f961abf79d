"""Stateless array functions: the innermost numerics."""

from .lorenz import lorenz_field, lorenz_trajectory
from .low_rank import low_rank_drive
from .orthonormal import orthonormal_columns
from .recurrent_scale import recurrent_scale
from .safe_math import safe_cosine, safe_norm, safe_sqrt, safe_std
from .tangents import project_curvature, push_tangents
from .time_grid import check_dt, steps_between, steps_in, time_grid
from .whole_number import whole_number

__all__ = [
    "check_dt",
    "lorenz_field",
    "lorenz_trajectory",
    "low_rank_drive",
    "orthonormal_columns",
    "project_curvature",
    "push_tangents",
    "recurrent_scale",
    "safe_cosine",
    "safe_norm",
    "safe_sqrt",
    "safe_std",
    "steps_between",
    "steps_in",
    "time_grid",
    "whole_number",
]
