"""Models of one or two lines, with solutions that can be written down."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from neurosim.models import Dynamics


def floats(*values):
    """An array in JAX's precision of the moment."""
    return jnp.asarray(values, dtype=jnp.result_type(float))


class Leak(Dynamics):
    """y' = -y / tau + u from 0, one channel."""

    tau: float = 1.0

    n_inputs = 1

    def initial_state(self):
        return floats(0.0)

    def vector_field(self, t, state, input):
        return -state / self.tau + input

    def readout(self, state):
        return state

    def solution(self, y, u, h):
        """The state after time `h` of the constant input `u`."""
        return u * self.tau + (y - u * self.tau) * np.exp(-h / self.tau)


class Riccati(Dynamics):
    """y' = u - y^2 from 0, u positive: nonlinear, with a closed form."""

    n_inputs = 1

    def initial_state(self):
        return floats(0.0)

    def vector_field(self, t, state, input):
        return input - state**2

    def readout(self, state):
        return state

    def solution(self, y, u, h):
        root = np.sqrt(u)
        slope = np.tanh(root * h)
        return root * (y + root * slope) / (root + y * slope)


class BlowUp(Dynamics):
    """y' = y^2, which is at 1 / (1 / y(0) - t)."""

    def initial_state(self):
        return floats(1.0)

    def vector_field(self, t, state, input):
        return state**2

    def readout(self, state):
        return state


class Diffusing(Dynamics):
    """dx = -rate x dt, at rest unless noise moves it."""

    rate: float = 0.0

    def initial_state(self):
        return floats(0.0)

    def vector_field(self, t, state, input):
        return -self.rate * state

    def readout(self, state):
        return state


class OwnNoise(Dynamics):
    """Two entries at rest, of which the model itself says that only the first is noisy."""

    sigma: Any

    def initial_state(self):
        return {"noisy": floats(0.0, 0.0), "silent": floats(0.0)}

    def vector_field(self, t, state, input):
        return jax.tree.map(jnp.zeros_like, state)

    def diffusion(self, t, state, input):
        return {"noisy": jnp.full_like(state["noisy"], self.sigma), "silent": floats(0.0)}

    def readout(self, state):
        return state["noisy"]
