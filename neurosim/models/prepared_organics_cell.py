"""The recurrent cell of ORGaNICs for the length of a run, when its parameters stand still."""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..kernels.divisive_normalization import Rectify, normalization_flow
from .dynamics import Dynamics


class ORGaNICsCellState(NamedTuple):
    """Principal and normalization neurons `y`, `a`, and their gains `b`, `b0`, all `(N,)`."""

    y: Any
    a: Any
    b: Any
    b0: Any


class PreparedORGaNICsCell(Dynamics):
    """An `ORGaNICsCell` for the length of a run: four products of matrices a step, and no more."""

    W_x: Float[Array, "three_units input"]
    W_gains: Float[Array, "two_units two_units"]
    W: Float[Array, "unit unit"]
    W_r: Float[Array, "unit unit"] | None
    kappa: ORGaNICsCellState
    sigma: Float[Array, " unit"]
    start: ORGaNICsCellState
    dt_step: Any
    C: Float[Array, "output unit"]
    d: Float[Array, " output"]
    rectify: Rectify = eqx.field(static=True)
    rectify_input: bool = eqx.field(static=True)
    readout_on: Literal["y", "rate"] = eqx.field(static=True)

    def initial_state(self) -> ORGaNICsCellState:
        """`start`."""
        return self.start

    def vector_field(self, t: Any, state: ORGaNICsCellState, input: Any) -> ORGaNICsCellState:
        """As of the cell."""
        return jax.tree.map(lambda move: move / self.dt_step, self._moves(state, input))

    def step(self, t: Any, state: ORGaNICsCellState, input: Any, dt: Any) -> ORGaNICsCellState:
        """As of the cell."""
        share = dt / self.dt_step
        # Back-propagation computes a step again rather than keeping some fifteen arrays of it,
        # which on a CPU takes longer to write and to read.
        moves = eqx.filter_checkpoint(PreparedORGaNICsCell._moves, prevent_cse=False)
        return jax.tree.map(lambda x, move: x + share * move, state, moves(self, state, input))

    def readout(self, state: ORGaNICsCellState) -> Float[Array, " output"]:
        """As of the cell."""
        shown = state.y
        if self.readout_on == "rate":
            shown = jnp.maximum(shown, 0) ** 2
        return self.C @ shown + self.d

    def _moves(self, state: ORGaNICsCellState, input: Any) -> ORGaNICsCellState:
        """What one step adds."""
        y, a, b, b0 = state
        n = y.shape[0]
        from_input = input @ self.W_x.T
        z = from_input[:n]
        if self.rectify_input:
            z = jnp.maximum(z, 0)
        from_y, from_a = self.W_gains[:, :n].T, self.W_gains[:, n:].T
        gains = jax.nn.sigmoid(from_input[n:] + y @ from_y + a @ from_a)
        dy, da = normalization_flow(
            y, a, z, W_r=self.W_r, W=self.W, b=b, b0=b0, sigma=self.sigma, rectify=self.rectify
        )
        moves = ORGaNICsCellState(dy, da, gains[:n] - b, gains[n:] - b0)
        return jax.tree.map(lambda k, move: k * move, self.kappa, moves)
