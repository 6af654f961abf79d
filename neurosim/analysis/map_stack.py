"""Maps of cells as the measures of maps read them: stacks, with their unvisited bins."""

from typing import Any, NamedTuple

import numpy as np

from .activity import as_floating
from .estimator import refuse_traced
from .rate_maps import RateMaps


class MapStack(NamedTuple):
    """Maps one below the other; see `read_maps`.

    - `rates`: `(cell, *bins)`, NaN where unvisited.
    - `occupancy`: `(*bins,)`, 0 where unvisited; `None` where none was needed or given.
    - `single`: whether one map without an axis of cells was given.
    """

    rates: np.ndarray
    occupancy: np.ndarray | None
    single: bool

    def shares(self) -> np.ndarray:
        """Share of time in each valid bin, `(cell, bin)`; 0 elsewhere, NaN without any."""
        rates = self.rates.reshape(len(self.rates), -1)
        seconds = np.ones(rates.shape[1]) if self.occupancy is None else self.occupancy.ravel()
        spent = np.where(np.isfinite(rates), seconds, 0)
        total = spent.sum(axis=1, keepdims=True)
        return np.where(total > 0, spent / np.where(total > 0, total, 1), np.nan)

    def flat(self) -> np.ndarray:
        """Rates `(cell, bin)`, 0 where unvisited."""
        rates = self.rates.reshape(len(self.rates), -1)
        return np.where(np.isfinite(rates), rates, 0)

    def result(self, values: np.ndarray) -> Any:
        """Values `(cell, ...)` as they were asked for: without the axis for a single map."""
        if not self.single:
            return values
        return float(values[0]) if values.ndim == 1 else values[0]


def read_maps(
    maps: Any,
    occupancy: Any = None,
    *,
    needs_occupancy: bool = False,
    may_be_unvisited: bool = False,
    d: int | None = None,
) -> MapStack:
    """Check maps, and their occupancy where there is one.

    **Arguments:**

    - `maps`: `RateMaps`, `(cell, *bins)` in Hz, or one map `(*bins,)`; NaN where unvisited.
    - `occupancy`: `(*bins,)`, in s or as shares; 0 or NaN where unvisited. That of `RateMaps` by
        default.
    - `needs_occupancy`: whether to refuse maps without.
    - `may_be_unvisited`: whether to take maps that are NaN throughout.
    - `d`: number of dimensions of space, where the occupancy does not tell; by default a map of two
        axes is `(cell, bins)`.

    **Returns:** `MapStack`. Bins without occupancy are NaN in its rates.

    **Raises:** `ValueError` for shapes that do not fit, rates that are negative or infinite, an
    occupancy that is negative, infinite or 0 throughout, or maps that are NaN throughout, unless
    they may be.
    """
    refuse_traced((getattr(maps, "rates", maps), occupancy), "maps")
    if isinstance(maps, RateMaps):
        occupancy = maps.occupancy if occupancy is None else occupancy
        maps = maps.rates
    rates = np.asarray(as_floating(maps, "maps"), np.float64)
    spent = None
    if occupancy is not None:
        spent = np.asarray(as_floating(occupancy, "occupancy"), np.float64)
        if np.isinf(spent).any() or (spent < 0).any():
            raise ValueError("occupancy must be finite and not negative, or NaN where unvisited.")
        spent = np.where(np.isnan(spent), 0, spent)
        if not spent.any():
            raise ValueError("occupancy is 0 in every bin: there is no time in any.")
    elif needs_occupancy:
        raise ValueError("occupancy (*bins,) is needed, or RateMaps, which have theirs.")
    dimensions = spent.ndim if spent is not None else (d or max(1, rates.ndim - 1))
    single = rates.ndim == dimensions
    if (
        dimensions not in (1, 2)
        or rates.ndim not in (dimensions, dimensions + 1)
        or rates.size == 0
        or (spent is not None and rates.shape[-dimensions:] != spent.shape)
    ):
        told = "" if spent is None else f", occupancy {spent.shape}"
        raise ValueError(
            f"maps must be (cell, *bins) or (*bins,) and occupancy (*bins,), with 1 or 2 axes of "
            f"bins; got maps {rates.shape}{told}."
        )
    stack = rates[None] if single else rates
    if np.isinf(stack).any() or (stack < 0).any():
        place = tuple(int(i) for i in np.argwhere(np.isinf(stack) | (stack < 0))[0])
        raise ValueError(
            f"rates must be finite and not negative, or NaN where unvisited; map {place[0]} has "
            f"{stack[place]} in bin {place[1:]}."
        )
    if spent is not None:
        stack = np.where(spent > 0, stack, np.nan)
    if not may_be_unvisited and not np.isfinite(stack).any():
        raise ValueError("maps are NaN in every bin with occupancy: nothing was visited.")
    return MapStack(stack, spent, single)
