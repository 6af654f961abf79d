"""Training: losses, constraints, optimisers, checkpoints, and `fit`, which holds them together."""

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
from .load_model import load_model
from .losses import (
    activity_loss,
    masked_mse,
    masked_sse,
    mean_squared_error,
    pattern_mismatch,
    rate_fluctuation,
    rate_norm,
    rate_power,
    sum_squared_error,
    weighted_sum,
)
from .parameter_count import match_width, parameter_count
from .run_lock import hold_run_lock, is_locked
from .stages import Stage, staged
from .trainable import trainable_leaves
from .update_rule import Objective, OptaxRule, UpdateInfo, UpdateRule

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "ConnectivityMask",
    "Constraint",
    "DaleLaw",
    "EnsembleResult",
    "FitResult",
    "FrozenEntries",
    "NonNegative",
    "Objective",
    "OptaxRule",
    "Stage",
    "TrainingDiverged",
    "UpdateInfo",
    "UpdateRule",
    "activity_loss",
    "environment",
    "fit",
    "fit_ensemble",
    "hold_run_lock",
    "is_locked",
    "load_checkpoint",
    "load_model",
    "masked_mse",
    "masked_sse",
    "match_width",
    "mean_squared_error",
    "member_keys",
    "parameter_count",
    "pattern_mismatch",
    "rate_fluctuation",
    "rate_norm",
    "rate_power",
    "read_checkpoint_header",
    "save_checkpoint",
    "staged",
    "sum_squared_error",
    "trainable_leaves",
    "weighted_sum",
    "write_bytes_atomic",
    "write_json_atomic",
    "write_text_atomic",
]
