"""The stabilized supralinear network: excitatory and inhibitory rates with a power law."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .dynamics import Dynamics, fixed_field
from .linear_readout import linear_readout
from .parameters import check_sizes
from .signed_parameters import finite_array, log_of_positive, optional_array, shaped_array
from .supralinear_rest import SSNRestPoint, excitatory_gain, find_rest


class SSN(Dynamics):
    """Stabilized supralinear network, excitatory units first.

        tau dr/dt = -r + k [h + W r]+^p,    h = W_in x         (form="rate")
        tau dv/dt = -v + h + W k [v]+^p,    r = k [v]+^p       (form="voltage")

    Both forms rest at the same rates, and the voltage form takes the time constants of the
    receiving units too; with one time constant for all their eigenvalues are the same.

    - `log_W`, `signs`: `(N, N)`; `W = signs exp(log_W)`. Signs are 1 in the columns of the first
      `n_excitatory` units, -1 in the others, and 0 where there is no connection; they do not train,
      so training keeps every sign and every zero.
    - `W_in`: `(N, U)`; with `None` the input is h itself.
    - `C`: `(O, N_E)`, `d`: `(O,)` or `None`. The readout sees the rates of excitatory units alone;
      with `C = None` the output is the rates of all units.
    - `log_tau`: `(N,)` logarithms of the time constants, in the unit of the simulation's `dt` (s in
      the defaults); `k`, `p`: the power law, `p > 1`; `x0`: `(N,)` initial rates or voltages,
      `None` for 0. They do not train by default.

    **Reference:** Rubin, Van Hooser & Miller (2015), The stabilized supralinear network: a unifying
    circuit motif underlying multi-input integration in sensory cortex, Neuron 85.
    """

    log_W: Float[Array, "unit unit"]
    W_in: Float[Array, "unit input"] | None
    C: Float[Array, "output excitatory"] | None
    d: Float[Array, " output"] | None
    signs: Float[Array, "unit unit"] = fixed_field()
    log_tau: Float[Array, " unit"] = fixed_field()
    k: Any = fixed_field(default=0.3)
    p: Any = fixed_field(default=2.0)
    x0: Float[Array, " unit"] | None = fixed_field(default=None)
    n_excitatory: int = eqx.field(static=True, default=1)
    form: Literal["rate", "voltage"] = eqx.field(static=True, default="rate")

    def __check_init__(self):
        if self.form not in ("rate", "voltage"):
            raise ValueError(f"form must be 'rate' or 'voltage', got {self.form!r}.")
        if self.C is None and self.d is not None:
            raise ValueError("d is added to C r: without C there is none.")
        if not isinstance(self.k, jax.core.Tracer) and not _above(self.k, 0):
            raise ValueError(f"k must be positive and finite, got {self.k}.")
        if not isinstance(self.p, jax.core.Tracer) and not _above(self.p, 1):
            raise ValueError(f"p must be above 1, the power law supralinear; got {self.p}.")

    @classmethod
    def from_parameters(
        cls,
        *,
        W: Any,
        n_excitatory: int,
        tau: Any,
        k: float | int = 0.3,
        p: float | int = 2.0,
        W_in: Any = None,
        C: Any = None,
        d: Any = None,
        x0: Any = None,
        form: Literal["rate", "voltage"] = "rate",
    ) -> "SSN":
        """The network with the given values.

        **Arguments:**

        - `W`: `(N, N)`, presynaptic units in columns: the first `n_excitatory` columns not
          negative, the others not positive.
        - `tau`: positive, `(N,)` or a number for all.
        - the rest as in the class.

        **Raises:** `ValueError` for values that are not finite, wrong shapes, columns of the wrong
        sign, `tau` or `k` that are not positive, and `p` not above 1.
        """
        n = 1 if np.ndim(W) == 0 else np.shape(W)[0]
        check_sizes(n_excitatory=n_excitatory)
        if n_excitatory > n:
            raise ValueError(f"n_excitatory is {n_excitatory}, and W has {n} rows.")
        W = shaped_array("W", W, (n, n))
        sign = column_signs(n, n_excitatory)
        if not isinstance(W, jax.core.Tracer) and np.any(np.asarray(W) * sign < 0):
            column = int(np.argmax(np.any(np.asarray(W) * sign < 0, axis=0)))
            kind = "excitatory" if column < n_excitatory else "inhibitory"
            raise ValueError(
                f"column {column} of W is of an {kind} unit and has weights of the other sign."
            )
        connected = W != 0
        return cls(
            log_W=jnp.log(jnp.where(connected, jnp.abs(W), 1)),
            signs=jnp.where(connected, sign, 0).astype(W.dtype),
            W_in=optional_array("W_in", W_in, (n, None)),
            C=optional_array("C", C, (None, n_excitatory)),
            d=optional_array("d", d, (None if C is None else len(C),)),
            log_tau=log_of_positive("tau", tau, n),
            k=jnp.asarray(k, float),
            p=jnp.asarray(p, float),
            x0=optional_array("x0", x0, (n,)),
            n_excitatory=n_excitatory,
            form=form,
        )

    @classmethod
    def init(
        cls,
        n_excitatory: int,
        n_inhibitory: int,
        n_in: int,
        n_out: int,
        *,
        key: PRNGKeyArray,
        scale: float | int = 1.0,
        k: float | int = 0.3,
        p: float | int = 2.0,
        tau_e: float | int = 0.02,
        tau_i: float | int = 0.01,
        form: Literal["rate", "voltage"] = "rate",
    ) -> "SSN":
        """Random weights of every pair, uniform between 0.2 and 1 times `scale` / N.

        W_in ~ N(0, 1/U), C ~ N(0, 1/N_E), d = 0. With a large `scale` excitation runs away, and
        nothing in the network keeps it from doing so.

        **Arguments:**

        - `n_excitatory`, `n_inhibitory`, `n_in`, `n_out`: N_E, N_I, U, O.
        - `tau_e`, `tau_i`: time constants of excitatory and inhibitory units, in s.
        - the rest as in the class.

        **Raises:** `ValueError` as `from_parameters`, and for sizes below 1 or a negative `scale`.
        """
        check_sizes(n_excitatory=n_excitatory, n_inhibitory=n_inhibitory, n_in=n_in, n_out=n_out)
        if not isinstance(scale, jax.core.Tracer) and not scale >= 0:
            raise ValueError(f"scale must not be negative, got {scale}.")
        n = n_excitatory + n_inhibitory
        k_w, k_in, k_c = jax.random.split(key, 3)
        size = jax.random.uniform(k_w, (n, n), minval=0.2, maxval=1.0) * scale / n
        return cls.from_parameters(
            W=size * column_signs(n, n_excitatory),
            n_excitatory=n_excitatory,
            tau=np.where(np.arange(n) < n_excitatory, tau_e, tau_i),
            W_in=jax.random.normal(k_in, (n, n_in)) / jnp.sqrt(n_in),
            C=jax.random.normal(k_c, (n_out, n_excitatory)) / jnp.sqrt(n_excitatory),
            d=jnp.zeros(n_out),
            k=k,
            p=p,
            form=form,
        )

    @property
    def W(self) -> Float[Array, "unit unit"]:
        """Signed weights, `(N, N)`, presynaptic units in columns."""
        return self.signs * jnp.exp(self.log_W)

    @property
    def tau(self) -> Float[Array, " unit"]:
        """Time constants, `(N,)`."""
        return jnp.exp(self.log_tau)

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.log_W.shape[0] if self.W_in is None else self.W_in.shape[1]

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        return {"tau": self.tau}

    def drive(self, x: Float[Array, " input"]) -> Float[Array, " unit"]:
        """The external input `h = W_in x`, `(N,)`."""
        return x if self.W_in is None else self.W_in @ x

    def power_law(self, u: Float[Array, " unit"]) -> Float[Array, " unit"]:
        """`k [u]+^p`, with finite derivatives for silent units too."""
        active = u > 0
        return self.k * jnp.where(active, jnp.where(active, u, 1) ** self.p, 0)

    def rates(self, state: Float[Array, " unit"]) -> Float[Array, " unit"]:
        """Firing rates r of a state, `(N,)`."""
        return state if self.form == "rate" else self.power_law(state)

    def initial_state(self) -> Float[Array, " unit"]:
        """`x0`, or silence."""
        return jnp.zeros_like(self.log_tau) if self.x0 is None else self.x0

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`dr/dt` or `dv/dt`, per unit of the time constants."""
        h = self.drive(input)
        if self.form == "rate":
            target = self.power_law(h + self.W @ state)
        else:
            target = h + self.W @ self.power_law(state)
        return (target - state) / self.tau

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`C r_E + d`, `(O,)`, or all rates, `(N,)`."""
        r = self.rates(state)
        return r if self.C is None else linear_readout(self.C, self.d, r[: self.n_excitatory])

    def jacobian(self, state: Any, x: Any) -> Float[Array, "unit unit"]:
        """The Jacobian of the vector field at a state and an input, `(N, N)`."""
        return jax.jacfwd(lambda s: self.vector_field(0.0, s, x))(state)

    def fixed_point(self, x: Any) -> SSNRestPoint:
        """Where the network rests while an input is held, from silence.

        The flow is followed for 500 of the longest time constants, and Newton's method goes on
        from there, in NumPy float64. Cannot be traced or differentiated.

        **Arguments:**

        - `x`: `(U,)` one input.

        **Returns:** an `SSNRestPoint`; a network whose rates run away, or circle, is reported as
        not converged or not stable.

        **Raises:** `ValueError` for an input of the wrong shape or not finite.
        """
        h, W = self._external(x), np.asarray(self.W, np.float64)
        return find_rest(h, W, np.asarray(self.tau, np.float64), float(self.k), float(self.p),
                         voltage=self.form == "voltage")  # fmt: skip

    def excitatory_gain(self, x: Any, rates: Any) -> float:
        """How strongly the excitatory units, left alone at their gains, would amplify themselves.

        The leading eigenvalue of `diag(k p [u]+^(p-1)) W_EE` minus 1, `u = h + W r`; with one
        excitatory unit `W_EE k p u^(p-1) - 1`. Above 0 the network is stabilized by inhibition.

        **Arguments:**

        - `x`: `(U,)` the input. `rates`: `(N,)` the rates at which to ask.

        **Raises:** `ValueError` for wrong shapes or values that are not finite.
        """
        h, W = self._external(x), np.asarray(self.W, np.float64)
        r = finite_array("rates", rates)
        if r.shape != h.shape:
            raise ValueError(f"rates must have shape {h.shape}, got {r.shape}.")
        return excitatory_gain(h + W @ r, W, float(self.k), float(self.p), self.n_excitatory)

    def _external(self, x: Any) -> np.ndarray:
        x = finite_array("x", x)
        if x.shape != (self.n_inputs,):
            raise ValueError(f"x must have shape {(self.n_inputs,)}, got {x.shape}.")
        return x if self.W_in is None else np.asarray(self.W_in, np.float64) @ x


def column_signs(n: int, n_excitatory: int) -> np.ndarray:
    """1 for excitatory units and -1 for inhibitory ones, `(n,)`."""
    return np.where(np.arange(n) < n_excitatory, 1, -1)


def _above(value: Any, least: float | int) -> bool:
    values = np.asarray(value)
    return bool(np.all((values > least) & (values < np.inf)))
