"""Norms, cosines and deviations whose derivatives exist at rest.

The textbook forms divide by zero, or by the square root of zero, in their derivatives as soon as a
population is silent. Each function here equals its textbook form elsewhere, and has value and
derivative zero at the singular point, in reverse and in forward mode. Cost: one extra comparison
and select for each square root.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def safe_sqrt(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Square root with derivative 0, not infinity, at 0 (and value 0 below it)."""
    positive = x > 0
    # Both branches must be finite: a NaN under `where` still reaches the gradient.
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1)), 0)


def safe_norm(x: Float[Array, "..."], *, axis: int = -1) -> Float[Array, "..."]:
    """Euclidean norm along `axis`, with derivative 0 at the origin."""
    return safe_sqrt(jnp.sum(x * x, axis=axis))


def safe_std(x: Float[Array, "..."], *, axis: int = -1) -> Float[Array, "..."]:
    """Standard deviation (divisor n) along `axis`, with derivative 0 for constant input."""
    centred = x - jnp.mean(x, axis=axis, keepdims=True)
    return safe_sqrt(jnp.mean(centred * centred, axis=axis))


def safe_cosine(
    x: Float[Array, "..."], y: Float[Array, "..."], *, axis: int = -1
) -> Float[Array, "..."]:
    """Cosine similarity along `axis`; 0, with derivative 0, where either vector is zero."""
    scale = safe_norm(x, axis=axis) * safe_norm(y, axis=axis)
    positive = scale > 0
    return jnp.where(positive, jnp.sum(x * y, axis=axis) / jnp.where(positive, scale, 1), 0)


def entropy_of_shares(values: Any, xp: Any = jnp) -> Any:
    """Shannon entropy in nats of non-negative numbers as shares of their sum.

    0 log 0 is 0, and so is its derivative where the value is exactly 0.

    **Arguments:**

    - `values`: `(n,)`, not all zero.
    - `xp`: `jax.numpy`, or `numpy` for NumPy arrays in their own precision.
    """
    p = values / xp.sum(values)
    present = p > 0
    return -xp.sum(xp.where(present, p * xp.log(xp.where(present, p, 1)), 0))
