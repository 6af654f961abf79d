"""How far noisy responses of two contexts are apart, for each pair of positions."""

from typing import Any, Literal

import numpy as np

from .contact import contact_function

#: Numbers held at once, where the distance needs pairs by cells: what fits a cache.
_BLOCK = 2**14


def distance_surface(
    FA: Any, FB: Any, noise: Literal["constant", "poisson"] = "constant"
) -> np.ndarray:
    """Distances of the responses at each position of one context from those at each of another.

    The minimum alone is found faster by `min_distance`.

    With constant noise one product of matrices, m n N, and memory m n. With Poisson-like noise the
    contact function of every pair, by blocks: about 0.4 us for each pair and cell.

    **Arguments:**

    - `FA`: `(position, cell)` rates, none negative. `FB`: likewise, of any number of positions.
    - `noise`: `"constant"` for |f_A - f_B|, `"poisson"` for the contact function at its maximum.

    **Returns:** `(position, position)`, in Hz, NumPy float64.

    **Raises:** `ValueError` for another noise, other shapes, or rates that are negative or not
    finite.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 2 and 5-7.
    """
    if noise not in ("constant", "poisson"):
        raise ValueError(f"noise must be 'constant' or 'poisson', got {noise!r}.")
    a, b = (np.asarray(rates, np.float64) for rates in (FA, FB))
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or 0 in (*a.shape, *b.shape):
        raise ValueError(
            f"FA and FB must be (position, cell) of the same cells, got {a.shape} and {b.shape}."
        )
    for name, rates in (("FA", a), ("FB", b)):
        if not (np.isfinite(rates) & (rates >= 0)).all():
            raise ValueError(f"{name} must hold rates that are finite and not negative.")
    if noise == "constant":
        return np.sqrt(squared_distances(a, b))
    surface = np.empty((len(a), len(b)))
    rows = max(_BLOCK // a.shape[1], 1)
    for i, row in enumerate(a):
        for start in range(0, len(b), rows):
            block = slice(start, start + rows)
            surface[i, block] = contact_function(row, b[block])[0]
    return surface


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances of rows, `(row of a, row of b)`, never negative by rounding.

    Where they are much smaller than the rows, which differ little then, they keep as many digits as
    the sum of squares leaves: 1e-16 of that.
    """
    # About a common point, which shortens the rows and so the rounding.
    centre = a.mean(axis=0)
    a, b = a - centre, b - centre
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)
    return np.maximum(squares - 2 * a @ b.T, 0)
