"""How much the firing of a cell keeps to a wall."""

from typing import Any, NamedTuple

import numpy as np

from .connected_bins import connected
from .planar_maps import read_bin_sizes, read_planar_maps, warn_of_reasons


class BorderScores(NamedTuple):
    """Border scores and what they are made of; see `border_score`. Numbers for a single map.

    - `score`: `(cell,)`, from -1 to 1.
    - `coverage`: `(cell,)`, the largest share of a wall that one field covers.
    - `distance`: `(cell,)`, of firing from the nearest wall, over half the box.
    - `n_fields`: `(cell,)`.
    - `reasons`: `(cell,)`, why scores are NaN; empty where they are not.
    """

    score: Any
    coverage: Any
    distance: Any
    n_fields: Any
    reasons: Any


def border_score(
    maps: Any, *, bin_size: Any, min_area: Any, threshold: float | int = 0.3
) -> BorderScores:
    """Border score of maps of a rectangular box.

        b = (c - d) / (c + d)

    with c the largest share of any wall that any field covers, and d the mean over fields of the
    distance of firing in the field, weighted by rate, from the nearest wall, over half the shorter
    side of the box. Distances count bins from 1 at a wall. Fields are bins that touch by their
    sides and fire above `threshold` of the peak; those not larger than `min_area` are none.

    1 for firing in a thin line along a wall, -1 for firing in the middle. All fields are looked at;
    a published program looks at the walls of the first one alone.

    **Arguments:**

    - `maps`: `RateMaps`, `(cell, bins, bins)` or `(bins, bins)`, that reach all walls; NaN where
        unvisited. Unvisited bins are in no field, and in no wall.
    - `bin_size`: width of bins, or one for each axis.
    - `min_area`: in the square of the unit of `bin_size`; published: 200 cm^2, which is 0.02 where
        lengths are in m.
    - `threshold`: share of the peak.

    **Returns:** `BorderScores`; NaN, with its reason and a warning, for maps that are constant or
    NaN throughout, or have no field.

    **Raises:** `ValueError` for another shape, infinite or negative values, a bin size that is not
    positive, a negative area, or a threshold that is not between 0 and 1.

    **Reference:** Solstad, Boccara, Kropff, Moser & Moser (2008), Science 322, 1865-1868.
    """
    stack = read_planar_maps(maps)
    sizes = read_bin_sizes(bin_size)
    if not 0 <= min_area < np.inf:
        raise ValueError(f"min_area must be finite and not negative, got {min_area}.")
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be between 0 and 1, got {threshold}.")
    if (stack.values < 0).any():
        raise ValueError(
            "rates must not be negative: a threshold at a share of the peak needs a silent 0."
        )
    n_cells, rows, columns = stack.values.shape
    known = np.isfinite(stack.values)
    rates = np.where(known, stack.values, 0)
    peak = rates.max(axis=(1, 2), keepdims=True)
    active = (rates > threshold * peak) & stack.patterned[:, None, None]
    labels = connected(active, 1, (False, False))
    n_all = labels.max()
    cell_of = np.zeros(n_all + 1, int)
    cells, _, _ = np.nonzero(active)
    cell_of[labels[active]] = cells
    area = np.bincount(labels.ravel(), minlength=n_all + 1) * sizes.prod()
    # To rounding: 80 bins of 2.5 cm^2 are no larger than 200.
    large = area > min_area * (1 + 1e-9)
    large[0] = False

    coverage = np.zeros(n_all + 1)
    for wall in np.s_[:, 0, :], np.s_[:, -1, :], np.s_[:, :, 0], np.s_[:, :, -1]:
        there = np.maximum(known[wall].sum(axis=1), 1)
        covered = np.bincount(labels[wall].ravel(), minlength=n_all + 1)
        coverage = np.maximum(coverage, covered / there[cell_of])
    from_wall = np.minimum(*np.meshgrid(
        *(size * np.minimum(np.arange(n) + 1, n - np.arange(n))
          for n, size in zip((rows, columns), sizes)),
        indexing="ij",
    ))  # fmt: skip
    half_box = min(rows * sizes[0], columns * sizes[1]) / 2
    fired = np.bincount(labels.ravel(), rates.ravel(), minlength=n_all + 1)
    moment = np.bincount(labels.ravel(), (rates * from_wall).ravel(), minlength=n_all + 1)
    distance = np.where(fired > 0, moment / np.where(fired > 0, fired, 1), 0) / half_box

    fields = np.flatnonzero(large)
    n_fields = np.bincount(cell_of[fields], minlength=n_cells)
    best, mean = np.full((2, n_cells), np.nan)
    with_fields = n_fields > 0
    best[with_fields] = 0
    np.maximum.at(best, cell_of[fields], coverage[fields])
    total = np.bincount(cell_of[fields], distance[fields], minlength=n_cells)
    mean[with_fields] = total[with_fields] / n_fields[with_fields]
    score = (best - mean) / (best + mean)
    reasons = stack.reasons.copy()
    reasons[(reasons == "") & ~with_fields] = f"no field is larger than {min_area:g}"
    warn_of_reasons("the border score", reasons)
    return BorderScores(*(stack.result(v) for v in (score, best, mean, n_fields, reasons)))
