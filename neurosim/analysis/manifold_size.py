"""How large the manifold is that a population runs through."""

from typing import Any, NamedTuple

import numpy as np

from .map_pairs import MapPair, read_map_pair


class ManifoldSize(NamedTuple):
    """Size of the set of population vectors of all positions; see `manifold_size`.

    - `radius`: R, root mean square distance from the mean: the square root of the total variance.
    - `diameter`: largest distance of two positions.
    - `largest_norm`: of a population vector, max over positions of |r|.
    - `largest_rate`: of a cell, max over positions and cells of |r|.
    - `component_sizes`: `(component,)`, standard deviations along principal components, decreasing.
    - `participation_ratio`: of their variances; NaN where nothing varies.
    """

    radius: float
    diameter: float
    largest_norm: float
    largest_rate: float
    component_sizes: np.ndarray
    participation_ratio: float


def manifold_size(maps: Any) -> ManifoldSize:
    """Size of a population's manifold, from maps of its cells.

    N evenly spread ideal grid cells of one module have R = sqrt(2 N / 27), a diameter of sqrt(3) R,
    and six components of R / sqrt(6) each. Smoothing of fields shrinks all of these by one factor,
    and the largest norm and rate by less, since the mean rates stay. Noise of maps adds to all, to
    the variance as much as it has itself: see `repeated_radius`.

    **Arguments:**

    - `maps`: `RateMaps` or `(cell, *bins)`, one or two axes of bins; bins that are NaN for any cell
        are left out. Each bin counts alike, however long it was visited.

    **Returns:** `ManifoldSize`, in the unit of rates.

    **Raises:** `ValueError` for another shape, infinite values, or no bin that is known for all
    cells.

    **Reference:** Acosta, Dinc, Redman, Madhav, Klindt & Miolane (2024), Global distortions from
    local rewards, NeurIPS 37, Conjecture 1 and Appendix S2.1.
    """
    X = _known(read_map_pair(maps, maps, names=("maps", "maps"))).a
    centred = X - X.mean(axis=1, keepdims=True)
    sizes = np.linalg.svd(centred, compute_uv=False) / np.sqrt(X.shape[1])
    variances = sizes**2
    total = variances.sum()
    return ManifoldSize(
        radius=float(np.sqrt(total)),
        diameter=_diameter(centred.T),
        largest_norm=float(np.linalg.norm(X, axis=0).max()),
        largest_rate=float(np.abs(X).max()),
        component_sizes=sizes,
        participation_ratio=float(total**2 / np.sum(variances**2)) if total > 0 else float("nan"),
    )


def repeated_radius(maps: Any, repeat: Any) -> float:
    """Radius R of a manifold without what the noise of maps adds to it.

    The square root of the covariance, summed over cells, of two maps of each from separate data,
    odd and even minutes for instance: noise that is independent adds nothing on average.

    **Arguments:**

    - `maps`, `repeat`: `RateMaps` or `(cell, *bins)`, of the same cells and bins.

    **Returns:** a float; 0 where the covariance is negative, as it may be by chance where little is
    there.

    **Raises:** `ValueError` as `manifold_size`, or for shapes that differ.
    """
    pair = _known(read_map_pair(maps, repeat, names=("maps", "repeat")))
    a, b = (X - X.mean(axis=1, keepdims=True) for X in (pair.a, pair.b))
    return float(np.sqrt(max(np.sum(a * b) / a.shape[1], 0.0)))


def _known(pair: MapPair) -> MapPair:
    known = pair.known
    return MapPair(pair.a[:, known], pair.b[:, known], pair.bins)


def _diameter(points: np.ndarray) -> float:
    """Largest distance of two points, without the matrix of all."""
    squares = np.sum(points**2, axis=1)
    largest = 0.0
    for start in range(0, len(points), 1000):
        block = points[start : start + 1000]
        squared = squares[start : start + 1000, None] + squares - 2 * block @ points.T
        largest = max(largest, float(squared.max()))
    return float(np.sqrt(max(largest, 0.0)))
