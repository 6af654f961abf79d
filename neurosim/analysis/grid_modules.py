"""Modules of grid cells: clusters of like autocorrelograms."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.cluster.hierarchy
import scipy.spatial.distance

from ..kernels import whole_number
from .grid_geometry import autocorrelogram_geometry
from .known_bin_correlation import known_correlations
from .planar_maps import read_bin_sizes, read_planar_maps, warn_of_reasons
from .spatial_autocorrelogram import autocorrelograms, overlap_reasons, shifts_of


class GridModules(NamedTuple):
    """Modules of grid cells; see `grid_modules`.

    - `labels`: `(cell,)`, the module of each cell, from 0; -1 for maps that say nothing.
    - `sizes`: `(module,)`, number of cells.
    - `spacings`, `orientations`: `(module,)`, of the mean autocorrelogram, in the unit of
      `bin_size` and in radians; NaN without six peaks.
    - `similarity`: `(cell, cell)`, correlation of autocorrelograms; NaN for maps that say nothing.
    - `reasons`: `(cell,)`, why a map has no module; empty where it has.
    """

    labels: np.ndarray
    sizes: np.ndarray
    spacings: np.ndarray
    orientations: np.ndarray
    similarity: np.ndarray
    reasons: np.ndarray


def grid_modules(
    maps: Any,
    *,
    bin_size: Any,
    cut: float | int = 0.5,
    radius: Any = None,
    min_overlap: int | np.integer = 20,
) -> GridModules:
    """Cells whose autocorrelograms are alike: one spacing and orientation, whatever the phase.

    Average linkage of 1 - r, with r the correlation of two autocorrelograms within a disc about no
    shift, cut at a distance. Modules are in the order of their spacings.

    ```python
    modules = grid_modules(maps, bin_size=0.025)
    maps.rates[modules.labels == 0]  # the cells of the finest module
    ```

    **Arguments:**

    - `maps`: `RateMaps` or `(cell, bins, bins)`; NaN where unvisited.
    - `bin_size`: width of bins, or one for each axis.
    - `cut`: the mean distance 1 - r at which clusters are no longer joined.
    - `radius`: of the disc, in bins; by default as many as the shorter side has.
    - `min_overlap`: see `spatial_autocorrelogram`.

    **Returns:** `GridModules`. Cells unlike all others are modules of one.

    **Raises:** `ValueError` for another shape, infinite values, a bin size, cut or radius that is
    not positive, or maps of which none says anything.

    **Reference:** Stensola et al. (2012), Nature 492, 72-78; average linkage in place of their
    clustering of peaks.
    """
    stack = read_planar_maps(maps)
    if stack.single:
        raise ValueError(f"maps must be (cell, bins, bins); got {stack.values[0].shape}.")
    least = whole_number(min_overlap, "min_overlap", least=2)
    sizes = read_bin_sizes(bin_size)
    reach = float(min(stack.values.shape[1:]) if radius is None else radius)
    for name, value in (("cut", float(cut)), ("radius", reach)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} must be positive and finite, got {value:g}.")
    reasons = overlap_reasons(stack, least)
    cells = np.flatnonzero(reasons == "")
    if len(cells) == 0:
        raise ValueError(f"no map has an autocorrelogram; the first: {reasons[0]}.")
    warn_of_reasons("the module", reasons)
    sacs = autocorrelograms(stack, least)
    similarity = np.full((len(sacs),) * 2, np.nan)
    within = sacs[:, np.linalg.norm(shifts_of(sacs), axis=-1) <= reach]
    similarity[np.ix_(cells, cells)] = known_correlations(within[cells], within[cells])
    found = _clusters(similarity[np.ix_(cells, cells)], float(cut))
    means = np.stack([_mean_known(sacs[cells[found == m]]) for m in range(found.max() + 1)])
    with warnings.catch_warnings():
        # A module without six peaks has no spacing, which is part of the answer.
        warnings.simplefilter("ignore")
        geometry = autocorrelogram_geometry(means, bin_size=sizes)
    order = np.argsort(geometry.spacing, kind="stable")
    labels = np.full(len(sacs), -1)
    labels[cells] = np.argsort(order)[found]
    return GridModules(
        labels,
        np.bincount(labels[cells]),
        geometry.spacing[order],
        geometry.orientation[order],
        similarity,
        reasons,
    )


def _clusters(similarity: np.ndarray, cut: float) -> np.ndarray:
    """The cluster of each cell, from 0."""
    if len(similarity) == 1:
        return np.zeros(1, int)
    # Autocorrelograms that share no shift are not alike.
    distance = np.where(np.isnan(similarity), 1, 1 - similarity)
    np.fill_diagonal(distance, 0)
    pairs = scipy.spatial.distance.squareform((distance + distance.T) / 2, checks=False)
    tree = scipy.cluster.hierarchy.linkage(pairs, "average")
    return scipy.cluster.hierarchy.fcluster(tree, cut, "distance") - 1


def _mean_known(sacs: np.ndarray) -> np.ndarray:
    known = np.isfinite(sacs)
    n = known.sum(axis=0)
    return np.where(n > 0, np.where(known, sacs, 0).sum(axis=0) / np.maximum(n, 1), np.nan)
