"""Where the activity of a population has changed, and how much."""

from typing import Any, NamedTuple

import numpy as np

from .map_pairs import read_map_pair


class ChangeMap(NamedTuple):
    """Change of a population by position; see `change_map`.

    - `differences`: `(cell, *bins)`, after minus before.
    - `magnitude`: `(*bins,)`, length of the change of the population vector.
    - `relative`: `(*bins,)`, the same over the length of the vector before; NaN where that is 0.
    - `alignment`: `(*bins,)`, cosine between the vectors before and after; NaN where either is 0.
    - `by_cell`: `(cell,)`, root mean square of the change of each cell over bins.
    """

    differences: np.ndarray
    magnitude: np.ndarray
    relative: np.ndarray
    alignment: np.ndarray
    by_cell: np.ndarray


def change_map(before: Any, after: Any) -> ChangeMap:
    """Change of the activity of the same cells between two times, bin by bin.

    Before and after a reward has been placed, for instance: a change that is local is large near
    the reward, one that is global everywhere. A change of overall rates alone leaves an `alignment`
    of 1.

    **Arguments:**

    - `before`, `after`: `RateMaps` or `(cell, *bins)`, of the same cells and bins; bins that are
        NaN for any cell at either time are NaN in what is over all cells.

    **Returns:** `ChangeMap`.

    **Raises:** `ValueError` for shapes that differ, infinite values, or no bin that is known for
    all cells at both times.
    """
    pair = read_map_pair(before, after, names=("before", "after"))
    a, b = pair.a, pair.b
    difference = b - a
    magnitude = np.linalg.norm(difference, axis=0)
    lengths = np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0)
    product, dot = lengths[0] * lengths[1], np.sum(a * b, axis=0)
    fired, both = lengths[0] > 0, product > 0
    relative = np.where(fired, magnitude / np.where(fired, lengths[0], 1), np.nan)
    alignment = np.where(both, np.clip(dot / np.where(both, product, 1), -1, 1), np.nan)
    known = np.isfinite(difference)
    squares = np.where(known, difference, 0) ** 2
    n = known.sum(axis=1)
    by_cell = np.where(n > 0, np.sqrt(squares.sum(axis=1) / np.maximum(n, 1)), np.nan)
    return ChangeMap(
        difference.reshape(len(a), *pair.bins),
        magnitude.reshape(pair.bins),
        relative.reshape(pair.bins),
        alignment.reshape(pair.bins),
        by_cell,
    )
