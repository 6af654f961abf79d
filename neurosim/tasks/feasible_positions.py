"""Positions from which displacements stay in the arena."""

from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import whole_number


def feasible_box(
    displacements: Float[Array, "*sample displacement axis"], low: Any, high: Any
) -> tuple[Float[Array, "*sample axis"], Float[Array, "*sample axis"]]:
    """The corners of the box of positions that are in [low, high] before and after displacements.

    It is empty where the first corner is above the second.
    """
    first = low - jnp.minimum(jnp.min(displacements, axis=-2), 0)
    return first, high - jnp.maximum(jnp.max(displacements, axis=-2), 0)


def feasible_positions(
    key: PRNGKeyArray,
    displacements: Float[Array, "*sample displacement axis"],
    *,
    low: Any,
    high: Any,
) -> Float[Array, "*sample axis"]:
    """Positions, uniform over those that are in [low, high] before and after all displacements."""
    first, last = feasible_box(displacements, low, high)
    return first + (last - first) * jax.random.uniform(key, first.shape, first.dtype)


def polar_displacements(
    key: PRNGKeyArray, lengths: Float[Array, "*sample"]
) -> Float[Array, "*sample 2"]:
    """Displacements of given lengths in directions drawn uniformly."""
    angle = jax.random.uniform(key, lengths.shape, lengths.dtype, maxval=2 * jnp.pi)
    return lengths[..., None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def first_feasible(feasible: Array, n: int) -> tuple[Array, Array]:
    """Indices of the first `n` candidates that are feasible, and whether each of them is."""
    order = jnp.argsort(~feasible, stable=True)[:n]
    return order, feasible[order]


def finite_or_refused(drawn: Any, enough: Array, remedy: str) -> Any:
    """What was drawn, if enough of it was feasible.

    Under a JAX transformation nothing can be raised: then the missing entries are NaN already, and
    training on them stops with an error.

    **Raises:** `ValueError` with the remedy, outside of transformations.
    """
    if not isinstance(enough, jax.core.Tracer) and not bool(jnp.all(enough)):
        found, asked = int(np.sum(np.asarray(enough))), int(np.size(np.asarray(enough)))
        raise ValueError(
            f"only {found} of {asked} draws stay in the arena, after oversampling: {remedy}."
        )
    return drawn


def read_bounds(bounds: Any, n_bins: Any) -> tuple[int, float, float]:
    """Number of bins, and the interval of positions in bins; by default all of the arena.

    **Raises:** `ValueError` for bounds that are not an interval within the arena.
    """
    n = whole_number(n_bins, "n_bins", least=2)
    low, high = (-0.5, n - 0.5) if bounds is None else bounds
    if not -0.5 <= low < high <= n - 0.5:
        raise ValueError(f"bounds must be an interval within -0.5 and {n - 0.5}, got {bounds}.")
    return n, float(low), float(high)
