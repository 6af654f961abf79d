"""A rate network that is taught the activity of place cells."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .dynamics import Dynamics, fixed_field
from .parameters import check_sizes, check_time_constant


class PlaceCellSupervisedRNN(Dynamics):
    """g+ = ReLU(J g + M dx),    logits of place cells = W_out g,    g_0 = W p_0.

    The input has the velocity in its first two channels, and after them the cue: the activity p_0
    of the place cells at the start of a trial, in its first step only, 0 later. The state starts
    at 0, and a cue adds W p_0 to it before the step is taken. So a trial needs no state of its
    own. `softmax` of the output is the activity of the place cells.

    - `J`: `(N, N)`, `M`: `(N, 2)`, `W`: `(N, P)`, `W_out`: `(P, N)`; no biases.
    - `tau`: of the flow of which the recursion is the Euler step of length `tau`; fixed.

    **Reference:** Sorscher, Mel, Ocko, Giocomo & Ganguli (2023), A unified theory for the
    computational and mechanistic origins of grid cells, Neuron 111.
    """

    J: Float[Array, "unit unit"]
    M: Float[Array, "unit 2"]
    W: Float[Array, "unit place_cell"]
    W_out: Float[Array, "place_cell unit"]
    tau: Any = fixed_field(default=1.0)
    discrete: ClassVar[bool] = True

    def __check_init__(self):
        check_time_constant(tau=self.tau)

    @classmethod
    def init(
        cls,
        n_units: int = 4096,
        n_place_cells: int = 512,
        *,
        key: PRNGKeyArray,
        tau: float | int = 1.0,
    ) -> "PlaceCellSupervisedRNN":
        """The published initialisation.

        J and M are uniform within 1 / sqrt(N), W and W_out within the root of the number of their
        inputs.

        **Raises:** `ValueError` for sizes below 1 or a time constant that is not positive.
        """
        check_sizes(n_units=n_units, n_place_cells=n_place_cells)
        keys = jax.random.split(key, 4)
        shapes = ((n_units, n_units), (n_units, 2), (n_units, n_place_cells))
        fans = (n_units, n_units, n_place_cells, n_units)
        draws = [
            jax.random.uniform(k, shape, minval=-1, maxval=1) / fan**0.5
            for k, shape, fan in zip(keys, (*shapes, (n_place_cells, n_units)), fans)
        ]
        return cls(*draws, tau=tau)

    @property
    def n_inputs(self) -> int:
        """Two components of velocity, and a cue for each place cell."""
        return 2 + self.W.shape[1]

    def initial_state(self) -> Float[Array, " unit"]:
        """Zeros, `(N,)`."""
        return jnp.zeros(self.J.shape[0], self.J.dtype)

    def step(self, t: Any, state: Any, input: Any, dt: Any) -> Float[Array, " unit"]:
        """The published recursion, for a displacement of `dt` times the velocity."""
        velocity, cue = input[:2], input[2:]
        g = state + self.W @ cue
        return jax.nn.relu(self.J @ g + self.M @ (velocity * dt))

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`(g+ - g) / tau`, for the displacement over `tau`."""
        return (self.step(t, state, input, self.tau) - state) / self.tau

    def readout(self, state: Any) -> Float[Array, " place_cell"]:
        """Logits, `(P,)`."""
        return self.W_out @ state
