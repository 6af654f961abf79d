"""Orthonormal columns by QR, with the sign convention said."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float


def orthonormal_columns(
    matrix: Float[Array, "row column"], *, sign: Literal["positive", "lapack"] = "positive"
) -> Float[Array, "row column"]:
    """The orthonormal factor Q of `matrix = Q T` with T upper triangular.

    LAPACK may give T negative diagonal entries, and a network in which only this factor is
    replaced changes with that sign. `"positive"` makes the diagonal positive, so that orthonormal
    columns come back unchanged; `"lapack"` keeps what the routine returns, for comparison with
    weights published under that convention. Derivatives exist where the columns are independent.
    Cost: O(row column^2), once a run.
    """
    q, t = jnp.linalg.qr(matrix)
    if sign == "lapack":
        return q
    return q * jnp.where(jnp.diagonal(t) < 0, -1, 1).astype(q.dtype)
