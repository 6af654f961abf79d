"""Rotation of a grid code by a group of linear maps, one for every displacement."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .parameters import check_sizes
from .recurrent_transform import RecurrentTransform


class LinearGroupTransform(RecurrentTransform):
    """r+ = ReLU(expm(dx_1 G_1 + dx_2 G_2) r) in every block; dr/dt = (v_1 G_1 + v_2 G_2) r.

    Paths with the same end give the same code if and only if G_1 and G_2 commute. The exponential
    is applied to the code as a Taylor series, whose remainder is about z^(N + 1) / (N + 1)! for N
    terms, z being the wave number of the grid times the length of the step: 8 terms are good for
    1e-3 at z = 2, 12 terms for 3e-4 at z = 3.

    - `generators`: `(2, K, C / K, C / K)`, G of each axis and block, over `scale`.
    - `n_terms`: of the series; `None` for the exact exponential, at a higher cost.
    - `scale`: of the generators. Optimisers that move each parameter by a fixed amount, as Adam
        does, learn faster the larger it is.
    - `rectify`: whether the step rectifies. The flow never does.

    **Reference:** Gao, Xie, Wei, Zhu & Wu (2021), On path integration of grid cells: group
    representation and isotropic scaling, NeurIPS 34; Xu et al. (2022), NeurReps.
    """

    generators: Float[Array, "2 block unit unit"] = eqx.field(converter=jnp.asarray)
    n_terms: int | None = eqx.field(static=True, default=12)
    scale: float | int = eqx.field(static=True, default=1.0)
    rectify: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        shape = self.generators.shape
        if len(shape) != 4 or shape[0] != 2 or shape[2] != shape[3]:
            raise ValueError(f"generators must be (2, block, unit, unit), got shape {shape}.")
        if self.n_terms is not None:
            check_sizes(n_terms=self.n_terms)

    @classmethod
    def init(
        cls,
        n_units: int,
        block_size: int,
        *,
        key: PRNGKeyArray,
        n_terms: int | None = 6,
        scale: float | int = 10.0,
        rectify: bool = False,
    ) -> "LinearGroupTransform":
        """Generators N(0, 0.02^2) before they are scaled.

        **Raises:** `ValueError` for sizes below 1 or a block size that does not divide the units.
        """
        check_sizes(n_units=n_units, block_size=block_size)
        if n_units % block_size:
            raise ValueError(
                f"block_size must divide the number of units, got {block_size} for {n_units}."
            )
        shape = (2, n_units // block_size, block_size, block_size)
        return cls(0.02 * jax.random.normal(key, shape), n_terms, scale, rectify)

    @property
    def n_units(self) -> int:
        """Number of units, C."""
        return self.generators.shape[1] * self.generators.shape[2]

    def start(self, r: Float[Array, " unit"]) -> Float[Array, " unit"]:
        """The activity itself."""
        return r

    def activity(self, state: Float[Array, " unit"]) -> Float[Array, " unit"]:
        """The state itself."""
        return state

    def step(self, state: Any, velocity: Any, dt: Any) -> Float[Array, " unit"]:
        """The code after a displacement of `velocity * dt`."""
        moved = self.displaced(state, velocity * dt)
        return jax.nn.relu(moved) if self.rectify else moved

    def flow(self, state: Any, velocity: Any) -> Float[Array, " unit"]:
        """`(v_1 G_1 + v_2 G_2) r`."""
        blocks = state.reshape(self.generators.shape[1:3])
        return self._generate(blocks, self.scale * jnp.asarray(velocity)).reshape(-1)

    def displaced(self, r: Float[Array, " unit"], displacement: Any) -> Float[Array, " unit"]:
        """`expm(dx_1 G_1 + dx_2 G_2) r` in every block, without rectification."""
        dx = self.scale * jnp.asarray(displacement)
        blocks = r.reshape(self.generators.shape[1:3])
        if self.n_terms is None:
            M = jax.vmap(jax.scipy.linalg.expm)(jnp.einsum("a,akij->kij", dx, self.generators))
            return jnp.einsum("kij,kj->ki", M, blocks).reshape(-1)
        total = term = blocks
        for order in range(1, self.n_terms + 1):
            term = self._generate(term, dx / order)
            total = total + term
        return total.reshape(-1)

    def commutator(self) -> Float[Array, "block unit unit"]:
        """[G_1, G_2] of each block: 0 where displacements commute."""
        first, second = self.scale * self.generators
        return first @ second - second @ first

    def _generate(self, blocks: Array, dx: Array) -> Array:
        # The generators are shared by all trials, their sums over the displacement are not: this
        # order leaves large matrix products under `vmap`.
        return jnp.einsum("a,aki->ki", dx, jnp.einsum("akij,kj->aki", self.generators, blocks))
