"""What a model is trained on: pure functions from a key to trials."""

from .element_finder import ElementFinder
from .flip_flop import FlipFlop
from .measure_wait_go import MeasureWaitGo
from .task import Task, Trials
from .trial_keys import trial_keys

__all__ = ["ElementFinder", "FlipFlop", "MeasureWaitGo", "Task", "Trials", "trial_keys"]
