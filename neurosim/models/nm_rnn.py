"""The neuromodulated low-rank network: a slow population scales the modes of a fast one."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

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
    check_stable,
    check_time_constant,
)


class NMRNNState(NamedTuple):
    """State of the NM-RNN: `x` `(N,)` of the output network, `z` `(M,)` of the neuromodulatory."""

    x: Any
    z: Any


class NMRNN(Dynamics):
    """Neuromodulated low-rank RNN.

        tau_z dz/dt = -z + W_z phi(z) + B_z u [+ B_zx phi(x) + b_zx]
        s           = gain_fn(A_z z + b_z)
        tau_x dx/dt = -x + g L diag(s) R^T phi(x) + B_x u_x
        y           = C x + d

    - `L`, `R`: `(N, K)`; component k of the recurrent matrix is `L[:, k] R[:, k]^T`.
    - `B_x`: `(N, U_x)`, `B_z`: `(M, U)`. x sees the first U_x of the U input channels, so context
      channels that come last reach z alone.
    - `A_z`, `b_z`: `(K, M)`, `(K,)`, or `(1, M)`, `(1,)` for one gain common to all components.
    - `C`, `d`: `(O, N)`, `(O,)` or `None`.
    - `B_zx`, `b_zx`: `(M, N)`, `(M,)`, feedback from x to z, or `None`.
    - `x0`, `z0`, `tau_x`, `tau_z`: initial states and time constants; they do not train by
      default. The unit of the time constants is that of the simulation's `dt`.
    - `gain_clamp`: `(values, clamped)`, both `(K_gain,)`: gains held at a value (`clamp_gains`).
    - `rec_scale`: g; `orthonormal_left`: as in `LowRankRNN`.
    - `update`: `"published"` lets x see the gains of the new z within a step (semi-implicit);
      `"lagged"` those of the old z, which is explicit Euler.

    **Reference:** Costacurta, Bhandarkar, Zoltowski & Linderman (2024), Structured flexibility in
    recurrent neural networks via neuromodulation, NeurIPS, section 3.
    """

    L: Float[Array, "unit rank"]
    R: Float[Array, "unit rank"]
    B_x: Float[Array, "unit task_input"]
    C: Float[Array, "output unit"]
    d: Float[Array, " output"] | None
    W_z: Float[Array, "nm nm"]
    B_z: Float[Array, "nm input"]
    A_z: Float[Array, "gain nm"]
    b_z: Float[Array, " gain"]
    B_zx: Float[Array, "nm unit"] | None
    b_zx: Float[Array, " nm"] | None
    x0: Float[Array, " unit"] = fixed_field()
    z0: Float[Array, " nm"] = fixed_field()
    tau_x: Any = fixed_field()
    tau_z: Any = fixed_field()
    gain_clamp: tuple[Float[Array, " gain"], Bool[Array, " gain"]] | None = fixed_field(
        default=None
    )
    rec_scale: RecurrentScale = eqx.field(static=True, default="unit", converter=as_recurrent_scale)
    orthonormal_left: Orthonormal = eqx.field(static=True, default=None)
    update: Literal["published", "lagged"] = eqx.field(static=True, default="published")
    phi: Callable = eqx.field(static=True, default=jnp.tanh)
    gain_fn: Callable = eqx.field(static=True, default=jax.nn.sigmoid)

    def __check_init__(self):
        check_time_constant(tau_x=self.tau_x, tau_z=self.tau_z)
        recurrent_scale(self.rec_scale, 1)
        check_orthonormal(self.orthonormal_left, self.L)
        if self.update not in ("published", "lagged"):
            raise ValueError(f"update must be 'published' or 'lagged', got {self.update!r}.")
        if (self.B_zx is None) != (self.b_zx is None):
            raise ValueError("feedback needs both B_zx and b_zx, or neither.")
        rank, n_gains = jnp.shape(self.L)[-1], jnp.shape(self.A_z)[-2]
        if n_gains not in (1, rank):
            raise ValueError(
                f"A_z gives {n_gains} gains; one per component ({rank}) or a single one is needed."
            )
        if self.B_x.shape[-1] > self.B_z.shape[-1]:
            raise ValueError(
                f"x takes {self.B_x.shape[-1]} input channels and z only {self.B_z.shape[-1]}: "
                "every channel of x is a channel of z too."
            )

    @classmethod
    def init(
        cls,
        n_units: int,
        rank: int,
        n_nm: int,
        n_in: int,
        n_out: int,
        *,
        key: PRNGKeyArray,
        n_context: int = 0,
        n_gains: int | None = None,
        scheme: Literal["mwg", "eft"] = "mwg",
        feedback: bool | None = None,
        tau_x: float | int | None = None,
        tau_z: float | int | None = None,
        rec_scale: RecurrentScale | None = None,
        orthonormal_left: Orthonormal | Literal["default"] = "default",
        update: Literal["published", "lagged"] = "published",
        phi: Callable = jnp.tanh,
        gain_fn: Callable = jax.nn.sigmoid,
    ) -> "NMRNN":
        """The published initialisations.

        - `scheme="mwg"` (timing and multitask): L, R ~ N(0, 1), L orthonormal; B_x, B_z ~ N(0,
          1/U); C, d ~ N(0, 1/N); W_z, A_z, b_z ~ 0.1 N(0, 1); x0 = z0 = 0.1; no factor on the
          recurrent term; tau 100 and 1000 (ms); no feedback.
        - `scheme="eft"` (element finder): L, R ~ N(0, 1/K); B_x, B_z ~ N(0, 1/U); C ~ N(0, 1/N);
          W_z, A_z ~ N(0, 1/M); b_z ~ N(0, 1/K); B_zx ~ N(0, 1/N); b_zx ~ N(0, 1/M); x0 ~ N(0, 1/N);
          z0 ~ N(0, 1/M); no d; factor 1/N; tau 2 and 10 (steps); feedback.

        **Arguments:**

        - `n_units`, `rank`, `n_nm`: N, K, M. `n_in`: channels that x and z see. `n_out`: O.
        - `n_context`: further channels that z alone sees.
        - `n_gains`: K (default), or 1 for a single gain.
        - the rest replaces the scheme's own choice where given.

        **Raises:** `ValueError` for sizes below 1, a rank above the number of units, a number of
        gains that is neither 1 nor K, or time constants that are not positive.
        """
        check_sizes(n_units=n_units, n_nm=n_nm, n_in=n_in, n_out=n_out)
        check_rank(rank, n_units)
        if scheme not in ("mwg", "eft"):
            raise ValueError(f"scheme must be 'mwg' or 'eft', got {scheme!r}.")
        if n_context < 0:
            raise ValueError(f"n_context must not be negative, got {n_context}.")
        eft = scheme == "eft"
        n_gains = rank if n_gains is None else n_gains
        feedback = eft if feedback is None else feedback
        if orthonormal_left == "default":
            orthonormal_left = None if eft else "positive"
        keys = iter(jax.random.split(key, 13))

        def normal(*shape: int, variance: float) -> Array:
            return jax.random.normal(next(keys), shape) * jnp.sqrt(variance)

        n_all = n_in + n_context
        v_lr, v_w, v_a, v_b = (
            (1 / rank, 1 / n_nm, 1 / n_nm, 1 / rank) if eft else (1.0, 0.01, 0.01, 0.01)
        )
        fields: dict[str, Any] = {
            "L": normal(n_units, rank, variance=v_lr),
            "R": normal(n_units, rank, variance=v_lr),
            "B_x": normal(n_units, n_in, variance=1 / n_all),
            "C": normal(n_out, n_units, variance=1 / n_units),
            "d": normal(n_out, variance=1 / n_units),
            "W_z": normal(n_nm, n_nm, variance=v_w),
            "B_z": normal(n_nm, n_all, variance=1 / n_all),
            "A_z": normal(n_gains, n_nm, variance=v_a),
            "b_z": normal(n_gains, variance=v_b),
            "B_zx": normal(n_nm, n_units, variance=1 / n_units),
            "b_zx": normal(n_nm, variance=1 / n_nm),
            "x0": normal(n_units, variance=1 / n_units) if eft else jnp.full((n_units,), 0.1),
            "z0": normal(n_nm, variance=1 / n_nm) if eft else jnp.full((n_nm,), 0.1),
        }
        if eft:
            fields["d"] = None
        if not feedback:
            fields["B_zx"] = fields["b_zx"] = None
        return cls(
            **fields,
            tau_x=(2.0 if eft else 100.0) if tau_x is None else tau_x,
            tau_z=(10.0 if eft else 1000.0) if tau_z is None else tau_z,
            rec_scale=("1/N" if eft else "unit") if rec_scale is None else rec_scale,
            orthonormal_left=orthonormal_left,
            update=update,
            phi=phi,
            gain_fn=gain_fn,
        )

    @property
    def n_inputs(self) -> int:
        """Number of input channels, context channels included."""
        return self.B_z.shape[1]

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        return {"tau_x": self.tau_x, "tau_z": self.tau_z}

    def left_factor(self) -> Float[Array, "unit rank"]:
        """L as the dynamics use it, `(N, K)`."""
        if self.orthonormal_left is None:
            return self.L
        return orthonormal_columns(self.L, sign=self.orthonormal_left)

    def prepared(self) -> "NMRNN":
        """The same network with its orthonormal factor worked out."""
        if self.orthonormal_left is None:
            return self
        return dataclasses.replace(self, L=self.left_factor(), orthonormal_left=None)

    def gains(self, z: Float[Array, " nm"]) -> Float[Array, " gain"]:
        """The gains s, `(K,)` or `(1,)`, of a state z; clamped ones at their value."""
        s = self.gain_fn(self.A_z @ z + self.b_z)
        if self.gain_clamp is None:
            return s
        values, clamped = self.gain_clamp
        return jnp.where(clamped, values, s)

    def initial_state(self) -> NMRNNState:
        """`(x0, z0)`."""
        return NMRNNState(self.x0, self.z0)

    def vector_field(self, t: Any, state: NMRNNState, input: Any) -> NMRNNState:
        """`(dx/dt, dz/dt)`, per unit of the time constants."""
        x, z = state
        dz = (-z + self._drive_z(x, z, input)) / self.tau_z
        dx = (-x + self._drive_x(x, self.gains(z), input)) / self.tau_x
        return NMRNNState(dx, dz)

    def step(self, t: Any, state: NMRNNState, input: Any, dt: Any) -> NMRNNState:
        """The published recursion: z moves first, and x sees the gains of the new z.

        **Raises:** `ValueError` for a `dt` not below twice the shorter time constant.
        """
        check_stable(dt, tau_x=self.tau_x, tau_z=self.tau_z)
        x, z = state
        alpha_x, alpha_z = dt / self.tau_x, dt / self.tau_z
        z_new = (1 - alpha_z) * z + alpha_z * self._drive_z(x, z, input)
        s = self.gains(z_new if self.update == "published" else z)
        x_new = (1 - alpha_x) * x + alpha_x * self._drive_x(x, s, input)
        return NMRNNState(x_new, z_new)

    def readout(self, state: NMRNNState) -> Float[Array, " output"]:
        """`C x + d`, `(O,)`."""
        return linear_readout(self.C, self.d, state.x)

    def _drive_z(self, x: Any, z: Any, u: Any) -> Any:
        drive = self.W_z @ self.phi(z) + self.B_z @ u
        if self.B_zx is None or self.b_zx is None:
            return drive
        return drive + self.B_zx @ self.phi(x) + self.b_zx

    def _drive_x(self, x: Any, s: Any, u: Any) -> Any:
        g = recurrent_scale(self.rec_scale, self.L.shape[0])
        recurrent = low_rank_drive(self.left_factor(), self.R, self.phi(x), s)
        return g * recurrent + self.B_x @ u[: self.B_x.shape[1]]


def clamp_gains(model: NMRNN, values: Mapping[Any, Any]) -> NMRNN:
    """Hold some gains at a value, after the gain function, for the whole trial.

    **Arguments:**

    - `model`: an `NMRNN`.
    - `values`: component index to value, or to `"initial"` for the gain of the initial state, as
      in the published ablations; components not named stay free. The mean over trials is a matter
      of these trials: see `neurosim.analysis.hold_gains`.

    **Raises:** `ValueError` for an index that the model does not have, another word, or a value
    that is not finite.

    **Reference:** Costacurta et al. (2024), section 4.2, for the ablations.
    """
    n_gains = model.A_z.shape[0]
    if not isinstance(values, Mapping):
        raise ValueError(f"values must map gain indices to values, got {values!r}.")
    for k, value in values.items():
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise ValueError(f"gain indices are whole numbers, got {k!r}.")
        if not 0 <= k < n_gains:
            raise ValueError(f"gain index {k} is out of range: the model has {n_gains} gains.")
        if isinstance(value, str) and value != "initial":
            raise ValueError(f"a gain is held at a number or at 'initial', got {value!r}.")
        if not isinstance(value, (str, jax.core.Tracer)) and not np.all(np.isfinite(value)):
            raise ValueError(f"gain {k} must be held at a finite value, got {value}.")
    held, clamped = jnp.zeros((n_gains,), model.b_z.dtype), jnp.zeros((n_gains,), bool)
    if model.gain_clamp is not None:
        held, clamped = model.gain_clamp
    initial = model.gains(model.z0)
    for k, value in values.items():
        value = initial[k] if isinstance(value, str) else value
        held, clamped = held.at[k].set(value), clamped.at[k].set(True)
    return dataclasses.replace(model, gain_clamp=(held, clamped))
