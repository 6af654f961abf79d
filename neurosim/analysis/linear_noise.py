"""Noise about a stable fixed point, to first order: covariance, power spectra, coherence."""

from typing import Any

import numpy as np
import scipy.linalg

from .activity import refuse_masked
from .estimator import refuse_traced
from .known_arrays import read_known
from .low_rank_factors import Numbers


def stationary_covariance(
    J: Numbers, *, amplitude: Numbers = None, covariance: Numbers = None
) -> np.ndarray:
    """The covariance S at which a linear flow driven by white noise stays: J S + S J^T + Q = 0.

    Of dX = J X dt + L dW with Q = L L^T; about a stable fixed point of any circuit, whose Jacobian
    J is, it holds for weak noise.

    **Arguments:**

    - `J`: `(n, n)`, per unit of time, stable.
    - `amplitude`: number or `(n,)`, of independent noise in each variable: its standard deviation
      per square root of time, Q = diag(amplitude^2). Noise eta scaled by the time constant of each
      variable is eta / sqrt(tau).
    - `covariance`: `(n, n)`, Q itself, per unit of time, symmetric, not negative; in its place.

    **Returns:** S, `(n, n)`, NumPy, symmetric.

    **Raises:** `ValueError` for shapes that do not fit, values that are missing, masked or not
    finite, a J with an eigenvalue whose real part is not negative, neither or both of `amplitude`
    and `covariance`, or one that is no such thing. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Gardiner (2009), Stochastic methods, section 4.5.
    """
    jacobian, noise = _read(J, amplitude, covariance, "stationary_covariance")
    found = scipy.linalg.solve_continuous_lyapunov(jacobian, -noise)
    return (found + found.T) / 2


def noise_spectrum(
    J: Numbers,
    frequencies: Numbers,
    *,
    amplitude: Numbers = None,
    covariance: Numbers = None,
) -> np.ndarray:
    """Power spectra and cross-spectra of a linear flow driven by white noise, exactly.

        S(f) = G Q G^H,    G = (2 pi i f I - J)^-1

    Two-sided: the integral over all f, of either sign, is `stationary_covariance`. A one-sided
    estimate from a recording, as Welch's method gives it, is twice as large.

    **Arguments:**

    - `J`, `amplitude`, `covariance`: as for `stationary_covariance`.
    - `frequencies`: `(...)`, cycles per unit of time.

    **Returns:** `(..., n, n)`, NumPy complex, Hermitian; the diagonal is real, in squared units of
    the state per cycle per unit of time.

    **Raises:** as `stationary_covariance`.

    **Reference:** Gardiner (2009), Stochastic methods, section 4.5.
    """
    jacobian, noise = _read(J, amplitude, covariance, "noise_spectrum")
    (f,) = read_known("noise_spectrum", frequencies=frequencies)
    n = len(jacobian)
    resolvent = np.linalg.inv(2j * np.pi * f[..., None, None] * np.eye(n) - jacobian)
    found = resolvent @ noise @ np.conj(np.swapaxes(resolvent, -1, -2))
    return (found + np.conj(np.swapaxes(found, -1, -2))) / 2


def coherence(S: Numbers) -> np.ndarray:
    """Squared coherence between variables at each frequency: |S_ij|^2 / (S_ii S_jj).

    **Arguments:**

    - `S`: `(..., n, n)`, cross-spectra as `noise_spectrum` gives them, or an estimate from data.

    **Returns:** `(..., n, n)`, NumPy, from 0 to 1; NaN for a variable without power, which has
    none.

    **Raises:** `ValueError` for another shape, values that are masked or not finite, or negative
    power. `TypeError` under `jit`, `grad` or `vmap`.
    """
    refuse_traced(S, "coherence")
    refuse_masked(S, "S")
    spectra = np.asarray(S)
    if spectra.ndim < 2 or spectra.shape[-1] != spectra.shape[-2] or 0 in spectra.shape:
        raise ValueError(f"S must be (..., n, n) and not empty, got shape {spectra.shape}.")
    if not np.isfinite(spectra).all():
        raise ValueError("S must be finite.")
    power = np.real(np.diagonal(spectra, axis1=-2, axis2=-1))
    if (power < 0).any():
        raise ValueError("S must have power, real and not negative, on its diagonal.")
    # The product of square roots, which does not leave the range of numbers.
    root = np.sqrt(power)
    scale = root[..., :, None] * root[..., None, :]
    shares = np.abs(spectra) / np.where(scale > 0, scale, 1)
    return np.where(scale > 0, shares**2, np.nan)


def _read(J: Any, amplitude: Any, covariance: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
    """J and Q."""
    if (amplitude is None) == (covariance is None):
        raise ValueError("give amplitude or covariance, one of the two.")
    jacobian, size, noise = read_known(
        what, "amplitude", "covariance", J=J, amplitude=amplitude, covariance=covariance
    )
    if jacobian.ndim != 2 or jacobian.shape[0] != jacobian.shape[1] or jacobian.size == 0:
        raise ValueError(f"J must be (n, n) and not empty, got shape {jacobian.shape}.")
    n = len(jacobian)
    growth = float(np.linalg.eigvals(jacobian).real.max())
    if growth >= 0:
        raise ValueError(
            f"J must be stable: an eigenvalue has real part {growth:g}, so that noise has no "
            "stationary covariance."
        )
    if noise is None:
        if size.shape not in ((), (1,), (n,)) or (size < 0).any():
            raise ValueError(
                f"amplitude must be a number or (n,) = ({n},), not negative, got {amplitude}."
            )
        return jacobian, np.diag(np.broadcast_to(size, (n,)) ** 2)
    if noise.shape != (n, n):
        raise ValueError(f"covariance must be symmetric, (n, n) = ({n}, {n}), got {noise.shape}.")
    if not np.allclose(noise, noise.T, rtol=1e-6, atol=0):
        gap = float(np.max(np.abs(noise - noise.T)))
        raise ValueError(f"covariance must be symmetric, and its two halves differ by {gap:g}.")
    noise = (noise + noise.T) / 2
    least, largest = np.linalg.eigvalsh(noise)[[0, -1]]
    if least < -1e-9 * abs(largest):
        raise ValueError(f"covariance must have no negative eigenvalue, got {least:g}.")
    return jacobian, noise
