"""Neighbourhoods as fuzzy sets: a distance, and points that cover a cloud evenly."""

from typing import Any

import numpy as np
from scipy import sparse

from ..kernels import whole_number
from .point_distances import PointDistances, read_distances

# Rows of distances held at once.
_BLOCK = 512


def fuzzy_distance(
    points: Any, *, n_neighbours: int | np.integer = 800, metric: str = "cosine"
) -> np.ndarray:
    """Minus the logarithm of how much two points are neighbours; infinite where neither is.

    Point j belongs to the neighbourhood of i by P_ij = exp(-d_ij / sigma_i), if it is one of its
    nearest, where sigma_i is such that memberships sum to log2(n_neighbours). Either way counts:
    the distance is -log(P + P' - P P').

    ```python
    few = points[density_downsample(points)]
    rips_persistence(fuzzy_distance(few), metric="precomputed", max_dim=1, coefficient=47)
    ```

    **Arguments:**

    - `points`: `(point, dimension)`, for instance `manifold_cloud(X, n_neighbours=1)`.
    - `n_neighbours`: how many nearest points a neighbourhood has, the point itself among them.
    - `metric`: of d; `"cosine"`, `"euclidean"` or `"precomputed"`.

    **Returns:** `(point, point)`, NumPy float64: symmetric, 0 on the diagonal.

    **Raises:** `ValueError` as `rips_persistence` for the points, or for fewer than three
    neighbours or more than there are points. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Gardner et al. (2022), Toroidal topology of population activity in grid cells,
    Nature 602, 123-128; McInnes, Healy & Melville (2018), UMAP, arXiv:1802.03426.
    """
    shared = _memberships(read_distances(points, metric, "fuzzy_distance"), n_neighbours).toarray()
    with np.errstate(divide="ignore"):
        distance = -np.log(shared)
    np.fill_diagonal(distance, 0.0)
    return np.maximum(distance, 0.0)


def density_downsample(
    points: Any,
    *,
    n_points: int | np.integer = 1200,
    n_neighbours: int | np.integer = 1000,
    omega: float | int = 1.0,
    metric: str = "cosine",
) -> np.ndarray:
    """Points from the densest parts of a cloud, apart from each other.

    Each point has the sum of its memberships in neighbourhoods (see `fuzzy_distance`). The one with
    the most is taken, and what it shares with each other taken off theirs; and so on.

    **Arguments:**

    - `points`, `n_neighbours`, `metric`: see `fuzzy_distance`.
    - `n_points`: how many to take.
    - `omega`: how much of what is shared is taken off.

    **Returns:** `(n_points,)`, which points, in order of choice.

    **Raises:** `ValueError` as `fuzzy_distance`, for a number of points that is not between 1 and
    what there are, or an omega that is negative.

    **Reference:** Gardner et al. (2022), Nature 602, 123-128.
    """
    distances = read_distances(points, metric, "density_downsample")
    wanted = whole_number(n_points, "n_points", least=1)
    if wanted > len(distances):
        raise ValueError(f"n_points is {wanted}, but there are {len(distances)} points.")
    if not 0 <= float(omega) < np.inf:
        raise ValueError(f"omega must be finite and not negative, got {omega!r}.")
    shared = _memberships(distances, n_neighbours)
    strength = np.asarray(shared.sum(axis=1)).ravel()
    chosen = np.empty(wanted, int)
    for i in range(wanted):
        chosen[i] = int(np.argmax(strength))
        row = slice(*shared.indptr[chosen[i] : chosen[i] + 2])
        strength[shared.indices[row]] -= float(omega) * shared.data[row]
        strength[chosen[i]] = -np.inf
    return chosen


def _memberships(distances: PointDistances, n_neighbours: Any) -> Any:
    """How much each two points are neighbours, sparse `(point, point)`, symmetric."""
    n, k = len(distances), whole_number(n_neighbours, "n_neighbours", least=3)
    if k > n:
        raise ValueError(f"n_neighbours is {k}, but there are {n} points.")
    columns, values = np.empty((n, k - 1), int), np.empty((n, k - 1))
    everything = np.arange(n)
    for start in range(0, n, _BLOCK):
        rows = everything[start : start + _BLOCK]
        distance = distances.between(rows, everything)
        distance[np.arange(len(rows)), rows] = np.inf
        nearest = np.argpartition(distance, k - 2, axis=1)[:, : k - 1]
        columns[rows] = nearest
        values[rows] = np.take_along_axis(distance, nearest, axis=1)
    strength = np.exp(-values / _sigma(values, np.log2(k))[:, None])
    rows = np.repeat(everything, k - 1)
    one = sparse.csr_matrix((strength.ravel(), (rows, columns.ravel())), shape=(n, n))
    both = (one + one.T - one.multiply(one.T)).tocsr()
    both.eliminate_zeros()
    return both


def _sigma(distance: np.ndarray, total: float) -> np.ndarray:
    """For each row the sigma at which exp(-distance / sigma) sums to `total`, by bisection."""
    farthest = np.where(np.isfinite(distance), distance, 0.0).max(axis=1)
    low, high = np.full(len(distance), -700.0), np.full(len(distance), 700.0)
    unit = np.where(farthest > 0, farthest, 1.0)
    scaled = distance / unit[:, None]
    for _ in range(64):
        middle = (low + high) / 2
        over = np.exp(-scaled / np.exp(middle)[:, None]).sum(axis=1) > total
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return unit * np.exp((low + high) / 2)
