"""The constants of a task: fields that are part of its type, not of its arrays.

Static fields make a task hashable and leave `jit` nothing to trace, so step counts and shapes are
known when a sampler is compiled. Converters let users write lists, integers and NumPy numbers.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np


def constant(default: Any, converter: Callable[[Any], Any] | None = None) -> Any:
    """A static field with a default, and a converter for what it is given."""
    if converter is None:
        return eqx.field(default=default, static=True)
    return eqx.field(default=default, static=True, converter=converter)


def optional(converter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A converter that lets `None` through."""
    return lambda value: None if value is None else converter(value)


def pair(value: Any) -> tuple[float, float]:
    """Two numbers."""
    low, high = value
    return float(low), float(high)


def number_or_pair(value: Any) -> float | tuple[float, float]:
    """One number or two."""
    return float(value) if np.ndim(value) == 0 else pair(value)


def numbers(values: Any) -> tuple[float, ...]:
    """A row of numbers; a single one counts as a row."""
    return tuple(float(value) for value in np.atleast_1d(values))


def integers(values: Any) -> tuple[int, ...]:
    """A row of whole numbers."""
    row = tuple(int(value) for value in np.atleast_1d(values))
    if not np.array_equal(row, np.atleast_1d(values)):
        raise ValueError(f"whole numbers are needed, got {values}.")
    return row


def rows(values: Any) -> tuple[float, ...] | tuple[tuple[float, ...], ...]:
    """A row of numbers, or several rows of any lengths."""
    values = tuple(values)
    if values and all(np.ndim(value) == 1 for value in values):
        return tuple(numbers(row) for row in values)
    return numbers(values)
