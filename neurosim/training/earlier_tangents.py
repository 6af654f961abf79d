"""Tangents that earlier updates have not looked along, without keeping those of earlier updates."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, PyTree, UInt32

from .sketch_solver import orthonormalise, span_basis
from .tangent_samplers import TangentSampler


def draw_unseen(
    sampler: TangentSampler,
    key: PRNGKeyArray,
    params: PyTree,
    n_tangents: int,
    seeds: UInt32[Array, " earlier"],
    n_earlier: Int[Array, ""],
) -> tuple[PyTree, UInt32[Array, " earlier"]]:
    """Orthonormal tangents, orthogonal to those that the last updates drew.

    Only the seeds of earlier tangents are kept; the tangents are drawn again.

    **Arguments:**

    - `seeds`: of the last updates, the latest first.
    - `n_earlier`: number of updates before; seeds beyond it stand for nothing.

    **Returns:** the tangents, and the seeds for the next update.
    """
    seed = jax.random.bits(key, dtype=jnp.uint32)
    tangents = _drawn(sampler, key, seed, params, n_tangents)
    earlier = []
    for i in range(len(seeds)):
        there = i < n_earlier
        drawn = _drawn(sampler, key, seeds[i], params, n_tangents)
        earlier.append(jax.tree.map(lambda v, there=there: v * there.astype(v.dtype), drawn))
    basis = span_basis(jax.tree.map(lambda *v: jnp.concatenate(v), *earlier))
    tangents = orthonormalise(_without_span(tangents, basis))
    return tangents, jnp.concatenate([seed[None], seeds[:-1]])


def _drawn(
    sampler: TangentSampler, key: PRNGKeyArray, seed: Array, params: PyTree, n: int
) -> PyTree:
    """Tangents of 32 bits, by the same kind of generator as `key`."""
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    root: Any = jax.random.key(0, impl=jax.random.key_impl(key) if typed else None)
    return sampler.sample(jax.random.fold_in(root, seed), params, n)


def _without_span(tangents: PyTree, basis: PyTree) -> PyTree:
    """Tangents less their part in the span of orthonormal ones."""
    rows = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(tangents)]
    spans = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(basis)]
    highest = jax.lax.Precision.HIGHEST
    inside = sum(jnp.matmul(r, s.T, precision=highest) for r, s in zip(rows, spans))
    return jax.tree.map(
        lambda v, b: v - jnp.tensordot(inside, b, 1, precision=highest), tangents, basis
    )
