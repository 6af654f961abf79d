"""The rate network whose output is fed back to it: a fixed reservoir, or trained in full."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .dynamics import Dynamics, fixed_field
from .parameters import check_sizes, check_time_constant


class FeedbackReservoir(Dynamics):
    """Rate network with feedback, `tau dz/dt = -z + J phi(z) + b + W_fb x + B u`, `x = W phi(z)`.

    - `W`: `(O, N)` readout, the only weights that train by default.
    - `J`: `(N, N)` recurrent weights, presynaptic units in columns.
    - `B`: `(N, U)`, `W_fb`: `(N, O)`, `b`: `(N,)` or `None`.
    - `z0`: `(N,)` initial state.
    - `tau`: time constant in the unit of the simulation's `dt`; published is 10 steps.

    The published recursion `z + (-z + ...) / tau`, with tau in steps, is explicit Euler. To train
    every weight but those of the feedback, pass `trainable=circuit_weights` to `fit`.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), NeurIPS, section 4.3; Sussillo & Abbott
    (2009), Neuron 63.
    """

    W: Float[Array, "output unit"]
    J: Float[Array, "unit unit"] = fixed_field()
    B: Float[Array, "unit input"] = fixed_field()
    W_fb: Float[Array, "unit output"] = fixed_field()
    b: Float[Array, " unit"] | None = fixed_field()
    z0: Float[Array, " unit"] = fixed_field()
    tau: Any = fixed_field()
    phi: Callable = eqx.field(static=True, default=jnp.tanh)

    def __check_init__(self):
        check_time_constant(tau=self.tau)

    @classmethod
    def init(
        cls,
        n_units: int = 1000,
        n_in: int = 3,
        n_out: int = 3,
        *,
        key: PRNGKeyArray,
        gain: float | int = 0.5,
        tau: float | int = 100.0,
        bias: bool = False,
        phi: Callable = jnp.tanh,
    ) -> "FeedbackReservoir":
        """The published initialisation of the reservoir.

        J ~ gain N(0, 1/N), B and W_fb ~ U(-1, 1), z0 ~ 0.1 N(0, 1), W = 0.

        **Arguments:**

        - `n_units`, `n_in`, `n_out`: sizes; the published task has 3 bits.
        - `gain`: 0.5 is published, and silent by itself; FORCE wants a chaotic one, such as 1.5.
        - `tau`: 100 ms by default, 10 steps of the flip-flop task.
        - `bias`: a bias of zeros instead of none.
        - `phi`: the nonlinearity.

        **Raises:** `ValueError` for sizes below 1, a time constant that is not positive or a gain
        that is not a finite number from 0 on.
        """
        check_sizes(n_units=n_units, n_in=n_in, n_out=n_out)
        if not (isfinite(gain) and gain >= 0):
            raise ValueError(f"gain must be a finite number from 0 on, got {gain}.")
        k_j, k_b, k_fb, k_z = jax.random.split(key, 4)
        return cls(
            W=jnp.zeros((n_out, n_units)),
            J=gain * jax.random.normal(k_j, (n_units, n_units)) / jnp.sqrt(n_units),
            B=jax.random.uniform(k_b, (n_units, n_in), minval=-1, maxval=1),
            W_fb=jax.random.uniform(k_fb, (n_units, n_out), minval=-1, maxval=1),
            b=jnp.zeros(n_units) if bias else None,
            z0=0.1 * jax.random.normal(k_z, (n_units,)),
            tau=tau,
            phi=phi,
        )

    @classmethod
    def small(
        cls,
        n_units: int = 128,
        n_in: int = 3,
        n_out: int = 3,
        *,
        key: PRNGKeyArray,
        gain: float | int = 0.5,
        tau: float | int = 100.0,
    ) -> "FeedbackReservoir":
        """The network of which J, its bias, B and W are to train: 128 ReLU units by default.

        That it starts from the weights of the reservoir is our choice.

        ```python
        fit(FeedbackReservoir.small(key=key), task, trainable=circuit_weights, ...)
        ```
        """
        sizes = {"n_units": n_units, "n_in": n_in, "n_out": n_out}
        return cls.init(**sizes, key=key, gain=gain, tau=tau, bias=True, phi=jax.nn.relu)

    @property
    def n_inputs(self) -> int:
        """Number of input channels."""
        return self.B.shape[1]

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constants of the leaks, by name."""
        return {"tau": self.tau}

    def initial_state(self) -> Float[Array, " unit"]:
        """`z0`, `(N,)`."""
        return self.z0

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`dz/dt`, `(N,)`, per unit of `tau`."""
        r = self.phi(state)
        drive = self.J @ r + self.W_fb @ (self.W @ r) + self.B @ input
        if self.b is not None:
            drive = drive + self.b
        return (drive - state) / self.tau

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`W phi(z)`, `(O,)`."""
        return self.W @ self.phi(state)


def circuit_weights(model: Any) -> tuple[Any, ...]:
    """Every weight of a `FeedbackReservoir` but those of its feedback, for `fit(trainable=)`."""
    return (model.W, model.J, model.B, model.b)
