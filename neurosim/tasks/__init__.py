"""What a model is trained on: pure functions from a key to trials."""

from .adaptive_filtering import AdaptiveFiltering
from .dataset import TrialDataset, as_dataset
from .delayed_addition import DelayedAddition
from .digit_files import MNIST_CHECKSUMS, DigitImages, read_mnist, sklearn_digits, split_digits
from .digits import Digits
from .element_finder import ElementFinder
from .flip_flop import FlipFlop
from .glyph_digits import GLYPHS, GlyphDigits, make_glyph_digits
from .image_steps import Presentation
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
    "GLYPHS",
    "MNIST_CHECKSUMS",
    "AdaptiveFiltering",
    "DelayedAddition",
    "DigitImages",
    "Digits",
    "ElementFinder",
    "FlipFlop",
    "GlyphDigits",
    "LinearStudentTeacher",
    "LorenzEndPoint",
    "MeasureWaitGo",
    "Multitask",
    "OneShotClassification",
    "Presentation",
    "Reaching",
    "Task",
    "TrialDataset",
    "Trials",
    "as_dataset",
    "from_neurogym",
    "make_glyph_digits",
    "read_mnist",
    "sklearn_digits",
    "split_digits",
    "trial_keys",
]
