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
from .isometry_triples import adaptive_isometry_radii, isometry_triples
from .kernel_pairs import kernel_pairs
from .lattice_walk import LatticeWalk, lattice_steps, lattice_walks
from .linear_student_teacher import LinearStudentTeacher
from .local_displacements import local_displacements
from .lorenz_end_point import LorenzEndPoint
from .measure_wait_go import MeasureWaitGo
from .multitask import Multitask
from .neurogym_trials import from_neurogym
from .one_shot_classification import OneShotClassification
from .ou_trajectory import OUTrajectory, ou_trajectories
from .place_cell_code import PlaceCellCode
from .reaching import Reaching
from .rodent_trajectory import RodentTrajectory, rodent_trajectories
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
    "LatticeWalk",
    "LinearStudentTeacher",
    "LorenzEndPoint",
    "MeasureWaitGo",
    "Multitask",
    "OUTrajectory",
    "OneShotClassification",
    "PlaceCellCode",
    "Presentation",
    "Reaching",
    "RodentTrajectory",
    "Task",
    "TrialDataset",
    "Trials",
    "adaptive_isometry_radii",
    "as_dataset",
    "from_neurogym",
    "isometry_triples",
    "kernel_pairs",
    "lattice_steps",
    "lattice_walks",
    "local_displacements",
    "make_glyph_digits",
    "ou_trajectories",
    "read_mnist",
    "rodent_trajectories",
    "sklearn_digits",
    "split_digits",
    "trial_keys",
]
