"""Rectified recurrence in blocks: the published way to move a grid code."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import safe_norm
from .dynamics import fixed_field
from .parameters import check_sizes, check_time_constant
from .recurrent_transform import RecurrentTransform


class ReLUTransform(RecurrentTransform):
    """r+ = ReLU(r A + B dx + b), with A in blocks, in the convention of row vectors.

    - `A`: `(K, C / K, C / K)`, the blocks on the diagonal; `r A` sums over the first of the two.
    - `B`: `(C, 2)`. `b`: one scalar for all units, kept at 0 or above by `project`.
    - `speed`: `None`, or the conformal normalization: the input `B dx` of each block is scaled so
        that to first order the code moves by `speed |dx|`, in every direction. Only units that are
        active without the input count.
    - `tau`: of the flow of which the recursion is the Euler step of length `tau`; fixed.

    **Reference:** Xu et al. (2022), NeurReps; Acosta et al. (2024), NeurIPS 37; for the conformal
    normalization Xu et al. (2023), Conformal normalization in recurrent neural network of grid
    cells, arXiv 2310.19192.
    """

    A: Float[Array, "block unit unit"] = eqx.field(converter=jnp.asarray)
    B: Float[Array, "all_units 2"] = eqx.field(converter=jnp.asarray)
    b: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    speed: Any = fixed_field(default=None)
    tau: Any = fixed_field(default=1.0)
    discrete: ClassVar[bool] = True

    def __check_init__(self):
        check_blocks(self.A, self.B)
        check_time_constant(tau=self.tau)
        if self.speed is not None:
            check_time_constant(speed=self.speed)

    @classmethod
    def init(
        cls, n_units: int, block_size: int, *, key: PRNGKeyArray, speed: float | int | None = None
    ) -> "ReLUTransform":
        """The published initialisation: A, B ~ U(-0.001, 0.001), b = 0.

        **Raises:** `ValueError` for sizes below 1 or a block size that does not divide the units.
        """
        A, B = draw_blocks(key, n_units, block_size)
        return cls(A, B, jnp.zeros((), A.dtype), speed)

    @property
    def n_units(self) -> int:
        """Number of units, C."""
        return self.B.shape[0]

    def start(self, r: Float[Array, " unit"]) -> Float[Array, " unit"]:
        """The activity itself."""
        return r

    def activity(self, state: Float[Array, " unit"]) -> Float[Array, " unit"]:
        """The state itself."""
        return state

    def step(self, state: Any, velocity: Any, dt: Any) -> Float[Array, " unit"]:
        """One application of the recursion to a displacement of `velocity * dt`."""
        recurrent = block_product(state, self.A) + self.b
        return jax.nn.relu(recurrent + self._input(recurrent, velocity * dt))

    def flow(self, state: Any, velocity: Any) -> Float[Array, " unit"]:
        """`(r+ - r) / tau`, for the displacement over `tau`."""
        return (self.step(state, velocity, self.tau) - state) / self.tau

    def project(self) -> "ReLUTransform":
        """The transform with `b` replaced by its magnitude."""
        return ReLUTransform(self.A, self.B, jnp.abs(self.b), self.speed, self.tau)

    def _input(self, recurrent: Array, displacement: Any) -> Array:
        displacement = jnp.asarray(displacement)
        drive = self.B @ displacement
        if self.speed is None:
            return drive
        shape = self.A.shape[:2]
        passed = jnp.where(recurrent > 0, drive, 0).reshape(shape)
        length = safe_norm(passed, axis=-1)
        wanted = self.speed * safe_norm(displacement) / shape[0] ** 0.5
        scale = jnp.where(length > 0, wanted / jnp.where(length > 0, length, 1), 0)
        return (drive.reshape(shape) * scale[:, None]).reshape(-1)


def block_product(
    r: Float[Array, " all_units"], A: Float[Array, "block unit unit"]
) -> Float[Array, " all_units"]:
    """The row vector `r` times the block-diagonal matrix of `A`."""
    blocks = jnp.einsum("ki,kij->kj", r.reshape(A.shape[:2]), A)
    return blocks.reshape(-1)


def check_blocks(A: Array, B: Array) -> None:
    """Refuse blocks that are not square, or an input matrix for another number of units."""
    if A.ndim != 3 or A.shape[1] != A.shape[2]:
        raise ValueError(f"A must be (block, unit, unit), got shape {A.shape}.")
    if B.shape != (A.shape[0] * A.shape[1], 2):
        raise ValueError(
            f"B must be (unit, 2) for the {A.shape[0] * A.shape[1]} units of A, got shape "
            f"{B.shape}."
        )


def draw_blocks(key: PRNGKeyArray, n_units: int, block_size: int) -> tuple[Array, Array]:
    """Published A and B, uniform in (-0.001, 0.001)."""
    check_sizes(n_units=n_units, block_size=block_size)
    if n_units % block_size:
        raise ValueError(
            f"block_size must divide the number of units, got {block_size} for {n_units}."
        )
    k_a, k_b = jax.random.split(key)
    shape = (n_units // block_size, block_size, block_size)
    A = jax.random.uniform(k_a, shape, minval=-0.001, maxval=0.001)
    return A, jax.random.uniform(k_b, (n_units, 2), minval=-0.001, maxval=0.001)
