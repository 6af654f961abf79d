"""Whole numbers: how many of something, given as an integer of any kind."""

import operator
from typing import Any

import numpy as np


def whole_number(value: Any, name: str, *, least: int | None = None) -> int:
    """A whole number as an `int`, from an integer of any kind; nothing is rounded.

    Integers are those of Python, NumPy and JAX; as in Python, `True` is 1. A traced integer has no
    value yet, and is none.

    **Arguments:**

    - `value`: what was given.
    - `name`: what to call it in the error.
    - `least`: the smallest number taken; by default any is.

    **Raises:** `ValueError` for what is no integer, 2.0 included, or a number below `least`.
    """
    try:
        number = operator.index(value)
    except TypeError:
        whole = isinstance(value, (float, np.floating)) and value.is_integer()
        kind = ", given as an integer" if whole else ""
        raise ValueError(f"{name} must be a whole number{kind}, got {value!r}.") from None
    if least is not None and number < least:
        bound = "not be negative" if least == 0 else f"be at least {least}"
        raise ValueError(f"{name} must {bound}, got {number}.")
    return number
