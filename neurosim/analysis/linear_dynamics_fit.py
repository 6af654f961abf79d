"""Linear dynamics fitted to states: without constraint, or as pure rotation.

States are rows: dX/dt = X M. Pairs of states never cross from one trial to the next.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg


class StatePairs(NamedTuple):
    """States and how they change; see `state_pairs`.

    - `states`: `(sample, dimension)`.
    - `derivatives`: `(sample, dimension)`, per unit of time.
    """

    states: np.ndarray
    derivatives: np.ndarray


class RotationPlanes(NamedTuple):
    """Planes of rotation, fastest first; see `rotation_planes`."""

    axes: np.ndarray
    frequencies: np.ndarray


def state_pairs(trials: np.ndarray, dt: float | int, *, difference: str = "forward") -> StatePairs:
    """States with their derivatives by differences within each trial.

    **Arguments:**

    - `trials`: `(trial, time, dimension)`.
    - `dt`: time step.
    - `difference`: `"forward"`, (x_{t+1} - x_t) / dt at x_t, or `"central"`,
        (x_{t+1} - x_{t-1}) / (2 dt) at x_t.

    **Raises:** `ValueError` for another difference, or too few times.
    """
    if difference not in ("forward", "central"):
        raise ValueError(f"difference must be 'forward' or 'central', got {difference!r}.")
    n_needed = 2 if difference == "forward" else 3
    if trials.shape[1] < n_needed:
        raise ValueError(
            f"a {difference} difference needs {n_needed} times, got {trials.shape[1]}."
        )
    if difference == "forward":
        states, change = trials[:, :-1], (trials[:, 1:] - trials[:, :-1]) / dt
    else:
        states, change = trials[:, 1:-1], (trials[:, 2:] - trials[:, :-2]) / (2 * dt)
    n = trials.shape[-1]
    return StatePairs(states.reshape(-1, n), change.reshape(-1, n))


def fit_linear_map(states: np.ndarray, derivatives: np.ndarray) -> np.ndarray:
    """The matrix M that comes nearest to derivatives = states M, by least squares."""
    return np.linalg.lstsq(states, derivatives, rcond=None)[0]


def fit_skew_map(states: np.ndarray, derivatives: np.ndarray) -> np.ndarray:
    """The skew-symmetric matrix M that comes nearest to derivatives = states M.

    With C = X^T X and G = X^T Xdot it solves C M + M C = G - G^T.

    **Raises:** `ValueError` for states that do not span their dimensions.
    """
    C, G = states.T @ states, states.T @ derivatives
    values = np.linalg.eigvalsh(C)
    if values[0] <= 1e-14 * values[-1]:
        rank = int((values > 1e-14 * values[-1]).sum())
        raise ValueError(
            f"states span {rank} of their {len(values)} dimensions (eigenvalues of their squares "
            "above 1e-14 of the largest): use fewer components."
        )
    M = linalg.solve_sylvester(C, C, G - G.T)
    # Skew to rounding already.
    return (M - M.T) / 2


def fit_rotation_logarithm(before: np.ndarray, after: np.ndarray, dt: float | int) -> np.ndarray:
    """The skew-symmetric M whose rotation over a step comes nearest to after = before exp(M dt).

    It is the logarithm of the rotation by orthogonal Procrustes; exact for rotations of less than
    half a turn in a step, where differences come out slow by sin(omega dt) / (omega dt).

    **Raises:** `ValueError` for a turn of half a cycle in a step, whose direction is not known.
    """
    U, _, Vt = np.linalg.svd(before.T @ after)
    # A reflection is no rotation: the direction that matters least is turned over.
    U[:, -1] *= np.sign(np.linalg.det(U) * np.linalg.det(Vt))
    R = U @ Vt
    angles = np.abs(np.angle(np.linalg.eigvals(R)))
    if angles.max() > np.pi - 1e-6:
        raise ValueError(
            "states turn by half a cycle in a step, so that their direction is not known: a "
            "smaller time step is needed."
        )
    M = np.real(linalg.logm(R)) / dt
    return (M - M.T) / 2


def rotation_planes(M: np.ndarray) -> RotationPlanes:
    """The planes in which a skew-symmetric map rotates, by decreasing frequency.

    **Arguments:**

    - `M`: `(dimension, dimension)`, skew-symmetric, of dX/dt = X M.

    **Returns:** `RotationPlanes`:

    - `axes`: `(plane, 2, dimension)`, orthonormal; states turn from the first to the second.
    - `frequencies`: `(plane,)`, cycles per unit of time, not negative. There are as many planes as
        pairs of dimensions; one that is left over does not turn.
    """
    # Of a skew matrix the real Schur form is made of blocks of two, and zeros.
    schur: Any = linalg.schur(M, output="real")
    T, Z = schur
    n, pairs, single, i = len(M), [], [], 0
    while i < n:
        if i + 1 < n and T[i + 1, i] != 0:
            pairs.append(Z[:, i : i + 2].T)
            i += 2
        else:
            single.append(Z[:, i])
            i += 1
    pairs += [np.stack(single[j : j + 2]) for j in range(0, len(single) - 1, 2)]
    axes = np.stack(pairs)
    turning = np.einsum("pi,ij,pj->p", axes[:, 0], M, axes[:, 1])
    axes[:, 1] *= np.where(turning < 0, -1, 1)[:, None]
    order = np.argsort(-np.abs(turning), kind="stable")
    return RotationPlanes(axes[order], np.abs(turning)[order] / (2 * np.pi))
