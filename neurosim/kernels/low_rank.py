"""The product of a low-rank recurrent matrix with a population's rates."""

from jaxtyping import Array, Float


def low_rank_drive(
    left: Float[Array, "unit rank"],
    right: Float[Array, "unit rank"],
    rates: Float[Array, " unit"],
    gains: Float[Array, " #rank"] | float = 1.0,
) -> Float[Array, " unit"]:
    """`L diag(s) R^T r` without forming the matrix: O(unit rank) instead of O(unit^2).

    The gains s scale the rank-1 components L[:, k] R[:, k]^T one by one; a single one, all of them.
    """
    return left @ (gains * (right.T @ rates))
