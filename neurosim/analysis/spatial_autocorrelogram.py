"""Correlation of a map with itself, or with another, at each shift in space."""

from typing import Any

import numpy as np
import scipy.fft

from ..kernels import whole_number
from .known_bin_correlation import centred_over_ranges, value_ranges
from .planar_maps import PlanarMaps, read_planar_maps, warn_of_reasons

#: Cells at a time: what is worked on stays within the cache of a processor.
_BLOCK = 32
#: Overlaps of so few bins are summed directly: transforms lose too many digits there.
_FEW = 25
#: Variance over the square of a map's range below which it passes for none.
_NO_VARIANCE = 1e-12


def spatial_autocorrelogram(maps: Any, *, min_overlap: int | np.integer = 20) -> np.ndarray:
    """Pearson correlation of each map with itself at each shift.

    At each shift the correlation is over the bins that are known in both the map and the shifted
    map, about the means of just those: unvisited bins are left out, and are not taken for silent.
    All shifts at once by Fourier transforms, in O(n^2 log n) for n x n bins instead of O(n^4).

    ```python
    spatial_autocorrelogram(maps.rates).shape  # (cell, 2 n - 1, 2 m - 1), shift 0 in the middle
    ```

    **Arguments:**

    - `maps`: `RateMaps`, `(cell, bins, bins)` or `(bins, bins)`; NaN where unvisited.
    - `min_overlap`: shifts with fewer bins known in both are NaN. Few bins correlate by chance, so
        20 are asked for by default; tiny maps need less.

    **Returns:** `(cell, 2 n - 1, 2 m - 1)`, without the axis of cells for a single map: entry
    `[n - 1 + i, m - 1 + j]` is the shift by i and j bins. 1 in the middle, and point-symmetric. NaN
    too where either part does not vary (variance below 1e-12 of the squared range of the map);
    throughout, with a warning that says why, for maps that are constant or NaN.

    **Raises:** `ValueError` for another shape, infinite values or a `min_overlap` below 2.

    **Reference:** Hafting, Fyhn, Molden, Moser & Moser (2005), Nature 436, 801-806; Sargolini et
    al. (2006), Science 312, 758-762.
    """
    stack = read_planar_maps(maps)
    least = whole_number(min_overlap, "min_overlap", least=2)
    reasons = overlap_reasons(stack, least)
    warn_of_reasons("the autocorrelogram", reasons)
    return stack.result(autocorrelograms(stack, least))


def spatial_crosscorrelogram(
    maps: Any, others: Any, *, min_overlap: int | np.integer = 20
) -> np.ndarray:
    """Pearson correlation of each map with another one at each shift.

    Entry s is the correlation of `maps` at x with `others` at x + s, over all x for which both are
    known: a map that has been moved by s has its peak there.

    **Arguments:**

    - `maps`, `others`: `RateMaps`, `(cell, bins, bins)` or `(bins, bins)`, of the same bins; NaN
        where unvisited. A single map goes with each of several.
    - `min_overlap`: as for `spatial_autocorrelogram`.

    **Returns:** `(cell, 2 n - 1, 2 m - 1)`, without the axis of cells for two single maps; NaN as
    for `spatial_autocorrelogram`.

    **Raises:** `ValueError` as `spatial_autocorrelogram`, or for bins or cells that differ.
    """
    first, second = read_planar_maps(maps), read_planar_maps(others, "others")
    least = whole_number(min_overlap, "min_overlap", least=2)
    if first.values.shape[1:] != second.values.shape[1:] or (
        len(first.values) != len(second.values) and not first.single and not second.single
    ):
        raise ValueError(
            f"maps and others must have the same bins, and as many cells or one; got "
            f"{first.values.shape} and {second.values.shape}."
        )
    n = max(len(first.values), len(second.values))
    mine, theirs = (np.broadcast_to(overlap_reasons(x, least), n) for x in (first, second))
    warn_of_reasons("the crosscorrelogram", np.where(mine != "", mine, theirs))
    values = crosscorrelograms(first, second, least)
    return values[0] if first.single and second.single else values


def overlap_reasons(stack: PlanarMaps, min_overlap: int) -> np.ndarray:
    """Why a map has no correlogram, `(cell,)`; empty where it has."""
    few = np.isfinite(stack.values).sum(axis=(1, 2)) < min_overlap
    reasons = stack.reasons.copy()
    reasons[(reasons == "") & few] = f"fewer than {min_overlap} bins are known"
    return reasons


def autocorrelograms(stack: PlanarMaps, min_overlap: int) -> np.ndarray:
    """Autocorrelograms of maps that have been read, `(cell, 2 n - 1, 2 m - 1)`."""
    shape = stack.values.shape[1:]
    found = np.empty((len(stack.values), *(2 * n - 1 for n in shape)))
    for start in range(0, len(found), _BLOCK):
        block = stack.values[start : start + _BLOCK]
        values, known = _scaled(block)
        a, square, mask = (_forward(x) for x in (values, values**2, known))
        n = np.rint(_lagged(mask, mask, shape))
        total, squares = _lagged(a, mask, shape), _lagged(square, mask, shape)
        # What the shifted map sums to is what the map sums to at the opposite shift.
        found[start : start + _BLOCK] = _pearson(
            n,
            (total, total[:, ::-1, ::-1]),
            (squares, squares[:, ::-1, ::-1]),
            _lagged(a, a, shape),
            (np.sum(values**2, axis=(1, 2)),) * 2,
            min_overlap,
        )
    over_range = stack.values / value_ranges(stack.values)
    for i, j in _small_overlaps(shape):
        if (i, j) < (0, 0):
            r = _summed(over_range, over_range, (i, j), min_overlap)
            found[:, shape[0] - 1 + i, shape[1] - 1 + j] = r
    # The same at the opposite shift, rounding too.
    flat = found.reshape(len(found), -1)
    half = flat.shape[1] // 2
    flat[:, half + 1 :] = flat[:, half - 1 :: -1] if half else flat[:, :0]
    return found


def crosscorrelograms(first: PlanarMaps, second: PlanarMaps, min_overlap: int) -> np.ndarray:
    """Crosscorrelograms of maps that have been read, `(cell, 2 n - 1, 2 m - 1)`."""
    shape = first.values.shape[1:]
    n_cells = max(len(first.values), len(second.values))
    found = np.empty((n_cells, *(2 * n - 1 for n in shape)))
    for start in range(0, n_cells, _BLOCK):
        scaled, transformed = [], []
        for stack in (first, second):
            one = len(stack.values) == 1
            values, known = _scaled(stack.values if one else stack.values[start : start + _BLOCK])
            scaled.append(np.sum(values**2, axis=(1, 2)))
            transformed.append([_forward(x) for x in (values, values**2, known)])
        (a, a_square, a_mask), (b, b_square, b_mask) = transformed
        found[start : start + _BLOCK] = _pearson(
            np.rint(_lagged(a_mask, b_mask, shape)),
            (_lagged(a, b_mask, shape), _lagged(a_mask, b, shape)),
            (_lagged(a_square, b_mask, shape), _lagged(a_mask, b_square, shape)),
            _lagged(a, b, shape),
            (scaled[0], scaled[1]),
            min_overlap,
        )
    a, b = (x.values / value_ranges(x.values) for x in (first, second))
    for i, j in _small_overlaps(shape):
        r = _summed(a, b, (i, j), min_overlap)
        found[:, shape[0] - 1 + i, shape[1] - 1 + j] = r
    return found


def shifts_of(correlograms: np.ndarray) -> np.ndarray:
    """The shift of each entry, `(rows, columns, 2)`, in bins; no shift in the middle."""
    shape = correlograms.shape[1:]
    return np.moveaxis(np.indices(shape), 0, -1) - [n // 2 for n in shape]


def _scaled(maps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Maps about their means over their ranges, and what is known; once if it is the same of all."""
    scaled, known = centred_over_ranges(maps)
    return scaled, known[:1] if (known == known[:1]).all() else known


def _small_overlaps(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Shifts at which few bins of a map lie on others of it, apart from no shift."""
    rows, columns = shape
    return [
        (i, j)
        for i in range(1 - rows, rows)
        for j in range(1 - columns, columns)
        if (rows - abs(i)) * (columns - abs(j)) <= _FEW and (i, j) != (0, 0)
    ]


def _summed(a: np.ndarray, b: np.ndarray, shift: tuple[int, int], min_overlap: int) -> np.ndarray:
    """Correlations at one shift by sums over the overlap, `(cell,)`, of maps over their ranges."""
    parts = []
    for maps, sign in ((a, -1), (b, 1)):
        cut = tuple(
            slice(max(0, sign * s), n + min(0, sign * s)) for s, n in zip(shift, maps.shape[1:])
        )
        parts.append(maps[(slice(None), *cut)].reshape(len(maps), -1))
    known = np.isfinite(parts[0]) & np.isfinite(parts[1])
    n = known.sum(axis=1)
    enough = n >= min_overlap
    centred = []
    for values in parts:
        filled = np.where(known, values, 0)
        x = np.where(known, filled - (filled.sum(axis=1) / np.maximum(n, 1))[:, None], 0)
        square = np.sum(x**2, axis=1)
        enough = enough & (square > _NO_VARIANCE * n)
        centred.append((x, square))
    (x, xx), (y, yy) = centred
    product = np.sqrt(xx) * np.sqrt(yy)
    r = np.sum(x * y, axis=1) / np.where(enough, product, 1)
    return np.where(enough, np.clip(r, -1, 1), np.nan)


def _forward(maps: np.ndarray) -> Any:
    return scipy.fft.rfft2(maps, _padded(maps.shape[1:]))


def _lagged(a: np.ndarray, b: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum over x of a(x) b(x + s) for each shift s, no shift in the middle."""
    size = _padded(shape)
    sums: Any = scipy.fft.irfft2(np.conj(a) * b, size)
    # Negative shifts come last in a transform.
    sums = np.roll(sums, [n - 1 for n in shape], axis=(1, 2))
    return sums[:, : 2 * shape[0] - 1, : 2 * shape[1] - 1]


def _padded(shape: tuple[int, ...]) -> list[Any]:
    """Sizes of transforms in which no shift wraps round."""
    return [scipy.fft.next_fast_len(2 * n - 1, real=True) for n in shape]


def _pearson(
    n: np.ndarray,
    totals: tuple[np.ndarray, np.ndarray],
    squares: tuple[np.ndarray, np.ndarray],
    products: np.ndarray,
    whole: tuple[np.ndarray, np.ndarray],
    min_overlap: int,
) -> np.ndarray:
    """Correlations from sums over the overlap; `whole` are the sums of squares of whole maps."""
    count = np.maximum(n, 1)
    enough = n >= min_overlap
    spread = np.ones(())
    for total, square, all_squares in zip(totals, squares, whole):
        deviation = square - total**2 / count
        # Transforms are as exact as the sum over the whole map.
        rounding = 16 * np.finfo(float).eps * all_squares[:, None, None]
        enough = enough & (deviation > np.maximum(_NO_VARIANCE * count, rounding))
        spread = spread * np.where(enough, deviation, 1)
    covariance = products - totals[0] * totals[1] / count
    return np.where(enough, np.clip(covariance / np.sqrt(spread), -1, 1), np.nan)
