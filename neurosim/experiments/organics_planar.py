"""The published circuits of one principal and one normalization neuron."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..kernels import Rectify, normalization_flow

#: Recurrent weight, gain of the floor and semisaturation of the published phase portraits.
PLANAR = ((0.5, 0.5, 0.1), (2.0, 0.5, 0.1), (2.0, 1.0, 1.0))


def planar_flow(w_r: float, b0: float, sigma: float, rectify: Rectify, z: float, taus: Any) -> Any:
    """The flow with b = 0.5 and w = 1, of points `(point, 2)` to their derivatives, in NumPy.

    `taus` are the time constants of the principal and of the normalization neuron.
    """
    tau_y, tau_a = taus

    one = jnp.ones((1, 1))

    @jax.jit
    @jax.vmap
    def flow(state):
        dy, da = normalization_flow(
            state[:1], state[1:], z * one[0], W_r=w_r * one, W=one, b=0.5, b0=b0, sigma=sigma,
            rectify=rectify,
        )  # fmt: skip
        return jnp.concatenate([dy / tau_y, da / tau_a])

    return lambda states: np.asarray(flow(states))
