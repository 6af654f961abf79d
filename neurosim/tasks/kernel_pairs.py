"""Pairs of positions on which a grid code learns what place cells should show."""

from functools import partial
from math import ceil
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import whole_number
from .feasible_positions import (
    feasible_box,
    feasible_positions,
    finite_or_refused,
    first_feasible,
    polar_displacements,
    read_bounds,
)


def kernel_pairs(
    key: PRNGKeyArray,
    n_pairs: int | np.integer,
    *,
    n_bins: int | np.integer,
    spread: float | int = 0.48,
    bounds: Any = None,
    oversampling: float | int = 1.5,
) -> tuple[Float[Array, "pair 2"], Float[Array, "pair 2"]]:
    """Positions x and x' = x + d, with directions uniform and |d| = |N(0, 1)| spread n.

    More pairs than wanted are drawn, and the first that fit into the arena taken; x is uniform
    where both positions are in it. Can be jitted, with the numbers static.

    **Arguments:**

    - `key`: PRNG key.
    - `n_pairs`: how many.
    - `n_bins`: bins a side, n.
    - `spread`: of distances, in sides of the arena.
    - `bounds`: `(low, high)` of positions in bins; the whole arena by default.
    - `oversampling`: draws for each pair.

    **Returns:** x and x', `(pair, 2)`, in bins.

    **Raises:** `ValueError` for numbers out of range, or if too few pairs fit. Under a JAX
    transformation the missing pairs are NaN.

    **Reference:** Xu et al. (2022), NeurReps, published code.
    """
    count = whole_number(n_pairs, "n_pairs", least=1)
    n, low, high = read_bounds(bounds, n_bins)
    if not (spread > 0 and np.isfinite(spread) and oversampling >= 1):
        raise ValueError(
            f"spread must be positive and oversampling at least 1, got {spread} and {oversampling}."
        )
    drawn, enough = _draw(
        key, count=count, candidates=ceil(count * oversampling), n=n, spread=spread, low=low,
        high=high,
    )  # fmt: skip
    return finite_or_refused(drawn, enough, "lower spread, or raise oversampling")


@partial(jax.jit, static_argnames=("count", "candidates"))
def _draw(key, *, count, candidates, n, spread, low, high):
    k_length, k_angle, k_x = jax.random.split(key, 3)
    lengths = jnp.abs(jax.random.normal(k_length, (candidates,))) * spread * n
    d = polar_displacements(k_angle, lengths)[:, None]
    first, last = feasible_box(d, low, high)
    picked, enough = first_feasible(jnp.all(first <= last, axis=-1), count)
    d = d[picked]
    x = jnp.where(enough[:, None], feasible_positions(k_x, d, low=low, high=high), jnp.nan)
    return (x, x + d[:, 0]), enough
