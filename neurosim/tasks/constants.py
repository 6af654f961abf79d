"""The constants of a task: fields that are part of its type, not of its arrays.

Static fields make a task hashable and leave `jit` nothing to trace, so step counts and shapes are
known when a sampler is compiled. Converters let users write lists, integers and NumPy numbers;
those that can fail are given the name of the field, for the error.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np

from ..kernels import whole_number


def constant(default: Any, converter: Callable[[Any], Any] | None = None) -> Any:
    """A static field with a default, and a converter for what it is given."""
    if converter is None:
        return eqx.field(default=default, static=True)
    return eqx.field(default=default, static=True, converter=converter)


def optional(converter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A converter that lets `None` through."""
    return lambda value: None if value is None else converter(value)


def integer(name: str) -> Callable[[Any], int]:
    """A converter to a whole number, from an integer of any kind."""
    return lambda value: whole_number(value, name)


def pair(name: str) -> Callable[[Any], tuple[float, float]]:
    """A converter to two numbers."""

    def convert(value: Any) -> tuple[float, float]:
        if np.shape(value) != (2,):
            raise ValueError(f"{name} must be two numbers, got {value}.")
        low, high = value
        return float(low), float(high)

    return convert


def number_or_pair(name: str) -> Callable[[Any], float | tuple[float, float]]:
    """A converter to one number or two."""

    def convert(value: Any) -> float | tuple[float, float]:
        if np.ndim(value) == 0:
            return float(value)
        if np.shape(value) != (2,):
            raise ValueError(f"{name} must be one number or two, got {value}.")
        return pair(name)(value)

    return convert


def numbers(name: str) -> Callable[[Any], tuple[float, ...]]:
    """A converter to a row of numbers; a single one counts as a row."""

    def convert(values: Any) -> tuple[float, ...]:
        if np.ndim(values) > 1:
            raise ValueError(f"{name} must be a row of numbers, got {values}.")
        return tuple(float(value) for value in np.atleast_1d(values))

    return convert


def integers(name: str) -> Callable[[Any], tuple[int, ...]]:
    """A converter to a row of whole numbers; a single one counts as a row."""

    def convert(values: Any) -> tuple[int, ...]:
        given = np.atleast_1d(values)
        if given.ndim != 1 or not np.all(np.isfinite(given)) or np.any(given != np.round(given)):
            raise ValueError(f"{name} must be whole numbers, got {values}.")
        return tuple(int(value) for value in given)

    return convert


def rows(name: str) -> Callable[[Any], tuple[float, ...] | tuple[tuple[float, ...], ...]]:
    """A converter to a row of numbers, or several of any lengths; a single one counts as a row."""

    def convert(values: Any) -> tuple[float, ...] | tuple[tuple[float, ...], ...]:
        values = tuple(values) if np.iterable(values) else (values,)
        depths = {np.ndim(value) for value in values}
        if depths == {1}:
            return tuple(numbers(name)(row) for row in values)
        if depths <= {0}:
            return numbers(name)(values)
        raise ValueError(f"{name} must be a row of numbers, or several rows, got {values}.")

    return convert
