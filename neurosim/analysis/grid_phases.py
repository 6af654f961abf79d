"""Phases of the grid cells of a module, from where their crosscorrelograms peak."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from ..kernels.ideal_grid import grid_lattice_vectors
from .activity import as_floating
from .correlogram_peaks import local_maxima, refined_peaks
from .grid_geometry import grid_geometry, mean_orientation, modulo
from .planar_maps import PlanarMaps, read_bin_sizes, read_planar_maps, warn_of_reasons
from .spatial_autocorrelogram import crosscorrelograms, overlap_reasons, shifts_of

#: No point of a hexagonal lattice's plane is farther than this from a peak, in spacings.
_FARTHEST = 3**-0.5


class GridPhases(NamedTuple):
    """Phases of grid cells relative to one of them; see `grid_phases`.

    - `displacements`: `(cell, 2)`, from the peaks of the reference to the nearest of the cell, in
      the unit of `bin_size`.
    - `phases`: `(cell, 2)`, the same as shares of the two vectors of the lattice, from 0 to 1.
    - `correlations`: `(cell,)`, of the map with the reference moved there.
    - `spacing`, `orientation`: the lattice, see `grid_lattice_vectors`.
    - `reasons`: `(cell,)`, why a phase is NaN; empty where it is not.
    """

    displacements: np.ndarray
    phases: np.ndarray
    correlations: np.ndarray
    spacing: float
    orientation: float
    reasons: np.ndarray


def grid_phases(
    maps: Any,
    *,
    bin_size: Any,
    reference: Any = 0,
    spacing: Any = None,
    orientation: Any = None,
    min_overlap: int | np.integer = 20,
) -> GridPhases:
    """Phases of the grid cells of one module, relative to a reference.

    A cell that fires where the reference would, moved by d, has the peak of its crosscorrelogram
    with the reference at d. The highest within reach of the lattice's unit cell is taken.

    **Arguments:**

    - `maps`: `RateMaps` or `(cell, bins, bins)`, of one module; NaN where unvisited.
    - `bin_size`: width of bins, or one for each axis.
    - `reference`: a cell, or a map `(bins, bins)`.
    - `spacing`, `orientation`: of the module, in the unit of `bin_size` and in radians; by default
        the median and the mean direction over cells, see `grid_geometry`.
    - `min_overlap`: see `spatial_autocorrelogram`.

    **Returns:** `GridPhases`; NaN, with its reason and a warning, for maps that are constant or NaN
    throughout, or whose crosscorrelogram has no peak within reach.

    **Raises:** `ValueError` for another shape, a reference that does not fit or says nothing, a
    bin size or spacing that is not positive, or where no cell has a spacing.
    """
    stack = read_planar_maps(maps)
    if stack.single:
        raise ValueError(f"maps must be (cell, bins, bins); got {stack.values[0].shape}.")
    least = whole_number(min_overlap, "min_overlap", least=2)
    sizes = read_bin_sizes(bin_size)
    against = _read_reference(stack, reference, least)
    reasons = overlap_reasons(stack, least)
    if spacing is None or orientation is None:
        own = grid_geometry(stack.values[reasons == ""], bin_size=sizes, min_overlap=least)
        if np.isnan(own.spacing).all():
            raise ValueError("no map has six peaks: give spacing and orientation.")
        spacing = np.nanmedian(own.spacing) if spacing is None else spacing
        orientation = mean_orientation(own.orientation) if orientation is None else orientation
    spacing, orientation = float(spacing), float(orientation)
    vectors = np.asarray(grid_lattice_vectors(spacing=spacing, orientation=orientation))
    values = crosscorrelograms(against, stack, least)
    n_cells, _, columns = values.shape
    shifts = shifts_of(values)
    middle = -shifts[0, 0]
    # A bin more, for a peak between bins.
    reach = _FARTHEST * spacing + np.hypot(*sizes)
    near = np.hypot(*np.moveaxis(shifts * sizes, -1, 0)) <= reach
    heights = np.where(local_maxima(values, above=-1.0) & near, values, -np.inf)
    best = heights.reshape(n_cells, -1).argmax(axis=1)
    correlations = heights.reshape(n_cells, -1)[np.arange(n_cells), best]
    reasons[(reasons == "") & ~np.isfinite(correlations)] = "no peak lies within the unit cell"
    found = np.flatnonzero(reasons == "")
    places = np.stack(np.divmod(best[found], columns), axis=-1)
    moved = np.full((n_cells, 2), np.nan)
    moved[found] = (refined_peaks(values, found, places) - middle) * sizes
    # Noise may have raised a peak a little beyond the unit cell over one within.
    steps = np.stack(np.meshgrid(*[np.arange(-1, 2)] * 2), axis=-1).reshape(-1, 2) @ vectors
    alike = moved[:, None] + steps
    nearest = np.linalg.norm(alike, axis=2).argmin(axis=1)
    moved = alike[np.arange(n_cells), nearest]
    phases = modulo(moved @ np.linalg.inv(vectors), 1.0)
    warn_of_reasons("the grid phase", reasons)
    return GridPhases(
        moved, phases, np.where(reasons == "", correlations, np.nan), spacing, orientation, reasons
    )


def _read_reference(stack: PlanarMaps, reference: Any, least: int) -> PlanarMaps:
    if np.ndim(reference) == 2:
        read = read_planar_maps(as_floating(reference, "reference"), "reference")
        if read.values.shape[1:] != stack.values.shape[1:]:
            raise ValueError(
                f"reference must have the bins of maps, {stack.values.shape[1:]}; got "
                f"{read.values.shape[1:]}."
            )
        name = "reference"
    else:
        cell = whole_number(reference, "reference", least=0)
        if cell >= len(stack.values):
            raise ValueError(
                f"reference must be one of {len(stack.values)} cells, or a map; got {cell}."
            )
        read = PlanarMaps(stack.values[cell][None], True, stack.reasons[cell : cell + 1])
        name = f"map {cell}, the reference,"
    reason = overlap_reasons(read, least)[0]
    if reason:
        raise ValueError(f"{name} has no phase: {reason}.")
    return read
