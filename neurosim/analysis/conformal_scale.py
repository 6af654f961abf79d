"""By how much the population moves for each unit of length."""

from typing import Any, NamedTuple

import numpy as np

from .planar_maps import read_bin_sizes, read_planar_maps


class ConformalScale(NamedTuple):
    """Change of the population against displacement; see `conformal_scale_fit`.

    - `scale`: s, rate per length.
    - `residual`: root mean square of what s |d| leaves of the changes.
    - `relative_residual`: that over the root mean square of the changes.
    - `displacements`: `(lag, 2)`, in the unit of `bin_size`; one of each pair of opposite ones.
    - `changes`: `(lag,)`, mean change of the population for each.
    - `n_pairs`: `(lag,)`, pairs of bins.
    """

    scale: float
    residual: float
    relative_residual: float
    displacements: np.ndarray
    changes: np.ndarray
    n_pairs: np.ndarray


def conformal_scale_fit(maps: Any, *, bin_size: Any, max_distance: Any) -> ConformalScale:
    """Least squares of |r(x + d) - r(x)| by s |d|, over all pairs of bins at small distances.

    The slope is the conformal factor where the code is conformally isometric, and the residual
    tells how far it is from that, or the distances from small: a fit up to 0.15 of a grid's spacing
    finds 2 % less than the factor at 0. Hexagonal grid cells whose population vector has length 1
    everywhere have a spacing of 4 pi / (sqrt(15) s) = 3.2446 / s. Noise of maps adds to all
    changes, and most to the smallest.

    **Arguments:**

    - `maps`: `RateMaps` over a plane or `(cell, bins, bins)`; NaN where unvisited.
    - `bin_size`: width of bins, or one for each axis.
    - `max_distance`: in the unit of `bin_size`, at least one bin.

    **Returns:** `ConformalScale`.

    **Raises:** `ValueError` for another shape, infinite values, a largest distance below one bin,
    or no pair of bins at such a distance that are both known for all cells.

    **Reference:** Xu, Gao, Zhang, Wei & Wu (2022), Conformal isometry of Lie group representation
    in recurrent network of grid cells, NeurReps.
    """
    stack = read_planar_maps(maps)
    if stack.single:
        raise ValueError(f"maps must be (cell, bins, bins), got {stack.values.shape[1:]}.")
    sizes = read_bin_sizes(bin_size)
    if not sizes.min() <= max_distance < np.inf:
        raise ValueError(
            f"max_distance must be finite and at least one bin ({sizes.min():g}), got "
            f"{max_distance}."
        )
    values = stack.values
    lags, distances, changes = [], [], []
    for i, j in _half_plane(sizes, max_distance, values.shape[1:]):
        moved = _shifted(values, i, j) - _shifted(values, -i, -j)
        change = np.linalg.norm(moved, axis=0).ravel()
        change = change[np.isfinite(change)]
        if len(change):
            lags.append((i * sizes[0], j * sizes[1]))
            distances.append(np.full(len(change), np.hypot(*lags[-1])))
            changes.append(change)
    if not lags:
        raise ValueError(
            f"no two bins up to {max_distance} apart are both known for all cells. Leave out cells "
            "that are NaN in most bins."
        )
    d, y = np.concatenate(distances), np.concatenate(changes)
    s = float(d @ y / (d @ d))
    residual, size = (float(np.sqrt(np.mean(v**2))) for v in (y - s * d, y))
    return ConformalScale(
        scale=s,
        residual=residual,
        relative_residual=residual / size if size > 0 else float("nan"),
        displacements=np.array(lags),
        changes=np.array([change.mean() for change in changes]),
        n_pairs=np.array([len(change) for change in changes]),
    )


def _half_plane(sizes: np.ndarray, most: Any, bins: tuple[int, ...]) -> list[tuple[int, int]]:
    """Lags in bins up to a distance, one of each pair of opposite ones."""
    # A distance given in decimals may come out a hair below the bins it is meant to reach.
    reach = [min(int(most / size * (1 + 1e-9)), n - 1) for size, n in zip(sizes, bins)]
    return [
        (i, j)
        for i in range(reach[0] + 1)
        for j in range(-reach[1], reach[1] + 1)
        if (i > 0 or j > 0) and np.hypot(i * sizes[0], j * sizes[1]) <= most * (1 + 1e-9)
    ]


def _shifted(values: np.ndarray, i: int, j: int) -> np.ndarray:
    """Bins that have one `(i, j)` bins behind them."""
    rows = slice(i, None) if i >= 0 else slice(None, i)
    columns = slice(j, None) if j >= 0 else slice(None, j)
    return values[:, rows, columns]
