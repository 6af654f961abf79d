"""Place cells in time: rates that follow the animal, with noise."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..kernels import safe_sqrt
from .dynamics import Dynamics, fixed_field
from .parameters import check_sizes, check_time_constant
from .place_cell_noise import RateNoise


class NoisyPlaceCells(Dynamics):
    """Responses that relax to a map of rates at the animal's position, and fluctuate about it.

        dr = (f(x(t)) - r) / tau dt + sqrt(2 v / tau) dW,    v = sigma^2 or phi f(x)

    At a position that is held, r has the law of `noise` there, and forgets itself as
    exp(-lag / tau). The step with x held is exact, whatever `dt`:

        r+ = f + (r - f) exp(-dt / tau) + sqrt(v (1 - exp(-2 dt / tau))) z

    Explicit Euler wants `dt` below a tenth of `tau`: its variance is v / (1 - dt / (2 tau)). The
    input is the position, `(dim,)` in m; the output is r without its negative part, `(cell,)` in
    Hz. A trial starts from the rates at the position `start`.

    - `place_map`: a `PlaceMap`, or anything else that gives rates `(..., cell)` for positions
        `(..., dim)`.
    - `noise`: `ConstantNoise`, `PoissonLikeNoise`.
    - `start`: `(dim,)` in m.
    - `tau`: in s.

    **Reference:** for the law at each position, Rooke, Wang, Di Tullio & Balasubramanian (2024),
    Trading place for space, NeurIPS 37, section 2; its course in time is ours.
    """

    place_map: Callable[[Any], Any]
    noise: RateNoise
    start: Any = fixed_field(converter=lambda x: jnp.asarray(x, float))
    tau: Any = fixed_field(default=0.1)

    def __check_init__(self):
        check_time_constant(tau=self.tau)
        check_sizes(n_inputs=self.n_inputs)

    @property
    def n_inputs(self) -> int:
        """Number of dimensions of the environment."""
        return self.start.shape[-1]

    def initial_state(self) -> Float[Array, " cell"]:
        """The rates at `start`, `(cell,)`."""
        return self.place_map(self.start)

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " cell"]:
        """`(f(x) - r) / tau`, in Hz per s."""
        return (self.place_map(input) - state) / self.tau

    def diffusion(self, t: Any, state: Any, input: Any) -> Float[Array, " cell"]:
        """`sqrt(2 v / tau)`."""
        return safe_sqrt(2 * self.noise.variance(self.place_map(input)) / self.tau)

    def step(self, t: Any, state: Any, input: Any, dt: Any) -> Float[Array, " cell"]:
        """The exact step without noise."""
        f = self.place_map(input)
        return f + (state - f) * jnp.exp(-dt / self.tau)

    def noisy_step(self, t: Any, state: Any, input: Any, dt: Any, dW: Any) -> Float[Array, " cell"]:
        """The exact step; `dW` has variance `dt`."""
        f = self.place_map(input)
        spread = self.noise.variance(f) * -jnp.expm1(-2 * dt / self.tau)
        kick = safe_sqrt(spread / dt) * dW
        return f + (state - f) * jnp.exp(-dt / self.tau) + kick.astype(state.dtype)

    def readout(self, state: Any) -> Float[Array, " cell"]:
        """The responses, none negative."""
        return jnp.maximum(state, 0)
