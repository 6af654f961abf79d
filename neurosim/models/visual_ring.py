"""A ring of orientation-selective neurons whose circuit normalizes exactly."""

from typing import Any

import numpy as np
from scipy.special import gammaln

from .organics import ORGaNICs

# Half of the taps of the recurrent filter, the middle one last.
_TAPS = (0.02807382, -0.060944743, -0.073386624, 0.41472545, 0.7973934)


def ring_weights(n: int = 36, m: int = 360) -> tuple[np.ndarray, np.ndarray]:
    """Input and recurrent weights of the ring, which go with each other: `W_r W_zx = W_zx`.

    The recurrent matrix is a circulant of nine taps with its singular values clipped at 1; d of its
    eigenvalues are 1, and the tuning curves of the neurons, `kappa |cos(theta/2 - pi i/n)|^p` with
    p = d - 1, lie in their space. At every angle the squares of the input weights sum to 1.

    **Arguments:**

    - `n`: number of neurons, at least 8.
    - `m`: number of angles `theta = 2 pi j / m`, twice the orientation of a grating.

    **Returns:** `W_zx`, `(n, m)`, and `W_r`, `(n, n)`, NumPy float64.

    **Raises:** `ValueError` for fewer than 8 neurons or fewer than 1 angle.

    **Reference:** Heeger & Mackey (2019), PNAS 116; Rawat, Heeger & Martiniani (2024), NeurIPS 37.
    """
    _check_ring(n, m)
    W_r, d = _recurrent_weights(n)
    return _tuning(n, 2 * np.pi / m * np.arange(m), d), W_r


def normalization_ring(n: int = 36, m: int = 360, **parameters: Any) -> ORGaNICs:
    """The ring as a circuit: its input is the contrast at each of `m` angles.

    All neurons normalize each other, `W = 1`, with `b = b0 = 0.5`, `sigma = 0.1` and time constants
    of 2 ms, unless `parameters` of `ORGaNICs.from_parameters` say otherwise.

    **Raises:** `ValueError` as `ring_weights` and `ORGaNICs.from_parameters`.
    """
    W_zx, W_r = ring_weights(n, m)
    return ORGaNICs.from_parameters(
        **{"W": np.ones((n, n)), "W_r": W_r, "W_zx": W_zx, **parameters}
    )


def _check_ring(n: int, m: int) -> None:
    for name, value, least in (("n", n, 8), ("m", m, 1)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name} must be a whole number from {least} on, got {value!r}.")


def _recurrent_weights(n: int) -> tuple[np.ndarray, int]:
    """The clipped circulant, and how many of its eigenvalues are 1."""
    # At n = 8 the two ends of the filter fall on one neuron.
    column = np.zeros(n)
    for offset in range(-4, 5):
        column[offset % n] += _TAPS[4 - abs(offset)]
    # A symmetric circulant has the cosines for eigenvectors: clipping acts on its spectrum.
    spectrum = np.clip(np.fft.fft(column).real, -1, 1)
    d = int(np.sum(spectrum > 1 - 1e-3))
    column = np.fft.ifft(spectrum).real
    column = (column + np.roll(column[::-1], 1)) / 2  # symmetric to the last digit
    return column[(np.arange(n)[:, None] - np.arange(n)) % n], d


def _tuning(n: int, theta: np.ndarray, d: int) -> np.ndarray:
    p = d - 1
    log_kappa = 0.5 * (
        np.log(d / n) + 2 * p * np.log(2) + 2 * gammaln(p + 1) - gammaln(2 * p + 1) - np.log(p + 1)
    )
    distance = theta - 2 * np.pi / n * np.arange(n)[:, None]
    return np.exp(log_kappa) * np.abs(np.cos(distance / 2)) ** p
