"""Distances between points: Euclidean, cosine, or given."""

import dataclasses
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .activity import as_floating, in_range
from .estimator import refuse_traced
from .max_min_landmarks import farthest_first, landmarks_of_cloud, read_cloud

METRICS = ("euclidean", "cosine", "precomputed")


@dataclasses.dataclass(frozen=True)
class PointDistances:
    """Points whose distances are asked for one by one; all over `scale`.

    - `values`: `(point, dimension)`, of length 1 for cosines; or `(point, point)`, the distances,
      where these are given.
    - `metric`: one of `METRICS`.
    - `scale`: what distances are to be multiplied by.
    """

    values: np.ndarray
    metric: str
    scale: float

    def __len__(self) -> int:
        return len(self.values)

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Distances `(first, second)` of points by their indices."""
        if self.metric == "precomputed":
            return self.values[np.ix_(first, second)]
        if self.metric == "euclidean":
            return cdist(self.values[first], self.values[second])
        return cdist(self.values[first], self.values[second], "sqeuclidean") / 2

    def of_pairs(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Distances `(pair,)` of points by their indices."""
        if self.metric == "precomputed":
            return self.values[first, second]
        squared = np.sum((self.values[first] - self.values[second]) ** 2, axis=1)
        return np.sqrt(squared) if self.metric == "euclidean" else squared / 2

    def landmarks(self, n: int) -> tuple[np.ndarray, float]:
        """Indices of max-min landmarks, and their covering radius over `scale`."""
        if self.metric == "euclidean":
            return landmarks_of_cloud(self.values, n)
        everything = np.arange(len(self))
        # Without a mean, the first is the farthest from an arbitrary one.
        start = int(np.argmax(self.between(np.array([0]), everything)[0]))
        return farthest_first(lambda i: self.between(np.array([i]), everything)[0], start, n)

    def size(self, chosen: np.ndarray) -> float:
        """Root of the total variance of points, from distances of the chosen but for Euclidean."""
        if self.metric == "euclidean":
            return float(np.sqrt(np.mean(np.sum(self.values**2, axis=1)))) * self.scale
        distance = self.between(chosen, chosen)
        # Half the mean of squared distances is the variance, wherever there are coordinates.
        return float(np.sqrt(np.mean(distance[np.isfinite(distance)] ** 2) / 2)) * self.scale


def read_distances(points: Any, metric: str, what: str) -> PointDistances:
    """Check points `(point, dimension)`, or distances `(point, point)`, of two or more that differ.

    **Raises:** `ValueError` for another layout or metric, values that are not finite but for
    infinite distances, distances that are negative, not symmetric or not 0 of a point from itself,
    points of length 0 for cosines, fewer than two points, or points that are all equal.
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}; got {metric!r}.")
    if metric == "precomputed":
        read = _read_matrix(points, what)
    elif metric == "cosine":
        read = PointDistances(_unit_vectors(points, what), metric, 1.0)
    else:
        cloud, scale = read_cloud(points, what)
        read = PointDistances(cloud, metric, scale)
    if len(read) < 2:
        raise ValueError(f"at least two points are needed, got {len(read)}.")
    values = read.values if metric == "precomputed" else read.values - read.values[0]
    if not np.any(values):
        raise ValueError("all points are equal: there is no shape to look for.")
    if not np.any(values[np.isfinite(values)]):
        raise ValueError("no two points that differ are at a finite distance.")
    return read


def _unit_vectors(points: Any, what: str) -> np.ndarray:
    # Read for the checks only: cosines are of the points as they are, not about their mean.
    read_cloud(points, what)
    cloud = in_range(np.asarray(points, np.float64), np)[0]
    length = np.linalg.norm(cloud, axis=1, keepdims=True)
    if not length.all():
        at = int(np.argmin(length))
        raise ValueError(f"point {at} has length 0: it makes no angle with others.")
    return cloud / length


def _read_matrix(points: Any, what: str) -> PointDistances:
    refuse_traced(points, what)
    matrix = np.asarray(as_floating(points, "distances"), np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise ValueError(f"distances must be (point, point), got shape {matrix.shape}.")
    if np.isnan(matrix).any():
        at = tuple(int(i) for i in np.argwhere(np.isnan(matrix))[0])
        raise ValueError(f"distances are NaN, first at {at}. Use infinity for points far apart.")
    if (matrix < 0).any():
        raise ValueError(f"distances must not be negative, got {matrix.min()}.")
    if np.diagonal(matrix).any():
        raise ValueError("distances of points from themselves, on the diagonal, must be 0.")
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=0):
        raise ValueError("distances must be symmetric.")
    finite = np.isfinite(matrix)
    _, scale = in_range(np.where(finite, matrix, 0.0), np)
    return PointDistances(np.maximum(matrix, matrix.T) / scale, "precomputed", float(scale))
