"""Kalman filter and smoother of a linear Gaussian system, with missing values left out exactly.

Inputs move means and leave covariances as they are: what they add to the activity is taken off it
first, and what they add to the latents is added to each prediction.
"""

from functools import partial
from math import log, pi
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .activity import ActivityLike, as_floating
from .estimator import read_features, refuse_traced
from .trial_arrays import TrialArray, read_trials
from .trial_inputs import read_inputs


class LinearGaussianSystem(NamedTuple):
    """A hidden linear system seen through noise, with `l` latents and `n` units.

    z_{t+1} = A z_t + w, y_t = C z_t + d + v, z_1 ~ N(m, P), w ~ N(0, Q), v ~ N(0, R); with inputs
    u of `k` channels, z_{t+1} = A z_t + B u_t + w, y_t = C z_t + D u_t + d + v. The input of a
    sample reaches the latents of the next.

    - `transition`: A, `(l, l)`. `transition_noise`: Q, `(l, l)`.
    - `observation`: C, `(n, l)`. `offset`: d, `(n,)`.
    - `observation_noise`: R, `(n, n)`, or its diagonal `(n,)`.
    - `initial_mean`: m, `(l,)`. `initial_covariance`: P, `(l, l)`.
    - `input_matrix`: B, `(l, k)`. `feedthrough`: D, `(n, k)`. `None` for zeros; both for no inputs.
    """

    transition: Any
    transition_noise: Any
    observation: Any
    offset: Any
    observation_noise: Any
    initial_mean: Any
    initial_covariance: Any
    input_matrix: Any = None
    feedthrough: Any = None


class FilteredStates(NamedTuple):
    """Latents given the past; see `kalman_filter`."""

    means: Any
    covariances: Any
    predicted_means: Any
    predicted_covariances: Any
    log_likelihoods: np.ndarray


class SmoothedStates(NamedTuple):
    """Latents given the whole trial; see `kalman_smoother`."""

    means: Any
    covariances: Any
    log_likelihoods: np.ndarray


def kalman_filter(
    X: ActivityLike, system: LinearGaussianSystem, *, mask: Any = None, inputs: Any = None
) -> FilteredStates:
    """Mean and covariance of the latents, given activity up to each time.

    Covariances are updated in Joseph's form, which keeps them positive. Computed in float64
    whatever JAX's setting. The cost of each sample grows as the third power of the units.

    **Arguments:**

    - `X`: `(time, unit)`, `(trial, time, unit)`, or a list of `(time_i, unit)`.
    - `system`: a `LinearGaussianSystem`.
    - `mask`: which values of an array `X` were observed, booleans of its shape or without the last
        axis. What is missing is left out of the likelihood exactly, not filled in, and a sample
        with nothing observed is a prediction.
    - `inputs`: in the layout of `X`, channels in place of units; for a system that has inputs.

    **Returns:** `FilteredStates`, NumPy, in the layout of `X`:

    - `means`, `covariances`: latents `(..., l)` and `(..., l, l)`, given this sample and those
        before.
    - `predicted_means`, `predicted_covariances`: the same, given those before only.
    - `log_likelihoods`: `(trial,)`, of what was observed, natural logarithm.

    **Raises:** `ValueError` for a bad layout, values that are observed and not finite, matrices
    that do not fit one another or are no covariances, or inputs to a system that has none and the
    other way round. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Kalman (1960), Journal of Basic Engineering 82, 35-45; Bierman (1977),
    Factorization methods for discrete sequential estimation, chapter 2, for Joseph's form.
    """
    read, found = _run(X, system, mask, inputs, False)
    means, covariances, before, P_before = (read.restore(x) for x in found[:4])
    return FilteredStates(means, covariances, before, P_before, found[4])


def kalman_smoother(
    X: ActivityLike, system: LinearGaussianSystem, *, mask: Any = None, inputs: Any = None
) -> SmoothedStates:
    """Mean and covariance of the latents, given the activity of the whole trial.

    By the recursion of Rauch, Tung and Striebel, in a form that keeps covariances positive.
    **Arguments** and **Raises** are those of `kalman_filter`.

    **Returns:** `SmoothedStates`, NumPy, in the layout of `X`:

    - `means`, `covariances`: latents `(..., l)` and `(..., l, l)`.
    - `log_likelihoods`: `(trial,)`, as the filter's.

    **Reference:** Rauch, Tung & Striebel (1965), AIAA Journal 3, 1445-1450.
    """
    read, found = _run(X, system, mask, inputs, True)
    return SmoothedStates(read.restore(found[5]), read.restore(found[6]), found[4])


def _run(
    X: Any, system: LinearGaussianSystem, mask: Any, inputs: Any, backward: bool
) -> tuple[TrialArray, tuple[np.ndarray, ...]]:
    read, seen, there = read_observed(X, mask)
    u = read_inputs(inputs, read, there)
    checked = check_system(system, read.values.shape[-1], u.shape[-1])
    return read, run_smoother(read.values, seen, u, checked, backward)


def read_observed(X: Any, mask: Any) -> tuple[TrialArray, np.ndarray, np.ndarray]:
    """Trials; which values were observed, of their shape; which times a trial has."""
    refuse_traced(X, "a Kalman filter")
    if mask is None:
        activity = read_features(X, axis_name="unit")
        X = activity.restore(activity.samples)
    read = read_trials(X, mask)
    values = np.asarray(read.values, np.float64)
    seen = np.broadcast_to(read.mask, values.shape)
    # Times that a mask leaves out are part of the trial; those that pad a shorter one are not.
    there = read.mask[..., 0] if read.layout == "list" else np.ones(values.shape[:2], bool)
    return TrialArray(values, read.mask, read.layout, None, np), seen, there


def run_smoother(
    values: Any, seen: np.ndarray, u: np.ndarray, system: LinearGaussianSystem, backward: bool
) -> tuple[np.ndarray, ...]:
    """What `_smooth_trial` finds for each trial, in NumPy, under inputs `u`.

    **Raises:** `ValueError` where the covariance of an observation is not positive definite.
    """
    # Without inputs both add exact zeros.
    pushed = u @ np.asarray(system.input_matrix).T
    shifted = np.asarray(values) - u @ np.asarray(system.feedthrough).T
    with jax.enable_x64(True):
        arrays = [jnp.asarray(x) for x in (shifted, seen, pushed)]
        found = _smooth(*arrays, tuple(map(jnp.asarray, system[:7])), backward)
        results = tuple(np.asarray(x) for x in found)
    if not all(np.isfinite(x).all() for x in results):
        trial = int(np.argmin(np.isfinite(results[4])))
        raise ValueError(
            f"the filter leaves the finite numbers in trial {trial}: the system grows without "
            "bound, or the covariance of an observation is not positive definite."
        )
    return results


@partial(jax.jit, static_argnames="backward")
def _smooth(values: Any, seen: Any, pushed: Any, system: tuple, backward: bool) -> Any:
    return jax.vmap(partial(_smooth_trial, system=system, backward=backward))(values, seen, pushed)


def _smooth_trial(y: Any, seen: Any, pushed: Any, *, system: tuple, backward: bool) -> Any:
    """Filtered and predicted means and covariances, log-likelihood; smoothed ones and covariance
    of each latent with the one before."""
    A, Q, C, d, R, m, P = system
    eye = jnp.eye(len(A), dtype=y.dtype)

    def forward(carry: Any, at: Any) -> Any:
        predicted, P_predicted = carry
        y_t, seen_t, pushed_t = at
        both = seen_t[:, None] & seen_t
        # A row that is missing is 0 and has noise of its own: it tells nothing, and its part of
        # the likelihood is ln 1.
        C_t = jnp.where(seen_t[:, None], C, 0)
        residual = jnp.where(seen_t, y_t - C @ predicted - d, 0)
        S = C_t @ P_predicted @ C_t.T + jnp.where(both, R, jnp.eye(len(R), dtype=y.dtype))
        factor = jnp.linalg.cholesky(S)
        half = jax.scipy.linalg.solve_triangular(factor, C_t @ P_predicted, lower=True)
        K = jax.scipy.linalg.solve_triangular(factor.T, half, lower=False).T
        J = eye - K @ C_t
        filtered = predicted + K @ residual
        P_filtered = J @ P_predicted @ J.T + K @ jnp.where(both, R, 0) @ K.T
        white = jax.scipy.linalg.solve_triangular(factor, residual, lower=True)
        log_likelihood = -0.5 * (white @ white + jnp.sum(seen_t) * log(2 * pi))
        log_likelihood -= jnp.sum(jnp.log(jnp.diagonal(factor)))
        after = A @ filtered + pushed_t, A @ P_filtered @ A.T + Q
        return after, (filtered, P_filtered, predicted, P_predicted, log_likelihood)

    _, (means, covariances, predicted, P_predicted, logs) = jax.lax.scan(
        forward, (m, P), (y, seen, pushed)
    )
    filtered = means, covariances, predicted, P_predicted, jnp.sum(logs)
    if not backward:
        return filtered

    def back(carry: Any, at: Any) -> Any:
        after, P_after = carry
        mean, cov, predicted_after, P_predicted_after = at
        # Directions without noise have no variance: a pseudoinverse leaves them alone.
        G = cov @ A.T @ jnp.linalg.pinv(P_predicted_after, hermitian=True)
        smoothed = mean + G @ (after - predicted_after)
        J = eye - G @ A
        P_smoothed = J @ cov @ J.T + G @ (Q + P_after) @ G.T
        return (smoothed, P_smoothed), (smoothed, P_smoothed, P_after @ G.T)

    last = means[-1], covariances[-1]
    at = means[:-1], covariances[:-1], predicted[1:], P_predicted[1:]
    _, (smoothed, P_smoothed, cross) = jax.lax.scan(back, last, at, reverse=True)
    smoothed = jnp.concatenate([smoothed, last[0][None]])
    return *filtered, smoothed, jnp.concatenate([P_smoothed, last[1][None]]), cross


def check_system(
    system: LinearGaussianSystem, n_units: int, n_inputs: int | None = None
) -> LinearGaussianSystem:
    """A system in NumPy float64, its observation noise and inputs as matrices.

    **Raises:** `ValueError` if it is none, or does not take so many inputs; any number if `None`.
    """
    arrays = {}
    given = {name: x for name, x in system._asdict().items() if x is not None}
    for name, value in given.items():
        refuse_traced(value, "a Kalman filter")
        arrays[name] = np.asarray(as_floating(value, name), np.float64)
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} holds values that are not finite.")
    if arrays["observation_noise"].ndim == 1:
        arrays["observation_noise"] = np.diag(arrays["observation_noise"])
    n, l = n_units, arrays["initial_mean"].size
    of_inputs = [arrays[name] for name in ("input_matrix", "feedthrough") if name in arrays]
    k = of_inputs[0].shape[-1] if of_inputs and of_inputs[0].ndim == 2 else 0
    if n_inputs is not None and n_inputs != k:
        raise ValueError(
            f"the system takes {k} input(s) (input_matrix and feedthrough), but inputs have "
            f"{n_inputs} channel(s)."
        )
    shapes = {
        "transition": (l, l),
        "transition_noise": (l, l),
        "observation": (n, l),
        "offset": (n,),
        "observation_noise": (n, n),
        "initial_mean": (l,),
        "initial_covariance": (l, l),
        "input_matrix": (l, k),
        "feedthrough": (n, k),
    }
    for name in ("input_matrix", "feedthrough"):
        arrays.setdefault(name, np.zeros(shapes[name]))
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(
                f"{name} must be {shape} for {n} unit(s), {l} latent(s) and {k} input(s), got "
                f"{arrays[name].shape}."
            )
    for name in ("transition_noise", "observation_noise", "initial_covariance"):
        matrix = arrays[name]
        slack = 1e-10 * np.abs(matrix).max()
        if np.abs(matrix - matrix.T).max() > slack or np.linalg.eigvalsh(matrix)[0] < -slack:
            raise ValueError(f"{name} must be a covariance: symmetric, no negative eigenvalue.")
    return LinearGaussianSystem(**arrays)
