"""The published circuits of one principal and one normalization neuron."""

from typing import Any

import numpy as np

#: Recurrent weight, gain of the floor and semisaturation of the published phase portraits.
PLANAR = ((0.5, 0.5, 0.1), (2.0, 0.5, 0.1), (2.0, 1.0, 1.0))


def planar_flow(w_r: float, b0: float, sigma: float, rectify: str, z: float, taus: Any) -> Any:
    """The flow with b = 0.5 and w = 1, of points `(point, 2)` to their derivatives, in NumPy.

    `taus` are the time constants of the principal and of the normalization neuron.
    """
    tau_y, tau_a = taus

    def flow(states: np.ndarray) -> np.ndarray:
        y, a = states.T
        active = y if rectify == "none" else np.maximum(y, 0)
        drive = w_r * (y if rectify == "none" else active)
        rate = np.maximum(a, 0)
        dy = (-y + 0.5 * z + (1 - np.sqrt(rate)) * drive) / tau_y
        da = (-a + (b0 * sigma) ** 2 + active**2 * rate) / tau_a
        return np.stack([dy, da], axis=1)

    return flow
