"""A linear dynamical system with Gaussian noise, fitted to activity by maximum likelihood."""

from typing import Any

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike
from .estimator import Estimator, check_fitted, check_n_features
from .kalman import LinearGaussianSystem, check_system, read_observed, run_smoother
from .resampling import as_generator

# Of its variance, the least noise that a unit is left: a likelihood without bound lies below.
_LEAST = 1e-6


class LinearDynamicalSystem(Estimator):
    """A linear dynamical system: hidden states that follow themselves, seen through noise.

    z_{t+1} = A z_t + w, y_t = C z_t + d + v, with noise v of each unit alone; see
    `LinearGaussianSystem`. Fitted by expectation maximisation on the smoothed states, every trial a
    run of the same system. Trials may differ in length, and values may be missing.

    Many systems look the same: any invertible change of the latents gives another A and C. Compare
    eigenvalues of A, the span of C, or `score` on trials held out. With no more latents than units,
    latents are turned so that C has orthonormal columns and the smoothed states are uncorrelated,
    by decreasing variance; the entry of greatest magnitude in each column is positive.

    **Arguments:**

    - `n_latents`: number of hidden states.
    - `max_iterations`: the most rounds.
    - `tolerance`: the fit ends when a round raises the log-likelihood of an observed value, on
        average, by less.
    - `random_state`: seed or generator, drawn from only where there are more latents than units.

    **Attributes** after `fit`:

    - `system_`: a `LinearGaussianSystem`, for `kalman_filter` and `kalman_smoother`.
    - `eigenvalues_`: `(n_latents,)`, complex, of A, by decreasing modulus, per sample.
    - `log_likelihoods_`: `(round,)`, of all that was observed, before each round and after the
        last, natural logarithm; never decreasing.
    - `converged_`: whether the fit ended before `max_iterations`.
    - `n_iter_`, `n_features_in_`: rounds taken; number of units.

    **Reference:** Shumway & Stoffer (1982), Journal of Time Series Analysis 3, 253-264; Ghahramani
    & Hinton (1996), Parameter estimation for linear dynamical systems, Toronto CRG-TR-96-2; Yu et
    al. (2009), Journal of Neurophysiology 102, 614-635, for orthonormal columns.
    """

    def __init__(
        self,
        n_latents: int | np.integer = 1,
        *,
        max_iterations: int | np.integer = 200,
        tolerance: float | int = 1e-6,
        random_state: int | np.integer | np.random.Generator = 0,
    ) -> None:
        self.n_latents = n_latents
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: ActivityLike, y: Any = None, *, mask: Any = None) -> "LinearDynamicalSystem":
        """Fit to `(time, units)`, `(trials, time, units)` or a list; `y` is ignored.

        `mask` says which values of an array were observed, see `kalman_filter`.

        **Raises:** `ValueError` for a bad layout, values that are observed and not finite, no
        trial of two samples, or a unit that is constant or seen less than twice. `TypeError`
        under `jit`, `grad` or `vmap`.
        """
        del y
        l = whole_number(self.n_latents, "n_latents", least=1)
        rounds = whole_number(self.max_iterations, "max_iterations", least=1)
        if not self.tolerance >= 0:
            raise ValueError(f"tolerance must not be negative, got {self.tolerance}.")
        read, seen, there = read_observed(X, mask)
        values = np.asarray(read.values)
        pairs = there[:, 1:] & there[:, :-1]
        if not pairs.any():
            raise ValueError("no trial has two samples (n_samples=1): there is no step to fit.")
        variance = _variance_of_units(values, seen)
        system = _first_guess(values, seen, pairs, l, variance, as_generator(self.random_state))
        likelihoods: list[float] = []
        self.converged_ = False
        for _ in range(rounds):
            found = run_smoother(values, seen, system, True)
            likelihoods.append(float(found[4].sum()))
            gained = np.inf if len(likelihoods) < 2 else likelihoods[-1] - likelihoods[-2]
            if gained < self.tolerance * seen.sum():
                self.converged_ = True
                break
            system = _maximised(values, seen, there, pairs, found[5:], variance)
        else:
            found = run_smoother(values, seen, system, True)
            likelihoods.append(float(found[4].sum()))
        self.system_ = _oriented(system, found[5][there], found[6][there])
        eigenvalues = np.linalg.eigvals(self.system_.transition).astype(complex)
        self.eigenvalues_ = eigenvalues[np.lexsort((np.imag(eigenvalues), -np.abs(eigenvalues)))]
        self.log_likelihoods_ = np.array(likelihoods)
        self.n_iter_ = len(likelihoods) - 1
        self.n_features_in_ = values.shape[2]
        return self

    def transform(self, X: ActivityLike, *, mask: Any = None) -> Any:
        """Smoothed latents, in the layout given, latents in place of units."""
        read, found, _ = self._smoothed(X, mask, backward=True)
        return read.restore(found[5])

    def fit_transform(self, X: ActivityLike, y: Any = None, *, mask: Any = None) -> Any:
        """Fit, and the smoothed latents."""
        return self.fit(X, y, mask=mask).transform(X, mask=mask)

    def score(self, X: ActivityLike, y: Any = None, *, mask: Any = None) -> float:
        """Log-likelihood of activity, mean over observed values, natural logarithm."""
        del y
        _, found, seen = self._smoothed(X, mask, backward=False)
        return float(found[4].sum() / seen.sum())

    def _smoothed(self, X: Any, mask: Any, *, backward: bool) -> tuple[Any, Any, np.ndarray]:
        check_fitted(self)
        read, seen, _ = read_observed(X, mask)
        check_n_features(self, seen.shape[2], axis_name="unit")
        system = check_system(self.system_, seen.shape[2])
        return read, run_smoother(read.values, seen, system, backward), seen


def _variance_of_units(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
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


def _first_guess(
    values: np.ndarray,
    seen: np.ndarray,
    pairs: np.ndarray,
    l: int,
    variance: np.ndarray,
    rng: np.random.Generator,
) -> LinearGaussianSystem:
    """A system from the principal components of activity, means in place of what is missing."""
    n = values.shape[2]
    d = np.sum(values * seen, axis=(0, 1)) / seen.sum(axis=(0, 1))
    # Values that pad a trial are 0 here as well, and count for nothing.
    centred = np.where(seen, values - d, 0)
    directions = np.linalg.svd(centred.reshape(-1, n), full_matrices=False)[2][:l]
    C = directions.T
    if C.shape[1] < l:
        # The units show no more: the rest is left to delays.
        extra = rng.normal(size=(n, l - C.shape[1])) / np.sqrt(n)
        C = np.concatenate([C, extra], axis=1)
        turn = np.linalg.qr(rng.normal(size=(l, l)))[0]
        A, spread = 0.9 * turn, float(variance.mean()) * np.eye(l)
        Q = 0.2 * spread
    else:
        z = centred @ C
        now, after = z[:, :-1][pairs], z[:, 1:][pairs]
        A = np.linalg.lstsq(now, after, rcond=None)[0].T
        A = A * min(1.0, 0.98 / max(np.abs(np.linalg.eigvals(A)).max(), 1e-12))
        step = after - now @ A.T
        tiny = 1e-3 * float(variance.mean()) * np.eye(l)
        Q = step.T @ step / len(step) + tiny
        spread = now.T @ now / len(now) + tiny
    left = np.sum((centred - centred @ directions.T @ directions) ** 2, axis=(0, 1))
    R = np.maximum(left / seen.sum(axis=(0, 1)), 0.1 * variance)
    return LinearGaussianSystem(A, Q, C, d, np.diag(R), np.zeros(l), spread)


def _maximised(
    values: np.ndarray,
    seen: np.ndarray,
    there: np.ndarray,
    pairs: np.ndarray,
    smoothed: tuple[np.ndarray, ...],
    variance: np.ndarray,
) -> LinearGaussianSystem:
    """The system that is most likely where latents are as distributed as the smoother says."""
    means, covariances, cross = smoothed
    l = means.shape[2]
    now, after = means[:, :-1][pairs], means[:, 1:][pairs]
    S_now = now.T @ now + covariances[:, :-1][pairs].sum(axis=0)
    S_after = after.T @ after + covariances[:, 1:][pairs].sum(axis=0)
    S_cross = after.T @ now + cross[pairs].sum(axis=0)
    A = _solved(S_now, S_cross.T).T
    Q = (S_after - A @ S_cross.T - S_cross @ A.T + A @ S_now @ A.T) / pairs.sum()
    # Each unit by itself, from the samples in which it was observed.
    m, P = means[there], covariances[there]
    seen, y = seen[there].astype(float), values[there]
    one = np.concatenate([m, np.ones((len(m), 1))], axis=1)
    squares = np.einsum("si,sj,su->uij", one, one, seen, optimize=True)
    squares[:, :l, :l] += np.einsum("sij,su->uij", P, seen, optimize=True)
    products = np.einsum("su,si->ui", seen * y, one, optimize=True)
    weights = np.stack([_solved(square, b) for square, b in zip(squares, products)])
    C, d = weights[:, :l], weights[:, l]
    residual = np.sum(seen * (y - m @ C.T - d) ** 2, axis=0)
    unsure = np.einsum("ui,sij,uj,su->u", C, P, C, seen, optimize=True)
    R = np.maximum((residual + unsure) / seen.sum(axis=0), _LEAST * variance)
    mean = means[:, 0].mean(axis=0)
    away = means[:, 0] - mean
    spread = away.T @ away / len(away) + covariances[:, 0].mean(axis=0)
    return LinearGaussianSystem(A, (Q + Q.T) / 2, C, d, np.diag(R), mean, (spread + spread.T) / 2)


def _solved(squares: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Least squares from sums of squares, which may be singular where latents do nothing."""
    # Latents are in units of activity, next to a constant of 1: each is measured by itself.
    scale = np.sqrt(np.maximum(np.diagonal(squares), 0))
    scale = np.where(scale == 0, 1, scale)
    given = (products.T / scale).T
    return (np.linalg.lstsq(squares / scale / scale[:, None], given, rcond=None)[0].T / scale).T


def _oriented(
    system: LinearGaussianSystem, means: np.ndarray, covariances: np.ndarray
) -> LinearGaussianSystem:
    """The same system with C orthonormal, and latents uncorrelated by decreasing variance."""
    n, l = system.observation.shape
    away = means - means.mean(axis=0)
    second = away.T @ away / len(away) + covariances.mean(axis=0)
    values, vectors = np.linalg.eigh(second)
    root = vectors * np.sqrt(np.maximum(values, 0))
    U, size, _ = np.linalg.svd(system.observation @ root, full_matrices=False)
    if l > n or size[-1] < 1e-8 * size[0]:
        # No change of the latents makes the columns orthonormal.
        return system
    U = U * np.sign(U[np.argmax(np.abs(U), axis=0), np.arange(l)])
    T = U.T @ system.observation
    inverse = np.linalg.inv(T)

    def turned(covariance: np.ndarray) -> np.ndarray:
        new = T @ covariance @ T.T
        return (new + new.T) / 2

    return system._replace(
        transition=T @ system.transition @ inverse,
        transition_noise=turned(system.transition_noise),
        observation=U,
        initial_mean=T @ system.initial_mean,
        initial_covariance=turned(system.initial_covariance),
    )
