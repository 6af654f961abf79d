"""Bins of an environment: edges given, or made from a width and an extent."""

from typing import Any, NamedTuple

import numpy as np

from .activity import as_floating

#: Widths that differ by less than this share are one width.
_EVEN = 1e-6
#: Positions beyond an end by less than this share of the length are at the end: walls are not the
#: same number in single precision.
_ROUNDING = 1e-6


class SpatialBins(NamedTuple):
    """Bins of an environment in one or two dimensions; see `spatial_bins`.

    - `edges`: for each dimension `(bins + 1,)`, in the unit of positions.
    - `wrap`: for each dimension, whether its last bin is next to its first.
    """

    edges: tuple[np.ndarray, ...]
    wrap: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of bins in each dimension."""
        return tuple(len(edge) - 1 for edge in self.edges)

    @property
    def centres(self) -> tuple[np.ndarray, ...]:
        """Centre of each bin, `(bins,)` for each dimension."""
        return tuple((edge[:-1] + edge[1:]) / 2 for edge in self.edges)

    @property
    def periods(self) -> tuple[float, ...]:
        """Length of each dimension, which is its period where it wraps."""
        return tuple(float(edge[-1] - edge[0]) for edge in self.edges)

    @property
    def sizes(self) -> np.ndarray:
        """Length or area of each bin, `(*bins,)`."""
        sizes = np.ones(())
        for edge in self.edges:
            sizes = np.multiply.outer(sizes, np.diff(edge))
        return sizes

    def widths(self, why: str) -> tuple[float, ...]:
        """The width of the bins of each dimension.

        **Raises:** `ValueError` where bins of one dimension differ in width; `why` says what needs
        one width.
        """
        for axis, edge in enumerate(self.edges):
            steps = np.diff(edge)
            if np.ptp(steps) > _EVEN * steps.max():
                raise ValueError(
                    f"{why} needs bins of one width; along axis {axis} they go from "
                    f"{steps.min():g} to {steps.max():g}."
                )
        return tuple(p / n for p, n in zip(self.periods, self.shape))

    def outside(self, x: np.ndarray, axis: int) -> np.ndarray:
        """Which places along an axis lie beyond its ends, by more than rounding; never if it wraps.

        NaN lies nowhere, and so not outside.
        """
        edge, slack = self.edges[axis], _ROUNDING * self.periods[axis]
        return ((x < edge[0] - slack) | (x > edge[-1] + slack)) & (not self.wrap[axis])

    def indices(self, positions: np.ndarray) -> np.ndarray:
        """The bin of each position, `(sample,)`, as a place in the flattened map.

        Bins are half-open, `[a, b)`, the last one closed. Positions are `(sample, d)` and lie
        within the edges, but for dimensions that wrap.
        """
        flat = np.zeros(len(positions), np.intp)
        for axis, (edge, n) in enumerate(zip(self.edges, self.shape)):
            x = positions[:, axis]
            if self.wrap[axis]:
                x = edge[0] + np.mod(x - edge[0], self.periods[axis])
            place = np.searchsorted(edge, x, side="right") - 1
            flat = flat * n + np.clip(place, 0, n - 1)
        return flat


def spatial_bins(
    positions: np.ndarray,
    *,
    edges: Any = None,
    bin_size: Any = None,
    extent: Any = None,
    wrap: Any = False,
) -> SpatialBins:
    """Bins from `edges`, or of width `bin_size` over `extent`.

    **Arguments:**

    - `positions`: `(sample, d)`, where `extent` is taken from by default; NaN is passed over.
    - `edges`: `(bins + 1,)` for one dimension, or a sequence of such for each.
    - `bin_size`: the width of bins, or one for each dimension. Where it does not divide the extent
        the last bin reaches beyond it; dimensions that wrap refuse that.
    - `extent`: `(low, high)`, or one pair for each dimension.
    - `wrap`: whether the ends of a dimension meet, for all dimensions or for each.

    **Returns:** `SpatialBins`.

    **Raises:** `ValueError` for edges that do not increase or do not fit the positions, both or
    neither of `edges` and `bin_size`, a width that is not positive, or an extent without length.
    """
    d = positions.shape[1]
    if (edges is None) == (bin_size is None):
        raise ValueError("give either edges, or bin_size with or without extent.")
    round_the_end = read_wrap(wrap, d)
    if edges is not None:
        if extent is not None:
            raise ValueError("extent goes with bin_size; edges have their own ends.")
        return SpatialBins(read_edges(edges, d), round_the_end)
    if any(round_the_end) and extent is None:
        raise ValueError("a dimension that wraps needs edges or extent: its period is unknown.")
    widths = _for_each(bin_size, d, "bin_size")
    if not ((widths > 0) & np.isfinite(widths)).all():
        raise ValueError(f"bin_size must be positive and finite, got {bin_size}.")
    made = []
    for axis, (low, high) in enumerate(_read_extent(extent, positions)):
        count = (high - low) / widths[axis]
        # A width that divides the extent to rounding is not to make a bin more.
        n = max(1, int(np.ceil(count - 1e-9)))
        if round_the_end[axis] and abs(count - n) > 1e-6:
            raise ValueError(
                f"bin_size {widths[axis]:g} does not divide the period {high - low:g} of axis "
                f"{axis}, which wraps; {n} bins would be {(high - low) / n:.9g} wide."
            )
        end = high if abs(count - n) <= 1e-9 * n else low + n * widths[axis]
        made.append(np.linspace(low, end, n + 1))
    return SpatialBins(tuple(made), round_the_end)


def bins_of_maps(edges: Any, wrap: Any, shape: tuple[int, ...]) -> SpatialBins:
    """The bins of maps that have this many of them.

    **Raises:** `ValueError` for edges of other numbers of bins, or as `read_edges` and `read_wrap`.
    """
    bins = SpatialBins(read_edges(edges, len(shape)), read_wrap(wrap, len(shape)))
    if bins.shape != shape:
        raise ValueError(f"edges are of {bins.shape} bins, but maps have {shape}.")
    return bins


def read_wrap(wrap: Any, d: int) -> tuple[bool, ...]:
    """Whether each of `d` dimensions wraps; `None` for none.

    **Raises:** `ValueError` for another number of dimensions.
    """
    values = tuple(np.ravel(np.asarray(wrap, bool)).tolist())
    if np.ndim(wrap) == 0:
        return values * d
    if len(values) != d:
        raise ValueError(f"wrap must be true or false, or one for each of {d} axes; got {wrap}.")
    return values


def read_edges(edges: Any, d: int) -> tuple[np.ndarray, ...]:
    """Edges of bins in each of `d` dimensions.

    **Raises:** `ValueError` for another number of dimensions, or edges that do not increase.
    """
    several = getattr(edges, "ndim", 0) == 2
    if isinstance(edges, (list, tuple)) and len(edges) > 0:
        several = np.ndim(edges[0]) == 1
    given = list(edges) if several else [edges]
    if len(given) != d:
        raise ValueError(
            f"edges must hold one array for each of {d} dimension(s), got {len(given)}."
        )
    read = []
    for axis, edge in enumerate(given):
        values = np.asarray(as_floating(edge, "edges"), np.float64)
        if values.ndim != 1 or len(values) < 2:
            raise ValueError(
                f"edges of axis {axis} must be (bins + 1,), at least two; got {values.shape}."
            )
        if not np.isfinite(values).all() or not (np.diff(values) > 0).all():
            raise ValueError(f"edges of axis {axis} must be finite and increase.")
        read.append(values)
    return tuple(read)


def _for_each(value: Any, d: int, name: str) -> np.ndarray:
    values = np.asarray(as_floating(value, name), np.float64)
    if values.shape not in ((), (d,)):
        raise ValueError(f"{name} must be a number, or one for each of {d} axes; got {value}.")
    return np.broadcast_to(values, (d,))


def _read_extent(extent: Any, positions: np.ndarray) -> np.ndarray:
    d = positions.shape[1]
    if extent is None:
        there = positions[np.isfinite(positions).all(axis=1)]
        if len(there) == 0:
            raise ValueError("no position is known: every one is NaN.")
        pairs = np.stack([there.min(axis=0), there.max(axis=0)], axis=1)
    else:
        pairs = np.asarray(as_floating(extent, "extent"), np.float64)
        if pairs.shape == (2,):
            pairs = np.broadcast_to(pairs, (d, 2))
        if pairs.shape != (d, 2):
            raise ValueError(
                f"extent must be (low, high), or one pair for each of {d} axes; got {extent}."
            )
    if not (np.isfinite(pairs).all() and (pairs[:, 0] < pairs[:, 1]).all()):
        raise ValueError(f"extent must be finite, low < high on each axis; got {pairs.tolist()}.")
    return pairs
