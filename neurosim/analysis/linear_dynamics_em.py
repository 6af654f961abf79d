"""Expectation maximisation of a linear dynamical system: where it starts, and its maximum."""

import numpy as np

from .kalman import LinearGaussianSystem

# Of its variance, the least noise that a unit is left: a likelihood without bound lies below.
_LEAST = 1e-6


def variance_of_units(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Of what was observed of each unit; `ValueError` where that does not vary."""
    variance = np.zeros(values.shape[2])
    for unit in range(len(variance)):
        of_unit = values[..., unit][seen[..., unit]]
        if len(of_unit) == 0 or (of_unit == of_unit[0]).all():
            raise ValueError(
                f"unit {unit} is constant where it is observed ({len(of_unit)} value(s)): its "
                "likelihood has no bound. Leave out such units."
            )
        variance[unit] = of_unit.var()
    return variance


def first_guess(
    values: np.ndarray,
    seen: np.ndarray,
    u: np.ndarray,
    pairs: np.ndarray,
    l: int,
    variance: np.ndarray,
    rng: np.random.Generator,
) -> LinearGaussianSystem:
    """A system from the principal components of activity, means in place of what is missing.

    What inputs `u` explain of the activity at once is taken off first.
    """
    n, k = values.shape[2], u.shape[2]
    d = np.sum(values * seen, axis=(0, 1)) / seen.sum(axis=(0, 1))
    D = np.zeros((n, k))
    if k > 0:
        d, D = _explained(values, seen, u)
    # Values that pad a trial are 0 here as well, and count for nothing.
    centred = np.where(seen, values - u @ D.T - d, 0)
    directions = np.linalg.svd(centred.reshape(-1, n), full_matrices=False)[2][:l]
    C = directions.T
    if C.shape[1] < l:
        # The units show no more: the rest is left to delays.
        extra = rng.normal(size=(n, l - C.shape[1])) / np.sqrt(n)
        C = np.concatenate([C, extra], axis=1)
        turn = np.linalg.qr(rng.normal(size=(l, l)))[0]
        A, B, spread = 0.9 * turn, np.zeros((l, k)), float(variance.mean()) * np.eye(l)
        Q = 0.2 * spread
    else:
        z = centred @ C
        now, after, pushed = z[:, :-1][pairs], z[:, 1:][pairs], u[:, :-1][pairs]
        both = np.concatenate([now, pushed], axis=1)
        A, B = np.split(np.linalg.lstsq(both, after, rcond=None)[0].T, [l], axis=1)
        A = A * min(1.0, 0.98 / max(np.abs(np.linalg.eigvals(A)).max(), 1e-12))
        step = after - now @ A.T - pushed @ B.T
        tiny = 1e-3 * float(variance.mean()) * np.eye(l)
        Q = step.T @ step / len(step) + tiny
        spread = now.T @ now / len(now) + tiny
    left = np.sum((centred - centred @ directions.T @ directions) ** 2, axis=(0, 1))
    R = np.maximum(left / seen.sum(axis=(0, 1)), 0.1 * variance)
    return LinearGaussianSystem(A, Q, C, d, np.diag(R), np.zeros(l), spread, B, D)


def _explained(
    values: np.ndarray, seen: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Offset `(n,)` and weights `(n, k)` of each unit on inputs, by least squares."""
    one = np.concatenate([np.ones((*u.shape[:2], 1)), u], axis=2)
    weights = [
        np.linalg.lstsq(one[of_unit], values[..., unit][of_unit], rcond=None)[0]
        for unit, of_unit in enumerate(np.moveaxis(seen, 2, 0))
    ]
    found = np.stack(weights)
    return found[:, 0], found[:, 1:]


def maximised(
    values: np.ndarray,
    seen: np.ndarray,
    u: np.ndarray,
    there: np.ndarray,
    pairs: np.ndarray,
    smoothed: tuple[np.ndarray, ...],
    variance: np.ndarray,
) -> LinearGaussianSystem:
    """The system that is most likely where latents are as distributed as the smoother says.

    **Arguments:**

    - `values`, `seen`: `(trial, time, unit)`, activity, and which of it was observed.
    - `u`: `(trial, time, channel)`, inputs.
    - `there`: `(trial, time)`, the times that a trial has. `pairs`: those followed by another.
    - `smoothed`: means, covariances, and covariances of each latent with the one before.
    - `variance`: of each unit.
    """
    means, covariances, cross = smoothed
    l, k = means.shape[2], u.shape[2]
    # Latents follow from those before and from inputs, which are known.
    now = np.concatenate([means[:, :-1][pairs], u[:, :-1][pairs]], axis=1)
    after = means[:, 1:][pairs]
    S_now, S_cross = now.T @ now, after.T @ now
    S_now[:l, :l] += covariances[:, :-1][pairs].sum(axis=0)
    S_cross[:, :l] += cross[pairs].sum(axis=0)
    S_after = after.T @ after + covariances[:, 1:][pairs].sum(axis=0)
    AB = _solved(S_now, S_cross.T).T
    Q = (S_after - AB @ S_cross.T - S_cross @ AB.T + AB @ S_now @ AB.T) / pairs.sum()
    # Each unit by itself, from the samples in which it was observed.
    m, P = means[there], covariances[there]
    seen, y = seen[there].astype(float), values[there]
    one = np.concatenate([m, u[there], np.ones((len(m), 1))], axis=1)
    squares = np.einsum("si,sj,su->uij", one, one, seen, optimize=True)
    squares[:, :l, :l] += np.einsum("sij,su->uij", P, seen, optimize=True)
    products = np.einsum("su,si->ui", seen * y, one, optimize=True)
    weights = np.stack([_solved(square, b) for square, b in zip(squares, products)])
    C, D, d = weights[:, :l], weights[:, l : l + k], weights[:, l + k]
    residual = np.sum(seen * (y - one @ weights.T) ** 2, axis=0)
    unsure = np.einsum("ui,sij,uj,su->u", C, P, C, seen, optimize=True)
    R = np.maximum((residual + unsure) / seen.sum(axis=0), _LEAST * variance)
    mean = means[:, 0].mean(axis=0)
    away = means[:, 0] - mean
    spread = away.T @ away / len(away) + covariances[:, 0].mean(axis=0)
    return LinearGaussianSystem(
        transition=AB[:, :l],
        transition_noise=(Q + Q.T) / 2,
        observation=C,
        offset=d,
        observation_noise=np.diag(R),
        initial_mean=mean,
        initial_covariance=(spread + spread.T) / 2,
        input_matrix=AB[:, l:],
        feedthrough=D,
    )


def _solved(squares: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Least squares from sums of squares, which may be singular where latents do nothing."""
    # Latents are in units of activity, next to a constant of 1: each is measured by itself.
    scale = np.sqrt(np.maximum(np.diagonal(squares), 0))
    scale = np.where(scale == 0, 1, scale)
    given = (products.T / scale).T
    return (np.linalg.lstsq(squares / scale / scale[:, None], given, rcond=None)[0].T / scale).T
