"""Points of a cloud that represent the others: each the farthest from those before it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import as_floating, read_activity
from .estimator import refuse_traced


class MaxMinLandmarks(NamedTuple):
    """Points that represent a cloud; see `max_min_landmarks`."""

    indices: np.ndarray
    covering_radius: float


def max_min_landmarks(points: Any, n_landmarks: int | np.integer) -> MaxMinLandmarks:
    """Landmarks of a cloud: each is the point farthest from those chosen before.

    The first is the one farthest from the mean. Points that lie far out are always among them:
    leave outliers out first, or replace points by means over neighbours.

    **Arguments:**

    - `points`: `(point, dimension)`.
    - `n_landmarks`: how many.

    **Returns:** `MaxMinLandmarks`, NumPy:

    - `indices`: `(landmark,)`, which points, in order of choice. No point is taken that equals
      one before, so there are no more than points that differ.
    - `covering_radius`: largest distance of a point from its nearest landmark. Births and deaths
      of persistent homology move by at most twice this.

    **Raises:** `ValueError` for another layout, values that are not finite, fewer than one
    landmark, or more than there are points; `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** de Silva & Carlsson (2004), Topological estimation using witness complexes.
    """
    cloud, scale = read_cloud(points, "max_min_landmarks")
    n = whole_number(n_landmarks, "n_landmarks", least=1)
    if n > len(cloud):
        raise ValueError(f"n_landmarks is {n}, but there are {len(cloud)} points.")
    indices, radius = landmarks_of_cloud(cloud, n)
    return MaxMinLandmarks(indices, radius * scale)


def read_cloud(points: Any, what: str) -> tuple[np.ndarray, float]:
    """Points `(point, dimension)` about their mean, over their scale; and the scale."""
    refuse_traced(points, what)
    array = as_floating(points, "points")
    if array.ndim != 2:
        raise ValueError(f"points must be (point, dimension), got shape {array.shape}.")
    array = np.asarray(array, np.float64)
    cloud, scale, _ = read_activity(array, name="points", axis_name="coordinate").centred()
    return np.asarray(cloud), float(scale)


def landmarks_of_cloud(cloud: np.ndarray, n: int) -> tuple[np.ndarray, float]:
    """Indices of landmarks, and the largest distance of a point from the nearest."""
    first = int(np.argmax(np.linalg.norm(cloud - cloud.mean(axis=0), axis=1)))
    return farthest_first(lambda i: np.linalg.norm(cloud - cloud[i], axis=1), first, n)


def farthest_first(
    distances_from: Callable[[int], np.ndarray], first: int, n: int
) -> tuple[np.ndarray, float]:
    """As `landmarks_of_cloud`, from a function of a point to its distances from all."""
    landmarks = [first]
    nearest = distances_from(first)
    for _ in range(1, n):
        farthest = int(np.argmax(nearest))
        if nearest[farthest] == 0:
            break
        landmarks.append(farthest)
        nearest = np.minimum(nearest, distances_from(farthest))
    return np.asarray(landmarks), float(nearest.max())
