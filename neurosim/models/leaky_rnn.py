"""The leaky network in discrete time, whose nonlinearity is around the whole drive."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .dynamics import Dynamics, fixed_field
from .parameters import check_sizes, check_time_constant


class LeakyRNN(Dynamics):
    """A discrete recurrence of leaky rectified units.

        z+ = (1 - alpha) z + alpha phi(C z + B u + e);  y = O z

    The step at time 0 is taken without the leak, as published: z_1 = phi(B u_1 + e) from z0 = 0.
    `step` ignores `dt`. The vector field is the flow of which the recurrence, the step at time 0
    aside, is the Euler step of length `tau`.

    - `C`: `(N, N)`, `B`: `(N, U)`, `e`: `(N,)`, `O`: `(O, N)`.
    - `z0`: `(N,)` initial state, which does not train by default.
    - `alpha`: share of the state that is replaced at each step, in (0, 1]; does not train either.
    - `full_first_step`: `False` has the leak at time 0 as well.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), Second-order forward-mode optimization
    of recurrent neural networks for neuroscience, NeurIPS 37, sections 4.2 and A.2.
    """

    C: Float[Array, "unit unit"]
    B: Float[Array, "unit input"]
    e: Float[Array, " unit"]
    O: Float[Array, "output unit"]
    z0: Float[Array, " unit"] = fixed_field()
    alpha: Any = fixed_field(default=0.25)
    tau: Any = fixed_field(default=1.0)
    phi: Callable = eqx.field(static=True, default=jax.nn.relu)
    full_first_step: bool = eqx.field(static=True, default=True)
    discrete: ClassVar[bool] = True

    def __check_init__(self):
        check_time_constant(tau=self.tau)
        if isinstance(self.alpha, jax.core.Tracer):
            return
        alpha = np.asarray(self.alpha)
        if not np.all((alpha > 0) & (alpha <= 1)):
            raise ValueError(f"alpha must be above 0 and at most 1, got {self.alpha}.")

    @classmethod
    def init(
        cls,
        n_units: int,
        n_in: int,
        n_out: int,
        *,
        key: PRNGKeyArray,
        alpha: float | int = 0.25,
        readout: Literal["inverse", "normal"] | None = None,
        phi: Callable = jax.nn.relu,
    ) -> "LeakyRNN":
        """The published initialisation: C ~ N(0, 1/N), B and e ~ N(0, 1/(U + 1)), z0 = 0.

        There are 10,300 parameters with 100 units, one input and one output, as published for
        adaptive filtering; 17,024 with 128, two and two, for delayed addition.

        **Arguments:**

        - `n_units`, `n_in`, `n_out`: numbers of units, input and output channels.
        - `alpha`: share of the state that is replaced at each step.
        - `readout`: `"inverse"` has row i of O equal to column i of B over its squared norm:
            output i would repeat input i if units were linear and the columns orthogonal.
            `"normal"` has O ~ N(0, 1/N). `None` for what is published: the inverse for one input
            and one output, else normal.
        - `phi`: the nonlinearity.

        **Raises:** `ValueError` for sizes below 1, more outputs than an inverse has rows, another
        word for `readout`, or an `alpha` outside of (0, 1].
        """
        check_sizes(n_units=n_units, n_in=n_in, n_out=n_out)
        if readout is None:
            readout = "inverse" if n_in == n_out == 1 else "normal"
        if readout not in ("inverse", "normal"):
            raise ValueError(f"readout must be 'inverse' or 'normal', got {readout!r}.")
        k_c, k_b, k_e, k_o = jax.random.split(key, 4)
        B = jax.random.normal(k_b, (n_units, n_in)) / jnp.sqrt(n_in + 1)
        if readout == "normal":
            O = jax.random.normal(k_o, (n_out, n_units)) / jnp.sqrt(n_units)
        elif n_out <= n_in:
            O = (B / jnp.sum(B * B, axis=0))[:, :n_out].T
        else:
            raise ValueError(
                f"readout='inverse' repeats inputs, and {n_out} outputs are more than the {n_in} "
                "inputs: use readout='normal'."
            )
        return cls(
            C=jax.random.normal(k_c, (n_units, n_units)) / jnp.sqrt(n_units),
            B=B,
            e=jax.random.normal(k_e, (n_units,)) / jnp.sqrt(n_in + 1),
            O=O,
            z0=jnp.zeros(n_units),
            alpha=alpha,
            phi=phi,
        )

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.B.shape[1]

    def initial_state(self) -> Float[Array, " unit"]:
        """`z0`, `(N,)`."""
        return self.z0

    def step(self, t: Any, state: Any, input: Any, dt: Any) -> Float[Array, " unit"]:
        """One application of the recurrence, whatever `dt`."""
        alpha = self.alpha
        if self.full_first_step:
            alpha = jnp.where(jnp.asarray(t) == 0, 1, jnp.asarray(alpha, state.dtype))
        return (1 - alpha) * state + alpha * self._drive(state, input)

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`alpha (phi(C z + B u + e) - z) / tau`."""
        return self.alpha * (self._drive(state, input) - state) / self.tau

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`O z`, `(O,)`."""
        return self.O @ state

    def _drive(self, state: Any, input: Any) -> Array:
        return self.phi(self.C @ state + self.B @ input + self.e)
