"""Positions with a displacement over which distance is kept, and one over which the code moves."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import whole_number
from .feasible_positions import feasible_positions, polar_displacements, read_bounds


def local_displacements(
    key: PRNGKeyArray,
    n_samples: int | np.integer,
    *,
    n_bins: int | np.integer,
    radii: Any,
    bounds: Any = None,
) -> tuple[Float[Array, "sample 2"], Float[Array, "sample displacement 2"]]:
    """Positions and displacements from them, each uniform over a disc of its own radius.

    **Arguments:**

    - `key`: PRNG key.
    - `n_samples`: how many positions.
    - `n_bins`: bins a side.
    - `radii`: `(displacement,)`, in sides of the arena.
    - `bounds`: `(low, high)` of positions in bins; from the first bin centre to the last by
        default, where the code needs no padding.

    **Returns:** positions in bins, uniform where every displacement stays within the bounds; and
    displacements in sides of the arena.

    **Raises:** `ValueError` for radii that are not positive, or above half the width of the bounds.
    """
    count = whole_number(n_samples, "n_samples", least=1)
    size = whole_number(n_bins, "n_bins", least=2)
    n, low, high = read_bounds((0, size - 1) if bounds is None else bounds, n_bins)
    R = np.atleast_1d(np.asarray(radii, float))
    if R.ndim != 1 or not np.all((R > 0) & (2 * R * n <= high - low)):
        raise ValueError(
            f"radii must be positive and at most {(high - low) / (2 * n):g}, got {radii!r}."
        )
    return _draw(key, jnp.asarray(R, jnp.result_type(float)), count, n, low, high)


@partial(jax.jit, static_argnums=2)
def _draw(key, radii, count, n, low, high):
    k_length, k_angle, k_x = jax.random.split(key, 3)
    lengths = radii * jnp.sqrt(jax.random.uniform(k_length, (count, radii.size)))
    d = polar_displacements(k_angle, lengths)
    return feasible_positions(k_x, n * d, low=low, high=high), d
