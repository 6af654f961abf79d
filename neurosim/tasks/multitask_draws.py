"""Numbers for many trials at once, each by the rule of its own row of a table."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .multitask_tables import Draw


class DrawTable(NamedTuple):
    """`Draw`s as arrays, of any shape before the last axis.

    - `values`: `(..., value)`, padded.
    - `count`: `(...)`, how many values there are to choose from.
    - `width`: `(...)`, of the uniform range that begins at the value.
    """

    values: np.ndarray
    count: np.ndarray
    width: np.ndarray


def draw_table(draws: Sequence[Draw]) -> DrawTable:
    """Draws as the rows of one table."""
    longest = max(len(draw.values) for draw in draws)
    padded = [draw.values + (0.0,) * (longest - len(draw.values)) for draw in draws]
    width = [0.0 if draw.high is None else draw.high - draw.values[0] for draw in draws]
    return DrawTable(np.array(padded), np.array([len(d.values) for d in draws]), np.array(width))


def pick(
    table: DrawTable, row: Int[Array, "..."], chance: Float[Array, "..."]
) -> Float[Array, "..."]:
    """One number a trial.

    **Arguments:**

    - `table`: of a single axis of rows.
    - `row`: the row of each trial.
    - `chance`: uniform on [0, 1), the only source of chance.

    **Returns:** the numbers, of the shape of `row`.
    """
    dtype = chance.dtype
    count = jnp.asarray(table.count)[row]
    # Rounding can make chance x count the count itself.
    which = jnp.minimum((chance * count).astype(int), count - 1)
    value = jnp.asarray(table.values, dtype)[row, which]
    return value + chance * jnp.asarray(table.width, dtype)[row]


def between(low: float, high: float, chance: Float[Array, "..."]) -> Float[Array, "..."]:
    """Uniform from `low` to `high`."""
    return low + (high - low) * chance
