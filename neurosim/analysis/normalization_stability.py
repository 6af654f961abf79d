"""Why a normalization circuit is stable: damped oscillators, an M-matrix, and a Lyapunov function.

About its rest point the circuit with W_r = I is a set of coupled damped oscillators,

    x'' + B x' + K x = 0,    K = diag(sqrt(a) / (tau_y tau_a)),
    B = diag(sqrt(a) / tau_y) + diag(1 / tau_a) (I - W diag(y^2)),

in the coordinates x_i = sqrt(a_i) tau_yi (y - y_s)_i / y_si, with a and y at rest. B is a
nonsingular M-matrix for all positive parameters, W >= 0 and inputs, and hence diagonally stable:
with positive weights t, sum_i t_i (x_i'^2 + K_i x_i^2) never grows.

**Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
circuit implementing divisive normalization, NeurIPS 37, theorems 4.1 to 4.5, appendices B and F.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .known_arrays import read_known
from .low_rank_factors import Numbers, read_arrays
from .normalization_circuit import NormalizationCircuit, known_circuit


class OscillatorForm(NamedTuple):
    """Damped oscillators about a rest point; see `oscillator_form`."""

    damping: np.ndarray
    stiffness: np.ndarray
    time_constants: np.ndarray
    natural_frequencies: np.ndarray
    damped_frequencies: np.ndarray


class StabilityCertificate(NamedTuple):
    """Proof of stability by an M-matrix; see `stability_certificate`."""

    stable: Any
    spectral_radius: Any
    weights: np.ndarray
    least_damping: Any
    driven: np.ndarray
    oscillators: OscillatorForm


def spectral_abscissa(J: Numbers) -> Any:
    """The largest real part of the eigenvalues of each matrix: below 0, a flow is stable.

    **Arguments:**

    - `J`: `(..., n, n)`, such as Jacobians of a flow.

    **Returns:** `(...)`, in the unit of `J`; a number for one matrix. JAX where `J` is, on CPU.

    **Raises:** `ValueError` for another shape, and values that are masked or not finite.
    """
    xp, (matrices,) = read_arrays(J=J)
    if matrices.ndim < 2 or matrices.shape[-1] != matrices.shape[-2] or 0 in matrices.shape:
        raise ValueError(f"J must be (..., n, n) and not empty, got shape {matrices.shape}.")
    largest = xp.max(xp.real(xp.linalg.eigvals(matrices)), axis=-1)
    return largest if xp is jnp or largest.ndim else float(largest)


def oscillator_form(
    z: Numbers,
    *,
    W: Numbers,
    sigma: Numbers,
    b: Numbers,
    b0: Numbers,
    tau_y: Numbers,
    tau_a: Numbers,
    rectify: str = "none",
) -> OscillatorForm:
    """Damping B and stiffness K of the oscillators about the rest point of a circuit with W_r = I.

    The eigenvalues of [[0, I], [-K, -B]] are those of the Jacobian there, also where units have no
    drive: such a unit is overdamped, with the rates sqrt(a) / tau_y and 1 / tau_a. Rectified, in
    the rows of units with negative drive sqrt(a) gives way to 1.

    **Arguments:**

    - `z`, `W`, `sigma`, `b`, `b0`, `rectify`: as for `normalization_equation`.
    - `tau_y`, `tau_a`: number or `(..., n)`, time constants.

    **Returns:** `OscillatorForm`, NumPy:

    - `damping`: B, `(..., n, n)`, per unit of time.
    - `stiffness`: the diagonal of K, `(..., n)`, per unit of time squared.
    - `time_constants`: `(..., n)`, tau_y / sqrt(a), with which y follows its drive where a is held;
      shorter for stronger input.
    - `natural_frequencies`: `(..., n)`, sqrt(K) / 2 pi, cycles per unit of time.
    - `damped_frequencies`: `(..., n)`, sqrt(K - B_ii^2 / 4) / 2 pi, 0 for an overdamped one: at
      which a unit rings where the others are still.

    **Raises:** `ValueError` as `normalization_equation` does, and for a time constant that is not
    positive. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Rawat, Heeger & Martiniani (2024), Eq. 8 to 10 and 94, 95.
    """
    circuit = known_circuit(
        "oscillator_form",
        z, W=W, sigma=sigma, b=b, b0=b0, tau_y=tau_y, tau_a=tau_a, rectify=rectify,
    )  # fmt: skip
    return oscillators_of(circuit)


def oscillators_of(circuit: NormalizationCircuit) -> OscillatorForm:
    """The oscillators of a circuit that was read, see `oscillator_form`."""
    own, coupling = _damping_parts(circuit)
    damping = own[..., None] * np.eye(own.shape[-1]) - coupling
    rate = _rate(circuit)
    stiffness = np.broadcast_to(rate / (circuit.tau_y * circuit.tau_a), own.shape)
    diagonal = np.diagonal(damping, axis1=-2, axis2=-1)
    return OscillatorForm(
        damping=damping,
        stiffness=stiffness.copy(),
        time_constants=np.asarray(circuit.tau_y / rate),
        natural_frequencies=np.sqrt(stiffness) / (2 * np.pi),
        damped_frequencies=np.sqrt(np.maximum(stiffness - diagonal**2 / 4, 0)) / (2 * np.pi),
    )


def stability_certificate(
    z: Numbers,
    *,
    W: Numbers,
    sigma: Numbers,
    b: Numbers,
    b0: Numbers,
    tau_y: Numbers,
    tau_a: Numbers,
    rectify: str = "none",
) -> StabilityCertificate:
    """Prove the rest point of a circuit with W_r = I stable, without its eigenvalues.

    B = D - N with D diagonal and positive and N >= 0 is a nonsingular M-matrix if and only if
    D^-1 N has a spectral radius below 1, and then it is diagonally stable.

    Units without drive (z = 0, or z <= 0 where rectified) are left out of the weights: each follows
    the others, at rates of its own. `driven` says which ones are in.

    **Arguments:** those of `oscillator_form`.

    **Returns:** `StabilityCertificate`, NumPy:

    - `stable`: `(...)`, whether both the spectral radius is below 1 and the weights do what they
      must.
    - `spectral_radius`: `(...)`, of D^-1 N: how far below 1 is the margin.
    - `weights`: t, `(..., n)`, positive, 1 for units without drive; see `lyapunov_weights`.
    - `least_damping`: `(...)`, the smallest eigenvalue of diag(t) B + B^T diag(t) over driven
      units, positive, per unit of time.
    - `driven`: `(..., n)`, booleans.
    - `oscillators`: B and K, see `oscillator_form`.

    **Raises:** `ValueError` and `TypeError` as `oscillator_form` does.

    **Reference:** Rawat, Heeger & Martiniani (2024), theorems 4.1 to 4.5; the weights are those of
    Plemmons (1977), Linear Algebra and its Applications 18, 175-188.
    """
    circuit = known_circuit(
        "stability_certificate",
        z, W=W, sigma=sigma, b=b, b0=b0, tau_y=tau_y, tau_a=tau_a, rectify=rectify,
    )  # fmt: skip
    own, coupling = _damping_parts(circuit)
    radius = np.abs(np.linalg.eigvals(coupling / own[..., None])).max(axis=-1)
    t, symmetric = driven_weights(circuit)
    # In place of units that do not count, what cannot be the least.
    largest = np.diagonal(symmetric, axis1=-2, axis2=-1).max(axis=-1)[..., None, None]
    alone = ~circuit.driven[..., None] & np.eye(own.shape[-1], dtype=bool)
    least = np.linalg.eigvalsh(np.where(alone, largest, symmetric))[..., 0]
    stable = (radius < 1) & (t > 0).all(axis=-1) & (least > 0)
    return StabilityCertificate(
        stable=stable if stable.ndim else bool(stable),
        spectral_radius=radius if radius.ndim else float(radius),
        weights=t,
        least_damping=least if least.ndim else float(least),
        driven=circuit.driven,
        oscillators=oscillators_of(circuit),
    )


def driven_weights(circuit: NormalizationCircuit) -> tuple[np.ndarray, np.ndarray]:
    """Weights t of the driven units, and diag(t) B + B^T diag(t) of those among themselves."""
    own, coupling = _damping_parts(circuit)
    # The columns of the others are zero already: what they do reaches no one.
    coupling = np.where(circuit.driven[..., None], coupling, 0)
    damping = own[..., None] * np.eye(own.shape[-1]) - coupling
    t = _weights(damping)
    return t, _symmetric(t, damping)


def lyapunov_weights(B: Numbers) -> np.ndarray:
    """Positive weights t that make diag(t) B + B^T diag(t) positive definite, B an M-matrix.

    t = (B^-T 1) / (B^-1 1), entry by entry.

    **Arguments:**

    - `B`: `(..., n, n)`, entries off the diagonal not positive, inverse not negative.

    **Returns:** t, `(..., n)`, NumPy.

    **Raises:** `ValueError` for another shape, values that are not finite, or a B that is no
    nonsingular M-matrix. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Plemmons (1977), Linear Algebra and its Applications 18, 175-188; Berman &
    Plemmons (1994), Nonnegative matrices in the mathematical sciences, chapter 6.
    """
    return _weights(_m_matrix(B, "lyapunov_weights"))


def strict_lyapunov_matrix(B: Numbers, K: Numbers) -> np.ndarray:
    """A matrix P whose form (x, x') P (x, x')^T falls wherever x'' + B x' + K x = 0 moves.

    The weights t alone leave it level where x' = 0; P = [[diag(t) K, e I], [e I, diag(t)]] does
    not, for small positive e.

    **Arguments:**

    - `B`: `(..., n, n)`, a nonsingular M-matrix.
    - `K`: `(..., n)`, the diagonal of the stiffness, positive.

    **Returns:** P, `(..., 2 n, 2 n)`, positive definite, e at half its bound.

    **Raises:** `ValueError` as `lyapunov_weights` does, and for a K of another shape or that is not
    positive. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Rawat, Heeger & Martiniani (2024), appendix B, Eq. 51.
    """
    damping = _m_matrix(B, "strict_lyapunov_matrix")
    (k,) = read_known("strict_lyapunov_matrix", K=K)
    if k.shape != damping.shape[:-1]:
        raise ValueError(f"K must be (..., n) = {damping.shape[:-1]}, as B has, got {k.shape}.")
    if not (k > 0).all():
        raise ValueError("K must be positive.")
    t = _weights(damping)
    alpha = np.linalg.eigvalsh(_symmetric(t, damping))[..., :1]
    beta = np.linalg.norm(damping, 2, axis=(-2, -1))[..., None] ** 2
    bounds = (t * np.sqrt(k), np.broadcast_to(alpha / 2, k.shape), 2 * k * alpha / (beta + 4 * k))
    eps = np.min(bounds, axis=(0, -1))[..., None, None] / 2
    identity = np.eye(k.shape[-1])
    upper = np.concatenate([(t * k)[..., None] * identity, eps * identity], axis=-1)
    lower = np.concatenate([eps * identity, t[..., None] * identity], axis=-1)
    return np.concatenate([upper, lower], axis=-2)


def _rate(circuit: NormalizationCircuit) -> np.ndarray:
    """sqrt(a), or 1 for units that are silenced by rectification: tau_y times their rate."""
    _, a = circuit.rest()
    root = np.sqrt(np.asarray(a))
    return root if circuit.rectify == "none" else np.where(circuit.z < 0, 1, root)


def _damping_parts(circuit: NormalizationCircuit) -> tuple[np.ndarray, np.ndarray]:
    """D, `(..., n)`, and N, `(..., n, n)`, of B = diag(D) - N."""
    y, _ = circuit.rest()
    active = np.where(circuit.driven, y, 0)
    own = _rate(circuit) / circuit.tau_y + 1 / circuit.tau_a
    tau_a = np.broadcast_to(circuit.tau_a, own.shape)
    return own, np.asarray(circuit.W * active[..., None, :] ** 2 / tau_a[..., None])


def _m_matrix(B: Numbers, what: str) -> np.ndarray:
    (damping,) = read_known(what, B=B)
    if damping.ndim < 2 or damping.shape[-1] != damping.shape[-2] or 0 in damping.shape:
        raise ValueError(f"B must be (..., n, n) and not empty, got shape {damping.shape}.")
    off = ~np.eye(damping.shape[-1], dtype=bool)
    if (damping[..., off] > 0).any():
        raise ValueError("B is no M-matrix: it has positive entries off its diagonal.")
    own = np.diagonal(damping, axis1=-2, axis2=-1)
    singular = (own <= 0).any()
    if not singular:
        ratio = np.where(off, -damping, 0) / own[..., None]
        singular = np.abs(np.linalg.eigvals(ratio)).max() >= 1
    if singular:
        raise ValueError(
            "B is no nonsingular M-matrix: its diagonal must be positive, and outweigh the rest: "
            "a spectral radius below 1 of what is off the diagonal over what is on it."
        )
    return damping


def _weights(damping: np.ndarray) -> np.ndarray:
    ones = np.ones((*damping.shape[:-1], 1))
    left = np.linalg.solve(np.swapaxes(damping, -1, -2), ones)
    return (left / np.linalg.solve(damping, ones))[..., 0]


def _symmetric(t: np.ndarray, damping: np.ndarray) -> np.ndarray:
    weighted = t[..., None] * damping
    return weighted + np.swapaxes(weighted, -1, -2)
