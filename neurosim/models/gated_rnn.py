"""LSTM and GRU networks behind the same doors as the circuit models."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .dynamics import Dynamics, fixed_field
from .parameters import check_sizes, check_time_constant


class LSTMState(NamedTuple):
    """Hidden and cell state of the LSTM, both `(N,)`."""

    h: Any
    c: Any


class LSTM(Dynamics):
    """Long short-term memory network: a discrete recurrence, one application per input sample.

        i, f, o = sigmoid(...);  g = tanh(...);  c+ = f c + i g;  h+ = o tanh(c+);  y = C h

    The four blocks of rows of the weights are i, f, g, o. `step` ignores `dt`. The vector field is
    the flow of which the recurrence is the Euler step of length `tau`.

    - `W_in`: `(4N, U)`, `W_rec`: `(4N, N)`, `b`: `(4N,)`, `C`: `(O, N)`.
    - `h0`, `c0`: `(N,)`; they do not train by default.

    **Reference:** Hochreiter & Schmidhuber (1997) with the forget gate of Gers et al. (2000).
    """

    W_in: Float[Array, "gates input"]
    W_rec: Float[Array, "gates unit"]
    b: Float[Array, " gates"]
    C: Float[Array, "output unit"]
    h0: Float[Array, " unit"] = fixed_field()
    c0: Float[Array, " unit"] = fixed_field()
    tau: Any = fixed_field(default=1.0)
    discrete: ClassVar[bool] = True

    def __check_init__(self):
        check_time_constant(tau=self.tau)

    @classmethod
    def init(cls, n_units: int, n_in: int, n_out: int, *, key: PRNGKeyArray) -> "LSTM":
        """The initialisation of the NM-RNN study's baseline.

        Input weights N(0, 1/U), recurrent weights and biases N(0, 1/N), readout N(0, 1/N) without
        bias, h0 = c0 = 0.1.

        **Raises:** `ValueError` for sizes below 1.

        **Reference:** Costacurta et al. (2024), baselines.
        """
        check_sizes(n_units=n_units, n_in=n_in, n_out=n_out)
        k_in, k_rec, k_b, k_c = jax.random.split(key, 4)
        root = jnp.sqrt(n_units)
        return cls(
            W_in=jax.random.normal(k_in, (4 * n_units, n_in)) / jnp.sqrt(n_in),
            W_rec=jax.random.normal(k_rec, (4 * n_units, n_units)) / root,
            b=jax.random.normal(k_b, (4 * n_units,)) / root,
            C=jax.random.normal(k_c, (n_out, n_units)) / root,
            h0=jnp.full((n_units,), 0.1),
            c0=jnp.full((n_units,), 0.1),
        )

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.W_in.shape[1]

    def initial_state(self) -> LSTMState:
        """`(h0, c0)`."""
        return LSTMState(self.h0, self.c0)

    def step(self, t: Any, state: LSTMState, input: Any, dt: Any) -> LSTMState:
        """One application of the cell, whatever `dt`."""
        h, c = state
        i, f, g, o = jnp.split(self.W_in @ input + self.W_rec @ h + self.b, 4)
        c_new = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return LSTMState(jax.nn.sigmoid(o) * jnp.tanh(c_new), c_new)

    def vector_field(self, t: Any, state: LSTMState, input: Any) -> LSTMState:
        """`(cell(state) - state) / tau`."""
        return _flow(self.step(t, state, input, self.tau), state, self.tau)

    def readout(self, state: LSTMState) -> Float[Array, " output"]:
        """`C h`, `(O,)`."""
        return self.C @ state.h


class GRU(Dynamics):
    """Gated recurrent unit network: a discrete recurrence, one application per input sample.

        r, q = sigmoid(...);  n = tanh(W_in u + r (W_rec h) + b)
        h+ = q h + (1 - q) n;  y = C h + d

    The three blocks of rows of the weights are r (reset), q (update), n (candidate). `step`
    ignores `dt`; the vector field is the flow of which the recurrence is the Euler step of length
    `tau`.

    - `W_in`: `(3N, U)`, `W_rec`: `(3N, N)`, `b`: `(3N,)`, `C`: `(O, N)`, `d`: `(O,)`.
    - `h0`: `(N,)`; it does not train by default.

    **Reference:** Cho et al. (2014), with the reset gate applied after the recurrent product.
    """

    W_in: Float[Array, "gates input"]
    W_rec: Float[Array, "gates unit"]
    b: Float[Array, " gates"]
    C: Float[Array, "output unit"]
    d: Float[Array, " output"]
    h0: Float[Array, " unit"] = fixed_field()
    tau: Any = fixed_field(default=1.0)
    discrete: ClassVar[bool] = True

    def __check_init__(self):
        check_time_constant(tau=self.tau)

    @classmethod
    def init(cls, n_units: int, n_in: int, n_out: int, *, key: PRNGKeyArray) -> "GRU":
        """Input weights N(0, 1/U), all others N(0, 1/N), h0 = 0.1, as for the LSTM.

        **Raises:** `ValueError` for sizes below 1.
        """
        check_sizes(n_units=n_units, n_in=n_in, n_out=n_out)
        k_in, k_rec, k_b, k_c, k_d = jax.random.split(key, 5)
        root = jnp.sqrt(n_units)
        return cls(
            W_in=jax.random.normal(k_in, (3 * n_units, n_in)) / jnp.sqrt(n_in),
            W_rec=jax.random.normal(k_rec, (3 * n_units, n_units)) / root,
            b=jax.random.normal(k_b, (3 * n_units,)) / root,
            C=jax.random.normal(k_c, (n_out, n_units)) / root,
            d=jax.random.normal(k_d, (n_out,)) / root,
            h0=jnp.full((n_units,), 0.1),
        )

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.W_in.shape[1]

    def initial_state(self) -> Float[Array, " unit"]:
        """`h0`, `(N,)`."""
        return self.h0

    def step(self, t: Any, state: Any, input: Any, dt: Any) -> Float[Array, " unit"]:
        """One application of the cell, whatever `dt`."""
        r_in, q_in, n_in = jnp.split(self.W_in @ input + self.b, 3)
        r_rec, q_rec, n_rec = jnp.split(self.W_rec @ state, 3)
        r, q = jax.nn.sigmoid(r_in + r_rec), jax.nn.sigmoid(q_in + q_rec)
        return q * state + (1 - q) * jnp.tanh(n_in + r * n_rec)

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`(cell(state) - state) / tau`."""
        return _flow(self.step(t, state, input, self.tau), state, self.tau)

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`C h + d`, `(O,)`."""
        return self.C @ state + self.d


def _flow(new: Any, old: Any, tau: Any) -> Any:
    return jax.tree.map(lambda a, b: (a - b) / tau, new, old)
