"""What a model is trained on: pure functions from a key to trials."""

from .adaptive_filtering import AdaptiveFiltering
from .dataset import TrialDataset, as_dataset
from .delayed_addition import DelayedAddition
from .element_finder import ElementFinder
from .flip_flop import FlipFlop
from .linear_student_teacher import LinearStudentTeacher
from .lorenz_end_point import LorenzEndPoint
from .measure_wait_go import MeasureWaitGo
from .multitask import Multitask
from .neurogym_trials import from_neurogym
from .one_shot_classification import OneShotClassification
from .reaching import Reaching
from .task import Task, Trials
from .trial_keys import trial_keys

__all__ = [
    "AdaptiveFiltering",
    "DelayedAddition",
    "ElementFinder",
    "FlipFlop",
    "LinearStudentTeacher",
    "LorenzEndPoint",
    "MeasureWaitGo",
    "Multitask",
    "OneShotClassification",
    "Reaching",
    "Task",
    "TrialDataset",
    "Trials",
    "as_dataset",
    "from_neurogym",
    "trial_keys",
]
