"""Activity as a cloud of few dimensions, with the noise averaged out."""

from typing import Any

import numpy as np
from scipy.spatial import KDTree

from ..kernels import whole_number
from .activity import ActivityLike, read_activity
from .estimator import refuse_traced
from .max_min_landmarks import read_cloud
from .pca import principal_axes


def manifold_cloud(
    X: ActivityLike,
    *,
    n_components: int | np.integer | None = 6,
    n_neighbours: int | np.integer = 15,
    z_score: bool = False,
) -> np.ndarray:
    """Activity on its leading principal components, each point replaced by the mean of its nearest.

    What persistent homology is to be run on. Six components hold all the variance of an ideal
    module of hexagonal grid cells. Without the mean over neighbours noise fills the middle of
    tori, and max-min landmarks are outliers.

    **Arguments:**

    - `X`: `(sample, unit)`, `(trials, time, unit)` or a list of `(time, unit)`. Maps `(cell, x, y)`
      go in as `maps.reshape(len(maps), -1).T`.
    - `n_components`: number of principal components; `None` to leave the units as they are.
    - `n_neighbours`: number of nearest points, the point itself among them, whose mean replaces
      it; 1 to leave points where they are.
    - `z_score`: whether each unit is first divided by its standard deviation. For recordings, where
      units differ in rate.

    **Returns:** `(sample, component)`, NumPy float64.

    **Raises:** `ValueError` for a bad layout, values that are not finite, more components than
    units or samples, more neighbours than samples, activity that does not vary, or with `z_score`
    a unit that does not. `TypeError` under `jit`, `grad` or `vmap`.
    """
    samples = read_samples(X, "manifold_cloud")
    if z_score:
        samples = standardise(samples)
    if n_components is not None:
        axes = principal_axes(samples, n_components=whole_number(n_components, "n_components"))
        samples = (samples - axes.mean) @ np.asarray(axes.components).T
    return nearest_neighbour_mean(samples, n_neighbours=n_neighbours)


def nearest_neighbour_mean(points: Any, *, n_neighbours: int | np.integer = 15) -> np.ndarray:
    """Each point replaced by the mean of its nearest points, itself among them.

    **Arguments:**

    - `points`: `(point, dimension)`.
    - `n_neighbours`: of how many points the mean is; 1 leaves them where they are.

    **Returns:** the shape of `points`, NumPy float64.

    **Raises:** `ValueError` for another layout, values that are not finite, or a number of
    neighbours that is not between 1 and the number of points. `TypeError` under `jit`, `grad` or
    `vmap`.
    """
    read_cloud(points, "nearest_neighbour_mean")
    cloud = np.asarray(points, np.float64)
    k = whole_number(n_neighbours, "n_neighbours", least=1)
    if k > len(cloud):
        raise ValueError(f"n_neighbours is {k}, but there are {len(cloud)} points.")
    if k == 1:
        return cloud.copy()
    _, nearest = KDTree(cloud).query(cloud, k=k)
    mean = np.zeros_like(cloud)
    for column in np.asarray(nearest).T:
        mean += cloud[column]
    return mean / k


def read_samples(X: Any, what: str) -> np.ndarray:
    """Samples `(sample, unit)` in NumPy float64, that vary."""
    refuse_traced(X, what)
    activity = read_activity(X, axis_name="unit")
    if len(activity.samples) < 2:
        raise ValueError("X holds one sample: a manifold needs more.")
    if not activity.varies:
        raise ValueError("X does not vary: every unit is constant, so there is no manifold.")
    return np.asarray(activity.samples, np.float64)


def standardise(samples: np.ndarray) -> np.ndarray:
    """Samples about the mean of each unit, over its standard deviation; `ValueError` for none."""
    constant = np.flatnonzero((samples == samples[0]).all(axis=0))
    if len(constant):
        raise ValueError(
            f"unit {int(constant[0])} is constant ({len(constant)} in all): it has no z-score. "
            "Leave such units out."
        )
    return (samples - samples.mean(axis=0)) / samples.std(axis=0)
