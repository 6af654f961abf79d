"""Gaussian place fields."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def place_field(way: Any, *, width: Any) -> Float[Array, "..."]:
    """Activity exp(-|d|^2 / (2 width^2)), 1 at the centre, at the end of the way d from it.

    **Arguments:**

    - `way`: `(..., dim)`, from the centre of the field, in any unit of length.
    - `width`: standard deviation, in that unit.
    """
    way = jnp.asarray(way)
    return jnp.exp(-jnp.sum(way * way, axis=-1) / (2 * width**2))


def place_field_map(x: Any, *, width: Any, n_bins: int) -> Float[Array, "... n_bins n_bins"]:
    """Activity at positions x of place cells centred on the bins (i, j) of a square lattice.

    The field is a product of one for each axis, so that 2 n exponentials make n^2 activities.

    **Arguments:**

    - `x`: `(..., 2)`, positions in bins.
    - `width`: standard deviation of a field, in bins.
    - `n_bins`: bins a side.
    """
    x = jnp.asarray(x)
    bins = jnp.arange(n_bins, dtype=x.dtype)
    along = place_field((x[..., None] - bins)[..., None], width=width)
    return along[..., 0, :, None] * along[..., 1, None, :]
