"""What a model is trained on: pure functions from a key to trials."""

from .dataset import TrialDataset, as_dataset
from .element_finder import ElementFinder
from .flip_flop import FlipFlop
from .measure_wait_go import MeasureWaitGo
from .multitask import Multitask
from .neurogym_trials import from_neurogym
from .task import Task, Trials
from .trial_keys import trial_keys

__all__ = [
    "ElementFinder",
    "FlipFlop",
    "MeasureWaitGo",
    "Multitask",
    "Task",
    "TrialDataset",
    "Trials",
    "as_dataset",
    "from_neurogym",
    "trial_keys",
]
