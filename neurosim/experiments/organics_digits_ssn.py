"""The SSN of the digit experiment: its weights train by their logarithms."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..models import Dynamics
from ..models.dynamics import fixed_field
from ..models.ssn import SSN


class LogWeightSSN(Dynamics):
    """An `SSN` whose weights are `exp(log_W)` with the signs of their columns.

    As those of the static ORGaNICs are, so that a step of the optimiser is the same share of a
    weight in both. By the roots of its weights, which Adam changes by a tenth or more at once at
    the rates in question, an SSN diverges where it need not.

    - `log_W`: `(N, N)`. `W_in`, `C`, `d`: as in `SSN`.
    - `form`: the network whose other constants these are.
    """

    log_W: Float[Array, "unit unit"]
    W_in: Float[Array, "unit input"]
    C: Float[Array, "output excitatory"]
    d: Float[Array, " output"]
    form: SSN = fixed_field()

    @classmethod
    def init(
        cls,
        n_excitatory: int,
        n_inhibitory: int,
        n_in: int,
        n_out: int,
        *,
        key: PRNGKeyArray,
        scale: float | int,
    ) -> "LogWeightSSN":
        """From the start of `SSN.init`."""
        ssn = SSN.init(n_excitatory, n_inhibitory, n_in, n_out, key=key, scale=scale)
        assert ssn.W_in is not None
        assert ssn.C is not None
        assert ssn.d is not None
        return cls(log_W=2 * jnp.log(ssn.root_W), W_in=ssn.W_in, C=ssn.C, d=ssn.d, form=ssn)

    def prepared(self) -> SSN:
        """The network itself."""
        return eqx.tree_at(
            lambda ssn: (ssn.root_W, ssn.W_in, ssn.C, ssn.d),
            self.form,
            (jnp.exp(self.log_W / 2), self.W_in, self.C, self.d),
        )

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.W_in.shape[1]

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        return self.form.time_constants

    def initial_state(self) -> Float[Array, " unit"]:
        """Silence."""
        return self.form.initial_state()

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """That of the network."""
        return self.prepared().vector_field(t, state, input)

    def readout(self, state: Any) -> Float[Array, " output"]:
        """That of the network."""
        return self.prepared().readout(state)
