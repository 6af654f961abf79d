"""Likeness of the maps of each cell in two contexts: pattern, mean rate, activity, place."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .activity import as_floating, refuse_masked
from .known_bin_correlation import known_correlations, paired_known_correlations
from .map_pairs import (
    MapComparison,
    compare_identities,
    identity_shuffles,
    paired_means,
    read_map_pair,
)
from .planar_maps import read_bin_sizes
from .spatial_bins import read_wrap


def spatial_correlation(
    maps_a: Any, maps_b: Any, *, n_shuffles: int | np.integer = 0, random_state: Any = 0
) -> MapComparison:
    """Pearson correlation over bins of the two maps of each cell.

    It does not know of rates: a cell that fires half as much in the same places has 1.

    **Arguments:**

    - `maps_a`, `maps_b`: `RateMaps` or `(cell, *bins)`, of the same cells and bins; each cell over
        the bins that both of its maps know.
    - `n_shuffles`, `random_state`: see `population_vector_correlation`. Cells with a correlation
        are paired at random among themselves.

    **Returns:** `MapComparison`; `values` `(cell,)`, NaN for cells of which either map is flat, or
    that know fewer than three bins in both.

    **Raises:** `ValueError` for shapes that differ, infinite values, or no bin that is known for
    all cells in both.
    """
    pair = read_map_pair(maps_a, maps_b)
    return _by_cell(
        paired_known_correlations(pair.a, pair.b),
        lambda kept: known_correlations(pair.a[kept], pair.b[kept]),
        n_shuffles,
        random_state,
        alternative="greater",
    )


def rate_overlap(
    maps_a: Any,
    maps_b: Any,
    *,
    occupancy_a: Any = None,
    occupancy_b: Any = None,
    n_shuffles: int | np.integer = 0,
    random_state: Any = 0,
) -> MapComparison:
    """Smaller over larger mean rate of each cell in two contexts.

    1 for equal rates, 0 for a cell that fires in one alone. By chance it is 1/2 on average for
    rates that are uniform from 0 to some value, and 2 ln 2 - 1 = .386 for exponential ones.

    **Arguments:**

    - `maps_a`, `maps_b`: `(cell,)`, mean rates; or `RateMaps` or `(cell, *bins)`, whose means over
        the bins that are known are taken, weighted by occupancy where there is one.
    - `occupancy_a`, `occupancy_b`: `(*bins,)`; those of `RateMaps` by default.
    - `n_shuffles`, `random_state`: see `population_vector_correlation`. Cells that fire in either
        context are paired at random among themselves.

    **Returns:** `MapComparison`; `values` `(cell,)`, NaN for cells that are silent in both.

    **Raises:** `ValueError` for cells that differ in number, or rates that are negative, infinite
    or nowhere known.

    **Reference:** Leutgeb et al. (2004), Science 305, 1295-1298.
    """
    a, b = mean_rates(maps_a, occupancy_a, "maps_a"), mean_rates(maps_b, occupancy_b, "maps_b")
    if a.shape != b.shape:
        raise ValueError(f"maps_a and maps_b must have the same cells, got {len(a)} and {len(b)}.")

    def overlaps(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        larger = np.maximum(x, y)
        return np.where(larger > 0, np.minimum(x, y) / np.where(larger > 0, larger, 1), np.nan)

    return _by_cell(
        overlaps(a, b),
        lambda kept: overlaps(a[kept, None], b[kept]),
        n_shuffles,
        random_state,
        alternative="greater",
    )


def activity_overlap(
    maps_a: Any,
    maps_b: Any,
    *,
    min_rate: float | int = 1.0,
    n_shuffles: int | np.integer = 0,
    random_state: Any = 0,
) -> MapComparison:
    """Cells active in both contexts over cells active in either: the Jaccard index.

    By chance, with a share t of cells drawn anew in each context, it is about t / (2 - t).

    **Arguments:**

    - `maps_a`, `maps_b`: `(cell,)` of true and false; or `RateMaps` or `(cell, *bins)`, where a
        cell is active whose peak is above `min_rate`.
    - `min_rate`: in Hz.
    - `n_shuffles`, `random_state`: see `population_vector_correlation`.

    **Returns:** `MapComparison`; `values` `(cell,)`: 1 for a cell active in both, 0 in one, NaN in
    neither; `mean` is the index.

    **Raises:** `ValueError` for cells that differ in number, rates that are negative, infinite or
    nowhere known, or a `min_rate` that is negative.
    """
    if not 0 <= min_rate < np.inf:
        raise ValueError(f"min_rate must be finite and not negative, got {min_rate}.")
    a, b = (active_cells(m, min_rate, n) for m, n in ((maps_a, "maps_a"), (maps_b, "maps_b")))
    if a.shape != b.shape:
        raise ValueError(f"maps_a and maps_b must have the same cells, got {len(a)} and {len(b)}.")
    orders = identity_shuffles(len(a), n_shuffles=n_shuffles, random_state=random_state)
    either = a | b
    values = np.where(either, (a & b).astype(float), np.nan)
    mean = values[either].mean() if either.any() else np.nan

    def index(drawn: np.ndarray) -> np.ndarray:
        both = np.sum(a & b[drawn], axis=1)
        return both / (a.sum() + b.sum() - both)

    return compare_identities(values, mean, orders, index, alternative="greater")


def centroid_shift(
    maps_a: Any,
    maps_b: Any,
    *,
    bin_size: Any,
    threshold: float | int = 0.0,
    wrap: Any = False,
    n_shuffles: int | np.integer = 0,
    random_state: Any = 0,
) -> MapComparison:
    """Distance between the centres of firing of each cell in two contexts.

    The centre is the mean position, weighted by rate: of all bins, or with a `threshold` of those
    that fire above that share of the peak. Along an axis that wraps it is the mean direction, and
    distances go the shorter way.

    **Arguments:**

    - `maps_a`, `maps_b`: `RateMaps` or `(cell, *bins)`, of the same cells and bins, in Hz.
    - `bin_size`: width of bins, or one for each of two axes.
    - `threshold`: share of the peak, from 0 to below 1.
    - `wrap`: whether the ends of an axis meet, for all axes or for each.
    - `n_shuffles`, `random_state`: see `population_vector_correlation`. Cells with a shift are
        paired at random among themselves.

    **Returns:** `MapComparison`; `values` `(cell,)` in the unit of `bin_size`, NaN for cells silent
    in either context; the p value is for shifts that are smaller than by chance.

    **Raises:** `ValueError` for shapes that differ, rates that are negative or infinite, no bin
    that is known for all cells in both, or a bin size or threshold out of range.
    """
    pair = read_map_pair(maps_a, maps_b, rates=True)
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold must be at least 0 and below 1, got {threshold}.")
    d = len(pair.bins)
    sizes = read_bin_sizes(bin_size)[:d]
    round_the_end = read_wrap(wrap, d)
    a, b = (_centres(x, pair.bins, threshold, round_the_end) for x in (pair.a, pair.b))

    def shifts(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        apart = np.abs(x - y)
        for axis, n in enumerate(pair.bins):
            if round_the_end[axis]:
                apart[..., axis] = np.minimum(apart[..., axis], n - apart[..., axis])
        return np.linalg.norm(apart * sizes, axis=-1)

    return _by_cell(
        shifts(a, b),
        lambda kept: shifts(a[kept, None], b[kept]),
        n_shuffles,
        random_state,
        alternative="less",
    )


def mean_rates(maps: Any, occupancy: Any, name: str) -> np.ndarray:
    """Mean rate of each cell, `(cell,)`, from maps or such."""
    values, own = _rates(maps, name)
    if values.ndim == 1:
        return values
    spent = own if occupancy is None else np.asarray(as_floating(occupancy, "occupancy"))
    weights = np.ones(values.shape[1:]) if spent is None else np.where(np.isnan(spent), 0, spent)
    if weights.shape != values.shape[1:] or np.isinf(weights).any() or (weights < 0).any():
        raise ValueError(
            f"occupancy must be {values.shape[1:]}, finite and not negative; got {weights.shape}."
        )
    seconds = np.where(np.isfinite(values), weights, 0).reshape(len(values), -1)
    total = seconds.sum(axis=1)
    if not (total > 0).all():
        raise ValueError(f"{name}: cell {np.argmin(total > 0)} has no bin with a rate and time.")
    fired = np.where(np.isfinite(values), values, 0).reshape(len(values), -1) * seconds
    return fired.sum(axis=1) / total


def active_cells(maps: Any, min_rate: float | int, name: str) -> np.ndarray:
    """Which cells are active, `(cell,)`, from maps, peaks or such."""
    refuse_masked(maps, name)
    if np.ndim(maps) == 1 and np.asarray(maps).dtype == bool:
        return np.asarray(maps)
    values, _ = _rates(maps, name)
    if values.ndim == 1:
        raise ValueError(f"{name} must be (cell, *bins), or (cell,) of true and false.")
    known = np.isfinite(values).reshape(len(values), -1)
    if not known.any(axis=1).all():
        raise ValueError(f"{name}: cell {np.argmin(known.any(axis=1))} is NaN in every bin.")
    return np.where(known, values.reshape(known.shape), 0).max(axis=1) > min_rate


def _rates(maps: Any, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    occupancy = getattr(maps, "occupancy", None)
    values = np.asarray(as_floating(getattr(maps, "rates", maps), name))
    if values.ndim not in (1, 2, 3) or values.size == 0:
        raise ValueError(f"{name} must be (cell,) or (cell, *bins); got {values.shape}.")
    refused = np.isinf(values) | (values < 0) | (np.isnan(values) if values.ndim == 1 else False)
    if refused.any():
        raise ValueError(f"{name} must be finite and not negative, or NaN where unvisited.")
    return values, occupancy


def _centres(
    rates: np.ndarray, bins: tuple[int, ...], threshold: float | int, wrap: tuple[bool, ...]
) -> np.ndarray:
    """Centres of firing in bins, `(cell, axis)`; NaN for silent cells."""
    fired = np.where(np.isfinite(rates), rates, 0)
    fired = np.where(fired >= threshold * fired.max(axis=1, keepdims=True), fired, 0)
    total = fired.sum(axis=1)
    share = fired / np.where(total > 0, total, 1)[:, None]
    centres = []
    for axis, (x, n) in enumerate(zip(np.indices(bins).reshape(len(bins), -1), bins)):
        if wrap[axis]:
            centres.append(np.angle(share @ np.exp(2j * np.pi * x / n)) * n / (2 * np.pi) % n)
        else:
            centres.append(share @ x.astype(float))
    return np.where(total[:, None] > 0, np.stack(centres, axis=1), np.nan)


def _by_cell(
    values: np.ndarray,
    table: Callable[[np.ndarray], np.ndarray],
    n_shuffles: int | np.integer,
    random_state: Any,
    *,
    alternative: str,
) -> MapComparison:
    """A comparison from the measure of each cell, and of all pairs of those that have one."""
    kept = np.flatnonzero(np.isfinite(values))
    orders = identity_shuffles(len(kept), n_shuffles=n_shuffles, random_state=random_state)
    mean = values[kept].mean() if len(kept) else np.nan
    return compare_identities(
        values,
        mean,
        orders,
        lambda drawn: paired_means(table(kept))(drawn),
        alternative=alternative,
    )
