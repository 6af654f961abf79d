"""Position from spike counts: the posterior of a Poisson population over the bins of its maps."""

import dataclasses
from math import tau
from typing import Any

import numpy as np

from ..kernels import check_dt
from .activity import as_floating
from .estimator import refuse_traced
from .map_stack import read_maps
from .position_filter import filter_positions, read_transition
from .rate_maps import RateMaps
from .spatial_bins import SpatialBins, bins_of_maps

#: Rows of the posterior that are worked on at once stay in the cache of a core.
_CHUNK_ENTRIES = 2**18


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DecodedPosition:
    """Position decoded in each window; see `decode_position`.

    - `posterior`: `(window, *bins)`, sums to 1; 0 in unvisited bins.
    - `map`: `(window, d)`, centre of the most probable bin; `map_bin`: `(window, d)`, its place.
    - `mean`: `(window, d)`, mean of the posterior; along a dimension that wraps the mean direction,
      NaN where there is none.
    - `entropy`: `(window,)`, of the posterior, in bits.
    - `edges`: for each dimension `(bins + 1,)`; `wrap`: whether its ends meet.
    """

    posterior: np.ndarray
    map: np.ndarray
    map_bin: np.ndarray
    mean: np.ndarray
    entropy: np.ndarray
    edges: tuple[np.ndarray, ...]
    wrap: tuple[bool, ...]

    def __repr__(self) -> str:
        shape = " x ".join(str(n) for n in self.posterior.shape[1:])
        return f"DecodedPosition({len(self.posterior)} windows, {shape} bins)"


def decode_position(
    counts: Any,
    maps: Any,
    dt: Any,
    *,
    prior: Any = None,
    occupancy: Any = None,
    edges: Any = None,
    wrap: Any = None,
    floor: Any = 1e-3,
    memory: Any = None,
    smoother: bool = False,
) -> DecodedPosition:
    """The posterior of position given spike counts, for cells that fire as Poisson processes.

        log p(x | n) = sum_i n_i log f_i(x) - dt sum_i f_i(x) + log p(x) + constant

    Windows are independent, or with `memory` the animal moves little from one to the next.
    Unvisited bins, NaN in the map of any cell, have probability 0: nothing is known of them.

    ```python
    maps = rate_maps(spikes, t, x, edges=edges, sigma=0.05, epochs=training)
    decoded = decode_position(counts, maps, dt=0.25)
    error = decoding_error(decoded.map, true)
    ```

    **Arguments:**

    - `counts`: `(window, cell)`, spikes of each cell in consecutive windows.
    - `maps`: `RateMaps`, or `(cell, *bins)` in Hz; NaN where unvisited.
    - `dt`: length of a window in s.
    - `prior`: `None` for the same in each visited bin, `"occupancy"`, or `(*bins,)`, not negative.
    - `occupancy`: `(*bins,)`, for `prior="occupancy"`; `RateMaps` have theirs.
    - `edges`: `(bins + 1,)`, or a sequence of such; by default those of `RateMaps`, or places of
        bins, with the middle of bin k at k.
    - `wrap`: whether the ends of a dimension meet; that of `RateMaps` by default.
    - `floor`: rates below are raised to it, in Hz, so that one spike of a cell outside of its field
        does not rule out a bin.
    - `memory`: `None` for windows on their own; the standard deviation of the displacement from one
        window to the next, in the unit of `edges`, of a Gaussian random walk over the visited bins;
        or the probabilities of moves, `(bins, bins)` from row to column over the flattened map.
    - `smoother`: with `memory`, whether each window takes later ones into account too; else only
        earlier ones.

    **Returns:** `DecodedPosition`.

    **Raises:** `ValueError` for shapes that do not fit, counts that are negative or no whole
    numbers, rates that are negative, no bin that is visited in all maps, a prior that is negative
    or 0 in all visited bins, a `dt`, floor or memory that is not positive, or a smoother without
    memory.

    **Reference:** Zhang, Ginzburg, McNaughton & Sejnowski (1998), Journal of Neurophysiology 79,
    1017-1044; Brown et al. (1998), Journal of Neuroscience 18, 7411-7425, for memory.
    """
    width = check_dt(dt)
    rates, bins, valid = read_decoding_maps(maps, edges, wrap)
    n = read_counts(counts, len(rates))
    spent = maps.occupancy if occupancy is None and isinstance(maps, RateMaps) else occupancy
    log_prior = _log_prior(prior, spent, bins.shape, valid)
    log_f, silence = log_rates(rates[:, valid], width, floor)
    n_bins = len(valid)
    posterior = np.zeros((len(n), n_bins))
    entropy = np.empty(len(n))
    if memory is not None:
        transition = read_transition(memory, bins, valid)
        posterior[:, valid] = filter_positions(
            n @ log_f - silence, log_prior, transition, smoother=smoother
        )
    elif smoother:
        raise ValueError("smoother needs memory: windows on their own know nothing of later ones.")
    rows = max(1, _CHUNK_ENTRIES // n_bins)
    for start in range(0, len(n), rows):
        chunk = slice(start, start + rows)
        if memory is None:
            p = n[chunk] @ log_f
            p += log_prior - silence
            entropy[chunk] = _normalise(p)
            if valid.all():
                posterior[chunk] = p
            else:
                posterior[chunk, valid] = p
        else:
            p = posterior[chunk]
            entropy[chunk] = -np.sum(p * np.log2(p, where=p > 0, out=np.zeros_like(p)), axis=1)
    best = posterior.argmax(axis=1)
    place = np.stack(np.unravel_index(best, bins.shape), axis=1)
    centres = bins.centres
    return DecodedPosition(
        posterior=posterior.reshape(len(n), *bins.shape),
        map=np.stack([c[place[:, axis]] for axis, c in enumerate(centres)], axis=1),
        map_bin=place,
        mean=_means(posterior, bins),
        entropy=np.maximum(entropy, 0),
        edges=bins.edges,
        wrap=bins.wrap,
    )


def read_decoding_maps(
    maps: Any, edges: Any = None, wrap: Any = None
) -> tuple[np.ndarray, SpatialBins, np.ndarray]:
    """Rates `(cell, bin)` of the flattened maps, the bins, and which are visited in all maps.

    **Raises:** `ValueError` for maps without an axis of cells, edges that do not fit, or when no
    bin is visited in all maps.
    """
    if isinstance(maps, RateMaps):
        edges = maps.edges if edges is None else edges
        wrap = maps.wrap if wrap is None else wrap
        maps = maps.rates
    stack = read_maps(maps)
    shape = stack.rates.shape[1:]
    if stack.single:
        raise ValueError("maps must be (cell, *bins): pass one map as map[None].")
    if edges is None:
        edges = [np.arange(size + 1) - 0.5 for size in shape]
    bins = bins_of_maps(edges, wrap, shape)
    rates = stack.rates.reshape(len(stack.rates), -1)
    valid = np.asarray(np.isfinite(rates).all(axis=0))
    if not valid.any():
        raise ValueError("no bin is visited in all maps: each has a cell with NaN.")
    return rates, bins, valid


def read_counts(counts: Any, n_cells: int) -> np.ndarray:
    """Spike counts `(window, cell)`, float64.

    **Raises:** `ValueError` for another shape, or counts that are negative or no whole numbers.
    """
    refuse_traced(counts, "counts")
    values = counts.values if hasattr(counts, "t") else counts
    n = np.asarray(as_floating(values, "counts"), np.float64)
    if n.ndim != 2 or n.shape[1] != n_cells or len(n) == 0:
        raise ValueError(f"counts must be (window, {n_cells} cells), got shape {n.shape}.")
    bad = ~(n >= 0) | (n != np.floor(n)) | np.isinf(n)
    if bad.any():
        window, cell = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"counts must be finite whole numbers, not negative; window {window}, cell {cell} is "
            f"{n[window, cell]:g}."
        )
    return n


def log_rates(rates: np.ndarray, dt: float, floor: Any) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of rates from `floor` up, `(cell, bin)`, and expected counts of all, `(bin,)`.

    **Raises:** `ValueError` for a floor that is not positive.
    """
    if not 0 < floor < np.inf:
        raise ValueError(f"floor must be positive and finite, in Hz; got {floor}.")
    raised = np.maximum(rates, float(floor))
    return np.log(raised), dt * raised.sum(axis=0)


def _log_prior(prior: Any, occupancy: Any, shape: tuple[int, ...], valid: np.ndarray) -> np.ndarray:
    if prior is None:
        return np.full(int(valid.sum()), -np.log(valid.sum()))
    if isinstance(prior, str):
        if prior != "occupancy":
            raise ValueError(f"prior must be None, 'occupancy' or (*bins,), got {prior!r}.")
        if occupancy is None:
            raise ValueError("prior='occupancy' needs occupancy (*bins,), or RateMaps.")
        prior = np.nan_to_num(np.asarray(as_floating(occupancy, "occupancy"), np.float64), nan=0.0)
    weights = np.asarray(as_floating(prior, "prior"), np.float64)
    if weights.shape != shape or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"prior must be {shape}, finite and not negative; got {weights.shape}.")
    inside = weights.ravel()[valid]
    if not inside.any():
        raise ValueError("prior is 0 in every visited bin.")
    with np.errstate(divide="ignore"):
        return np.log(inside / inside.sum())


def _normalise(log_p: np.ndarray) -> np.ndarray:
    """Logarithms made probabilities, in place, `(row, bin)`; the entropy of each row in bits."""
    log_p -= log_p.max(axis=1, keepdims=True)
    p = np.exp(log_p)
    total = p.sum(axis=1)
    # -inf has probability 0, and 0 * -inf is no number.
    np.maximum(log_p, -1e4, out=log_p)
    mean_log = np.einsum("ij,ij->i", p, log_p) / total
    np.divide(p, total[:, None], out=log_p)
    return (np.log(total) - mean_log) / np.log(2)


def _means(posterior: np.ndarray, bins: SpatialBins) -> np.ndarray:
    """Mean position of each row, along dimensions that wrap the mean direction."""
    columns, spans = [], []
    grids = np.meshgrid(*bins.centres, indexing="ij")
    for axis, grid in enumerate(grids):
        x = grid.ravel()
        spans.append(slice(len(columns), len(columns) + 1 + bins.wrap[axis]))
        if bins.wrap[axis]:
            turn = (x - bins.edges[axis][0]) * (tau / bins.periods[axis])
            columns += [np.cos(turn), np.sin(turn)]
        else:
            columns.append(x)
    sums = posterior @ np.stack(columns, axis=1)
    means = []
    for axis, span in enumerate(spans):
        if bins.wrap[axis]:
            c, s = sums[:, span].T
            angle = np.mod(np.arctan2(s, c), tau) * (bins.periods[axis] / tau)
            means.append(np.where(c**2 + s**2 > 1e-24, bins.edges[axis][0] + angle, np.nan))
        else:
            means.append(sums[:, span.start])
    return np.stack(means, axis=1)
