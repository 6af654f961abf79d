"""The rate network with full connectivity."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import recurrent_scale
from .dynamics import Dynamics, fixed_field
from .linear_readout import linear_readout
from .parameters import (
    RecurrentScale,
    as_recurrent_scale,
    check_sizes,
    check_time_constant,
)


class VanillaRNN(Dynamics):
    """Continuous-time rate network, `tau dx/dt = -x + g W phi(x) + B u`, `y = C x + d`.

    - `W`: `(N, N)` recurrent weights, presynaptic units in columns; `g` is `rec_scale`.
    - `B`: `(N, U)`, `C`: `(O, N)`, `d`: `(O,)` or `None`.
    - `x0`: `(N,)` initial state, which does not train by default.
    - `tau`: time constant in the unit of the simulation's `dt`.

    The published recursion `x + dt/tau (...)` is explicit Euler, so it needs no step of its own.
    """

    W: Float[Array, "unit unit"]
    B: Float[Array, "unit input"]
    C: Float[Array, "output unit"]
    d: Float[Array, " output"] | None
    x0: Float[Array, " unit"] = fixed_field()
    tau: Any = fixed_field()
    rec_scale: RecurrentScale = eqx.field(static=True, default="1/N", converter=as_recurrent_scale)
    phi: Callable = eqx.field(static=True, default=jnp.tanh)

    def __check_init__(self):
        check_time_constant(tau=self.tau)
        recurrent_scale(self.rec_scale, 1)

    @classmethod
    def init(
        cls,
        n_units: int,
        n_in: int,
        n_out: int,
        *,
        key: PRNGKeyArray,
        tau: float | int = 100.0,
        rec_scale: RecurrentScale = "1/N",
        phi: Callable = jnp.tanh,
    ) -> "VanillaRNN":
        """The published initialisation: W ~ N(0, 1), B ~ N(0, 1/U), C and d ~ N(0, 1/N), x0 = 0.1.

        With the factor 1/N on the recurrent term, as the baseline of the NM-RNN study has it. That
        is next to no recurrence at first; `rec_scale="1/sqrt(N)"` starts at a spectral radius of 1.

        **Raises:** `ValueError` for sizes below 1 or a time constant that is not positive.

        **Reference:** Costacurta et al. (2024), baselines of section 4.
        """
        check_sizes(n_units=n_units, n_in=n_in, n_out=n_out)
        k_w, k_b, k_c, k_d = jax.random.split(key, 4)
        normal = jax.random.normal
        return cls(
            W=normal(k_w, (n_units, n_units)),
            B=normal(k_b, (n_units, n_in)) / jnp.sqrt(n_in),
            C=normal(k_c, (n_out, n_units)) / jnp.sqrt(n_units),
            d=normal(k_d, (n_out,)) / jnp.sqrt(n_units),
            x0=jnp.full((n_units,), 0.1),
            tau=tau,
            rec_scale=rec_scale,
            phi=phi,
        )

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.B.shape[1]

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        return {"tau": self.tau}

    def initial_state(self) -> Float[Array, " unit"]:
        """`x0`, `(N,)`."""
        return self.x0

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`dx/dt`, `(N,)`, per unit of `tau`."""
        g = recurrent_scale(self.rec_scale, self.W.shape[0])
        return (-state + g * (self.W @ self.phi(state)) + self.B @ input) / self.tau

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`C x + d`, `(O,)`."""
        return linear_readout(self.C, self.d, state)
