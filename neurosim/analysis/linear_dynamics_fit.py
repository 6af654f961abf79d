"""Linear dynamics fitted to states: without constraint, or as pure rotation.

States are rows: dX/dt = X M. Pairs of states never cross from one trial to the next.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from .activity import as_floating
from .estimator import refuse_traced


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


def state_pairs(trials: Any, dt: float | int, *, difference: str = "forward") -> StatePairs:
    """States with their derivatives by differences within each trial.

    **Arguments:**

    - `trials`: `(trial, time, dimension)`.
    - `dt`: time step.
    - `difference`: `"forward"`, (x_{t+1} - x_t) / dt at x_t, or `"central"`,
        (x_{t+1} - x_{t-1}) / (2 dt) at x_t.

    **Raises:** `ValueError` for another difference or layout, values that are masked or not finite,
    or too few times; `TypeError` under `jit`, `grad` or `vmap`.
    """
    if difference not in ("forward", "central"):
        raise ValueError(f"difference must be 'forward' or 'central', got {difference!r}.")
    trials = _finite(trials, "trials", ("trial", "time", "dimension"))
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


def fit_linear_map(states: Any, derivatives: Any) -> np.ndarray:
    """The matrix M that comes nearest to derivatives = states M, by least squares.

    **Raises:** `ValueError` for shapes that do not fit, or values that are masked or not finite;
    `TypeError` under `jit`, `grad` or `vmap`.
    """
    states, derivatives = _samples(states=states, derivatives=derivatives)
    return np.linalg.lstsq(states, derivatives, rcond=None)[0]


def fit_skew_map(states: Any, derivatives: Any) -> np.ndarray:
    """The skew-symmetric matrix M that comes nearest to derivatives = states M.

    With C = X^T X and G = X^T Xdot it solves C M + M C = G - G^T.

    **Raises:** `ValueError` for states that do not span their dimensions, and as `fit_linear_map`.
    """
    states, derivatives = _samples(states=states, derivatives=derivatives)
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


def fit_rotation_logarithm(before: Any, after: Any, dt: float | int) -> np.ndarray:
    """The skew-symmetric M whose rotation over a step comes nearest to after = before exp(M dt).

    It is the logarithm of the rotation by orthogonal Procrustes; exact for rotations of less than
    half a turn in a step, where differences come out slow by sin(omega dt) / (omega dt).

    **Raises:** `ValueError` for a turn of half a cycle in a step, whose direction is not known, and
    as `fit_linear_map`.
    """
    before, after = _samples(before=before, after=after)
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


def rotation_planes(M: Any) -> RotationPlanes:
    """The planes in which a skew-symmetric map rotates, by decreasing frequency.

    **Arguments:**

    - `M`: `(dimension, dimension)`, skew-symmetric, of dX/dt = X M.

    **Returns:** `RotationPlanes`:

    - `axes`: `(plane, 2, dimension)`, orthonormal; states turn from the first to the second.
    - `frequencies`: `(plane,)`, cycles per unit of time, not negative. There are as many planes as
        pairs of dimensions; one that is left over does not turn.

    **Raises:** `ValueError` for a matrix that is not square, or values that are masked or not
    finite; `TypeError` under `jit`, `grad` or `vmap`.
    """
    M = _finite(M, "M", ("dimension", "dimension"))
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"M must be square, got shape {M.shape}.")
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


def _finite(x: Any, name: str, axes: tuple[str, ...]) -> np.ndarray:
    """Float64 with the axes named; `ValueError` where values are masked, missing or infinite."""
    refuse_traced(x, name)
    values = np.asarray(as_floating(x, name), np.float64)
    if values.ndim != len(axes):
        raise ValueError(f"{name} must be ({', '.join(axes)}), got shape {values.shape}.")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad) > 0:
        place = ", ".join(f"{axis} {int(i)}" for axis, i in zip(axes, bad[0], strict=True))
        raise ValueError(
            f"{name} holds {len(bad)} value(s) that are not finite, the first at {place}."
        )
    return values


def _samples(**given: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of states, `(sample, dimension)`, sample for sample."""
    first, second = (_finite(x, name, ("sample", "dimension")) for name, x in given.items())
    if len(first) != len(second):
        names = " and ".join(given)
        raise ValueError(f"{names} must have the same samples, got {len(first)} and {len(second)}.")
    return first, second
