"""Field centres near walls: mean distances between contexts, and the best bias."""

from typing import Any

import numpy as np

from .known_arrays import read_known


def mean_distance_surface(rates: Any) -> np.ndarray:
    """Mean squared distance per cell of independent contexts, for each pair of positions.

        E delta^2(x, y) / N = Var f(x) + Var f(y) + (E f(x) - E f(y))^2

    over cells, which are alike. Its minimum is where contexts are confused: at the walls where
    centres are uniform, in the middle where too many are near walls.

    **Arguments:**

    - `rates`: `(..., position, cell)`, those of many cells, of one or several maps.

    **Returns:** `(position, position)`, in Hz^2.

    **Raises:** `ValueError` for another shape, fewer than two cells, or rates that are not finite.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Fig. 5.
    """
    (f,) = read_known("mean_distance_surface", rates=rates)
    if f.ndim < 2:
        raise ValueError(f"rates must be (..., position, cell), got shape {f.shape}.")
    f = np.moveaxis(f, -2, 0).reshape(f.shape[-2], -1)
    if f.shape[1] < 2 or not len(f):
        raise ValueError(f"rates need two cells or more, got {f.shape[1]}.")
    mean, variance = f.mean(axis=1), f.var(axis=1, ddof=1)
    return variance[:, None] + variance + (mean[:, None] - mean) ** 2


def optimal_boundary_bias(width: float | int, length: float | int) -> float:
    """The a of Beta(a, a) at which a field's mean square is the same at a wall and in the middle.

    Centres over the length are drawn from Beta(a, a). With larger a confusions are at the walls,
    with smaller a in the middle. Wider fields want a smaller a. The condition is an approximation
    of the best a: a single field and only its second moment.

    **Arguments:**

    - `width`: of a field, twice its standard deviation, in m. `length`: of the track, in m.

    **Returns:** a root between 0.05 and 1; NaN where there is none, for fields wider than the
    track by a fifth or so.

    **Raises:** `ValueError` for a width or length that is not positive.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 110-113.
    """
    from scipy.integrate import quad
    from scipy.optimize import brentq

    for name, value in (("width", width), ("length", length)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}.")
    k = 4 * (float(length) / float(width)) ** 2

    def excess(a: float) -> float:
        # x = sin^2(angle) spreads the density out where it diverges; by symmetry over one half,
        # where a further substitution angle = v^(1 / 2a) leaves nothing singular.
        def integrand(v: float) -> float:
            angle = v ** (1 / (2 * a))
            s, c = np.sin(angle), np.cos(angle)
            sinc = s / angle if angle > 0 else 1.0
            x = s * s
            wall = (np.exp(-k * x**2) + np.exp(-k * (1 - x) ** 2)) / 2
            return (sinc * c) ** (2 * a - 1) * (wall - np.exp(-k * (x - 0.5) ** 2))

        end = (np.pi / 4) ** (2 * a)
        # Where the narrow fields of the walls end, and that of the middle begins.
        marks = [np.arcsin(min(k**-0.5 * m, 0.5) ** 0.5) ** (2 * a) for m in (0.5, 1, 2)]
        return quad(integrand, 0, end, points=marks, limit=200, epsabs=1e-12, epsrel=1e-10)[0]

    if excess(0.05) * excess(1.0) > 0:
        return np.nan
    root: Any = brentq(excess, 0.05, 1.0, xtol=1e-10)
    return float(root)
