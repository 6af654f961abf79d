"""A position and two displacements from it, on which a grid code learns to keep distances."""

from functools import partial
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import whole_number
from .feasible_positions import feasible_positions, polar_displacements, read_bounds

Triples = tuple[
    Float[Array, "sample block 2"], Float[Array, "sample block 2"], Float[Array, "sample block 2"]
]


def isometry_triples(
    key: PRNGKeyArray,
    n_samples: int | np.integer,
    *,
    n_bins: int | np.integer,
    radii: Any,
    bounds: Any = None,
) -> Triples:
    """For every block of units a position, and two displacements of equal length from it.

    The length is R_k sqrt(U), uniform over the disc of the block's radius; the two directions are
    independent, and the position uniform where both displacements stay in the arena.

    **Arguments:**

    - `key`: PRNG key.
    - `n_samples`: how many for each block.
    - `n_bins`: bins a side.
    - `radii`: `(block,)`, R_k in bins; 15 of 40 as published.
    - `bounds`: `(low, high)` of positions in bins; the whole arena by default.

    **Returns:** positions and the two displacements, `(sample, block, 2)` each, in bins.

    **Raises:** `ValueError` for radii that are not positive, or above half the width of the bounds.

    **Reference:** Xu et al. (2022), NeurReps, published code.
    """
    count = whole_number(n_samples, "n_samples", least=1)
    _, low, high = read_bounds(bounds, n_bins)
    R = np.asarray(radii, float) if not isinstance(radii, jax.core.Tracer) else radii
    if R.ndim != 1 or R.shape[0] == 0:
        raise ValueError(f"radii must be (block,), got shape {R.shape}.")
    if isinstance(R, np.ndarray) and not np.all((R > 0) & (high - low >= 2 * R)):
        raise ValueError(
            f"radii must be positive and at most half of {high - low} bins, got {R.tolist()}."
        )
    return _draw(key, jnp.asarray(R, jnp.result_type(float)), count, low, high)


@partial(jax.jit, static_argnums=2)
def _draw(key, R, count, low, high):
    k_length, k_first, k_second, k_x = jax.random.split(key, 4)
    lengths = R * jnp.sqrt(jax.random.uniform(k_length, (count, R.size)))
    first, second = (polar_displacements(k, lengths) for k in (k_first, k_second))
    x = feasible_positions(k_x, jnp.stack([first, second], axis=-2), low=low, high=high)
    return x, first, second


def adaptive_isometry_radii(
    scores: Any,
    mask_radii: Any,
    *,
    block_size: int | np.integer,
    max_radius: float | int = 15.0,
    min_score: float | int = 0.37,
) -> np.ndarray:
    """Radii for `isometry_triples` that follow the spacing of the grids that have emerged.

        R_k = max_radius * (mean mask radius in block k) / (largest among grid cells)

    As published this holds between steps 10,000 and 20,000 of training; before and after it all
    radii are `max_radius`, and so they are where no unit is a grid cell.

    **Arguments:**

    - `scores`: `(unit,)` grid scores of 60 degrees.
    - `mask_radii`: `(unit,)`, outer radius of the ring where each score was largest.
    - `block_size`: units of a block.
    - `max_radius`: in bins.
    - `min_score`: above which a unit is a grid cell.

    **Returns:** `(block,)`, in bins.

    **Raises:** `ValueError` for lengths that differ or that blocks do not divide, or radii that
    are not finite. A score that is NaN is that of no grid cell.
    """
    score, radius = np.asarray(scores, float), np.asarray(mask_radii, float)
    size = whole_number(block_size, "block_size", least=1)
    if score.ndim != 1 or score.shape != radius.shape or score.size == 0 or score.size % size:
        raise ValueError(
            f"scores and mask_radii must be (unit,), in blocks of {size}; got shapes "
            f"{score.shape} and {radius.shape}."
        )
    if not np.all(np.isfinite(radius) & (radius > 0)):
        raise ValueError("mask_radii must be positive and finite.")
    cells = score > min_score
    if not np.any(cells):
        return np.full(score.size // size, float(max_radius))
    return max_radius * radius.reshape(-1, size).mean(axis=1) / radius[cells].max()
