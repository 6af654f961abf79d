"""Vectors on a square lattice of positions, and between its points."""

from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Padding = Literal["edge", "zero"]


@partial(jax.jit, static_argnames="padding")
def interpolate_lattice(
    values: Any, x: Any, *, padding: Padding = "edge"
) -> Float[Array, "... channel"]:
    """Bilinear interpolation of vectors that are given on an n x n lattice.

    Lattice point (i, j) lies at x = (i, j). Costs four rows of the lattice for each position: the
    channels are brought together first, so that a row is read in one piece.

    **Arguments:**

    - `values`: `(channel, n, n)`, the vectors.
    - `x`: `(..., 2)`, positions in units of the lattice.
    - `padding`: what is outside of [0, n - 1]: the nearest value on its `"edge"`, or `"zero"`.

    **Returns:** one vector for each position.
    """
    channels, n, _ = values.shape
    table = values.reshape(channels, n * n).T
    x = jnp.asarray(x)
    if padding == "edge":
        x = jnp.clip(x, 0, n - 1)
    low = jnp.floor(x)
    # All four corners in one gather: its transpose is then one scatter, several times faster.
    ahead = jnp.asarray([(0, 0), (0, 1), (1, 0), (1, 1)])
    corners = low.astype(int)[..., None, :] + ahead
    beyond = (x - low)[..., None, :]
    share = jnp.where(ahead == 1, beyond, 1 - beyond)
    weights = share[..., 0] * share[..., 1]
    inside = jnp.all((corners >= 0) & (corners < n), axis=-1)
    i, j = jnp.moveaxis(jnp.clip(corners, 0, n - 1), -1, 0)
    weights = jnp.where(inside, weights, 0)
    # On a GPU a product of single precision is otherwise one of less.
    return jnp.einsum("...k,...kc->...c", weights, table[i * n + j], precision="highest")


def lattice_points(n: int, dtype: type | jnp.dtype | None = None) -> Float[Array, "n n 2"]:
    """The points of the lattice: entry `[i, j]` is (i, j)."""
    i = jnp.arange(n, dtype=jnp.result_type(float) if dtype is None else dtype)
    return jnp.stack(jnp.meshgrid(i, i, indexing="ij"), axis=-1)
