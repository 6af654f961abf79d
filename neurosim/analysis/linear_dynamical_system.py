"""A linear dynamical system with Gaussian noise, fitted to activity by maximum likelihood."""

from typing import Any

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike
from .estimator import Estimator, check_fitted, check_n_features
from .kalman import LinearGaussianSystem, check_system, read_observed, run_smoother
from .linear_dynamics_em import first_guess, maximised, variance_of_units
from .resampling import as_generator
from .trial_inputs import read_inputs


class LinearDynamicalSystem(Estimator):
    """A linear dynamical system: hidden states that follow themselves, seen through noise.

    z_{t+1} = A z_t + w, y_t = C z_t + d + v, with noise v of each unit alone; under inputs u,
    z_{t+1} = A z_t + B u_t + w, y_t = C z_t + D u_t + d + v; see `LinearGaussianSystem`. Fitted by
    expectation maximisation on the smoothed states, every trial a run of the same system. Trials
    may differ in length, and values may be missing.

    Many systems look the same: any invertible change of the latents gives another A, B and C.
    Compare eigenvalues of A, the span of C, `score` on trials held out, or with inputs the transfer
    function C (x I - A)^-1 B + D, which is the same for all of them. With no more latents than
    units, latents are turned so that C has orthonormal columns and the smoothed states are
    uncorrelated, by decreasing variance; the entry of greatest magnitude in each column is
    positive.

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
    - `n_iter_`, `n_features_in_`, `n_inputs_`: rounds taken; number of units; of input channels.

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

    def fit(
        self, X: ActivityLike, y: Any = None, *, mask: Any = None, inputs: Any = None
    ) -> "LinearDynamicalSystem":
        """Fit to `(time, units)`, `(trials, time, units)` or a list; `y` is ignored.

        `mask` says which values of an array were observed, see `kalman_filter`. `inputs` are in the
        layout of `X`, channels in place of units; what is fitted with inputs needs them in every
        other method, too.

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
        u = read_inputs(inputs, read, there)
        values = np.asarray(read.values)
        pairs = there[:, 1:] & there[:, :-1]
        if not pairs.any():
            raise ValueError("no trial has two samples (n_samples=1): there is no step to fit.")
        variance = variance_of_units(values, seen)
        system = first_guess(values, seen, u, pairs, l, variance, as_generator(self.random_state))
        likelihoods: list[float] = []
        self.converged_ = False
        for _ in range(rounds):
            found = run_smoother(values, seen, u, system, True)
            likelihoods.append(float(found[4].sum()))
            gained = np.inf if len(likelihoods) < 2 else likelihoods[-1] - likelihoods[-2]
            if gained < self.tolerance * seen.sum():
                self.converged_ = True
                break
            system = maximised(values, seen, u, there, pairs, found[5:], variance)
        else:
            found = run_smoother(values, seen, u, system, True)
            likelihoods.append(float(found[4].sum()))
        system = _oriented(system, found[5][there], found[6][there])
        if inputs is None:
            system = system._replace(input_matrix=None, feedthrough=None)
        self.system_ = system
        eigenvalues = np.linalg.eigvals(self.system_.transition).astype(complex)
        self.eigenvalues_ = eigenvalues[np.lexsort((np.imag(eigenvalues), -np.abs(eigenvalues)))]
        self.log_likelihoods_ = np.array(likelihoods)
        self.n_iter_ = len(likelihoods) - 1
        self.n_features_in_ = values.shape[2]
        self.n_inputs_ = u.shape[2]
        return self

    def transform(self, X: ActivityLike, *, mask: Any = None, inputs: Any = None) -> Any:
        """Smoothed latents, in the layout given, latents in place of units."""
        read, found, _ = self._smoothed(X, mask, inputs, backward=True)
        return read.restore(found[5])

    def fit_transform(
        self, X: ActivityLike, y: Any = None, *, mask: Any = None, inputs: Any = None
    ) -> Any:
        """Fit, and the smoothed latents."""
        return self.fit(X, y, mask=mask, inputs=inputs).transform(X, mask=mask, inputs=inputs)

    def score(
        self, X: ActivityLike, y: Any = None, *, mask: Any = None, inputs: Any = None
    ) -> float:
        """Log-likelihood of activity, mean over observed values, natural logarithm."""
        del y
        _, found, seen = self._smoothed(X, mask, inputs, backward=False)
        return float(found[4].sum() / seen.sum())

    def _smoothed(
        self, X: Any, mask: Any, inputs: Any, *, backward: bool
    ) -> tuple[Any, Any, np.ndarray]:
        check_fitted(self)
        read, seen, there = read_observed(X, mask)
        check_n_features(self, seen.shape[2], axis_name="unit")
        u = read_inputs(inputs, read, there)
        system = check_system(self.system_, seen.shape[2], u.shape[2])
        return read, run_smoother(read.values, seen, u, system, backward), seen


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
        input_matrix=T @ system.input_matrix,
    )
