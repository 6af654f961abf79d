"""The damped Gauss-Newton step inside the span of K tangents."""

from typing import Any, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

DampingMode: TypeAlias = Literal["relative_max", "relative_min", "absolute"]
DAMPING_MODES = ("relative_max", "relative_min", "absolute")

_HIGHEST = jax.lax.Precision.HIGHEST

#: With fewer parameters than so many times the tangents, these are made orthonormal by QR.
_FEW = 8


class SketchStep(NamedTuple):
    """The solution of a sketch.

    - `coefficients`: `(K,)`, of the tangents; the step goes against their sum.
    - `spectrum`: `(K,)`, eigenvalues of the curvature that was solved, ascending.
    """

    coefficients: Float[Array, " tangent"]
    spectrum: Float[Array, " tangent"]


def solve_sketch(
    ggn: Float[Array, "tangent tangent"],
    gradient: Float[Array, " tangent"],
    *,
    gram: Float[Array, "tangent tangent"] | None = None,
    damping: Any = 1e-5,
    damping_mode: DampingMode = "relative_max",
    power: float | int = 1.0,
) -> SketchStep:
    """z = U (S + gamma)^-power U^T C of a curvature U S U^T and slopes C.

    Eigenvalues below zero, which only rounding or a loss that is not convex gives, count as zero.
    Without damping those below K times the rounding of the greatest are left out, as in a
    pseudo-inverse.

    **Arguments:**

    - `ggn`, `gradient`: of a `Sketch`.
    - `gram`: `(K, K)`, V V^T, where the tangents are not orthonormal: damping is then relative to
      the curvature between orthonormal tangents of the same span, so that the step depends on the
      span alone. `None` takes the tangents as they are.
    - `damping`: lambda; 0 for none.
    - `damping_mode`: gamma is lambda times the greatest eigenvalue, times the smallest, or lambda.
    - `power`: 1 for Gauss-Newton; 0.5 for the inverse square root; 0 for the slopes alone.

    **Returns:** a `SketchStep`.

    **Reference:** Yu et al. (2024), NeurIPS 37, equations 5 to 8.
    """
    ggn = (ggn + ggn.T) / 2
    whiten = None
    if gram is not None:
        whiten = _inverse_root((gram + gram.T) / 2)
        ggn = jnp.matmul(jnp.matmul(whiten, ggn, precision=_HIGHEST), whiten, precision=_HIGHEST)
        ggn = (ggn + ggn.T) / 2
        gradient = jnp.matmul(whiten, gradient, precision=_HIGHEST)
    spectrum, vectors = jnp.linalg.eigh(ggn)
    positive = jnp.maximum(spectrum, 0)
    if damping_mode == "absolute":
        gamma = jnp.asarray(damping, ggn.dtype)
    else:
        gamma = damping * (positive[-1] if damping_mode == "relative_max" else positive[0])
    shifted = positive + gamma
    least = jnp.finfo(ggn.dtype).eps * len(ggn) * positive[-1]
    solvable = (shifted > least) | ((gamma > 0) & (shifted > 0))
    inverse = jnp.where(solvable, jnp.where(solvable, shifted, 1) ** -power, 0)
    along = jnp.matmul(vectors.T, gradient, precision=_HIGHEST)
    coefficients = jnp.matmul(vectors, inverse * along, precision=_HIGHEST)
    if whiten is not None:
        coefficients = jnp.matmul(whiten, coefficients, precision=_HIGHEST)
    return SketchStep(coefficients, spectrum)


def gram_matrix(tangents: PyTree) -> Float[Array, "tangent tangent"]:
    """V V^T of tangents, with `(K, ...)` on every leaf: `(K, K)`."""
    leaves = jax.tree.leaves(tangents)
    k = leaves[0].shape[0]
    gram = jnp.zeros((k, k), jnp.result_type(float))
    for leaf in leaves:
        flat = leaf.reshape(k, -1).astype(gram.dtype)
        gram += jnp.matmul(flat, flat.T, precision=_HIGHEST)
    return gram


def combine_tangents(tangents: PyTree, coefficients: Any) -> PyTree:
    """The sum of tangents times coefficients `(K,)`, a pytree like the parameters."""

    def combine(leaf: Any) -> Array:
        weights = jnp.asarray(coefficients, leaf.dtype)
        return jnp.tensordot(weights, leaf, 1, precision=_HIGHEST)

    return jax.tree.map(combine, tangents)


def orthonormalise(tangents: PyTree) -> PyTree:
    """(V V^T)^-1/2 V: the orthonormal tangents of the same span that are nearest to V.

    Of K rows that span less than K dimensions the rest is filled with directions of no meaning, or
    with zeros where there are many more parameters than rows.
    """
    leaves, structure = jax.tree.flatten(tangents)
    k = leaves[0].shape[0]
    size = sum(leaf.size for leaf in leaves) // k
    if size <= _FEW * k:
        # Nearly square matrices are ill conditioned, and their Gram matrices hopelessly so.
        flat = jnp.concatenate([leaf.reshape(k, -1) for leaf in leaves], axis=1)
        q, r = jnp.linalg.qr(flat.T)
        u, _, vt = jnp.linalg.svd(r.T)
        turned = jnp.matmul(jnp.matmul(u, vt, precision=_HIGHEST), q.T, precision=_HIGHEST)
        ends = np.cumsum([leaf.size // k for leaf in leaves])[:-1]
        parts = jnp.split(turned, ends, axis=1)
        rows = [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves)]
        return jax.tree.unflatten(structure, rows)
    return span_basis(tangents)


def span_basis(tangents: PyTree) -> PyTree:
    """Orthonormal directions of the span of tangents, with zeros where rows add nothing to it."""
    turned = _times(_inverse_root(gram_matrix(tangents)), tangents)
    # The Gram matrix squares the condition of V; one Newton-Schulz step repairs what that cost.
    gram = gram_matrix(turned)
    return _times(1.5 * jnp.eye(len(gram), dtype=gram.dtype) - gram / 2, turned)


def _inverse_root(gram: Array) -> Array:
    values, vectors = jnp.linalg.eigh(gram)
    least = jnp.finfo(gram.dtype).eps * len(gram) * values[-1]
    roots = jnp.where(values > least, 1 / jnp.sqrt(jnp.where(values > least, values, 1)), 0)
    return jnp.matmul(vectors * roots, vectors.T, precision=_HIGHEST)


def _times(matrix: Array, tangents: PyTree) -> PyTree:
    def turn(leaf: Any) -> Array:
        return jnp.tensordot(matrix.astype(leaf.dtype), leaf, 1, precision=_HIGHEST)

    return jax.tree.map(turn, tangents)
