"""Divisive normalization as a layer: the response at which its circuit rests."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..kernels.divisive_normalization import Rectify, normalization_jacobian
from ..kernels.normalization_fixed_point import normalization_fixed_point
from ..kernels.safe_math import safe_norm
from ..kernels.spectral_norm import spectrally_normalized
from .dynamics import fixed_field
from .parameters import check_sizes, check_time_constant

RestingState = tuple[
    Float[Array, " unit"], Float[Array, " unit"], Float[Array, ""], Bool[Array, ""]
]


class NormalizationLayer(eqx.Module):
    """From an input to the rest point `(y, a)` of a circuit of divisive normalization.

        z = W_zx x / |W_zx x|,    b = f(W_bx x),    b0 = f(beta),    W = exp(log_W)

    with f the logistic function; the circuit is that of `neurosim.models.ORGaNICs`. With the
    identity for its recurrent matrix the rest point has a closed form and

        a = (b0 sigma)^2 + W (b z)^2,    y = b z / sqrt(a);

    with another it is found by `normalization_fixed_point`, and has the derivatives of the implicit
    function. Where none is found, y and a are NaN, so that nothing learns from them: with weights W
    far above 1 and a learned W_r there may be none.

    - `W_zx`, `W_bx`: `(N, U)`. `beta`: `(N,)`. `log_W`: `(N, N)`.
    - `W_r`: `(N, N)`, used over its largest singular value, which makes that 1; `None` for the
      identity.
    - `sigma`: `(N,)` semisaturation, which does not train by default.
    - `rectify`: as in `neurosim.models.ORGaNICs`. `unit_drive`: whether z is brought to length 1,
      as published; an input of zeros has the drive 0 either way. `max_steps`: bound on the search
      for a rest point.

    **Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
    circuit implementing divisive normalization, NeurIPS 37, section 6 and appendix I.1.
    """

    W_zx: Float[Array, "unit input"]
    W_bx: Float[Array, "unit input"]
    beta: Float[Array, " unit"]
    log_W: Float[Array, "unit unit"]
    W_r: Float[Array, "unit unit"] | None
    sigma: Float[Array, " unit"] = fixed_field()
    rectify: Rectify = eqx.field(static=True, default="none")
    unit_drive: bool = eqx.field(static=True, default=True)
    max_steps: int = eqx.field(static=True, default=100)

    def __check_init__(self):
        check_time_constant(sigma=self.sigma)
        check_sizes(max_steps=self.max_steps)
        if self.rectify not in ("none", "inner", "outer"):
            raise ValueError(f"rectify must be 'none', 'inner' or 'outer', got {self.rectify!r}.")

    @classmethod
    def init(
        cls,
        n_units: int,
        n_in: int,
        *,
        key: PRNGKeyArray,
        recurrence: Literal["identity", "spectral"] = "identity",
        weight_scale: float | int = 1.0,
        rectify: Rectify = "none",
        unit_drive: bool = True,
    ) -> "NormalizationLayer":
        """The published initialisation.

        log_W ~ U(-1, 0) with diagonal 0, W_zx and W_bx ~ U(-1, 1) over the square root of the
        number of inputs, beta = 0, sigma = 1. W_r, of whose start nothing is published, is the
        identity plus 0.05 N(0, 1).

        **Arguments:**

        - `n_units`, `n_in`: N, U.
        - `recurrence`: `"identity"`, or `"spectral"` for a W_r that is learned.
        - `weight_scale`: factor on W.
        - `rectify`, `unit_drive`: as in the class.

        **Raises:** `ValueError` for sizes below 1, a scale that is not positive, and words that are
        not known.
        """
        check_sizes(n_units=n_units, n_in=n_in)
        if recurrence not in ("identity", "spectral"):
            raise ValueError(f"recurrence must be 'identity' or 'spectral', got {recurrence!r}.")
        traced = isinstance(weight_scale, jax.core.Tracer)
        if not traced and not (np.isfinite(weight_scale) and weight_scale > 0):
            raise ValueError(f"weight_scale must be positive and finite, got {weight_scale}.")
        k_w, k_z, k_b, k_r = jax.random.split(key, 4)
        log_W = jax.random.uniform(k_w, (n_units, n_units), minval=-1, maxval=0)
        W_r = None
        if recurrence == "spectral":
            W_r = jnp.eye(n_units) + 0.05 * jax.random.normal(k_r, (n_units, n_units))
        bound = 1 / jnp.sqrt(n_in)
        return cls(
            W_zx=bound * jax.random.uniform(k_z, (n_units, n_in), minval=-1, maxval=1),
            W_bx=bound * jax.random.uniform(k_b, (n_units, n_in), minval=-1, maxval=1),
            beta=jnp.zeros(n_units),
            log_W=log_W.at[jnp.diag_indices(n_units)].set(0) + jnp.log(weight_scale),
            W_r=W_r,
            sigma=jnp.ones(n_units),
            rectify=rectify,
            unit_drive=unit_drive,
        )

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.W_zx.shape[1]

    @property
    def n_units(self) -> int:
        """Number of principal neurons, and of normalization neurons."""
        return self.W_zx.shape[0]

    @property
    def W(self) -> Float[Array, "unit unit"]:
        """Normalization weights, `(N, N)`."""
        return jnp.exp(self.log_W)

    @property
    def b0(self) -> Float[Array, " unit"]:
        """Gains of the baseline, `(N,)`, in (0, 1)."""
        return jax.nn.sigmoid(self.beta)

    @property
    def recurrent_matrix(self) -> Float[Array, "unit unit"] | None:
        """The recurrent weights of the circuit, `(N, N)`; `None` for the identity."""
        return None if self.W_r is None else spectrally_normalized(self.W_r)

    def drive(self, x: Float[Array, " input"]) -> Float[Array, " unit"]:
        """The input drive z, `(N,)`."""
        z = self.W_zx @ x
        if not self.unit_drive:
            return z
        length = safe_norm(z)
        return z / jnp.where(length > 0, length, 1)

    def gain(self, x: Float[Array, " input"]) -> Float[Array, " unit"]:
        """The input gain b, `(N,)`, in (0, 1)."""
        return jax.nn.sigmoid(self.W_bx @ x)

    def __call__(
        self, x: Float[Array, " input"]
    ) -> tuple[Float[Array, " unit"], Float[Array, " unit"]]:
        """`(y, a)` at rest, `(N,)` each, for an input `(U,)`."""
        y, a, _, converged = self.rest_point(x)
        if self.W_r is None:
            return y, a
        return jnp.where(converged, y, jnp.nan), jnp.where(converged, a, jnp.nan)

    def rest_point(self, x: Float[Array, " input"]) -> RestingState:
        """`(y, a, residual, converged)` for an input, as of `normalization_fixed_point`."""
        return normalization_fixed_point(
            self.drive(x), W_r=self.recurrent_matrix, W=self.W, b=self.gain(x), b0=self.b0,
            sigma=self.sigma, rectify=self.rectify, max_steps=self.max_steps,
        )  # fmt: skip

    def jacobian(
        self, x: Float[Array, " input"], *, tau_y: Any = 1.0, tau_a: Any = 1.0
    ) -> Float[Array, "state state"]:
        """The Jacobian of the circuit where it rests, `(2N, 2N)`, in the order `[y; a]`.

        **Arguments:**

        - `x`: `(U,)`.
        - `tau_y`, `tau_a`: time constants, `(N,)` or a number; the layer itself has none.
        """
        y, a = self(x)
        return normalization_jacobian(
            y, a, W_r=self.recurrent_matrix, W=self.W, tau_y=tau_y, tau_a=tau_a,
            rectify=self.rectify,
        )  # fmt: skip
