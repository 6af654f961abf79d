"""ORGaNICs: the recurrent circuit whose rest point is divisive normalization."""

import warnings
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels.divisive_normalization import (
    Rectify,
    normalization_flow,
    normalization_jacobian,
)
from ..kernels.normalization_fixed_point import normalization_fixed_point
from .dynamics import Dynamics, fixed_field
from .linear_readout import linear_readout
from .normalization_rest import RestPoint, eigenvalues_negative, warn_untested
from .parameters import check_sizes
from .signed_parameters import (
    finite_array,
    log_of_positive,
    optional_array,
    root_of_weights,
)


class ORGaNICsState(NamedTuple):
    """Principal neurons `y` and normalization neurons `a`, both `(N,)`."""

    y: Any
    a: Any


class ORGaNICs(Dynamics):
    """The two-type circuit.

        tau_y dy/dt = -y + b z + (1 - sqrt([a]+)) W_r y
        tau_a da/dt = -a + (b0 sigma)^2 + W (y^2 [a]+),    z = W_zx x

    - `W_r`: `(N, N)` recurrent weights, presynaptic units in columns; `None` is the identity,
      which is no parameter, and at which the circuit is stable whatever the others.
    - `root_W`: `(N, N)`; the normalization weights are `W = root_W^2`.
    - `log_b`, `log_b0`, `log_sigma`: `(N,)`, logarithms of the input gain, of the gain of the
      baseline and of the semisaturation.
    - `W_zx`: `(N, U)`; with `None` the input is the drive z itself.
    - `C`: `(O, N)`, `d`: `(O,)` or `None`; with `C = None` the output is y.
    - `log_tau_y`, `log_tau_a`: `(N,)` logarithms of the time constants, in the unit of the
      simulation's `dt` (s in the defaults); `y0`, `a0`: `(N,)` initial state, where `None` is the
      state of rest without input, `y = 0` and `a = (b0 sigma)^2`. They do not train by default.
    - `rectify`: `"none"`, `"inner"` (`W_r [y]+`) or `"outer"` (`[W_r y]+`); both of these pool
      `[y]+^2`.

    `from_parameters` takes the plain values, and the properties give them back.

    **Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
    circuit implementing divisive normalization, NeurIPS 37, Eqs. 1 and 15, appendix F.
    """

    W_r: Float[Array, "unit unit"] | None
    root_W: Float[Array, "unit unit"]
    log_b: Float[Array, " unit"]
    log_b0: Float[Array, " unit"]
    log_sigma: Float[Array, " unit"]
    W_zx: Float[Array, "unit input"] | None
    C: Float[Array, "output unit"] | None
    d: Float[Array, " output"] | None
    log_tau_y: Float[Array, " unit"] = fixed_field()
    log_tau_a: Float[Array, " unit"] = fixed_field()
    y0: Float[Array, " unit"] | None = fixed_field(default=None)
    a0: Float[Array, " unit"] | None = fixed_field(default=None)
    rectify: Rectify = eqx.field(static=True, default="none")

    def __check_init__(self):
        if self.rectify not in get_args(Rectify):
            raise ValueError(f"rectify must be 'none', 'inner' or 'outer', got {self.rectify!r}.")
        if self.C is None and self.d is not None:
            raise ValueError("d is added to C y: without C there is none.")

    @classmethod
    def from_parameters(
        cls,
        *,
        W: Any,
        W_r: Any = None,
        b: Any = 0.5,
        b0: Any = 0.5,
        sigma: Any = 0.1,
        tau_y: Any = 0.002,
        tau_a: Any = 0.002,
        W_zx: Any = None,
        rectify: Rectify = "none",
        C: Any = None,
        d: Any = None,
        y0: Any = None,
        a0: Any = None,
    ) -> "ORGaNICs":
        """The circuit with the given values.

        **Arguments:**

        - `W`: `(N, N)` normalization weights, none negative; or a number for a single neuron.
        - `W_r`: `(N, N)`, or `None` for the identity.
        - `b`, `b0`, `sigma`, `tau_y`, `tau_a`: positive, `(N,)` or a number for all.
        - `W_zx`, `C`, `d`, `y0`, `a0`, `rectify`: as in the class.

        **Raises:** `ValueError` for values that are not finite, wrong shapes, negative `W` or `a0`,
        and other values that must be positive and are not.

        **Warns:** with a `W_r`, for a largest singular value above 1 and for a `b` above 1, where a
        stable rest point need not exist.
        """
        n = 1 if np.ndim(W) == 0 else np.shape(W)[0]
        matrix = optional_array("W_r", W_r, (n, n))
        fields: dict[str, Any] = {
            "W_r": matrix,
            "root_W": root_of_weights("W", W, n),
            "W_zx": optional_array("W_zx", W_zx, (n, None)),
            "C": optional_array("C", C, (None, n)),
            "d": optional_array("d", d, (None if C is None else len(C),)),
            "y0": optional_array("y0", y0, (n,)),
            "a0": optional_array("a0", a0, (n,)),
        }
        positive = {"b": b, "b0": b0, "sigma": sigma, "tau_y": tau_y, "tau_a": tau_a}
        for name, value in positive.items():
            fields[f"log_{name}"] = log_of_positive(name, value, n)
        if a0 is not None and not isinstance(a0, jax.core.Tracer) and np.any(np.asarray(a0) < 0):
            raise ValueError(f"a0 must not be negative, got {np.min(np.asarray(a0)):g}.")
        if matrix is not None:
            warn_untested(matrix, b)
        return cls(rectify=rectify, **fields)

    @classmethod
    def init(
        cls,
        n_units: int,
        n_in: int,
        n_out: int,
        *,
        key: PRNGKeyArray,
        recurrence: Literal["identity", "orthogonal"] = "identity",
        b: Any = 0.5,
        b0: Any = 0.5,
        sigma: Any = 0.1,
        tau_y: Any = 0.002,
        tau_a: Any = 0.002,
        rectify: Rectify = "none",
    ) -> "ORGaNICs":
        """Random weights with the distributions of the published cell.

        W ~ U(0, 1) with diagonal 1; W_zx ~ U(-1, 1) with largest singular value 1; C ~ N(0, 1/N),
        d = 0.

        **Arguments:**

        - `n_units`, `n_in`, `n_out`: N, U, O.
        - `recurrence`: the identity, which does not train, or a random orthogonal matrix.
        - the rest as in `from_parameters`.

        **Raises:** `ValueError` as `from_parameters`, and for sizes below 1.
        """
        check_sizes(n_units=n_units, n_in=n_in, n_out=n_out)
        if recurrence not in ("identity", "orthogonal"):
            raise ValueError(f"recurrence must be 'identity' or 'orthogonal', got {recurrence!r}.")
        k_w, k_in, k_c, k_r = jax.random.split(key, 4)
        W = jax.random.uniform(k_w, (n_units, n_units))
        W_zx = jax.random.uniform(k_in, (n_units, n_in), minval=-1, maxval=1)
        orthogonal = recurrence == "orthogonal"
        return cls.from_parameters(
            W=W.at[jnp.diag_indices(n_units)].set(1),
            W_r=jax.random.orthogonal(k_r, n_units) if orthogonal else None,
            W_zx=W_zx / jnp.linalg.norm(W_zx, 2),
            C=jax.random.normal(k_c, (n_out, n_units)) / jnp.sqrt(n_units),
            d=jnp.zeros(n_out),
            b=b, b0=b0, sigma=sigma, tau_y=tau_y, tau_a=tau_a, rectify=rectify,
        )  # fmt: skip

    @property
    def W(self) -> Float[Array, "unit unit"]:
        """Normalization weights, `(N, N)`, none negative."""
        return self.root_W * self.root_W

    @property
    def b(self) -> Float[Array, " unit"]:
        """Input gains, `(N,)`."""
        return jnp.exp(self.log_b)

    @property
    def b0(self) -> Float[Array, " unit"]:
        """Gains of the baseline of `a`, `(N,)`."""
        return jnp.exp(self.log_b0)

    @property
    def sigma(self) -> Float[Array, " unit"]:
        """Semisaturation, `(N,)`."""
        return jnp.exp(self.log_sigma)

    @property
    def tau_y(self) -> Float[Array, " unit"]:
        """Time constants of `y`, `(N,)`."""
        return jnp.exp(self.log_tau_y)

    @property
    def tau_a(self) -> Float[Array, " unit"]:
        """Time constants of `a`, `(N,)`."""
        return jnp.exp(self.log_tau_a)

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.root_W.shape[0] if self.W_zx is None else self.W_zx.shape[1]

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        return {"tau_y": self.tau_y, "tau_a": self.tau_a}

    def drive(self, x: Float[Array, " input"]) -> Float[Array, " unit"]:
        """The input drive `z = W_zx x`, `(N,)`."""
        return x if self.W_zx is None else self.W_zx @ x

    def initial_state(self) -> ORGaNICsState:
        """`(y0, a0)`, or the state of rest without input."""
        y = jnp.zeros_like(self.log_b) if self.y0 is None else self.y0
        return ORGaNICsState(y, (self.b0 * self.sigma) ** 2 if self.a0 is None else self.a0)

    def vector_field(self, t: Any, state: ORGaNICsState, input: Any) -> ORGaNICsState:
        """`(dy/dt, da/dt)`, per unit of the time constants."""
        dy, da = normalization_flow(
            state.y, state.a, self.drive(input),
            W_r=self.W_r, W=self.W, b=self.b, b0=self.b0, sigma=self.sigma, rectify=self.rectify,
        )  # fmt: skip
        return ORGaNICsState(dy / self.tau_y, da / self.tau_a)

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`C y + d`, `(O,)`, or `y`, `(N,)`."""
        return linear_readout(self.C, self.d, state.y)

    def noise(self, eta: float | int) -> ORGaNICsState:
        """The published process noise, `dx = f dt + eta / sqrt(tau) dW`, for `simulate(noise=)`."""
        return ORGaNICsState(eta * jnp.exp(-self.log_tau_y / 2), eta * jnp.exp(-self.log_tau_a / 2))

    def jacobian(self, state: Any) -> Float[Array, "state state"]:
        """The Jacobian of the vector field, `(2N, 2N)`, in the order `[y; a]`.

        At a state or a `RestPoint` of one input, whatever that is; `jax.vmap` takes several.
        """
        return normalization_jacobian(
            state.y, state.a, W_r=self.W_r, W=self.W, tau_y=self.tau_y, tau_a=self.tau_a,
            rectify=self.rectify,
        )  # fmt: skip

    def fixed_point(self, x: Any, *, max_steps: int = 500) -> RestPoint:
        """Where the circuit rests while an input is held.

        In closed form for `W_r = None`, else by `neurosim.kernels.normalization_fixed_point`. Can
        be differentiated; `stable` is worked out where nothing is traced.

        **Arguments:**

        - `x`: `(..., U)` one input or several.
        - `max_steps`: bound on the iterations.

        **Returns:** a `RestPoint`. It says itself whether it is one.

        **Raises:** `ValueError` for inputs of the wrong shape or not finite, and a `max_steps` that
        is no whole number from 1 on.

        **Warns:** with a `W_r`, for a drive z longer than 1.
        """
        check_sizes(max_steps=max_steps)
        traced = any(isinstance(v, jax.core.Tracer) for v in (x, *jax.tree.leaves(self)))
        x = x if isinstance(x, jax.core.Tracer) else jnp.asarray(finite_array("x", x))
        if x.ndim == 0 or x.shape[-1] != self.n_inputs:
            raise ValueError(f"x must have shape (..., {self.n_inputs}), got {x.shape}.")
        found, z = _rest_points(self, x.reshape(-1, x.shape[-1]), max_steps)
        stable = None
        if not traced:
            y, a, _, converged = found
            if self.W_r is not None and np.any(np.sum(np.asarray(z) ** 2, -1) > 1 + 1e-5):
                # One frame of the two above is Equinox's, which wraps every method.
                warnings.warn("z is longer than 1, where stability is untested.", stacklevel=3)
            jacobians = np.asarray(jax.vmap(lambda y, a: self.jacobian(ORGaNICsState(y, a)))(y, a))
            stable = np.asarray(converged) & eigenvalues_negative(jacobians)
        shape = x.shape[:-1]
        return RestPoint(
            *(None if v is None else v.reshape(shape + v.shape[1:]) for v in (*found, stable))
        )


@eqx.filter_jit
def _rest_points(model: ORGaNICs, xs: Array, max_steps: int) -> tuple[tuple[Array, ...], Array]:
    def rest_point(x):
        z = model.drive(x)
        return normalization_fixed_point(
            z, W_r=model.W_r, W=model.W, b=model.b, b0=model.b0, sigma=model.sigma,
            rectify=model.rectify, max_steps=max_steps,
        ), z  # fmt: skip

    return jax.vmap(rest_point)(xs)
