"""The network whose state is updated through a wide hidden layer."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .dynamics import Dynamics, fixed_field
from .parameters import check_sizes, check_time_constant


def _identity(x: Any) -> Any:
    return x


class BottleneckRNN(Dynamics):
    """A discrete recurrence that adds a one-layer network to a linear map.

        z+ = A z + W phi(C z + b) + B u + d;  y = psi(O z)

    `step` ignores `dt`. The vector field is the flow of which the recurrence is the Euler step of
    length `tau`.

    - `A`: `(N, N)`, `W`: `(N, H)`, `C`: `(H, N)`, `b`: `(H,)`, for a state of `N` entries and a
        layer of `H` units. All of them train.
    - `B`: `(N, U)`, `None` for a network without inputs; `d`: `(N,)` or `None`.
    - `O`: `(O, N)`, `None` where the output is the state itself.
    - `z0`: `(N,)` initial state, which does not train by default.
    - `phi`, `psi`: of the layer and of the output.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), Second-order forward-mode optimization
    of recurrent neural networks for neuroscience, NeurIPS 37, section 4.1 and appendix A.1.
    """

    A: Float[Array, "unit unit"]
    W: Float[Array, "unit hidden"]
    C: Float[Array, "hidden unit"]
    b: Float[Array, " hidden"]
    B: Float[Array, "unit input"] | None
    d: Float[Array, " unit"] | None
    O: Float[Array, "output unit"] | None
    z0: Float[Array, " unit"] = fixed_field()
    tau: Any = fixed_field(default=1.0)
    phi: Callable = eqx.field(static=True, default=jax.nn.relu)
    psi: Callable = eqx.field(static=True, default=_identity)
    discrete: ClassVar[bool] = True

    def __check_init__(self):
        check_time_constant(tau=self.tau)

    @classmethod
    def lorenz(
        cls,
        n_hidden: int = 400,
        *,
        key: PRNGKeyArray,
        n_dims: int = 3,
        tau: float | int = 0.01,
    ) -> "BottleneckRNN":
        """The network that learns the flow of the Lorenz system; its state is its output.

        As published: A = 1, W ~ 0.1 N(0, 1/H), C and b ~ N(0, 1/(N + 1)), no inputs. It has
        2809 parameters with 400 hidden units, and 709 with 100. Start trials from the true states.

        **Arguments:**

        - `n_hidden`: units of the layer.
        - `n_dims`: dimensions of the system.
        - `tau`: the time between two states, for the vector field alone.

        **Raises:** `ValueError` for sizes below 1 or a `tau` that is not positive.
        """
        check_sizes(n_hidden=n_hidden, n_dims=n_dims)
        k_w, k_c, k_b = jax.random.split(key, 3)
        root = jnp.sqrt(n_dims + 1)
        return cls(
            A=jnp.eye(n_dims),
            W=0.1 * jax.random.normal(k_w, (n_dims, n_hidden)) / jnp.sqrt(n_hidden),
            C=jax.random.normal(k_c, (n_hidden, n_dims)) / root,
            b=jax.random.normal(k_b, (n_hidden,)) / root,
            B=None,
            d=None,
            O=None,
            z0=jnp.zeros(n_dims),
            tau=tau,
        )

    @classmethod
    def one_shot(
        cls,
        n_units: int = 100,
        n_hidden: int = 400,
        n_in: int = 7,
        n_out: int = 3,
        *,
        key: PRNGKeyArray,
        logits: Literal["relu", "plain"] = "relu",
    ) -> "BottleneckRNN":
        """The network that learns a classification from one example of each class.

        As published: A = 0, W ~ N(0, 1/H), C and b ~ N(0, 1/(N + 1)), B and d ~ N(0, 1/(U + 1)),
        O ~ N(0, 1/N), z0 = 0. It has 91,500 parameters. The authors' code leaves W phi(b) out of
        the first step; here all steps are alike.

        **Arguments:**

        - `n_units`, `n_hidden`: entries of the state, units of the layer.
        - `n_in`, `n_out`: input channels, classes.
        - `logits`: `"relu"`, rectified as in the authors' code, or `"plain"`.

        **Raises:** `ValueError` for sizes below 1 or another word for `logits`.
        """
        check_sizes(n_units=n_units, n_hidden=n_hidden, n_in=n_in, n_out=n_out)
        if logits not in ("relu", "plain"):
            raise ValueError(f"logits must be 'relu' or 'plain', got {logits!r}.")
        k_w, k_c, k_hidden, k_b, k_d, k_o = jax.random.split(key, 6)
        normal = jax.random.normal
        return cls(
            A=jnp.zeros((n_units, n_units)),
            W=normal(k_w, (n_units, n_hidden)) / jnp.sqrt(n_hidden),
            C=normal(k_c, (n_hidden, n_units)) / jnp.sqrt(n_units + 1),
            b=normal(k_hidden, (n_hidden,)) / jnp.sqrt(n_units + 1),
            B=normal(k_b, (n_units, n_in)) / jnp.sqrt(n_in + 1),
            d=normal(k_d, (n_units,)) / jnp.sqrt(n_in + 1),
            O=normal(k_o, (n_out, n_units)) / jnp.sqrt(n_units),
            z0=jnp.zeros(n_units),
            psi=jax.nn.relu if logits == "relu" else _identity,
        )

    @property
    def n_inputs(self) -> int:
        """Number of input channels; 0 for a network without inputs."""
        return 0 if self.B is None else self.B.shape[1]

    def initial_state(self) -> Float[Array, " unit"]:
        """`z0`, `(N,)`."""
        return self.z0

    def step(self, t: Any, state: Any, input: Any, dt: Any) -> Float[Array, " unit"]:
        """One application of the recurrence, whatever `dt`."""
        z = self.A @ state + self.W @ self.phi(self.C @ state + self.b)
        if self.B is not None:
            z = z + self.B @ input
        return z if self.d is None else z + self.d

    def vector_field(self, t: Any, state: Any, input: Any) -> Float[Array, " unit"]:
        """`(z+ - z) / tau`."""
        return (self.step(t, state, input, self.tau) - state) / self.tau

    def readout(self, state: Any) -> Float[Array, " output"]:
        """`psi(O z)`, `(O,)`, or of the state itself."""
        return self.psi(state if self.O is None else self.O @ state)
