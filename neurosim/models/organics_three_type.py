"""The circuit of divisive normalization with a pool neuron of its own, in three cell types."""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels.divisive_normalization import pooled_activity
from ..kernels.normalization_fixed_point import normalization_fixed_point
from ..kernels.safe_math import safe_sqrt
from .dynamics import Dynamics, fixed_field
from .linear_readout import linear_readout
from .normalization_rest import eigenvalues_negative
from .parameters import check_sizes
from .signed_parameters import (
    finite_array,
    log_of_positive,
    optional_array,
    root_of_weights,
)


class ORGaNICs3State(NamedTuple):
    """Principal neurons `y`, pool neurons `u` and modulators `a`, `(N,)` each."""

    y: Any
    u: Any
    a: Any


class ORGaNICs3RestPoint(NamedTuple):
    """Where the circuit rests for a held input: as `RestPoint`, with `u`.

    - `y`, `u`, `a`: the point, `(N,)` each.
    - `residual`: the largest `|tau dx/dt|` there; `converged`, `stable`: as in `RestPoint`.
    """

    y: Any
    u: Any
    a: Any
    residual: Any
    converged: Any
    stable: Any


class ORGaNICs3(Dynamics):
    """The three-type circuit.

        tau_y dy/dt = -y + g z + W_r y / (1 + [a]+),    z = W_zx x
        tau_u du/dt = -u + (b0 sigma)^2 + W (y^2 [u]+)
        tau_a da/dt = -a + sqrt([u]+) + a sqrt([u]+) + alpha tau_u du/dt

    At rest `1 / (1 + a) = 1 - sqrt(u)`: y and u rest where y and a of the two-type circuit do, as
    long as `u < 1`; beyond, a has nowhere to rest. `g` is b, or `b / (1 + b)` for
    `gain="saturating"`.

    - `W_r`: `(N, N)` or `None` for the identity; `root_W`: `(N, N)`, the square root of the
      normalization weights W; `log_b`, `log_b0`, `log_sigma`: `(N,)` logarithms.
    - `W_zx`: `(N, U)`, `None` where the input is z; `C`: `(O, N)`, `None` where the output is y.
    - `log_tau_y`, `log_tau_u`, `log_tau_a`: `(N,)` logarithms of the time constants, in the unit of
      the simulation's `dt` (s in the defaults); `alpha`: how strongly the modulators follow the
      change of the pool. They do not train by default.

    The state of rest without input is the initial one.

    **Reference:** Heeger & Mackey (2019), PNAS 116; Rawat, Heeger & Martiniani (2024), NeurIPS 37,
    for the two-type circuit.
    """

    W_r: Float[Array, "unit unit"] | None
    root_W: Float[Array, "unit unit"]
    log_b: Float[Array, " unit"]
    log_b0: Float[Array, " unit"]
    log_sigma: Float[Array, " unit"]
    W_zx: Float[Array, "unit input"] | None
    C: Float[Array, "output unit"] | None
    log_tau_y: Float[Array, " unit"] = fixed_field()
    log_tau_u: Float[Array, " unit"] = fixed_field()
    log_tau_a: Float[Array, " unit"] = fixed_field()
    alpha: Any = fixed_field(default=0.0)
    gain: Literal["constant", "saturating"] = eqx.field(static=True, default="constant")

    def __check_init__(self):
        if self.gain not in ("constant", "saturating"):
            raise ValueError(f"gain must be 'constant' or 'saturating', got {self.gain!r}.")
        if not isinstance(self.alpha, jax.core.Tracer) and not _not_negative(self.alpha):
            raise ValueError(f"alpha must not be negative or infinite, got {self.alpha}.")

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
        tau_u: Any = 0.002,
        tau_a: Any = 0.002,
        alpha: float | int = 0.0,
        gain: Literal["constant", "saturating"] = "constant",
        W_zx: Any = None,
        C: Any = None,
    ) -> "ORGaNICs3":
        """The circuit with the given values.

        **Arguments:**

        - `W`: `(N, N)` normalization weights, none negative; or a number for a single neuron.
        - `W_r`: `(N, N)`, or `None` for the identity.
        - `b`, `b0`, `sigma`, `tau_y`, `tau_u`, `tau_a`: positive, `(N,)` or a number for all.
        - the rest as in the class.

        **Raises:** `ValueError` for values that are not finite, wrong shapes, negative `W` or
        `alpha`, and other values that must be positive and are not.
        """
        n = 1 if np.ndim(W) == 0 else np.shape(W)[0]
        positive = {"b": b, "b0": b0, "sigma": sigma, "tau_y": tau_y, "tau_u": tau_u,
                    "tau_a": tau_a}  # fmt: skip
        return cls(
            W_r=optional_array("W_r", W_r, (n, n)),
            root_W=root_of_weights("W", W, n),
            W_zx=optional_array("W_zx", W_zx, (n, None)),
            C=optional_array("C", C, (None, n)),
            alpha=jnp.asarray(alpha, float),
            gain=gain,
            **{f"log_{name}": log_of_positive(name, value, n) for name, value in positive.items()},
        )

    @property
    def W(self) -> Float[Array, "unit unit"]:
        """Normalization weights, `(N, N)`, none negative."""
        return self.root_W * self.root_W

    @property
    def input_gain(self) -> Float[Array, " unit"]:
        """`b`, or `b / (1 + b)`, `(N,)`."""
        b = jnp.exp(self.log_b)
        return b / (1 + b) if self.gain == "saturating" else b

    @property
    def floor(self) -> Float[Array, " unit"]:
        """`(b0 sigma)^2`, where the pool rests without activity, `(N,)`."""
        return jnp.exp(2 * (self.log_b0 + self.log_sigma))

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.root_W.shape[0] if self.W_zx is None else self.W_zx.shape[1]

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        names = ("tau_y", "tau_u", "tau_a")
        return {name: jnp.exp(getattr(self, f"log_{name}")) for name in names}

    def drive(self, x: Float[Array, " input"]) -> Float[Array, " unit"]:
        """The input drive `z = W_zx x`, `(N,)`."""
        return x if self.W_zx is None else self.W_zx @ x

    def initial_state(self) -> ORGaNICs3State:
        """The state of rest without input; where `b0 sigma` is 1 or more, with `a = 0`."""
        root = jnp.exp(self.log_b0 + self.log_sigma)
        possible = root < 1
        a = jnp.where(possible, root / jnp.where(possible, 1 - root, 1), 0)
        return ORGaNICs3State(jnp.zeros_like(root), self.floor, a)

    def vector_field(self, t: Any, state: ORGaNICs3State, input: Any) -> ORGaNICs3State:
        """`(dy/dt, du/dt, da/dt)`, per unit of the time constants."""
        y, u, a = state
        root = safe_sqrt(jnp.maximum(u, 0))
        recurrent = y if self.W_r is None else self.W_r @ y
        dy = -y + self.input_gain * self.drive(input) + recurrent / (1 + jnp.maximum(a, 0))
        du = -u + self.floor + pooled_activity(y, u, self.W)
        da = -a + root + a * root + self.alpha * du
        tau = self.time_constants
        return ORGaNICs3State(dy / tau["tau_y"], du / tau["tau_u"], da / tau["tau_a"])

    def readout(self, state: ORGaNICs3State) -> Float[Array, " output"]:
        """`C y`, `(O,)`, or `y`, `(N,)`."""
        return linear_readout(self.C, None, state.y)

    def jacobian(self, state: Any) -> Float[Array, "state state"]:
        """The Jacobian of the vector field, `(3N, 3N)`, in the order `[y; u; a]`.

        At a state or an `ORGaNICs3RestPoint`, whatever the input.
        """
        n = self.root_W.shape[0]
        silence = jnp.zeros((self.n_inputs,), self.root_W.dtype)

        def field(v):
            flow = self.vector_field(0.0, ORGaNICs3State(v[:n], v[n : 2 * n], v[2 * n :]), silence)
            return jnp.concatenate(flow)

        return jax.jacfwd(field)(jnp.concatenate([state.y, state.u, state.a]))

    def fixed_point(self, x: Any, *, max_steps: int = 500) -> ORGaNICs3RestPoint:
        """Where the circuit rests while an input is held.

        **Arguments:**

        - `x`: `(U,)` one input, not traced.
        - `max_steps`: bound on the iterations for a general `W_r`.

        **Raises:** `ValueError` for an input of the wrong shape or not finite, a `max_steps` that
        is no whole number from 1 on, and where a pool neuron would rest at 1 or above, so that its
        modulator cannot.
        """
        check_sizes(max_steps=max_steps)
        x = jnp.asarray(finite_array("x", x))
        if x.shape != (self.n_inputs,):
            raise ValueError(f"x must have shape {(self.n_inputs,)}, got {x.shape}.")
        state, residual, converged, jacobian = _rest_point(self, x, max_steps)
        if converged and not np.all(np.asarray(state.u) < 1):
            raise ValueError(
                f"pool neuron {int(np.argmax(state.u))} would rest at u = "
                f"{float(np.max(state.u)):.4g}; a has a rest point for u below 1 alone: lower the "
                "input, b or b0 sigma."
            )
        stable = np.asarray(converged) & eigenvalues_negative(np.asarray(jacobian))
        return ORGaNICs3RestPoint(state.y, state.u, state.a, residual, converged, stable)


def _not_negative(alpha: Any) -> bool:
    values = np.asarray(alpha)
    return bool(np.all((values >= 0) & (values < np.inf)))


@eqx.filter_jit
def _rest_point(model: ORGaNICs3, x: Array, max_steps: int) -> tuple[Any, Array, Array, Array]:
    y, u, _, converged = normalization_fixed_point(
        model.drive(x), W_r=model.W_r, W=model.W, b=model.input_gain, b0=jnp.exp(model.log_b0),
        sigma=jnp.exp(model.log_sigma), max_steps=max_steps,
    )  # fmt: skip
    root = jnp.sqrt(u)
    state = ORGaNICs3State(y, u, root / (1 - root))
    flow = model.vector_field(0.0, state, x)
    scaled = [f * tau for f, tau in zip(flow, model.time_constants.values())]
    return state, jnp.max(jnp.abs(jnp.stack(scaled))), converged, model.jacobian(state)
