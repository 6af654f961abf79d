"""The experiments by name, each imported when it is asked for."""

import difflib
import importlib

from .experiment import Experiment

_MODULES = {
    "flip_flop_fixed_points": "flip_flop_fixed_points",
    "grid_deformations": "grid_deformations",
    "nm_rnn_element_finder": "nm_rnn_element_finder",
    "nm_rnn_multitask": "nm_rnn_multitask",
    "nm_rnn_theory": "nm_rnn_theory",
    "nm_rnn_time_constants": "nm_rnn_time_constants",
    "nm_rnn_timing": "nm_rnn_timing",
    "organics_digits": "organics_digits",
    "organics_phenomena": "organics_phenomena",
    "organics_stability": "organics_stability",
    "place_capacity": "place_capacity",
    "sofo_comparison": "sofo_comparison",
}


def experiment_names() -> tuple[str, ...]:
    """The names of all experiments, in alphabetical order."""
    return tuple(sorted(_MODULES))


def get_experiment(name: str) -> Experiment:
    """An experiment by its name.

    **Raises:** `ValueError` for an unknown name, with the nearest known ones.
    """
    if name not in _MODULES:
        near = difflib.get_close_matches(name, _MODULES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(experiment_names())}."
        raise ValueError(f"there is no experiment {name!r}; {hint}")
    module = importlib.import_module(f".{_MODULES[name]}", __package__)
    return module.EXPERIMENT
