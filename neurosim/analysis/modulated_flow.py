"""The flow of a low-rank network and the population that sets its gains, in K + M variables."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..kernels import recurrent_scale
from .low_rank_factors import check_factors, check_matrix, check_vector
from .low_rank_fixed_points import ReducedFlow, held_drive
from .transfer_function import rates


class ModulatedFlow(eqx.Module):
    """(tau_x dkappa/dt, tau_z dz/dt) for a held input.

    - `L`, `R`: `(N, K)`, `R` with the factor g. `offset`: `(N,)`, B_x u_x.
    - `W_z`, `A_z`, `b_z`: as in the network. `z_offset`: `(M,)`, B_z u + b_zx.
    - `B_zx`: `(M, N)`, or `None` without feedback.
    """

    L: Float[Array, "unit rank"]
    R: Float[Array, "unit rank"]
    offset: Float[Array, " unit"]
    W_z: Float[Array, "nm nm"]
    A_z: Float[Array, "gain nm"]
    b_z: Float[Array, " gain"]
    z_offset: Float[Array, " nm"]
    B_zx: Float[Array, "nm unit"] | None
    phi: Callable = eqx.field(static=True)
    gain_fn: Callable = eqx.field(static=True)

    @classmethod
    def of(
        cls,
        L: Any,
        R: Any,
        W_z: Any,
        A_z: Any,
        b_z: Any,
        B_zx: Any,
        b_zx: Any,
        B_x: Any,
        B_z: Any,
        input: Any,
        *,
        phi: Callable,
        gain_fn: Callable,
        rec_scale: Any,
    ) -> "ModulatedFlow":
        """From the network's own arrays; `ValueError` where they do not fit."""
        n_units, rank = check_factors(L, R)
        if W_z.ndim != 2 or W_z.shape[0] != W_z.shape[1] or W_z.size == 0:
            raise ValueError(f"W_z must be square, (nm, nm), and not empty, got {W_z.shape}.")
        n_nm = len(W_z)
        if A_z.ndim != 2 or A_z.shape[0] not in (1, rank) or A_z.shape[1] != n_nm:
            raise ValueError(
                f"A_z must be ({rank}, {n_nm}), a gain for each component, or (1, {n_nm}), a "
                f"single one; got {A_z.shape}."
            )
        check_vector(b_z, "b_z", axis_name="gain", n=A_z.shape[0])
        if (B_zx is None) != (b_zx is None):
            raise ValueError("feedback needs both B_zx and b_zx, or neither.")
        if len({value is None for value in (B_x, B_z, input)}) > 1:
            raise ValueError("B_x, B_z and input go together: give all three, or none.")
        z_offset = held_drive(B_z, input, W_z, name="B_z")
        if B_x is not None:
            check_matrix(B_x, "B_x", layout="(units, input)", axis=0, n_units=n_units)
            if B_x.shape[1] > len(input):
                raise ValueError(
                    f"x takes {B_x.shape[1]} input channels, and input has only {len(input)}."
                )
            input = input[: B_x.shape[1]]
        if B_zx is not None:
            if B_zx.shape != (n_nm, n_units):
                raise ValueError(f"B_zx must be ({n_nm}, {n_units}), got {B_zx.shape}.")
            check_vector(b_zx, "b_zx", axis_name="nm", n=n_nm)
            z_offset = z_offset + b_zx
        return cls(
            L=jnp.asarray(L),
            R=jnp.asarray(recurrent_scale(rec_scale, n_units) * R),
            offset=held_drive(B_x, input, L, name="B_x"),
            W_z=jnp.asarray(W_z),
            A_z=jnp.asarray(A_z),
            b_z=jnp.asarray(b_z),
            z_offset=z_offset,
            B_zx=None if B_zx is None else jnp.asarray(B_zx),
            phi=phi,
            gain_fn=gain_fn,
        )

    def gains(self, z: Float[Array, " nm"]) -> Float[Array, " gain"]:
        """s, `(K,)` or `(1,)`."""
        return jnp.asarray(rates(self.gain_fn, self.A_z @ z + self.b_z, jnp, name="gain_fn"))

    def under(self, s: Float[Array, " gain"]) -> ReducedFlow:
        """The flow of kappa under gains held."""
        return ReducedFlow(L=self.L, R_s=self.R * s, offset=self.offset, phi=self.phi)

    def z_image(self, z: Float[Array, " nm"]) -> Float[Array, " nm"]:
        """The z that its drive would hold, but for what comes from x."""
        return self.W_z @ rates(self.phi, z, jnp) + self.z_offset

    def feedback(self, kappa: Float[Array, " rank"]) -> Float[Array, " nm"]:
        """B_zx phi(x), `(M,)`; zero without feedback."""
        if self.B_zx is None:
            return jnp.zeros_like(self.z_offset)
        return self.B_zx @ rates(self.phi, self.L @ kappa + self.offset, jnp)

    def __call__(
        self, state: tuple[Float[Array, " rank"], Float[Array, " nm"]]
    ) -> tuple[Float[Array, " rank"], Float[Array, " nm"]]:
        kappa, z = state
        dz = self.z_image(z) + self.feedback(kappa) - z
        return self.under(self.gains(z))(kappa), dz
