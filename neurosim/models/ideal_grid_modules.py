"""A path-integrating network of ideal grid cells, whose transform is exact."""

from math import isqrt
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..kernels import grid_lattice_vectors, grid_wave_vectors, ideal_grid_module, whole_number
from ..kernels.lattice_interpolation import Padding
from ..kernels.place_field import place_field_map
from .linear_group_transform import LinearGroupTransform
from .path_integrating_rnn import PathIntegratingRNN
from .place_cell_readout import PlaceCellReadout
from .position_embedding import PositionEmbedding


def ideal_grid_modules(
    scales: Any,
    orientations: Any,
    units_per_module: int | np.integer,
    num_bins: int | np.integer,
    place_sigma: float | int,
    *,
    ridge: float | int | None = None,
    n_terms: int | None = 12,
    padding: Padding = "edge",
) -> PathIntegratingRNN:
    """Modules of ideal hexagonal grid cells with evenly spread phases, one in each block.

    The code of a module is v = E Phi(x) with Phi the constant and the cosines and sines of its
    three plane waves, on which displacements act as rotations. So its generators are exact,
    G_a = E D_a E^+, antisymmetric, and commute. The place cells have the weights of a ridge
    regression on the place fields of all bins.

    **Arguments:**

    - `scales`: spacing of each module, in sides of the arena.
    - `orientations`: direction of a nearest neighbour, in radians, one for each module or for all.
    - `units_per_module`: a square number from 9 on; phases are on a lattice of its root a side.
    - `num_bins`: bins a side.
    - `place_sigma`: standard deviation of place fields, in sides of the arena.
    - `ridge`: penalty on squared weights, against the squared errors summed over bins; by default
        0.01 over the number of modules.
    - `n_terms`, `padding`: see `LinearGroupTransform` and `PositionEmbedding`.

    **Raises:** `ValueError` for no modules, lengths that differ, units that are not the square of a
    number from 3 on, or a scale or size that is not positive.

    ```python
    model = ideal_grid_modules([0.3, 0.42, 0.6], 0.0, 16, 24, 0.12)
    ```
    """
    lengths = np.atleast_1d(np.asarray(scales, float))
    K = len(lengths)
    if lengths.ndim != 1 or K == 0:
        raise ValueError(f"scales must be one number or a row of them, got {scales!r}.")
    angles = np.atleast_1d(np.asarray(orientations, float))
    if angles.shape not in ((1,), (K,)):
        raise ValueError(f"orientations must be one or {K}, one a module; got {orientations!r}.")
    angles = np.broadcast_to(angles, (K,))
    b = whole_number(units_per_module, "units_per_module")
    n = whole_number(num_bins, "num_bins", least=2)
    q = isqrt(max(b, 0))
    if q < 3 or q * q != b:
        raise ValueError(f"units_per_module must be a square from 9 on, got {b}.")
    if not (np.isfinite(place_sigma) and place_sigma > 0):
        raise ValueError(f"place_sigma must be positive and finite, got {place_sigma}.")
    bins = np.arange(n) / n
    x = np.stack(np.meshgrid(bins, bins, indexing="ij"), axis=-1)
    blocks, generators = zip(
        *[_module(x, q, spacing, angle, K) for spacing, angle in zip(lengths, angles)]
    )
    v = np.concatenate(blocks).reshape(K * b, n * n)
    here = jnp.asarray(x.reshape(-1, 2) * n)
    fields = np.asarray(place_field_map(here, width=n * place_sigma, n_bins=n), float)
    penalty = 0.01 / K if ridge is None else ridge
    u = np.linalg.solve(v @ v.T + penalty * np.eye(K * b), v @ fields.reshape(n * n, n * n))
    dtype = jnp.result_type(float)
    return PathIntegratingRNN(
        PositionEmbedding(jnp.asarray(v.reshape(K * b, n, n), dtype), b, padding),
        PlaceCellReadout(jnp.asarray(u.reshape(K * b, n, n), dtype), float(place_sigma), padding),
        LinearGroupTransform(jnp.asarray(np.stack(generators, axis=1), dtype), n_terms),
    )


def _module(x: Any, q: int, spacing: float, angle: float, K: int) -> tuple[Any, Any]:
    """Code `(unit, bin, bin)` of norm 1 / sqrt(K), and its generators `(2, unit, unit)`."""

    def module(at: Any) -> Any:
        return ideal_grid_module(at, n_per_side=q, spacing=spacing, orientation=angle)

    k = np.asarray(grid_wave_vectors(spacing=spacing, orientation=angle))
    # Over one unit cell of the lattice the features are orthogonal, so E is a mean of products.
    steps = np.stack(np.meshgrid(*[np.arange(6) / 6] * 2, indexing="ij"), axis=-1)
    cell = steps.reshape(-1, 2) @ np.asarray(
        grid_lattice_vectors(spacing=spacing, orientation=angle)
    )
    features = np.ones((7, len(cell)))
    features[1::2], features[2::2] = np.cos(k @ cell.T), np.sin(k @ cell.T)
    rates = np.asarray(module(cell))
    E = rates @ features.T / np.sum(features**2, axis=1)
    D = np.zeros((2, 7, 7))
    for i in range(3):
        D[:, 1 + 2 * i, 2 + 2 * i], D[:, 2 + 2 * i, 1 + 2 * i] = -k[i], k[i]
    norm = np.linalg.norm(rates, axis=0).mean() * K**0.5
    return np.asarray(module(x)) / norm, E @ D @ np.linalg.pinv(E)
