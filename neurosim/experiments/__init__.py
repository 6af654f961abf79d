"""Published studies, each a config and a result."""

from .experiment import Experiment, Result, load_result, run_experiment
from .registry import experiment_names, get_experiment

__all__ = [
    "Experiment",
    "Result",
    "experiment_names",
    "get_experiment",
    "load_result",
    "run_experiment",
]
