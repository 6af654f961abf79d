"""A low-rank network whose gains come in from outside."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..kernels import low_rank_drive, recurrent_scale
from .dynamics import Dynamics, fixed_field
from .linear_readout import linear_readout
from .parameters import (
    RecurrentScale,
    as_recurrent_scale,
    check_time_constant,
)


class GainModulatedRNN(Dynamics):
    """The output network of the NM-RNN with its gains s(t) as input.

        tau dx/dt = -x + g L diag(s) R^T phi(x) + B u,   y = C x + d

    The input is `(u, s)`: U channels of task input, then K gains. With `phi` the identity and one
    component this is the linear rank-1 network whose gain has a closed form
    (`neurosim.analysis.required_gain`); a recorded or invented modulator can drive it too.

    - `L`, `R`: `(N, K)`; `B`: `(N, U)`, U may be 0; `C`: `(O, N)`; `d`: `(O,)` or `None`.
    - `x0`: `(N,)`; `tau`: in the unit of the simulation's `dt`. Neither trains by default.

    **Reference:** Costacurta et al. (2024), sections 3.1 and 4.1.
    """

    L: Float[Array, "unit rank"]
    R: Float[Array, "unit rank"]
    B: Float[Array, "unit input"]
    C: Float[Array, "output unit"]
    d: Float[Array, " output"] | None
    x0: Float[Array, " unit"] = fixed_field()
    tau: Any = fixed_field()
    rec_scale: RecurrentScale = eqx.field(static=True, default="unit", converter=as_recurrent_scale)
    phi: Callable = eqx.field(static=True, default=jnp.tanh)

    def __check_init__(self):
        check_time_constant(tau=self.tau)
        recurrent_scale(self.rec_scale, 1)

    @property
    def n_inputs(self) -> int:
        """Number of input channels, gains included."""
        return self.B.shape[1] + self.L.shape[1]

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        return {"tau": self.tau}

    def initial_state(self) -> Float[Array, " unit"]:
        """`x0`, `(N,)`."""
        return self.x0

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`dx/dt`, `(N,)`, per unit of `tau`."""
        n_in = self.B.shape[1]
        g = recurrent_scale(self.rec_scale, self.L.shape[0])
        drive = g * low_rank_drive(self.L, self.R, self.phi(state), input[n_in:])
        return (-state + drive + self.B @ input[:n_in]) / self.tau

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`C x + d`, `(O,)`."""
        return linear_readout(self.C, self.d, state)
