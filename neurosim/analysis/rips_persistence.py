"""Loops and voids in a cloud of points, over all scales."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .point_distances import read_distances
from .rips_cost import cost_of_points, read_max_dim, read_threshold
from .ripser_backend import import_ripser, rips_bars

# Runs expected to take longer are announced.
_LONG_SECONDS = 120


class RipsPersistence(NamedTuple):
    """Bars of a cloud of points; see `rips_persistence`."""

    diagrams: list[np.ndarray]
    landmarks: np.ndarray
    covering_radius: float
    threshold: float
    size: float
    coefficient: int
    distances: np.ndarray
    cocycles: list[list[np.ndarray]] | None


def rips_persistence(
    points: Any,
    *,
    max_dim: int | np.integer = 2,
    n_landmarks: int | np.integer | None = 200,
    threshold: str | float | int | None = "enclosing",
    metric: str = "euclidean",
    coefficient: int | np.integer = 2,
    cocycles: bool = False,
    max_memory: float | int = 4.0,
) -> RipsPersistence:
    """Components, loops and voids of a cloud, and the scales from which to which they last.

    Points nearer to each other than a scale are joined, and triples and fours of joined points
    filled in (the Vietoris-Rips complex). A torus has one component, two loops and a void that last
    over a wide range of scales, a sphere a void and no loop, a ring one loop; every cloud has many
    short ones. See `manifold_cloud` for what to do before, and `betti_numbers` after.

    ```python
    cloud = manifold_cloud(X)
    betti_numbers(rips_persistence(cloud))  # (1, 2, 1) for a module of grid cells
    ```

    Many points are represented by landmarks (`max_min_landmarks`). The cost is estimated before:
    it grows with the third power of the number of points. 200 points take seconds, 800 a minute
    and a GB.

    **Arguments:**

    - `points`: `(point, dimension)`; or `(point, point)` distances with `metric="precomputed"`,
      where infinite ones keep points apart.
    - `max_dim`: the highest dimension: 0 for components, 1 for loops, 2 for voids.
    - `n_landmarks`: number of points that represent a greater number; `None` to take all.
    - `threshold`: the largest distance at which points are joined. `"enclosing"` is the least
      distance within which a point has all others: no loop or void lives beyond it. `None` is no
      threshold; it costs more and changes nothing.
    - `metric`: `"euclidean"`, `"cosine"` (1 - cosine) or `"precomputed"`.
    - `coefficient`: a prime p; homology is over the integers modulo p.
    - `cocycles`: whether cocycles are kept, for `circular_classes`, with p of 23 or more.
    - `max_memory`: in GB; what is estimated to need more is refused.

    **Returns:** `RipsPersistence`, NumPy float64; lengths in the unit of `points`:

    - `diagrams`: for each dimension `(bar, 2)`, births and deaths, the longest first; infinite
      deaths of what is there at the threshold still.
    - `landmarks`: `(landmark,)`, which points were taken. Points that equal one before are not.
    - `covering_radius`: largest distance of a point from its nearest landmark: with a Euclidean
      metric no birth or death is off by more than twice that. 0 for all points.
    - `threshold`: the distance it came to, no more than the largest finite one.
    - `size`: root of the total variance of all points (of landmarks, but for Euclidean distances),
      by which lengths of bars are judged.
    - `coefficient`: the prime. `distances`: `(landmark, landmark)`.
    - `cocycles`: for each dimension and bar, rows of vertices and the value on them; or `None`.

    **Raises:** `ValueError` for another layout, values that are not finite, distances that are
    negative or not symmetric, fewer than two points or landmarks, points that are all equal, a
    dimension beyond 2, a threshold that is not positive, a coefficient that is no prime, a need for
    more memory than `max_memory`, or if ripser is not installed. `TypeError` under `jit`, `grad` or
    `vmap`.

    **Reference:** Bauer (2021), Ripser, Journal of Applied and Computational Topology 5, 391-423;
    Tralie, Saul & Bar-On (2018), Ripser.py, JOSS 3(29), 925.
    """
    distances = read_distances(points, metric, "rips_persistence")
    dimension = read_max_dim(max_dim)
    prime = _prime(coefficient)
    n = len(distances)
    taken = n if n_landmarks is None else min(n, whole_number(n_landmarks, "n_landmarks", least=2))
    if taken < n:
        chosen, radius = distances.landmarks(taken)
    else:
        chosen, radius = np.arange(n), 0.0
    _check_cost(distances, chosen, dimension, threshold, max_memory)
    ripser = import_ripser("rips_persistence")
    most = read_threshold(threshold, distances, chosen)
    among = distances.between(chosen, chosen)
    np.fill_diagonal(among, 0.0)
    most = min(most, float(among[np.isfinite(among)].max()))
    diagrams, forms = rips_bars(
        ripser, among, max_dim=dimension, threshold=most, coefficient=prime, cocycles=cocycles
    )
    return RipsPersistence(
        diagrams=[bars * distances.scale for bars in diagrams],
        landmarks=chosen,
        covering_radius=radius * distances.scale,
        threshold=most * distances.scale,
        size=distances.size(chosen),
        coefficient=prime,
        distances=among * distances.scale,
        cocycles=forms if cocycles else None,
    )


def _prime(coefficient: Any) -> int:
    p = whole_number(coefficient, "coefficient", least=2)
    if any(p % q == 0 for q in range(2, int(p**0.5) + 1)) or p > 32749:
        raise ValueError(f"coefficient must be a prime below 2^15, got {p}.")
    return p


def _check_cost(distances: Any, chosen: Any, max_dim: int, threshold: Any, most: Any) -> None:
    if not float(most) > 0:
        raise ValueError(f"max_memory must be positive, got {most!r}.")
    cost = cost_of_points(distances, chosen, max_dim, threshold)
    what = f"homology to dimension {max_dim} of {len(chosen):,} points"
    if cost.memory > most:
        raise ValueError(
            f"{what} may need {cost.memory:,.2g} GB of memory and {cost.seconds:,.0f} s "
            f"({cost.n_triangles:.1e} triangles), more than max_memory={most} GB. Set n_landmarks "
            "to a few hundred, a lower threshold, or max_dim=1."
        )
    if cost.seconds > _LONG_SECONDS:
        warnings.warn(f"{what} may take {cost.seconds:,.0f} s.", stacklevel=3)
