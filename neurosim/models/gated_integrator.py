"""Working memory by gates: the circuit that loads, holds and clears what it is told to."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .dynamics import Dynamics, fixed_field
from .linear_readout import linear_readout
from .signed_parameters import finite_array, log_of_positive, optional_array, shaped_array


class GatedIntegrator(Dynamics):
    """Recurrent circuit with two gates that the task sets.

        tau dy/dt = -y + [b]+ / (1 + [b]+) z + W_r y / (1 + [a]+),    z = W_zx x

    The input channels are `(x, a, b)`: U of input, then the gates, which all units share. With
    `W_r` the identity, `a = b = 1` loads z (time constant 2 tau), `a = b = 0` holds y for as long
    as it lasts, and `a = 1, b = 0` clears it. With `rotation_weights` what is held goes round.

    - `W_r`: `(N, N)`, presynaptic units in columns.
    - `W_zx`: `(N, U)`; with `None` x is the drive z itself.
    - `C`: `(O, N)`, `d`: `(O,)` or `None`; with `C = None` the output is y.
    - `log_tau`: `(N,)` logarithms of the time constants, in the unit of the simulation's `dt` (s in
      the defaults); `y0`: `(N,)` initial state, `None` for 0. They do not train by default.

    **Reference:** Heeger & Mackey (2019), Oscillatory recurrent gated neural integrator circuits
    (ORGaNICs), a unifying theoretical framework for neural dynamics, PNAS 116.
    """

    W_r: Float[Array, "unit unit"]
    W_zx: Float[Array, "unit input"] | None
    C: Float[Array, "output unit"] | None
    d: Float[Array, " output"] | None
    log_tau: Float[Array, " unit"] = fixed_field()
    y0: Float[Array, " unit"] | None = fixed_field(default=None)

    def __check_init__(self):
        if self.C is None and self.d is not None:
            raise ValueError("d is added to C y: without C there is none.")

    @classmethod
    def from_parameters(
        cls,
        *,
        W_r: Any,
        tau: Any = 0.01,
        W_zx: Any = None,
        C: Any = None,
        d: Any = None,
        y0: Any = None,
    ) -> "GatedIntegrator":
        """The circuit with the given values.

        **Arguments:**

        - `W_r`: `(N, N)`.
        - `tau`: positive, `(N,)` or a number for all.
        - the rest as in the class.

        **Raises:** `ValueError` for values that are not finite, wrong shapes, or a `tau` that is
        not positive.
        """
        n = 1 if np.ndim(W_r) == 0 else np.shape(W_r)[0]
        return cls(
            W_r=shaped_array("W_r", W_r, (n, n)),
            W_zx=optional_array("W_zx", W_zx, (n, None)),
            C=optional_array("C", C, (None, n)),
            d=optional_array("d", d, (None if C is None else len(C),)),
            log_tau=log_of_positive("tau", tau, n),
            y0=optional_array("y0", y0, (n,)),
        )

    @property
    def tau(self) -> Float[Array, " unit"]:
        """Time constants, `(N,)`."""
        return jnp.exp(self.log_tau)

    @property
    def n_inputs(self) -> int:
        """Number of input channels, the two gates included."""
        return 2 + (self.W_r.shape[0] if self.W_zx is None else self.W_zx.shape[1])

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        return {"tau": self.tau}

    def initial_state(self) -> Float[Array, " unit"]:
        """`y0`, or 0."""
        return jnp.zeros_like(self.log_tau) if self.y0 is None else self.y0

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`dy/dt`, per unit of the time constants."""
        x, a, b = input[:-2], jnp.maximum(input[-2], 0), jnp.maximum(input[-1], 0)
        z = x if self.W_zx is None else self.W_zx @ x
        return (-state + b / (1 + b) * z + self.W_r @ state / (1 + a)) / self.tau

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`C y + d`, `(O,)`, or `y`, `(N,)`."""
        return linear_readout(self.C, self.d, state)


def rotation_weights(omega: Any, *, tau: float | int = 0.01) -> np.ndarray:
    """Recurrent weights with which a held pair of activities goes round at constant length.

    One block `[[1, -omega tau], [omega tau, 1]]` for each frequency: the real form of a complex
    unit with the recurrent weight `1 + i omega tau`.

    **Arguments:**

    - `omega`: angular frequencies per unit of `tau`, a number or `(pairs,)`; 0 holds still.
    - `tau`: the time constant of the units.

    **Returns:** `(2 pairs, 2 pairs)`, NumPy float64.

    **Raises:** `ValueError` for frequencies that are not finite or a `tau` that is not positive.
    """
    omega = np.atleast_1d(finite_array("omega", omega))
    if omega.ndim != 1 or omega.size == 0:
        raise ValueError(f"omega must be a number or a vector, got shape {omega.shape}.")
    if np.ndim(tau) != 0 or not 0 < tau < np.inf:
        raise ValueError(f"tau must be positive and finite, one number, got {tau}.")
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    return np.eye(2 * len(omega)) + np.kron(np.diag(omega * tau), turn)
