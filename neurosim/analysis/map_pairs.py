"""Maps of the same cells in two contexts, and what a likeness of them is by chance."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import as_floating
from .estimator import refuse_traced
from .rate_maps import RateMaps
from .resampling import as_generator, permutation_p_value


class MapPair(NamedTuple):
    """Two maps of each cell, `(cell, bin)` both, NaN where unvisited, and the shape of bins."""

    a: np.ndarray
    b: np.ndarray
    bins: tuple[int, ...]

    @property
    def known(self) -> np.ndarray:
        """Which bins are known for all cells in both contexts, `(bin,)`."""
        return np.asarray(np.isfinite(self.a + self.b).all(axis=0))


class MapComparison(NamedTuple):
    """A measure of two contexts, and what it is for cells paired at random.

    - `values`: by cell, or by bin; NaN where it is not defined.
    - `mean`: over values that are defined.
    - `null`: `(n_shuffles,)`, the mean with the cells of one context in random order.
    - `p_value`: share of shuffles, the data as they are counted among them, that are at least as
      alike; NaN without shuffles.
    """

    values: np.ndarray
    mean: float
    null: np.ndarray
    p_value: float


def read_map_pair(
    a: Any, b: Any, *, names: tuple[str, str] = ("maps_a", "maps_b"), rates: bool = False
) -> MapPair:
    """Check maps of the same cells in two contexts.

    **Arguments:**

    - `a`, `b`: `RateMaps` or `(cell, *bins)`, one or two axes of bins.
    - `rates`: whether to refuse negative values.

    **Raises:** `ValueError` for shapes that differ, infinite values, negative ones where these are
    rates, or no bin that is known for all cells in both.
    """
    read = []
    for name, maps in zip(names, (a, b)):
        given = maps.rates if isinstance(maps, RateMaps) else maps
        refuse_traced(given, name)
        values = np.asarray(as_floating(given, name))
        if values.ndim not in (2, 3) or values.size == 0:
            raise ValueError(
                f"{name} must be (cell, *bins), one or two axes of bins; got {values.shape}."
            )
        bad = np.isinf(values) | ((values < 0) if rates else False)
        if bad.any():
            place = tuple(int(i) for i in np.argwhere(bad)[0])
            kind = "finite and not negative" if rates else "finite"
            raise ValueError(
                f"{name} must be {kind}, or NaN where unvisited; cell {place[0]} has "
                f"{values[place]} in bin {place[1:]}."
            )
        read.append(values)
    if read[0].shape != read[1].shape:
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same cells and bins, got {read[0].shape} and "
            f"{read[1].shape}."
        )
    bins = read[0].shape[1:]
    first, second = (x.reshape(len(x), -1) for x in read)
    pair = MapPair(first, second, bins)
    if not pair.known.any():
        lost = np.flatnonzero(np.isnan(pair.a).all(axis=1) | np.isnan(pair.b).all(axis=1))
        cause = f"cell {lost[0]} is NaN throughout one" if len(lost) else "they share none"
        raise ValueError(
            f"no bin is known for all cells in both {names[0]} and {names[1]}: {cause}. Leave such "
            "cells out."
        )
    return pair


def identity_shuffles(
    n_cells: int, *, n_shuffles: int | np.integer, random_state: Any
) -> np.ndarray:
    """Orders of cells at random, `(n_shuffles, n_cells)`; none for 0 shuffles.

    **Raises:** `ValueError` for a negative number, or a seed that is none.
    """
    n = whole_number(n_shuffles, "n_shuffles", least=0)
    rng = as_generator(random_state)
    return rng.permuted(np.tile(np.arange(n_cells), (n, 1)), axis=1)


def compare_identities(
    values: np.ndarray,
    mean: float,
    orders: np.ndarray,
    shuffled_mean: Callable[[np.ndarray], np.ndarray],
    *,
    alternative: str,
) -> MapComparison:
    """A measure with its null, the means of `orders`, and p value; NaN where there is no mean."""
    null = shuffled_mean(orders) if len(orders) and np.isfinite(mean) else np.empty(0)
    p = permutation_p_value(mean, null, alternative=alternative) if len(null) else np.nan
    return MapComparison(values, float(mean), null, float(p))


def paired_means(table: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Means of `table[i, order[i]]` over cells i, for orders `(shuffle, cell)`.

    `table` is `(cell, cell)`: what the measure is for cell i in the one context and j in the other;
    pairs for which it is NaN are left out.
    """
    cells, known = np.arange(len(table)), np.isfinite(table)
    filled = np.where(known, table, 0)

    def means(orders: np.ndarray) -> np.ndarray:
        n = known[cells, orders].sum(axis=1)
        return filled[cells, orders].sum(axis=1) / np.where(n > 0, n, np.nan)

    return means
