"""What persistent homology of a cloud will take, before it is begun."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .point_distances import PointDistances, read_distances

# Measured with ripser 0.6 on tori, spheres, circles and Gaussian clouds of 150 to 800 points, and
# on circles of up to 2,000; by dimension. Voids took 80 to 150 bytes a triangle.
_BYTES_PER_TRIANGLE = (0.0, 2.0, 100.0)
_BYTES_PER_EDGE = (100.0, 800.0, 0.0)
_SECONDS_PER_TRIANGLE = (0.0, 1e-7, 1.2e-6)
# The matrix of distances, and copies of it that are made on the way.
_BYTES_PER_PAIR = 50.0
_MOST_COUNTED = 2000
_SAMPLED_TRIPLES = 200_000


class RipsCost(NamedTuple):
    """What a run will take; see `rips_cost`."""

    n_edges: float
    n_triangles: float
    memory: float
    seconds: float


def rips_cost(
    points: Any,
    *,
    max_dim: int | np.integer = 2,
    threshold: str | float | int | None = "enclosing",
    metric: str = "euclidean",
) -> RipsCost:
    """What the persistent homology of points will take, all of them: time and memory.

    Both grow with the number of triangles of points that are all within the threshold of each
    other, of which there are up to n^3 / 6; the cost of loops with that of edges too.

    **Arguments:** those of `rips_persistence`.

    **Returns:** `RipsCost`:

    - `n_edges`, `n_triangles`: counted up to 2,000 points; estimated from random ones for more.
    - `memory`: in GB, for voids within a factor of two; loops of a cloud without any need less.
    - `seconds`: of one core, roughly.

    **Raises:** `ValueError` as `rips_persistence`; `TypeError` under `jit`, `grad` or `vmap`.
    """
    distances = read_distances(points, metric, "rips_cost")
    dimension = read_max_dim(max_dim)
    return cost_of_points(distances, np.arange(len(distances)), dimension, threshold)


def read_max_dim(max_dim: Any) -> int:
    dimension = whole_number(max_dim, "max_dim", least=0)
    if dimension > 2:
        raise ValueError(f"max_dim must be 0, 1 (loops) or 2 (voids), got {dimension}.")
    return dimension


def read_threshold(threshold: Any, distances: PointDistances, chosen: np.ndarray) -> float:
    """The largest distance at which points are joined, over the scale of the distances.

    From all distances up to 2,000 points; a bound on the enclosing radius for more.
    """
    if threshold is None:
        return np.inf
    if isinstance(threshold, str):
        if threshold != "enclosing":
            raise ValueError(f"threshold must be 'enclosing', a number or None, got {threshold!r}.")
        if len(chosen) <= _MOST_COUNTED:
            return float(distances.between(chosen, chosen).max(axis=1).min())
        some = chosen[:: len(chosen) // 50]
        return float(distances.between(some, chosen).max(axis=1).min())
    if np.ndim(threshold) != 0 or not float(threshold) > 0:
        raise ValueError(f"threshold must be positive, got {threshold!r}.")
    return float(threshold) / distances.scale


def cost_of_points(
    distances: PointDistances, chosen: np.ndarray, max_dim: int, threshold: Any
) -> RipsCost:
    """The cost for the chosen points, by index."""
    most = read_threshold(threshold, distances, chosen)
    n = len(chosen)
    if n <= _MOST_COUNTED:
        distance = distances.between(chosen, chosen)
        joined = ((distance <= most) & np.isfinite(distance)).astype(np.float32)
        np.fill_diagonal(joined, 0)
        edges = float(joined.sum(dtype=np.float64)) / 2
        triangles = float(np.sum((joined @ joined) * joined, dtype=np.float64)) / 6
    else:
        triples = chosen[np.random.default_rng(0).integers(n, size=(3, _SAMPLED_TRIPLES))]
        sides = np.stack([distances.of_pairs(triples[i], triples[i - 1]) for i in range(3)])
        within = np.isfinite(sides) & (sides <= most)
        edges = float(within.mean()) * n**2 / 2
        triangles = float(within.all(axis=0).mean()) * n**3 / 6
    memory = (
        _BYTES_PER_TRIANGLE[max_dim] * triangles
        + _BYTES_PER_EDGE[max_dim] * edges
        + _BYTES_PER_PAIR * n**2
    )
    seconds = _SECONDS_PER_TRIANGLE[max_dim] * triangles + 1e-7 * n**2
    return RipsCost(edges, triangles, memory / 1e9, seconds)
