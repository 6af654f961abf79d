"""Simulate, train and take apart published models of neural circuits."""

from .simulate import simulate
from .trajectory import DivergenceError, Trajectory

__version__ = "0.1.0"

__all__ = ["DivergenceError", "Trajectory", "__version__", "simulate"]
