"""Correlations of autocorrelograms with themselves, turned, over rings about their middle.

Turning an image is linear in it, and an autocorrelogram is the same seen from both sides. So half
of it is kept, three turns (30, 45 and 60 degrees) are sparse matrices made once for a size, and
turns by 90 degrees more are other orders of the same values.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.ndimage
import scipy.sparse

#: Turns that a grid score needs, in degrees.
ANGLES = (30, 45, 60, 90, 120, 135, 150)
#: Maps at a time: what is worked on stays within the cache of a processor.
_BLOCK = 32


class _Turns(NamedTuple):
    """Turns of half an autocorrelogram; see `_turns`."""

    matrices: dict[int, scipy.sparse.csr_array]
    quarter: np.ndarray
    radius: np.ndarray


def ring_correlations(
    correlograms: np.ndarray, *, r_in: float, r_out: np.ndarray
) -> dict[int, np.ndarray]:
    """Correlation of each ring of an autocorrelogram with the same ring, turned.

    With the mean m and variance v of the autocorrelogram s within a ring, and s turned by an angle
    t by cubic splines, it is mean((s - m) (t - m)) / (v + 1e-5): not quite Pearson's, since t is
    taken about the mean of s and over its variance.

    **Arguments:**

    - `correlograms`: `(cell, 2 n - 1, 2 n - 1)`, point-symmetric, finite.
    - `r_in`: radius up to which all rings leave out the middle, in bins.
    - `r_out`: `(ring,)`, radius up to which each ring goes, in bins; increasing.

    **Returns:** for each of the angles, in degrees, `(cell, ring)`; NaN for rings without bins.

    **Reference:** Banino et al. (2018), Nature 557, 429-433, whose code defined it so.
    """
    side = correlograms.shape[1]
    turns = _turns(side)
    # A ring is made up of the bins that the one before it has not.
    within = np.searchsorted(r_out, turns.radius, side="left")
    used = (turns.radius > r_in) & (within < len(r_out))
    rings = scipy.sparse.csr_array(
        (np.ones(used.sum()), (within[used], np.flatnonzero(used))),
        shape=(len(r_out), len(turns.radius)),
    )
    area = np.cumsum(rings.sum(axis=1))[:, None]
    found = {angle: np.empty((len(correlograms), len(r_out))) for angle in ANGLES}
    for start in range(0, len(correlograms), _BLOCK):
        block = slice(start, start + _BLOCK)
        for angle, values in _correlate(correlograms[block], turns, rings, area).items():
            found[angle][block] = values.T
    return found


def _correlate(
    correlograms: np.ndarray, turns: _Turns, rings: scipy.sparse.csr_array, area: np.ndarray
) -> dict[int, np.ndarray]:
    n_half = len(turns.radius)

    def half(images: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(images.reshape(len(images), -1)[:, :n_half].T)

    def means(values: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.cumsum(rings @ values, axis=0) / area

    s = half(correlograms)
    coefficients = correlograms
    for axis in (1, 2):
        coefficients = scipy.ndimage.spline_filter1d(coefficients, 3, axis=axis, mode="mirror")
    c = half(coefficients)
    mean = means(s)
    variance = means(s**2) - mean**2 + 1e-5
    # Turned by a right angle, either way, the two halves of a product change places: seen from the
    # turned one, the other is turned back.
    s_quarter = s[turns.quarter]
    found = {90: (means(s * s_quarter) - mean**2) / variance}
    for angle, matrix in turns.matrices.items():
        turned = matrix @ c
        about = mean * means(turned)
        found[angle] = (means(s * turned) - about) / variance
        found[angle + 90] = (means(s_quarter * turned) - about) / variance
    return found


@lru_cache(maxsize=4)
def _turns(side: int) -> _Turns:
    """Turns of half an autocorrelogram, of `side` bins a side, an odd number.

    - `matrices`: for 30, 45 and 60 degrees the turned image from spline coefficients, `(half,
      half)`: bins up to the middle one, by rows.
    - `quarter`: `(half,)`, the place of the bin that a right angle brings to each.
    - `radius`: `(half,)`, distance from the middle, in bins.
    """
    n_half = (side**2 + 1) // 2
    middle = side // 2
    row, column = np.divmod(np.arange(n_half), side)
    y, x = row - middle, column - middle

    def folded(places: np.ndarray) -> np.ndarray:
        return np.minimum(places, side**2 - 1 - places)

    matrices = {}
    for angle in (30, 45, 60):
        cosine, sine = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        from_row = cosine * y + sine * x + middle
        from_column = -sine * y + cosine * x + middle
        weights_y, rows = _spline_weights(from_row, side)
        weights_x, columns = _spline_weights(from_column, side)
        weights = weights_y[:, :, None] * weights_x[:, None, :]
        inside = np.ones(n_half, bool)
        for place in (from_row, from_column):
            # What comes from beyond the image is 0.
            inside &= (place >= 0) & (place <= side - 1)
        weights[~inside] = 0
        to = np.broadcast_to(np.arange(n_half)[:, None, None], weights.shape)
        places = folded(rows[:, :, None] * side + columns[:, None, :])
        matrix = scipy.sparse.csr_array(
            (weights.ravel(), (to.ravel(), places.ravel())), shape=(n_half, n_half)
        )
        matrix.sum_duplicates()
        matrices[angle] = matrix
    quarter = folded((middle + x) * side + middle - y)
    return _Turns(matrices, quarter, np.hypot(x, y))


def _spline_weights(places: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the four coefficients about each place, and theirs, mirrored at the ends."""
    first = np.floor(places).astype(int)
    t = (places - first)[:, None]
    weights = np.concatenate(
        [
            (1 - t) ** 3 / 6,
            2 / 3 - t**2 * (2 - t) / 2,
            2 / 3 - (1 - t) ** 2 * (1 + t) / 2,
            t**3 / 6,
        ],
        axis=1,
    )
    near = np.abs(first[:, None] + np.arange(-1, 3))
    near = np.where(near > side - 1, 2 * (side - 1) - near, near)
    return weights, np.clip(near, 0, side - 1)
