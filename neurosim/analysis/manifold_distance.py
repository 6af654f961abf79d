"""How far apart the maps of two contexts are, in firing rate, over all pairs of positions."""

from typing import Any, Literal, NamedTuple

import numpy as np

from ..kernels.distance_surface import distance_surface, squared_distances
from ..kernels.rate_noise import check_rate_noise
from .map_stack import read_maps
from .rate_maps import RateMaps


class ManifoldDistance(NamedTuple):
    """The distance of two contexts as measured; see `manifold_distance`.

    - `distance`: of the nearest pair, in Hz: |f_A - f_B|, or N phi* for Poisson-like noise.
    - `bin_a`, `bin_b`: where that is.
    - `surface`: `(*bins_a, *bins_b)`, NaN where a bin is not known: squared distances in Hz^2, or
      N phi* in Hz for Poisson-like noise.
    """

    distance: float
    bin_a: tuple[int, ...]
    bin_b: tuple[int, ...]
    surface: np.ndarray


class MeasuredContext(NamedTuple):
    """Rates of a context in its known bins; see `read_context`.

    - `rates`: `(bin, cell)`. `variance`: `(bin, cell)`, r / T; `None` without occupancy.
    - `places`: `(bin,)`, which bins these are. `shape`: of all bins.
    """

    rates: np.ndarray
    variance: np.ndarray | None
    places: np.ndarray
    shape: tuple[int, ...]


def manifold_distance(
    maps_a: Any,
    maps_b: Any,
    *,
    noise: Literal["constant", "poisson"] = "constant",
    occupancy_a: Any = None,
    occupancy_b: Any = None,
    bias: Literal["poisson", "crossval"] | None = None,
    halves_a: Any = None,
    halves_b: Any = None,
) -> ManifoldDistance:
    """Distances between the population responses of two contexts, for each pair of positions.

    Contexts are separable where the least of them is above `separability_threshold`: positions are
    not matched, since another context may be mistaken for this one at any place. The number of bins
    may differ, cells must be the same.

    Sampling noise of measured rates adds sum_i (r_i / T) of both contexts to a squared distance.
    With `bias="poisson"` this is subtracted, for spikes that are Poisson and maps that are not
    smoothed. With `bias="crossval"` it does not arise: the product of the differences in two halves
    of the data, which is right whatever the noise, if that of halves is independent. Both may be
    negative, and the least of many noisy numbers is still too small. No correction is known for
    N phi*.

    Costs positions x positions x cells; `kernels.distance_surface` says how much.

    **Arguments:**

    - `maps_a`, `maps_b`: `RateMaps` or `(cell, *bins)` in Hz, NaN where unvisited. Bins that are
        not known for all cells do not count. Of `RateMaps` those without smoothing are taken
        for `bias="poisson"`.
    - `noise`: of the responses, as `separability_threshold` has it.
    - `occupancy_a`, `occupancy_b`: `(*bins,)` in s; those of `RateMaps` by default. Needed for
        `bias="poisson"`.
    - `bias`: see above; with constant noise alone.
    - `halves_a`, `halves_b`: two maps each, as `maps_a`, for `bias="crossval"`.

    **Returns:** `ManifoldDistance`.

    **Raises:** `ValueError` for cells that differ, rates that are negative or infinite, no bin that
    is known for all cells, or what `bias` needs and is not given.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 2 and 5-7; Walther et al. (2016), NeuroImage 137, for cross-validation.
    """
    if bias not in (None, "poisson", "crossval"):
        raise ValueError(f"bias must be None, 'poisson' or 'crossval', got {bias!r}.")
    check_rate_noise(noise, 0.0)
    if bias is not None and noise != "constant":
        raise ValueError(f"bias={bias!r} corrects distances for constant noise alone.")
    a = read_context(maps_a, occupancy_a, "maps_a", raw=bias == "poisson")
    b = read_context(maps_b, occupancy_b, "maps_b", raw=bias == "poisson")
    check_same_cells(a, b)
    if noise == "poisson":
        surface = distance_surface(a.rates, b.rates, "poisson")
    elif bias == "crossval":
        surface = _cross_validated(a, b, halves_a, halves_b)
    else:
        surface = squared_surface(a, b, corrected=bias == "poisson")
    i, j = np.unravel_index(int(np.nanargmin(surface)), surface.shape)
    least = float(surface[i, j])
    whole = np.full((int(np.prod(a.shape)), int(np.prod(b.shape))), np.nan)
    whole[np.ix_(a.places, b.places)] = surface
    return ManifoldDistance(
        least if noise == "poisson" else max(least, 0.0) ** 0.5,
        _bin(a, int(i)),
        _bin(b, int(j)),
        whole.reshape(*a.shape, *b.shape),
    )


def read_context(maps: Any, occupancy: Any, name: str, *, raw: bool = False) -> MeasuredContext:
    """Maps of many cells as rows of known bins.

    `raw` takes `RateMaps` without their smoothing, and asks for occupancy.

    **Raises:** `ValueError` as `read_maps`, for a single map, or no bin known for all cells.
    """
    if raw and isinstance(maps, RateMaps):
        occupancy = maps.occupancy if occupancy is None else occupancy
        maps = maps.raw_rates
    if raw and occupancy is None:
        raise ValueError(f"bias='poisson' needs the occupancy of {name}, (*bins,) in s.")
    stack = read_maps(maps, occupancy)
    if stack.single:
        raise ValueError(f"{name} must be (cell, *bins), of one cell or more, not one map.")
    rates = stack.rates.reshape(len(stack.rates), -1).T
    places = np.flatnonzero(np.isfinite(rates).all(axis=1))
    if not len(places):
        raise ValueError(f"{name}: no bin is known for all cells.")
    known = rates[places]
    spent = None if stack.occupancy is None else stack.occupancy.ravel()[places, None]
    return MeasuredContext(
        known, None if spent is None else known / spent, places, stack.rates.shape[1:]
    )


def check_same_cells(a: MeasuredContext, b: MeasuredContext) -> None:
    """Refuse contexts of different numbers of cells."""
    if a.rates.shape[1] != b.rates.shape[1]:
        raise ValueError(
            f"both contexts must have the same cells, got {a.rates.shape[1]} and "
            f"{b.rates.shape[1]}."
        )


def squared_surface(a: MeasuredContext, b: MeasuredContext, *, corrected: bool) -> np.ndarray:
    """Squared distances of known bins, less what Poisson noise adds where `corrected`."""
    squared = squared_distances(a.rates, b.rates)
    if corrected and a.variance is not None and b.variance is not None:
        squared -= a.variance.sum(axis=1)[:, None] + b.variance.sum(axis=1)
    return squared


def _cross_validated(
    a: MeasuredContext, b: MeasuredContext, halves_a: Any, halves_b: Any
) -> np.ndarray:
    """sum_i (a1 - b1) (a2 - b2), in the bins of the whole maps; NaN where a half has none."""
    read = []
    for context, halves, name in ((a, halves_a, "halves_a"), (b, halves_b, "halves_b")):
        if halves is None or len(halves) != 2:
            raise ValueError(f"bias='crossval' needs {name}, two maps of halves of the data.")
        for half in halves:
            rates = read_maps(half, d=len(context.shape)).rates
            if rates.shape != (context.rates.shape[1], *context.shape):
                raise ValueError(
                    f"{name} must have the cells and bins of the whole maps, got {rates.shape}."
                )
            read.append(rates.reshape(len(rates), -1).T[context.places])
    a1, a2, b1, b2 = read
    known = np.isfinite(a1 + a2).all(axis=1)[:, None] & np.isfinite(b1 + b2).all(axis=1)
    a1, a2, b1, b2 = (np.nan_to_num(x) for x in read)
    products = (a1 * a2).sum(axis=1)[:, None] + (b1 * b2).sum(axis=1)
    squared = np.where(known, products - a1 @ b2.T - a2 @ b1.T, np.nan)
    if not known.any():
        raise ValueError("no bin is known for all cells in both halves of both contexts.")
    return squared


def _bin(context: MeasuredContext, row: int) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(context.places[row], context.shape))
