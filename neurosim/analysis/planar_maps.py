"""Maps of cells over a plane, read into a stack, with the reason where one says nothing."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from .activity import as_floating
from .estimator import refuse_traced
from .rate_maps import RateMaps


class PlanarMaps(NamedTuple):
    """Maps one below the other; see `read_planar_maps`.

    - `values`: `(cell, bins, bins)`, NaN where unvisited.
    - `single`: whether one map without an axis of cells was given.
    - `reasons`: `(cell,)`, why a map has no pattern; empty where it has one.
    """

    values: np.ndarray
    single: bool
    reasons: np.ndarray

    @property
    def patterned(self) -> np.ndarray:
        """Which maps take two values at least, `(cell,)`."""
        return self.reasons == ""

    def result(self, values: np.ndarray) -> Any:
        """Values `(cell, ...)` as they were asked for: without the axis for a single map."""
        if not self.single:
            return values
        value = values[0]
        return value.item() if isinstance(value, np.generic) else value


def read_planar_maps(maps: Any, name: str = "maps") -> PlanarMaps:
    """Check maps over a plane.

    **Arguments:**

    - `maps`: `RateMaps` of two dimensions, `(cell, bins, bins)`, or one map `(bins, bins)`; NaN
        where unvisited. Values may be negative: activity of a network, or z-scores.

    **Returns:** `PlanarMaps`. Maps that are NaN throughout or constant are no error, but have
    their reason.

    **Raises:** `ValueError` for another shape, or infinite values.
    """
    if isinstance(maps, RateMaps):
        maps = maps.rates
        if maps.ndim != 3:
            raise ValueError(f"{name} must be maps over a plane; got RateMaps over a line.")
    refuse_traced(maps, name)
    values = np.asarray(as_floating(maps, name))
    if values.ndim not in (2, 3) or values.size == 0:
        raise ValueError(
            f"{name} must be (cell, bins, bins) or (bins, bins), and not empty; got {values.shape}."
        )
    single = values.ndim == 2
    stack = values[None] if single else values
    if np.isinf(stack).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(stack))[0])
        raise ValueError(
            f"{name} must be finite, or NaN where unvisited; map {place[0]} has {stack[place]} in "
            f"bin {place[1:]}."
        )
    known = np.isfinite(stack)
    low = np.where(known, stack, np.inf).min(axis=(1, 2))
    high = np.where(known, stack, -np.inf).max(axis=(1, 2))
    reasons = np.full(len(stack), "", dtype=object)
    reasons[low == high] = "the map is constant"
    reasons[low > high] = "every bin is NaN"
    return PlanarMaps(stack, single, reasons)


def read_bin_sizes(bin_size: Any) -> np.ndarray:
    """Width of bins along both axes, `(2,)`.

    **Raises:** `ValueError` for what is not positive, or neither one number nor two.
    """
    sizes = np.asarray(as_floating(bin_size, "bin_size"))
    if sizes.shape not in ((), (2,)) or not ((sizes > 0) & np.isfinite(sizes)).all():
        raise ValueError(
            f"bin_size must be a positive number, or one for each of 2 axes; got {bin_size}."
        )
    return np.broadcast_to(sizes, (2,))


def warn_of_reasons(what: str, reasons: np.ndarray) -> None:
    """Say of how many maps something is NaN, and why that of the first is."""
    without = np.flatnonzero(reasons != "")
    if len(without):
        warnings.warn(
            f"{what} is NaN for {len(without)} of {len(reasons)} map(s); of map {without[0]}: "
            f"{reasons[without[0]]}.",
            stacklevel=3,
        )
