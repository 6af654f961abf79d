"""The six-unit NM-RNN with weights from sines, for which trajectories are known to 1e-15."""

import jax.numpy as jnp
import numpy as np

from neurosim.models import NMRNN

STEPS = [0, 15, 29, 44, 109]

PUBLISHED = [
    0.0905044996359989,
    1.5925834065161284,
    0.068691635715911,
    -1.426177104795133,
    0.0997862045112737,
]
LAGGED = [
    0.09049769906340586,
    1.592621369749437,
    0.07178723141296758,
    -1.4258392153234738,
    0.09978636405767528,
]
EXACT_ODE = [
    0.09010800050576628,
    1.4860400810382675,
    0.06824734676498453,
    -1.3539383096593658,
    0.09976584308136421,
]
GAINS_ONE = [
    0.09559928269964443,
    1.6013869242679253,
    -0.06436581996597548,
    -1.3571351484964296,
    0.09973801105104797,
]
GAINS_ZERO = [
    0.08596570721585522,
    1.5755110823064018,
    0.32070935312602167,
    -1.2522226751156367,
    0.09856513405631649,
]
LOW_RANK_OVER_N = [
    0.08757130312982007,
    1.5814703413693914,
    0.22289809100405217,
    -1.361580670353696,
    0.09930358488619627,
]


def sines(rows, columns, a, b, c):
    i, j = np.arange(1, rows + 1)[:, None], np.arange(1, columns + 1)[None]
    return c * np.sin(a * i + b * j + 0.1 * i * j)


def golden_weights():
    return {
        "L": sines(6, 2, 1.0, 2.0, 0.8),
        "R": sines(6, 2, 0.7, 1.3, 0.9),
        "B_x": sines(6, 3, 1.1, 0.6, 1.0),
        "C": sines(1, 6, 0.5, 0.9, 0.7),
        "d": np.array([0.1]),
        "W_z": sines(3, 3, 1.7, 0.4, 0.5),
        "B_z": sines(3, 3, 0.3, 1.9, 2.0),
        "A_z": sines(2, 3, 0.8, 1.4, 1.5),
        "b_z": np.array([0.2, -0.3]),
        "B_zx": None,
        "b_zx": None,
        "x0": np.full(6, 0.1),
        "z0": np.full(3, 0.1),
    }


def golden(**changes):
    """The golden NM-RNN in JAX's precision of the moment."""
    fields = {"tau_x": 10.0, "tau_z": 100.0, **golden_weights(), **changes}
    arrays = {k: jnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in fields.items()}
    return NMRNN(**arrays)


def golden_inputs():
    """Measure, wait and go pulses of the trial with t_m = 15 and an interval of 14 steps."""
    u = np.zeros((110, 3))
    u[15, 0] = u[29, 1] = u[44, 2] = 10.0
    return u


def golden_targets():
    return -0.5 + np.clip((np.arange(110) - 44) / 14, 0, 1)
