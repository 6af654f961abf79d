"""Training: losses, constraints, optimisers, checkpoints, and `fit`, which holds them together."""

from .accuracy import last_step_accuracy
from .atomic_files import write_bytes_atomic, write_json_atomic, write_text_atomic
from .checkpoint import (
    Checkpoint,
    CheckpointError,
    load_checkpoint,
    read_checkpoint_header,
    save_checkpoint,
)
from .constraints import ConnectivityMask, Constraint, DaleLaw, FrozenEntries, NonNegative
from .divergence import TrainingDiverged
from .environment import environment
from .fit import FitResult, fit
from .fit_ensemble import EnsembleResult, fit_ensemble, member_keys
from .force import fit_force, force_start, force_trial_batch, force_update
from .grid_cell_losses import (
    distance_loss,
    isometry_loss,
    kernel_loss,
    path_consistency_loss,
    path_integration_loss,
    readout_penalty,
    readout_penalty_weight,
)
from .grid_cell_objective import (
    GridCellDraw,
    grid_cell_draws,
    grid_cell_learning_rate,
    grid_cell_terms,
)
from .grid_code_constraint import GridCodeConstraint
from .hessian_free import HessianFree
from .levenberg_marquardt import LevenbergMarquardt
from .load_model import load_model
from .losses import (
    activity_loss,
    bernoulli_nll,
    masked_mse,
    masked_sse,
    mean_squared_error,
    pattern_mismatch,
    poisson_nll,
    rate_fluctuation,
    rate_norm,
    rate_power,
    softmax_cross_entropy,
    squared_error_per_trial,
    sum_squared_error,
    weighted_sum,
)
from .marked_loss import MarkedLoss, mark, no_loss, sketch_marked
from .model_loss import LossDraws, LossTerms, ModelLoss, model_loss, sum_of_terms
from .parameter_count import match_width, parameter_count
from .recurrence import Recurrence
from .run_lock import hold_run_lock, is_locked
from .sketch import Sketch, sketch, sketch_scan
from .sketch_solver import SketchStep, combine_tangents, gram_matrix, orthonormalise, solve_sketch
from .sofo import SOFO
from .sofo_direction import sofo_direction, value_and_direction
from .sofo_state import SOFOInfo, SOFOState
from .stages import Stage, staged
from .stepwise_loss import stepwise
from .tangent_samplers import (
    GaussianTangents,
    IdentityTangents,
    PerLeafTangents,
    RademacherTangents,
    RankOneTangents,
    TangentSampler,
)
from .trainable import trainable_leaves
from .update_rule import Objective, OptaxRule, UpdateInfo, UpdateRule
from .weight_penalty import weight_penalty

__all__ = [
    "SOFO",
    "Checkpoint",
    "CheckpointError",
    "ConnectivityMask",
    "Constraint",
    "DaleLaw",
    "EnsembleResult",
    "FitResult",
    "FrozenEntries",
    "GaussianTangents",
    "GridCellDraw",
    "GridCodeConstraint",
    "HessianFree",
    "IdentityTangents",
    "LevenbergMarquardt",
    "LossDraws",
    "LossTerms",
    "MarkedLoss",
    "ModelLoss",
    "NonNegative",
    "Objective",
    "OptaxRule",
    "PerLeafTangents",
    "RademacherTangents",
    "RankOneTangents",
    "Recurrence",
    "SOFOInfo",
    "SOFOState",
    "Sketch",
    "SketchStep",
    "Stage",
    "TangentSampler",
    "TrainingDiverged",
    "UpdateInfo",
    "UpdateRule",
    "activity_loss",
    "bernoulli_nll",
    "combine_tangents",
    "distance_loss",
    "environment",
    "fit",
    "fit_ensemble",
    "fit_force",
    "force_start",
    "force_trial_batch",
    "force_update",
    "gram_matrix",
    "grid_cell_draws",
    "grid_cell_learning_rate",
    "grid_cell_terms",
    "hold_run_lock",
    "is_locked",
    "isometry_loss",
    "kernel_loss",
    "last_step_accuracy",
    "load_checkpoint",
    "load_model",
    "mark",
    "masked_mse",
    "masked_sse",
    "match_width",
    "mean_squared_error",
    "member_keys",
    "model_loss",
    "no_loss",
    "orthonormalise",
    "parameter_count",
    "path_consistency_loss",
    "path_integration_loss",
    "pattern_mismatch",
    "poisson_nll",
    "rate_fluctuation",
    "rate_norm",
    "rate_power",
    "read_checkpoint_header",
    "readout_penalty",
    "readout_penalty_weight",
    "save_checkpoint",
    "sketch",
    "sketch_marked",
    "sketch_scan",
    "sofo_direction",
    "softmax_cross_entropy",
    "solve_sketch",
    "squared_error_per_trial",
    "staged",
    "stepwise",
    "sum_of_terms",
    "sum_squared_error",
    "trainable_leaves",
    "value_and_direction",
    "weight_penalty",
    "weighted_sum",
    "write_bytes_atomic",
    "write_json_atomic",
    "write_text_atomic",
]
