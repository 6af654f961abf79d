"""Peaks of correlograms, to a fraction of a bin."""

import numpy as np
import scipy.ndimage


def local_maxima(correlograms: np.ndarray, *, above: float) -> np.ndarray:
    """Which shifts are at least as large as their eight neighbours and larger than `above`.

    The outermost shifts are none, nor are neighbours of NaN: there is no telling.

    **Returns:** the shape of `correlograms`, `(cell, rows, columns)`.
    """
    size = (1, 3, 3)
    known = np.isfinite(correlograms)
    filled = np.where(known, correlograms, np.inf)
    highest = scipy.ndimage.maximum_filter(filled, size, mode="constant", cval=np.inf)
    return known & (filled == highest) & (filled > above)


def refined_peaks(correlograms: np.ndarray, cells: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Where the paraboloid through a peak and its eight neighbours, by least squares, is highest.

    **Arguments:**

    - `correlograms`: `(cell, rows, columns)`.
    - `cells`: `(peak,)`, the cell of each peak.
    - `places`: `(peak, 2)`, row and column, none at the edge.

    **Returns:** `(peak, 2)`, within half a bin of `places` along each axis; `places` themselves
    where the paraboloid has no top, or none so near.
    """
    steps = np.arange(-1, 2)
    y, x = (steps[v] for v in np.divmod(np.arange(9), 3))
    around = correlograms[cells[:, None], places[:, :1] + y, places[:, 1:] + x]
    slope = np.stack([around @ y, around @ x], axis=1) / 6
    curve_yy, curve_xx = (around @ (3 * v**2 - 2) / 3 for v in (y, x))
    curve_yx = around @ (y * x) / 4
    determinant = curve_yy * curve_xx - curve_yx**2
    top = (determinant > 0) & (curve_yy < 0)
    safe = np.where(top, determinant, 1)
    step = np.stack(
        [
            (curve_yx * slope[:, 1] - curve_xx * slope[:, 0]) / safe,
            (curve_yx * slope[:, 0] - curve_yy * slope[:, 1]) / safe,
        ],
        axis=1,
    )
    near = top & (np.abs(step) <= 1).all(axis=1)
    return places + np.where(near[:, None], step, 0)
