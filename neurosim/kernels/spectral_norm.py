"""The largest singular value of a matrix, with a derivative that exists."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .safe_math import safe_norm

# Squarings of W^T W: as many as 2^10 steps of the power iteration, at ten products of matrices.
_SQUARINGS = 10


def spectral_norm(W: Float[Array, "row column"]) -> Float[Array, ""]:
    """The largest singular value `u^T W v`, with the singular vectors held in the derivative.

    Where singular values coincide, as they all do in an orthogonal matrix, the derivatives of
    singular vectors do not exist; this one is `u v^T`, for some pair of vectors of the largest.
    The vectors come from a power iteration by repeated squaring. 0 for a matrix of zeros.
    """
    fixed = jax.lax.stop_gradient(W)
    # By its largest entry first: squares of small or large ones would leave the range of numbers.
    fixed = fixed / jnp.maximum(jnp.max(jnp.abs(fixed)), jnp.finfo(W.dtype).tiny)

    def squared(power, _):
        power = power @ power
        # By its trace, which is as large as the largest eigenvalue: nothing over- or underflows.
        return power / jnp.maximum(jnp.trace(power), jnp.finfo(W.dtype).tiny), None

    gram = fixed.T @ fixed
    gram = gram / jnp.maximum(jnp.trace(gram), jnp.finfo(W.dtype).tiny)
    power, _ = jax.lax.scan(squared, gram, None, length=_SQUARINGS)
    # Every column is a multiple of the singular vector, and the longest of them is not 0.
    v = power[:, jnp.argmax(jnp.sum(power * power, axis=0))]
    v = v / jnp.maximum(safe_norm(v), jnp.finfo(W.dtype).tiny)
    u = fixed @ v
    u = u / jnp.maximum(safe_norm(u), jnp.finfo(W.dtype).tiny)
    return jax.lax.stop_gradient(u) @ W @ jax.lax.stop_gradient(v)


def spectrally_normalized(W: Float[Array, "row column"]) -> Float[Array, "row column"]:
    """`W` over its `spectral_norm`, so that its largest singular value is 1; zeros stay zeros."""
    size = spectral_norm(W)
    return W / jnp.where(size > 0, size, 1)
