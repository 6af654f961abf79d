"""Published stabilized supralinear networks, and the inputs that they are shown."""

from typing import Any

import numpy as np

from .parameters import check_sizes
from .signed_parameters import finite_array
from .ssn import SSN


def ssn_two_population() -> SSN:
    """One excitatory and one inhibitory unit; the input is `(h_E, h_I)`, times are in s.

    k = 0.3, p = 2, W = [[1.25, -0.65], [1.2, -0.5]], tau 20 and 10 ms.

    **Reference:** Hennequin, Ahmadian, Rubin, Lengyel & Miller (2018), The dynamical regime of
    sensory cortex, Neuron 98.
    """
    W = np.array([[1.25, -0.65], [1.2, -0.5]])
    return SSN.from_parameters(W=W, n_excitatory=1, tau=np.array([0.02, 0.01]), k=0.3, p=2)


def ssn_orientation_ring(n: int = 180) -> SSN:
    """A ring of preferred orientations with one excitatory and one inhibitory unit at each.

    Weights are `J exp(-d^2 / (2 32^2))`, d in degrees on a circle of 180, and J 0.044 (E from E),
    0.042 (I from E), 0.023 (E from I), 0.018 (I from I), for 180 positions; with another number of
    positions they are scaled so that their sums stay. k = 0.04, p = 2, tau 20 and 10 ms. For the
    input see `ring_input`.

    **Raises:** `ValueError` for fewer than one position.

    **Reference:** Rubin, Van Hooser & Miller (2015), Neuron 85.
    """
    check_sizes(n=n)
    angles = 180 / n * np.arange(n)
    shape = np.exp(-(circular_distance(angles[:, None] - angles) ** 2) / (2 * 32**2)) * 180 / n
    W = np.block([[0.044 * shape, -0.023 * shape], [0.042 * shape, -0.018 * shape]])
    return SSN.from_parameters(W=W, n_excitatory=n, tau=np.repeat([0.02, 0.01], n), k=0.04, p=2)


def ring_input(contrast: Any, angle: Any, *, n: int = 180) -> np.ndarray:
    """The input of `ssn_orientation_ring` for gratings, `(2 n,)`, the same to E and I.

    Each grating adds `contrast exp(-d^2 / (2 30^2))`, d in degrees from its angle.

    **Arguments:**

    - `contrast`, `angle`: a number each, or `(gratings,)` for several at once, as in a plaid;
      angles in degrees, on a circle of 180.

    **Raises:** `ValueError` for values that are not finite or shapes that do not fit.
    """
    contrast, angle = finite_array("contrast", contrast), finite_array("angle", angle)
    if contrast.ndim > 1 or angle.ndim > 1:
        raise ValueError("contrast and angle must be numbers or vectors.")
    try:
        contrast, angle = np.broadcast_arrays(np.atleast_1d(contrast), np.atleast_1d(angle))
    except ValueError as error:
        raise ValueError(
            f"contrast and angle must go together, got shapes {contrast.shape} and {angle.shape}."
        ) from error
    check_sizes(n=n)
    d = circular_distance(180 / n * np.arange(n)[:, None] - angle)
    h = np.exp(-(d**2) / (2 * 30**2)) @ contrast
    return np.concatenate([h, h])


def ssn_line(n: int = 11) -> SSN:
    """A line of positions in the visual field, 3 degrees apart, with one E and one I unit at each.

    Excitation spreads as `J exp(-d^2 / (2 s^2))` with s = 4 to E and 8 to I, J 2 (E from E) and
    2.25 (I from E); inhibition stays where it is, 0.9 (E from I) and 0.5 (I from I). k = 0.01,
    p = 2.2, tau 6 and 4 ms. For the input see `line_input`.

    **Raises:** `ValueError` for fewer than one position.

    **Reference:** Rubin, Van Hooser & Miller (2015), Neuron 85, for the line of grid points; the
    values are those of the example in martiniani-lab/spectre.
    """
    d = line_positions(n)[:, None] - line_positions(n)
    to_e, to_i = (J * np.exp(-(d**2) / (2 * s**2)) for J, s in ((2, 4), (2.25, 8)))
    W = np.block([[to_e, -0.9 * np.eye(n)], [to_i, -0.5 * np.eye(n)]])
    return SSN.from_parameters(W=W, n_excitatory=n, tau=np.repeat([0.006, 0.004], n), k=0.01, p=2.2)


def line_positions(n: int = 11) -> np.ndarray:
    """Positions of the units of `ssn_line` in degrees, `(n,)`, 3 apart and 0 in the middle."""
    check_sizes(n=n)
    return 3.0 * (np.arange(n) - (n - 1) / 2)


def line_input(contrast: float | int, length: float | int, *, n: int = 11) -> np.ndarray:
    """The input of `ssn_line` for a grating around the middle, `(2 n,)`, the same to E and I.

    `contrast s((x + l/2)/w) (1 - s((x - l/2)/w))`, s the logistic function, w = 0.375 degrees.

    **Arguments:**

    - `contrast`: a number. `length`: diameter l of the grating in degrees.

    **Raises:** `ValueError` for values that are not single finite numbers, a negative length, or
    fewer than one position.
    """
    for name, value in (("contrast", contrast), ("length", length)):
        if finite_array(name, value).ndim != 0:
            raise ValueError(f"{name} must be one number, got shape {np.shape(value)}.")
    if length < 0:
        raise ValueError(f"length must not be negative, got {length}.")
    x, w = line_positions(n), 0.375
    edges = (_logistic((x + length / 2) / w), _logistic((length / 2 - x) / w))
    h = contrast * edges[0] * edges[1]
    return np.concatenate([h, h])


def circular_distance(angle: Any) -> np.ndarray:
    """Distance of orientations in degrees, between 0 and 90."""
    return np.abs((np.asarray(angle) + 90) % 180 - 90)


def _logistic(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(x / 2))
