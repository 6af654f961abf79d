"""Linear Gaussian systems to and from those of dynamax, another library of state space models.

There the input of a sample acts on the latents of that sample, z_t = A z_{t-1} + B u_t + b + w;
here on those of the next. Inputs are therefore given twice, moved by one sample and as they are, so
that either system says the same of the same activity.
"""

import importlib
from typing import Any

import jax.numpy as jnp
import numpy as np

from .activity import as_floating
from .estimator import refuse_traced
from .kalman import LinearGaussianSystem, check_system


def to_dynamax(system: LinearGaussianSystem) -> Any:
    """Parameters for `dynamax.linear_gaussian_ssm` that mean the same system.

    ```python
    from dynamax.linear_gaussian_ssm import lgssm_smoother

    fitted = LinearDynamicalSystem(2).fit(X)
    lgssm_smoother(to_dynamax(fitted.system_), X[0])
    ```

    **Arguments:**

    - `system`: a `LinearGaussianSystem`. If it takes `k` inputs, the parameters take `2 k`: those
      of `to_dynamax_inputs`.

    **Returns:** dynamax's `ParamsLGSSM`, JAX arrays in JAX's precision. dynamax works in that
    precision throughout: in float32, log-likelihoods agree with those of
    `kalman_filter` to about six digits.

    **Raises:** `ValueError` where dynamax is not installed, or for what is no system. `TypeError`
    under `jit`, `grad` or `vmap`.

    **Reference:** Linderman et al. (2025), Dynamax: a Python package for probabilistic state space
    modeling with JAX, JOSS 10(108), 7069.
    """
    diagonal = np.ndim(system.observation_noise) == 1
    s = check_system(system, np.asarray(system.offset).size)
    dynamax = _import_dynamax()
    no_latents, no_units = np.zeros_like(s.input_matrix), np.zeros_like(s.feedthrough)
    noise = np.diagonal(s.observation_noise) if diagonal else s.observation_noise
    return dynamax.ParamsLGSSM(
        initial=dynamax.ParamsLGSSMInitial(
            mean=jnp.asarray(s.initial_mean), cov=jnp.asarray(s.initial_covariance)
        ),
        dynamics=dynamax.ParamsLGSSMDynamics(
            weights=jnp.asarray(s.transition),
            bias=jnp.zeros(len(s.transition)),
            input_weights=jnp.concatenate([s.input_matrix, no_latents], axis=1),
            cov=jnp.asarray(s.transition_noise),
        ),
        emissions=dynamax.ParamsLGSSMEmissions(
            weights=jnp.asarray(s.observation),
            bias=jnp.asarray(s.offset),
            input_weights=jnp.concatenate([no_units, s.feedthrough], axis=1),
            cov=jnp.asarray(noise),
        ),
    )


def from_dynamax(params: Any) -> LinearGaussianSystem:
    """The system that parameters of dynamax's linear Gaussian model mean.

    Latents that have a bias are moved so that they need none: `observation` times them, and
    `offset`, add up to the same.

    **Arguments:**

    - `params`: a `ParamsLGSSM` or anything with its fields: `initial.mean`, `initial.cov`, and
      `weights`, `bias`, `input_weights` and `cov` of `dynamics` and `emissions`; `bias` and
      `input_weights` may be `None`. Constant in time. If they take `k` inputs, the system takes
      `2 k`: those of `from_dynamax_inputs`.

    **Returns:** a `LinearGaussianSystem`, NumPy float64.

    **Raises:** `ValueError` for parameters that lack a field, change in time or fit no system, or a
    bias that no move of the latents replaces (one along which they drift without bound).
    `TypeError` under `jit`, `grad` or `vmap`.
    """
    A, C = _field(params, "dynamics.weights", 2), _field(params, "emissions.weights", 2)
    Q, P = (_symmetric(_field(params, f"{of}.cov", 2)) for of in ("dynamics", "initial"))
    R = _field(params, "emissions.cov", 1, 2)
    m = _field(params, "initial.mean", 1)
    l, n = len(A), len(C)
    b, d = (
        np.zeros(size) if _missing(params, f"{of}.bias") else _field(params, f"{of}.bias", 1)
        for of, size in (("dynamics", l), ("emissions", n))
    )
    weights = [
        None
        if _missing(params, f"{of}.input_weights")
        else _field(params, f"{of}.input_weights", 2)
        for of in ("dynamics", "emissions")
    ]
    k = next((w.shape[1] for w in weights if w is not None), 0)
    B, D = (np.zeros((size, k)) if w is None else w for w, size in zip(weights, (l, n)))
    system = check_system(
        LinearGaussianSystem(
            transition=A,
            transition_noise=Q,
            observation=C,
            offset=d,
            observation_noise=_symmetric(R) if R.ndim == 2 else R,
            initial_mean=m,
            initial_covariance=P,
            input_matrix=B,
            feedthrough=D,
        ),
        n,
    )
    if b.shape != (l,):
        raise ValueError(f"dynamics.bias must be ({l},), got {b.shape}.")
    if b.any():
        rest = np.linalg.lstsq(np.eye(l) - A, b, rcond=None)[0]
        if np.linalg.norm(rest - A @ rest - b) > 1e-6 * np.linalg.norm(b):
            raise ValueError(
                "dynamics.bias makes latents drift without bound (transition has the eigenvalue 1 "
                "along it): there is no such system without a bias."
            )
        system = system._replace(initial_mean=m - rest, offset=d + C @ rest)
    noise = np.diagonal(system.observation_noise).copy() if R.ndim == 1 else None
    if noise is not None:
        system = system._replace(observation_noise=noise)
    if k == 0:
        return system._replace(input_matrix=None, feedthrough=None)
    return system._replace(
        input_matrix=np.concatenate([B, np.zeros((l, k))], axis=1),
        feedthrough=np.concatenate([np.zeros((n, k)), D], axis=1),
    )


def to_dynamax_inputs(inputs: Any) -> np.ndarray:
    """Inputs for the parameters of `to_dynamax`: those of the sample before, then of this one.

    **Arguments:**

    - `inputs`: `(..., time, k)`.

    **Returns:** `(..., time, 2 k)`. Before the first sample comes zero, which acts on nothing.

    **Raises:** `ValueError` for values that are masked or not finite, or no axis of time.
    `TypeError` under `jit`, `grad` or `vmap`.
    """
    u = _inputs(inputs)
    before = np.concatenate([np.zeros_like(u[..., :1, :]), u[..., :-1, :]], axis=-2)
    return np.concatenate([before, u], axis=-1)


def from_dynamax_inputs(inputs: Any) -> np.ndarray:
    """Inputs for the system of `from_dynamax`: those of the next sample, then of this one.

    **Arguments** and **Raises** are those of `to_dynamax_inputs`.

    **Returns:** `(..., time, 2 k)`. After the last sample comes zero, which acts on nothing.
    """
    u = _inputs(inputs)
    after = np.concatenate([u[..., 1:, :], np.zeros_like(u[..., :1, :])], axis=-2)
    return np.concatenate([after, u], axis=-1)


def _inputs(inputs: Any) -> np.ndarray:
    refuse_traced(inputs, "inputs")
    u = np.asarray(as_floating(inputs, "inputs"), np.float64)
    if u.ndim < 2 or u.size == 0:
        raise ValueError(f"inputs must be (..., time, channel), not empty; got shape {u.shape}.")
    if not np.isfinite(u).all():
        raise ValueError("inputs hold values that are not finite.")
    return u


def _import_dynamax() -> Any:
    try:
        return importlib.import_module("dynamax.linear_gaussian_ssm")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "dynamax":
            raise
        raise ValueError(
            "to_dynamax needs the package dynamax, which is not installed: pip install dynamax."
        ) from error


def _missing(params: Any, name: str) -> bool:
    value = params
    for part in name.split("."):
        value = getattr(value, part, None)
    return value is None


def _field(params: Any, name: str, *n_dims: int) -> np.ndarray:
    """A parameter in NumPy float64."""
    if _missing(params, name):
        raise ValueError(f"params must have {name}, as dynamax's ParamsLGSSM does.")
    value = params
    for part in name.split("."):
        value = getattr(value, part)
    refuse_traced(value, "from_dynamax")
    n = -1 if callable(value) else np.ndim(value)
    if n not in n_dims:
        raise ValueError(
            f"{name} must be constant in time, an array of {' or '.join(map(str, n_dims))} "
            f"dimension(s); got {'a function' if n < 0 else f'{n} dimension(s)'}."
        )
    return np.asarray(as_floating(value, name), np.float64)


def _symmetric(covariance: np.ndarray) -> np.ndarray:
    """A covariance in float32 is symmetric to rounding only."""
    if covariance.shape != covariance.T.shape:
        return covariance
    away = np.abs(covariance - covariance.T).max()
    return (
        (covariance + covariance.T) / 2 if away <= 1e-5 * np.abs(covariance).max() else covariance
    )
