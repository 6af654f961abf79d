"""A code for position: a vector of grid-cell activity at every place."""

from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..kernels import safe_norm
from ..kernels.lattice_interpolation import Padding, interpolate_lattice
from .parameters import check_sizes

#: A block that is silent at a position stays so: its norm is taken to be this at least.
_SILENT = 1e-12


class PositionEmbedding(eqx.Module):
    """Grid-cell activity v(x) as a codebook on a lattice of positions, interpolated between them.

    Positions are in bins: x in [-0.5, n - 0.5]^2, the centre of bin (i, j) at (i, j), which is
    (i, j) / n in sides of the arena. Units are in blocks of equal size, one for each module.

    - `values`: `(C, n, n)`, the codebook; its first lattice axis is x[0].
    - `block_size`: units of a block.
    - `padding`: beyond the outermost bin centres the code is that at the `"edge"`, or falls to
        `"zero"`, by half at the wall, as in the published code.

    **Reference:** Xu, Gao, Zhang, Wei & Wu (2022), Conformal isometry of Lie group representation
    in recurrent network of grid cells, NeurReps; Acosta et al. (2024), Global distortions from
    local rewards, NeurIPS 37.
    """

    values: Float[Array, "unit bin bin"] = eqx.field(converter=jnp.asarray)
    block_size: int = eqx.field(static=True)
    padding: Padding = eqx.field(static=True, default="edge")

    def __check_init__(self):
        check_embedding(self.values, self.padding)
        check_sizes(block_size=self.block_size)
        if self.values.shape[0] % self.block_size:
            raise ValueError(
                f"block_size must divide the number of units, got {self.block_size} for "
                f"{self.values.shape[0]}."
            )

    @classmethod
    def init(
        cls,
        n_units: int,
        n_bins: int,
        block_size: int,
        *,
        key: PRNGKeyArray,
        padding: Padding = "edge",
        scale: float | int = 0.001,
        projected: bool = False,
    ) -> "PositionEmbedding":
        """The published initialisation, N(0, 0.001^2); `projected` takes magnitudes and norms it.

        **Raises:** `ValueError` for sizes below 1 or a block size that does not divide the units.
        """
        check_sizes(n_units=n_units, n_bins=n_bins)
        values = scale * jax.random.normal(key, (n_units, n_bins, n_bins))
        code = cls(jnp.abs(values) if projected else values, block_size, padding)
        return code.project() if projected else code

    @property
    def n_units(self) -> int:
        """Number of units, C."""
        return self.values.shape[0]

    @property
    def n_bins(self) -> int:
        """Number of bins a side, n."""
        return self.values.shape[1]

    @property
    def n_blocks(self) -> int:
        """Number of blocks, K."""
        return self.n_units // self.block_size

    @property
    def blocks(self) -> Float[Array, "block unit bin bin"]:
        """The codebook by block."""
        return self.values.reshape(self.n_blocks, self.block_size, self.n_bins, self.n_bins)

    def __call__(self, x: Any) -> Float[Array, "*position unit"]:
        """The code at positions `(..., 2)`, in bins.

        **Raises:** `ValueError` for positions of another shape or outside of the arena.
        """
        x = read_positions(x, self.n_bins, self.values.dtype)
        return interpolate_lattice(self.values, x, padding=self.padding)

    def of_blocks(self, x: Any) -> Float[Array, "*sample block unit"]:
        """The code of each block at a position of its own.

        **Arguments:**

        - `x`: `(..., block, 2)`, in bins.

        **Raises:** `ValueError` for another number of blocks, or as `__call__`.
        """
        x = read_positions(x, self.n_bins, self.values.dtype)
        if x.ndim < 2 or x.shape[-2] != self.n_blocks:
            raise ValueError(
                f"positions must be (..., {self.n_blocks}, 2), one a block; got shape {x.shape}."
            )

        def one(block: Array, x: Array) -> Array:
            return interpolate_lattice(block, x, padding=self.padding)

        return jax.vmap(one, in_axes=(0, -2), out_axes=-2)(self.blocks, x)

    @eqx.filter_jit
    def project(self) -> "PositionEmbedding":
        """The code that the constraints allow: not negative, every block of norm 1 / sqrt(K).

        So |v(x)| = 1 at every bin. A block that is silent at a bin stays silent there; see
        `silent`. A norm that is right to rounding is left alone: projecting twice changes nothing.
        """
        blocks = jnp.maximum(self.blocks, 0)
        norm = safe_norm(blocks, axis=1)
        root = self.n_blocks**0.5
        eps = jnp.finfo(blocks.dtype).eps
        right = jnp.abs(norm * root - 1) <= 8 * eps
        scale = jnp.where(right, 1, 1 / (root * jnp.maximum(norm, _SILENT)))
        values = (blocks * scale[:, None]).reshape(self.values.shape)
        return PositionEmbedding(values, self.block_size, self.padding)

    def silent(self) -> Bool[Array, "block bin bin"]:
        """Where a block has no activity to scale to its norm."""
        return jnp.all(self.blocks <= 0, axis=1)


def check_embedding(values: Array, padding: str) -> None:
    """Refuse a codebook that is no `(unit, n, n)` array of floats, or another word for padding."""
    if values.ndim != 3 or values.shape[1] != values.shape[2] or 0 in values.shape:
        raise ValueError(f"values must be (unit, n, n), got shape {values.shape}.")
    if not jnp.issubdtype(values.dtype, jnp.floating):
        raise ValueError(f"values must be floating-point numbers, got {values.dtype}.")
    if padding not in ("edge", "zero"):
        raise ValueError(f"padding must be 'edge' or 'zero', got {padding!r}.")


def read_positions(x: Any, n_bins: int, dtype: Any) -> Array:
    """Positions `(..., 2)` in bins, those that have values checked against the arena.

    **Raises:** `ValueError` for another shape, or a position outside of [-0.5, n - 0.5]^2.
    """
    x = jnp.asarray(x, dtype)
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ValueError(f"positions must be (..., 2), got shape {x.shape}.")
    if not isinstance(x, jax.core.Tracer):
        slack = 1e-5 * n_bins
        given = np.asarray(x)
        inside = (given >= -0.5 - slack) & (given <= n_bins - 0.5 + slack)
        if not np.all(inside):
            outside = given[~np.all(inside, axis=-1)][0]
            raise ValueError(
                f"positions must lie in the arena, from -0.5 to {n_bins - 0.5} bins; got "
                f"{tuple(map(float, outside))}."
            )
    return x
