"""Leaky rate units in blocks: the continuous form of the rectified recurrence."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .dynamics import fixed_field
from .parameters import check_time_constant
from .recurrent_transform import RecurrentTransform
from .relu_transform import block_product, check_blocks, draw_blocks


class LeakyTransform(RecurrentTransform):
    """tau dr/dt = -r + ReLU(r A + B tau v + b), for velocities v in sides of the arena per time.

    Its step is r+ = (1 - alpha) r + alpha ReLU(...). With `update="euler"` and steps of `tau` it is
    the recursion of `ReLUTransform`, bit for bit.

    - `A`, `B`, `b`: as in `ReLUTransform`.
    - `tau`: a number, or `(C,)` for units with time constants of their own; fixed.
    - `update`: alpha is 1 - exp(-dt / tau) with `"exponential"`, dt / tau with `"euler"`.
    """

    A: Float[Array, "block unit unit"] = eqx.field(converter=jnp.asarray)
    B: Float[Array, "all_units 2"] = eqx.field(converter=jnp.asarray)
    b: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    tau: Any = fixed_field(default=1.0)
    update: Literal["exponential", "euler"] = eqx.field(static=True, default="exponential")

    def __check_init__(self):
        check_blocks(self.A, self.B)
        check_time_constant(tau=self.tau)
        if np.shape(self.tau) not in ((), (self.n_units,)):
            raise ValueError(
                f"tau must be a number or ({self.n_units},), got shape {np.shape(self.tau)}."
            )
        if self.update not in ("exponential", "euler"):
            raise ValueError(f"update must be 'exponential' or 'euler', got {self.update!r}.")

    @classmethod
    def init(
        cls,
        n_units: int,
        block_size: int,
        *,
        key: PRNGKeyArray,
        tau: Any = 1.0,
        update: Literal["exponential", "euler"] = "exponential",
    ) -> "LeakyTransform":
        """As `ReLUTransform.init`: A, B ~ U(-0.001, 0.001), b = 0.

        **Raises:** `ValueError` as there, and for time constants that are not positive.
        """
        A, B = draw_blocks(key, n_units, block_size)
        return cls(A, B, jnp.zeros((), A.dtype), tau, update)

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
        """`(1 - alpha) r + alpha ReLU(...)`."""
        if self.update == "euler":
            alpha = dt / self.tau
        else:
            alpha = -jnp.expm1(-dt / jnp.asarray(self.tau, state.dtype))
        return (1 - alpha) * state + alpha * self._target(state, velocity)

    def flow(self, state: Any, velocity: Any) -> Float[Array, " unit"]:
        """`(-r + ReLU(...)) / tau`."""
        return (-state + self._target(state, velocity)) / self.tau

    def project(self) -> "LeakyTransform":
        """The transform with `b` replaced by its magnitude."""
        return LeakyTransform(self.A, self.B, jnp.abs(self.b), self.tau, self.update)

    def _target(self, state: Array, velocity: Any) -> Array:
        drive = (self.B @ jnp.asarray(velocity)) * self.tau
        return jax.nn.relu(block_product(state, self.A) + self.b + drive)
