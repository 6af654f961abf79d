"""Correlation of population vectors at the same place, or at any two places, in two contexts."""

from typing import Any

import numpy as np

from .map_pairs import (
    MapComparison,
    MapPair,
    compare_identities,
    identity_shuffles,
    paired_means,
    read_map_pair,
)


def population_vector_correlation(
    maps_a: Any,
    maps_b: Any,
    *,
    cross: bool = False,
    z_score: bool = False,
    n_shuffles: int | np.integer = 0,
    random_state: Any = 0,
) -> MapComparison:
    """Pearson correlation over cells of the rates in each bin, between two contexts.

    ```python
    population_vector_correlation(before, after, n_shuffles=1000).mean
    ```

    **Arguments:**

    - `maps_a`, `maps_b`: `RateMaps` or `(cell, *bins)`, of the same cells and bins. Bins that are
        NaN for any cell in either are left out.
    - `cross`: whether each bin of the one is correlated with each of the other.
    - `z_score`: whether each cell is first taken about its mean and over its standard deviation
        over the bins of both contexts, so that cells of high rate do not decide; cells that never
        change are then 0.
    - `n_shuffles`: how often cells of the second are paired at random with those of the first.
    - `random_state`: seed or generator of the shuffles.

    **Returns:** `MapComparison`:

    - `values`: `(*bins,)`, or `(*bins, *bins)` with `cross`, the bin of `maps_a` first. NaN where
      left out, or where fewer than two cells differ in either context.
    - `mean`: over bins, each with itself.

    **Raises:** `ValueError` for shapes that differ, fewer than two cells, infinite values, or no
    bin that is known for all cells in both.

    **Reference:** Leutgeb et al. (2005), Science 309, 619-623.
    """
    pair = read_map_pair(maps_a, maps_b)
    n_cells, n_bins = pair.a.shape
    if n_cells < 2:
        raise ValueError(f"a correlation over cells needs two of them, got {n_cells}.")
    orders = identity_shuffles(n_cells, n_shuffles=n_shuffles, random_state=random_state)
    a, b = population_vectors(pair, z_score=z_score)
    correlations = a.T @ b if cross else np.sum(a * b, axis=0)
    kept = np.flatnonzero(pair.known)
    values = np.full((n_bins, n_bins) if cross else n_bins, np.nan)
    values[np.ix_(kept, kept) if cross else kept] = np.clip(correlations, -1, 1)
    same = np.diagonal(values) if cross else values
    defined = np.isfinite(same[kept])
    mean = same[kept][defined].mean() if defined.any() else np.nan

    def shuffled(drawn: np.ndarray) -> np.ndarray:
        # Means and lengths of vectors are the same in any order of cells, so products tell all.
        table = a[:, defined] @ b[:, defined].T / defined.sum()
        return n_cells * paired_means(table)(drawn)

    return compare_identities(
        values.reshape(pair.bins * (2 if cross else 1)),
        mean,
        orders,
        shuffled,
        alternative="greater",
    )


def population_vectors(pair: MapPair, *, z_score: bool) -> list[np.ndarray]:
    """Vectors in bins that are known, `(cell, known bin)`, about their means and of length 1.

    NaN where fewer than two cells differ.
    """
    a, b = pair.a[:, pair.known], pair.b[:, pair.known]
    if z_score:
        both = np.concatenate([a, b], axis=1)
        mean, spread = both.mean(axis=1, keepdims=True), both.std(axis=1, keepdims=True)
        flat = np.ptp(both, axis=1, keepdims=True) == 0
        a, b = (np.where(flat, 0, (x - mean) / np.where(flat, 1, spread)) for x in (a, b))
    vectors = []
    for x in (a, b):
        largest = np.abs(x).max(axis=0)
        # Over the largest, so that sums of squares do not overflow.
        scaled = x / np.where(largest > 0, largest, 1)
        varies = np.ptp(scaled, axis=0) > 1e-12
        centred = scaled - scaled.mean(axis=0)
        length = np.where(varies, np.linalg.norm(centred, axis=0), 1)
        vectors.append(np.where(varies, centred / length, np.nan))
    return vectors
