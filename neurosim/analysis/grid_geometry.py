"""Spacing, orientation and ellipticity of grid cells, from the six peaks about the middle."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .correlogram_peaks import local_maxima, refined_peaks
from .grid_score import read_autocorrelograms
from .planar_maps import PlanarMaps, read_bin_sizes, read_planar_maps, warn_of_reasons
from .spatial_autocorrelogram import autocorrelograms as _autocorrelograms
from .spatial_autocorrelogram import overlap_reasons, shifts_of


class GridGeometry(NamedTuple):
    """The lattice of grid cells; see `grid_geometry`. Without the axis of cells for a single map.

    - `spacing`: `(cell,)`, median length of the three axes, in the unit of `bin_size`.
    - `orientation`: `(cell,)`, direction of the axes modulo 60 degrees, in radians from 0 to pi/3.
    - `ellipticity`: `(cell,)`, longer over shorter half-axis of the ellipse through the peaks.
    - `ellipse_angle`: `(cell,)`, direction of its longer half-axis, in radians from 0 to pi.
    - `axis_lengths`, `axis_angles`: `(cell, 3)`, of the three axes by increasing angle, in radians
      from 0 to pi.
    - `peaks`: `(cell, 6, 2)`, the three axes and their opposites.
    - `reasons`: `(cell,)`, why something is NaN; empty where nothing is.
    """

    spacing: Any
    orientation: Any
    ellipticity: Any
    ellipse_angle: Any
    axis_lengths: np.ndarray
    axis_angles: np.ndarray
    peaks: np.ndarray
    reasons: Any


def grid_geometry(
    maps: Any,
    *,
    bin_size: Any,
    min_correlation: Any = 0.1,
    min_radius: Any = 1.5,
    min_overlap: int | np.integer = 20,
) -> GridGeometry:
    """Spacing, orientation and ellipticity of grid cells.

    The autocorrelogram has a peak at each vector of the lattice. The six nearest to the middle are
    placed to a fraction of a bin by a paraboloid through their neighbours. Angles are from the
    first axis of bins to the second. A map without a grid may have six peaks too: see `grid_score`.

    ```python
    grid_geometry(maps, bin_size=0.025).spacing  # (cell,), in m where bins are 2.5 cm
    ```

    **Arguments:**

    - `maps`: `RateMaps`, `(cell, bins, bins)` or `(bins, bins)`; NaN where unvisited.
    - `bin_size`: width of bins, or one for each axis.
    - `min_correlation`: peaks are higher than this.
    - `min_radius`: and at least this far from the middle, in bins.
    - `min_overlap`: see `spatial_autocorrelogram`.

    **Returns:** `GridGeometry`; NaN, with its reason and a warning, for maps that are constant or
    NaN throughout, or whose autocorrelogram has fewer than six peaks. Ellipticity alone is NaN
    where no ellipse goes through them.

    **Raises:** `ValueError` for another shape, infinite values, or a bin size that is not positive.

    **Reference:** Hafting et al. (2005), Nature 436, 801-806; Stensola et al. (2012), Nature 492,
    72-78, for the ellipse.
    """
    stack = read_planar_maps(maps)
    least = whole_number(min_overlap, "min_overlap", least=2)
    sizes = read_bin_sizes(bin_size)
    sacs = PlanarMaps(_autocorrelograms(stack, least), stack.single, overlap_reasons(stack, least))
    return _geometry(sacs, sizes, min_correlation, min_radius)


def autocorrelogram_geometry(
    autocorrelograms: Any, *, bin_size: Any, min_correlation: Any = 0.1, min_radius: Any = 1.5
) -> GridGeometry:
    """`grid_geometry` of maps whose autocorrelograms, or the mean of them, are known.

    **Arguments:**

    - `autocorrelograms`: `(cell, 2 n - 1, 2 m - 1)` or one without the axis of cells, no shift in
        the middle, point-symmetric.
    - `bin_size`, `min_correlation`, `min_radius`: see `grid_geometry`.

    **Returns** and **Raises:** as `grid_geometry`.
    """
    stack = read_autocorrelograms(autocorrelograms)
    return _geometry(stack, read_bin_sizes(bin_size), min_correlation, min_radius)


def mean_orientation(angles: np.ndarray) -> Any:
    """Mean direction modulo 60 degrees of axes `(..., axis)`, in radians from 0 to pi/3, `(...)`.

    NaN is passed over.
    """
    known = np.isfinite(angles)
    total = np.sum(np.exp(6j * np.where(known, angles, 0)), axis=-1, where=known)
    mean = modulo(np.angle(total) / 6, math.pi / 3)
    return np.where(known.any(axis=-1), mean, np.nan)[()]


def modulo(values: Any, period: float) -> Any:
    """Values from 0 to below the period, to rounding."""
    turned = np.mod(values, period)
    return np.where(period - turned < 1e-9, 0.0, turned)[()]


def _geometry(
    stack: PlanarMaps, sizes: np.ndarray, min_correlation: Any, min_radius: Any
) -> GridGeometry:
    values, reasons = stack.values, stack.reasons.copy()
    n_cells, _, columns = values.shape
    shifts = shifts_of(values)
    middle = -shifts[0, 0]
    in_bins = np.hypot(shifts[..., 0], shifts[..., 1])
    distance = np.hypot(*np.moveaxis(shifts * sizes, -1, 0))
    # One of each pair of opposite shifts, so that no axis counts without its other end.
    half = (shifts[..., 0] > 0) | ((shifts[..., 0] == 0) & (shifts[..., 1] > 0))
    there = local_maxima(values, above=float(min_correlation))
    there &= half & (in_bins >= float(min_radius))
    ranked = np.where(there, distance, np.inf).reshape(n_cells, -1)
    nearest = np.argsort(ranked, axis=1, kind="stable")[:, :3]
    enough = nearest.shape[1] == 3
    found = enough & np.isfinite(np.take_along_axis(ranked, nearest, axis=1)[:, -1])
    found = np.broadcast_to(found, n_cells) & (reasons == "")
    reasons[(reasons == "") & ~found] = "the autocorrelogram has fewer than six peaks"
    axes = np.full((n_cells, 3, 2), np.nan)
    cells = np.repeat(np.flatnonzero(found), 3)
    places = np.stack(np.divmod(nearest[found].ravel(), columns), axis=-1).reshape(-1, 2)
    axes[found] = ((refined_peaks(values, cells, places) - middle) * sizes).reshape(-1, 3, 2)
    lengths, angles = np.hypot(axes[..., 0], axes[..., 1]), np.arctan2(axes[..., 1], axes[..., 0])
    order = np.argsort(modulo(angles, math.pi), axis=1)
    axes = np.take_along_axis(axes, order[..., None], axis=1)
    lengths = np.take_along_axis(lengths, order, axis=1)
    angles = np.take_along_axis(modulo(angles, math.pi), order, axis=1)
    ellipticity, ellipse_angle = _ellipse(axes)
    reasons[found & np.isnan(ellipticity)] = "no ellipse goes through the six peaks"
    warn_of_reasons("the grid geometry", reasons)
    parts = (
        np.median(lengths, axis=1),
        mean_orientation(angles),
        ellipticity,
        ellipse_angle,
        lengths,
        angles,
        np.concatenate([axes, -axes], axis=1),
        reasons,
    )
    return GridGeometry(*(stack.result(part) for part in parts))


def _ellipse(axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ratio of half-axes, and direction of the longer, of the ellipse through ends of axes.

    Three pairs of opposite points determine x' M x = 1.
    """
    ratio, direction = np.full((2, len(axes)), np.nan)
    x, y = axes[..., 0], axes[..., 1]
    scale = np.sqrt(np.mean(x**2 + y**2, axis=1))[:, None]
    x, y = x / scale, y / scale
    equations = np.stack([x**2, 2 * x * y, y**2], axis=-1)
    # Two axes along one line leave the ellipse open.
    solvable = np.isfinite(x).all(axis=1)
    solvable[solvable] = np.abs(np.linalg.det(equations[solvable])) > 1e-9
    xx, xy, yy = np.linalg.solve(equations[solvable], np.ones((solvable.sum(), 3, 1)))[..., 0].T
    values, vectors = np.linalg.eigh(np.stack([xx, xy, xy, yy], axis=-1).reshape(-1, 2, 2))
    closed = values[:, 0] > 0
    place = np.flatnonzero(solvable)[closed]
    ratio[place] = np.sqrt(values[closed, 1] / values[closed, 0])
    longer = vectors[closed, :, 0]
    direction[place] = modulo(np.arctan2(longer[:, 1], longer[:, 0]), math.pi)
    return ratio, direction
