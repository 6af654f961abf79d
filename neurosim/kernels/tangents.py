"""Many tangents at once: Jacobian-vector products, and the curvature they see."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .whole_number import whole_number


def push_tangents(
    fn: Callable[..., PyTree],
    primals: tuple[PyTree, ...],
    tangents: tuple[PyTree, ...],
    *,
    chunk_size: int | None = None,
) -> tuple[PyTree, PyTree]:
    """A function's value, and its Jacobian times each of K tangents, in one forward pass.

    The value is computed once and not K times. K + 1 evaluations of `fn` in operations, twice that
    where products dominate; the memory of K of them, or of `chunk_size`.

    **Arguments:**

    - `fn`: function of the primals; no part of it may have a `custom_vjp`.
    - `primals`: its arguments, pytrees of floating-point arrays.
    - `tangents`: like `primals`, with a leading axis of K on every leaf.
    - `chunk_size`: tangents pushed at once, the chunks one after another; `None` for all.

    **Returns:** the value; and the tangents of the value, with the leading axis of K.

    **Raises:** `ValueError` for a chunk size below 1.
    """

    def one(tangent: tuple[PyTree, ...]) -> tuple[PyTree, PyTree]:
        return jax.jvp(fn, primals, tangent)

    # Without the None the value would be carried K-fold through everything after it.
    many = jax.vmap(one, out_axes=(None, 0))
    k = jax.tree.leaves(tangents)[0].shape[0]
    size = k if chunk_size is None else whole_number(chunk_size, "chunk_size", least=1)
    if size >= k:
        return many(tangents)
    whole = k // size * size
    chunks = jax.tree.map(lambda v: v[:whole].reshape(-1, size, *v.shape[1:]), tangents)
    values, pushed = jax.lax.map(many, chunks)
    pushed = jax.tree.map(lambda v: v.reshape(whole, *v.shape[2:]), pushed)
    if whole < k:
        _, rest = many(jax.tree.map(lambda v: v[whole:], tangents))
        pushed = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), pushed, rest)
    return jax.tree.map(lambda v: v[0], values), pushed


def project_curvature(
    loss: Callable[[PyTree], Any], outputs: PyTree, pushed: PyTree
) -> tuple[Float[Array, ""], Float[Array, " tangent"], Float[Array, "tangent tangent"]]:
    """A loss, its derivatives along K directions of its argument, and its Hessian between them.

    For directions Y the three are l(y), Y dl/dy and Y (d^2 l/dy^2) Y^T, all from one callable, so
    that weights, masks and means apply to each alike. One product of a `(K, n)` with an `(n, K)`
    matrix for n outputs, in float64 where JAX has it.

    **Arguments:**

    - `loss`: function of the outputs to a scalar.
    - `outputs`: pytree of floating-point arrays.
    - `pushed`: like `outputs`, with a leading axis of K.
    """
    derivative = jax.grad(loss)
    value = loss(outputs)

    def curved(direction: PyTree) -> tuple[PyTree, PyTree]:
        return jax.jvp(derivative, (outputs,), (direction,))

    slope, bent = jax.vmap(curved, out_axes=(None, 0))(pushed)
    wide = jnp.result_type(float)
    k = jax.tree.leaves(pushed)[0].shape[0]
    gradient = jnp.zeros(k, wide)
    curvature = jnp.zeros((k, k), wide)
    leaves = zip(jax.tree.leaves(pushed), jax.tree.leaves(slope), jax.tree.leaves(bent))
    for direction, along, product in leaves:
        flat = direction.reshape(k, -1).astype(wide)
        # Tensor cores would round to a thousandth, and small eigenvalues with it.
        highest = jax.lax.Precision.HIGHEST
        gradient += jnp.matmul(flat, along.reshape(-1).astype(wide), precision=highest)
        across = product.reshape(k, -1).astype(wide)
        curvature += jnp.matmul(flat, across.T, precision=highest)
    return value, gradient, curvature
