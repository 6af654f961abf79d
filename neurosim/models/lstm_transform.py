"""Long short-term memory in blocks, as a way to move a grid code."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .dynamics import fixed_field
from .gated_rnn import LSTM, LSTMState
from .parameters import check_sizes, check_time_constant
from .recurrent_transform import RecurrentTransform


class LSTMTransform(RecurrentTransform):
    """An `LSTM` in every block, whose hidden state is the grid code; its input is displacement.

    It starts with h = v(x0) and c = 0.

    - `W_in`: `(K, 4 C / K, 2)`, `W_rec`: `(K, 4 C / K, C / K)`, `b`: `(K, 4 C / K)`; gates as in
        `LSTM`.
    - `tau`: of the flow of which the recursion is the Euler step of length `tau`; fixed.

    **Reference:** Xu et al. (2022), NeurReps.
    """

    W_in: Float[Array, "block gates 2"] = eqx.field(converter=jnp.asarray)
    W_rec: Float[Array, "block gates unit"] = eqx.field(converter=jnp.asarray)
    b: Float[Array, "block gates"] = eqx.field(converter=jnp.asarray)
    tau: Any = fixed_field(default=1.0)
    discrete: ClassVar[bool] = True

    def __check_init__(self):
        K, gates, unit = self.W_rec.shape
        if gates != 4 * unit or self.W_in.shape != (K, gates, 2) or self.b.shape != (K, gates):
            raise ValueError(
                "W_in, W_rec and b must be (block, 4 unit, 2), (block, 4 unit, unit) and "
                f"(block, 4 unit), got {self.W_in.shape}, {self.W_rec.shape} and {self.b.shape}."
            )
        check_time_constant(tau=self.tau)

    @classmethod
    def init(cls, n_units: int, block_size: int, *, key: PRNGKeyArray) -> "LSTMTransform":
        """Every block as `LSTM.init` has it.

        **Raises:** `ValueError` for sizes below 1 or a block size that does not divide the units.
        """
        check_sizes(n_units=n_units, block_size=block_size)
        if n_units % block_size:
            raise ValueError(
                f"block_size must divide the number of units, got {block_size} for {n_units}."
            )
        keys = jax.random.split(key, n_units // block_size)
        cells = eqx.filter_vmap(lambda key: LSTM.init(block_size, 2, 1, key=key))(keys)
        return cls(cells.W_in, cells.W_rec, cells.b)

    @property
    def n_units(self) -> int:
        """Number of units, C."""
        return self.W_rec.shape[0] * self.W_rec.shape[2]

    def start(self, r: Float[Array, " unit"]) -> LSTMState:
        """Hidden state `r`, and an empty cell."""
        return LSTMState(r, jnp.zeros_like(r))

    def activity(self, state: LSTMState) -> Float[Array, " unit"]:
        """The hidden state."""
        return state.h

    def step(self, state: LSTMState, velocity: Any, dt: Any) -> LSTMState:
        """One application of the cells to a displacement of `velocity * dt`."""
        displacement = velocity * dt

        def one(W_in: Array, W_rec: Array, b: Array, h: Array, c: Array) -> LSTMState:
            cell = LSTM(W_in, W_rec, b, jnp.zeros((1, h.size), h.dtype), h0=h, c0=c)
            return cell.step(0.0, LSTMState(h, c), displacement, dt)

        shape = (self.W_rec.shape[0], self.W_rec.shape[2])
        h, c = (part.reshape(shape) for part in state)
        new = jax.vmap(one)(self.W_in, self.W_rec, self.b, h, c)
        return jax.tree.map(jnp.ravel, new)

    def flow(self, state: LSTMState, velocity: Any) -> LSTMState:
        """`(state+ - state) / tau`, for the displacement over `tau`."""
        new = self.step(state, velocity, self.tau)
        return jax.tree.map(lambda a, b: (a - b) / self.tau, new, state)
