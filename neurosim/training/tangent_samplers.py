"""Directions in parameter space, drawn anew at every update."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree

from .sketch_solver import gram_matrix, orthonormalise
from .trainable import leaf_names


class TangentSampler(eqx.Module):
    """How tangents are drawn. Must be traceable."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, params: PyTree, n_tangents: int) -> PyTree:
        """`n_tangents` tangents, like `params` with a leading axis."""

    @abc.abstractmethod
    def check(self, params: PyTree, n_tangents: int) -> None:
        """Refuse parameters or a number of tangents that this sampler cannot serve."""


class GaussianTangents(TangentSampler):
    """Independent standard normal numbers, made orthonormal, or of unit length each.

    An orthonormal set spans the same space as the numbers drawn, uniform among all subspaces. The
    first releases of the method had unit lengths; damping then depends on the angles that happen
    to lie between the tangents. With many more parameters than tangents the two agree.

    - `orthonormalize`: orthonormal tangents; else each of unit length.

    **Reference:** Yu et al. (2024), NeurIPS 37, algorithm 1.
    """

    orthonormalize: bool = eqx.field(static=True, default=True)

    def sample(self, key: PRNGKeyArray, params: PyTree, n_tangents: int) -> PyTree:
        """Tangents, `(n_tangents, ...)` on every leaf."""
        return _scaled(_drawn(key, params, n_tangents, jax.random.normal), self.orthonormalize)

    def check(self, params: PyTree, n_tangents: int) -> None:
        """Nothing beside what holds for all samplers."""


class RademacherTangents(TangentSampler):
    """Independent signs, made orthonormal, or of unit length each.

    - `orthonormalize`: as in `GaussianTangents`.
    """

    orthonormalize: bool = eqx.field(static=True, default=True)

    def sample(self, key: PRNGKeyArray, params: PyTree, n_tangents: int) -> PyTree:
        """Tangents, `(n_tangents, ...)` on every leaf."""
        return _scaled(_drawn(key, params, n_tangents, jax.random.rademacher), self.orthonormalize)

    def check(self, params: PyTree, n_tangents: int) -> None:
        """Nothing beside what holds for all samplers."""


class PerLeafTangents(TangentSampler):
    """Tangents that move one leaf of the model each, orthonormal within it.

    - `quota`: number of tangents of each leaf, in the order of the leaves that train; they must
      add up to the number of tangents. `None` shares them out by the leaves' sizes, at least one
      each.

    **Reference:** the layer-wise tangents of the authors' later code (hennequin-lab/SOFO).
    """

    quota: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def sample(self, key: PRNGKeyArray, params: PyTree, n_tangents: int) -> PyTree:
        """Tangents, `(n_tangents, ...)` on every leaf, all but one of them zero."""
        leaves, structure = jax.tree.flatten(params)
        counts = self._counts(leaves, n_tangents)
        keys = jax.random.split(key, len(leaves))
        rows, start = [], 0
        for key, leaf, count in zip(keys, leaves, counts):
            block = jnp.zeros((n_tangents, *leaf.shape), leaf.dtype)
            if count:
                own = orthonormalise(_normal(key, (count, *leaf.shape), leaf.dtype))
                block = block.at[start : start + count].set(own)
            rows.append(block)
            start += count
        return jax.tree.unflatten(structure, rows)

    def check(self, params: PyTree, n_tangents: int) -> None:
        """**Raises:** `ValueError` for a quota that does not fit the leaves."""
        leaves, names = jax.tree.leaves(params), leaf_names(params)
        if self.quota is not None and (
            len(self.quota) != len(leaves) or sum(self.quota) != n_tangents or min(self.quota) < 0
        ):
            raise ValueError(
                f"quota must hold one count for each of {', '.join(names)}, n_tangents = "
                f"{n_tangents} in all; got {self.quota}."
            )
        if self.quota is None and n_tangents < len(leaves):
            raise ValueError(
                f"n_tangents must be at least {len(leaves)}, one for each of {', '.join(names)}; "
                f"got {n_tangents}."
            )
        for name, leaf, count in zip(names, leaves, self._counts(leaves, n_tangents)):
            if count > leaf.size:
                raise ValueError(
                    f"quota has {count} tangents for {name}, which has {leaf.size} entries."
                )

    def _counts(self, leaves: list[Array], n_tangents: int) -> tuple[int, ...]:
        if self.quota is not None:
            return self.quota
        # One each, and one by one to whichever is furthest below its share.
        counts = [1] * len(leaves)
        for _ in range(n_tangents - len(leaves)):
            room = [i for i, leaf in enumerate(leaves) if counts[i] < leaf.size]
            counts[max(room, key=lambda i: leaves[i].size / counts[i])] += 1
        return tuple(counts)


class RankOneTangents(TangentSampler):
    """On every matrix the outer product of two normal vectors, on other leaves normal numbers.

    - `orthonormalize`: as in `GaussianTangents`.

    **Reference:** an option of the authors' first code (hennequin-lab/SOFO).
    """

    orthonormalize: bool = eqx.field(static=True, default=True)

    def sample(self, key: PRNGKeyArray, params: PyTree, n_tangents: int) -> PyTree:
        """Tangents, `(n_tangents, ...)` on every leaf; made orthonormal, of full rank."""

        def draw(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any) -> Array:
            if len(shape) != 3:
                return _normal(key, shape, dtype)
            left, right = jax.random.split(key)
            u = _normal(left, shape[:2], dtype)
            return u[:, :, None] * _normal(right, (shape[0], shape[2]), dtype)[:, None, :]

        return _scaled(_drawn(key, params, n_tangents, draw), self.orthonormalize)

    def check(self, params: PyTree, n_tangents: int) -> None:
        """Nothing beside what holds for all samplers."""


class IdentityTangents(TangentSampler):
    """One tangent for each parameter: the whole space, without chance.

    The step is then the damped Gauss-Newton step itself, and the pass through a recurrence is
    real-time recurrent learning.
    """

    def sample(self, key: PRNGKeyArray, params: PyTree, n_tangents: int) -> PyTree:
        """The unit vectors, `(n_tangents, ...)` on every leaf."""
        del key
        leaves, structure = jax.tree.flatten(params)
        rows, start = [], 0
        for leaf in leaves:
            own = jnp.eye(n_tangents, leaf.size, -start, dtype=leaf.dtype)
            rows.append(own.reshape(n_tangents, *leaf.shape))
            start += leaf.size
        return jax.tree.unflatten(structure, rows)

    def check(self, params: PyTree, n_tangents: int) -> None:
        """**Raises:** `ValueError` unless there are as many tangents as parameters."""
        size = sum(leaf.size for leaf in jax.tree.leaves(params))
        if n_tangents != size:
            raise ValueError(
                f"IdentityTangents need n_tangents = {size}, the number of trainable parameters; "
                f"got {n_tangents}."
            )


def _normal(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any) -> Array:
    return jax.random.normal(key, shape, dtype)


def _drawn(key: PRNGKeyArray, params: PyTree, n_tangents: int, draw: Any) -> PyTree:
    leaves, structure = jax.tree.flatten(params)
    keys = jax.random.split(key, len(leaves))
    rows = [draw(k, (n_tangents, *leaf.shape), leaf.dtype) for k, leaf in zip(keys, leaves)]
    return jax.tree.unflatten(structure, rows)


def _scaled(tangents: PyTree, orthonormal: bool) -> PyTree:
    if orthonormal:
        return orthonormalise(tangents)
    lengths = jnp.sqrt(jnp.diagonal(gram_matrix(tangents)))

    def divide(leaf: Array) -> Array:
        return leaf / lengths.reshape(-1, *[1] * (leaf.ndim - 1)).astype(leaf.dtype)

    return jax.tree.map(divide, tangents)
