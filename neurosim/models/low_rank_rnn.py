"""The rate network whose connectivity has low rank."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import low_rank_drive, orthonormal_columns, recurrent_scale
from .dynamics import Dynamics, fixed_field
from .linear_readout import linear_readout
from .parameters import (
    Orthonormal,
    RecurrentScale,
    as_recurrent_scale,
    check_orthonormal,
    check_rank,
    check_sizes,
    check_time_constant,
)


class LowRankRNN(Dynamics):
    """Low-rank rate network, `tau dx/dt = -x + g L R^T phi(x) + B u`, `y = C x + d`.

    - `L`, `R`: `(N, K)` left and right factors; `g` is `rec_scale`.
    - `B`: `(N, U)`, `C`: `(O, N)`, `d`: `(O,)` or `None`.
    - `x0`: `(N,)` initial state, which does not train by default.
    - `tau`: time constant in the unit of the simulation's `dt`.
    - `orthonormal_left`: `"positive"` or `"lapack"` puts the orthonormal factor of L in its place
      (see `neurosim.kernels.orthonormal_columns`), and gradients flow through it; `None` keeps L.

    The published recursion is explicit Euler, so it needs no step of its own.
    """

    L: Float[Array, "unit rank"]
    R: Float[Array, "unit rank"]
    B: Float[Array, "unit input"]
    C: Float[Array, "output unit"]
    d: Float[Array, " output"] | None
    x0: Float[Array, " unit"] = fixed_field()
    tau: Any = fixed_field()
    rec_scale: RecurrentScale = eqx.field(static=True, default="1/N", converter=as_recurrent_scale)
    orthonormal_left: Orthonormal = eqx.field(static=True, default=None)
    phi: Callable = eqx.field(static=True, default=jnp.tanh)

    def __check_init__(self):
        check_time_constant(tau=self.tau)
        recurrent_scale(self.rec_scale, 1)
        check_orthonormal(self.orthonormal_left, self.L)

    @classmethod
    def init(
        cls,
        n_units: int,
        rank: int,
        n_in: int,
        n_out: int,
        *,
        key: PRNGKeyArray,
        tau: float | int = 100.0,
        rec_scale: RecurrentScale = "1/N",
        orthonormal_left: Orthonormal = "positive",
        phi: Callable = jnp.tanh,
        scheme: str = "mwg",
    ) -> "LowRankRNN":
        """The published initialisations, both with the factor 1/N on the recurrent term.

        - `scheme="mwg"`: L, R ~ N(0, 1), with L orthonormal; B ~ N(0, 1/U), C and d ~ N(0, 1/N),
          x0 = 0.1.
        - `scheme="eft"`: L, R ~ N(0, 1/N), no bias in the readout, x0 ~ N(0, 1/N). Published with
          `orthonormal_left=None` and tau of 2 steps.

        **Raises:** `ValueError` for sizes below 1, a rank above the number of units, an unknown
        scheme, or a time constant that is not positive.

        **Reference:** Costacurta et al. (2024), baselines of sections 4 and 6.
        """
        check_sizes(n_units=n_units, n_in=n_in, n_out=n_out)
        check_rank(rank, n_units)
        if scheme not in ("mwg", "eft"):
            raise ValueError(f"scheme must be 'mwg' or 'eft', got {scheme!r}.")
        k_l, k_r, k_b, k_c, k_d, k_x = jax.random.split(key, 6)
        normal = jax.random.normal
        root = jnp.sqrt(n_units)
        eft = scheme == "eft"
        return cls(
            L=normal(k_l, (n_units, rank)) / (root if eft else 1),
            R=normal(k_r, (n_units, rank)) / (root if eft else 1),
            B=normal(k_b, (n_units, n_in)) / jnp.sqrt(n_in),
            C=normal(k_c, (n_out, n_units)) / root,
            d=None if eft else normal(k_d, (n_out,)) / root,
            x0=normal(k_x, (n_units,)) / root if eft else jnp.full((n_units,), 0.1),
            tau=tau,
            rec_scale=rec_scale,
            orthonormal_left=orthonormal_left,
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

    def left_factor(self) -> Float[Array, "unit rank"]:
        """L as the dynamics use it, `(N, K)`."""
        if self.orthonormal_left is None:
            return self.L
        return orthonormal_columns(self.L, sign=self.orthonormal_left)

    def prepared(self) -> "LowRankRNN":
        """The same network with its orthonormal factor worked out."""
        if self.orthonormal_left is None:
            return self
        return dataclasses.replace(self, L=self.left_factor(), orthonormal_left=None)

    def initial_state(self) -> Float[Array, " unit"]:
        """`x0`, `(N,)`."""
        return self.x0

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`dx/dt`, `(N,)`, per unit of `tau`."""
        g = recurrent_scale(self.rec_scale, self.L.shape[0])
        drive = g * low_rank_drive(self.left_factor(), self.R, self.phi(state))
        return (-state + drive + self.B @ input) / self.tau

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`C x + d`, `(O,)`."""
        return linear_readout(self.C, self.d, state)
