"""A linear map of the input: regression, behind the same door as the circuits."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .dynamics import Dynamics, fixed_field
from .parameters import check_sizes, check_time_constant


class LinearMap(Dynamics):
    """The map `y = W u`, without memory: the state is the output to the latest input.

    It has the exact answers of linear regression, so that optimisers can be held against them.
    `step` ignores `dt`. The vector field, `(W u - y) / tau`, is the flow of which the map is the
    Euler step of length `tau`.

    - `W`: `(O, U)`.
    - `tau`: positive, does not train.
    """

    W: Float[Array, "output input"]
    tau: Any = fixed_field(default=1.0)
    discrete: ClassVar[bool] = True

    def __check_init__(self):
        check_time_constant(tau=self.tau)

    @classmethod
    def init(cls, n_in: int, n_out: int, *, key: PRNGKeyArray) -> "LinearMap":
        """Weights N(0, 1/U).

        **Raises:** `ValueError` for sizes below 1.
        """
        check_sizes(n_in=n_in, n_out=n_out)
        return cls(W=jax.random.normal(key, (n_out, n_in)) / jnp.sqrt(n_in))

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.W.shape[1]

    def initial_state(self) -> Float[Array, " output"]:
        """Zeros, `(O,)`."""
        return jnp.zeros(self.W.shape[0], self.W.dtype)

    def step(self, t: Any, state: Any, input: Any, dt: Any) -> Float[Array, " output"]:
        """`W u`, whatever the state and `dt`."""
        return self.W @ input

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " output"]:
        """`(W u - y) / tau`."""
        return (self.W @ input - state) / self.tau

    def readout(self, state: Any) -> Float[Array, " output"]:
        """The state, `(O,)`."""
        return state
