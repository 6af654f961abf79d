"""FORCE: recursive least squares on the readout of a reservoir while its trials go on."""

import dataclasses
import os
from collections.abc import Callable
from math import isfinite
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..kernels import check_dt
from ..models.feedback_reservoir import FeedbackReservoir
from ..tasks import Task, Trials
from .constraints import admissible_start
from .fit import FitResult, fit_result
from .losses import mean_squared_error
from .schedule import Count, checked_schedule
from .training_checks import check_key, check_validation, checked_setup
from .training_loop import run_training
from .training_step import draw_trials
from .update_rule import Objective, UpdateInfo, UpdateRule


def force_start(model: FeedbackReservoir, alpha: float | int = 1.0) -> Float[Array, "unit unit"]:
    """The matrix P before the first trial, `1 / alpha`.

    **Raises:** `ValueError` for an `alpha` that is not positive and finite.
    """
    if not (isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha must be positive and finite, got {alpha}.")
    return jnp.eye(model.J.shape[0], dtype=model.W.dtype) / alpha


def force_update(
    W: Float[Array, "output unit"],
    P: Float[Array, "unit unit"],
    rates: Float[Array, "trial unit"],
    errors: Float[Array, "trial output"],
) -> tuple[Float[Array, "output unit"], Float[Array, "unit unit"]]:
    """One step of recursive least squares with the M trials of a batch at once.

        P <- P - P r (M + r^T P r)^-1 r^T P,   W <- W - e r^T P / M,   r of shape (unit, M)

    So `P^-1` grows by `r r^T / M`. Cost: M^3 + 2 M N^2, without an inverse of N by N.

    **Arguments:**

    - `W`, `P`: readout and matrix before.
    - `rates`: of the units.
    - `errors`: outputs minus targets.

    **Returns:** readout and matrix after.
    """
    n_trials = rates.shape[0]
    Pr = rates @ P
    # Symmetric, so that P stays so.
    factor = jnp.linalg.cholesky(n_trials * jnp.eye(n_trials, dtype=P.dtype) + Pr @ rates.T)
    half = jax.scipy.linalg.solve_triangular(factor, Pr, lower=True)
    P = P - half.T @ half
    return W - errors.T @ (rates @ P) / n_trials, P


def force_trial_batch(
    model: FeedbackReservoir,
    P: Float[Array, "unit unit"],
    trials: Trials,
    *,
    dt: float | int,
) -> tuple[FeedbackReservoir, Float[Array, "unit unit"], Float[Array, "batch time output"]]:
    """Run a batch of trials once, and train the readout at each of their steps.

    At every step the trials move on under the readout as it is, the errors are those of the new
    rates, and then the readout and P are updated. Where the mask is zero there is no update.

    **Arguments:**

    - `model`: the reservoir.
    - `P`: from `force_start`, or the batch before.
    - `trials`: any; those with `initial_state` in their `info` start there. The mask weighs a step
        of a trial, and so must be the same for all outputs.
    - `dt`: the time step, in the unit of the model's `tau`.

    **Returns:** the model with its new readout; P; and the errors, `(batch, time, output)`, before
    the update of their step.

    **Raises:** `ValueError` for a P of another size, a step that is not positive, channels that
    are not the model's, or a mask that differs between outputs or is negative, which is not seen
    under a JAX transformation.

    **Reference:** Yu et al. (2024), NeurIPS, algorithm 2; Sussillo & Abbott (2009), Neuron 63.
    """
    n_units = model.J.shape[0]
    if P.shape != (n_units, n_units):
        raise ValueError(f"P must have the shape {(n_units, n_units)}, got {P.shape}.")
    _check_trials(model, trials)
    return _run_batch(model, P, trials, check_dt(dt))


@eqx.filter_jit
def _run_batch(
    model: FeedbackReservoir, P: Array, trials: Trials, dt: float
) -> tuple[FeedbackReservoir, Array, Array]:
    n_trials = trials.inputs.shape[0]
    start = trials.info.get("initial_state")
    if start is None:
        start = model.initial_state()
    start = jnp.broadcast_to(start, (n_trials, model.J.shape[0]))
    drift = eqx.filter_vmap(lambda model, z, u: model.vector_field(0.0, z, u), in_axes=(None, 0, 0))

    def step(carry, x):
        z, W, P = carry
        u, target, mask = x
        current = eqx.tree_at(lambda m: m.W, model, W)
        z = z + (dt * drift(current, z, u)).astype(z.dtype)
        r = model.phi(z)
        # A target that nobody asks for may be anything.
        error = jnp.where(mask != 0, r @ W.T - target, 0)
        root = jnp.sqrt(mask[:, :1])
        W, P = force_update(W, P, root * r, root * error)
        return (z, W, P), error

    series = jax.tree.map(
        lambda x: jnp.swapaxes(x, 0, 1).astype(model.W.dtype),
        (trials.inputs, trials.targets, trials.mask),
    )
    start = jnp.asarray(start, model.W.dtype)
    (_, W, P), errors = jax.lax.scan(step, (start, model.W, P), series)
    return eqx.tree_at(lambda m: m.W, model, W), P, jnp.swapaxes(errors, 0, 1)


def fit_force(
    model: FeedbackReservoir,
    task: Task | Trials,
    *,
    steps: Count,
    key: PRNGKeyArray,
    batch_size: Count | None = None,
    alpha: float | int = 1.0,
    dt: float | int | None = None,
    validation: Task | Trials | None = None,
    validate_every: Count | None = None,
    metrics: dict[str, Callable[..., Any]] | None = None,
    log_every: Count = 10,
    checkpoint_every: Count | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    config: dict[str, Any] | None = None,
    progress: bool | None = None,
) -> FitResult:
    """Train the readout of a reservoir by FORCE.

    A step is one batch of trials, through which the readout changes at each time step; P goes on
    from batch to batch. Everything else is as in `fit`: what is logged, validated and saved, and
    that a run killed and resumed ends with the same numbers.

    **Arguments:** as `fit`, and

    - `alpha`: the ridge of the least squares, at the start the inverse of a learning rate.

    **Returns:** a `FitResult`. Its losses are the masked mean squared errors before the update of
    each time step; validation runs with the readout held.

    **Raises:** as `fit`; and `ValueError` for an `alpha` that is not positive, a model that is no
    `FeedbackReservoir`, channels that are not the model's, or a mask that differs between outputs.
    """
    check_key(key)
    if not isinstance(model, FeedbackReservoir):
        raise ValueError(f"model must be a FeedbackReservoir, got {type(model).__name__}.")
    force_start(model, alpha)
    schedule = checked_schedule(
        steps=steps,
        log_every=log_every,
        validation=validation,
        validate_every=validate_every,
        checkpoint_every=checkpoint_every,
        metrics=metrics,
        run_dir=run_dir,
        resume=resume,
        progress=progress,
        config={"force_alpha": float(alpha), **(config or {})},
        throw=True,
        batch_size=batch_size,
    )

    setup = checked_setup(
        model,
        task,
        optimizer=optax.set_to_zero(),
        batch_size=batch_size,
        loss=mean_squared_error,
        dt=dt,
        trainable=lambda model: model.W,
        constraints=(),
        simulate_options=None,
    )
    rule = _Force(model, setup.source, setup.batch_size, setup.dt, float(alpha))
    setup = dataclasses.replace(setup, rule=rule)
    _check_trials(model, draw_trials(setup.source, key, setup.batch_size))
    check_validation(setup, schedule.validation)
    run, frozen = run_training(setup, admissible_start((), model), key, schedule, n_members=None)
    return fit_result(run, frozen, schedule)


class _Force(UpdateRule):
    """FORCE as an update rule.

    The readout changes in the middle of a trial, which no function of the parameters can show, so
    the rule draws and runs its trials itself.
    """

    model: FeedbackReservoir
    source: Task | Trials
    batch_size: int | None
    dt: float
    alpha: float

    def init(self, params: PyTree) -> PyTree:
        return force_start(self.model, self.alpha)

    def update(
        self, objective: Objective, params: PyTree, state: PyTree, key: PRNGKeyArray
    ) -> tuple[PyTree, PyTree, UpdateInfo]:
        trials = draw_trials(self.source, key, self.batch_size)
        model = eqx.combine(params, self.model)
        trained, P, errors = _run_batch(model, state, trials, self.dt)
        weight = jnp.sum(trials.mask)
        loss = jnp.sum(trials.mask * errors**2) / jnp.where(weight > 0, weight, 1)
        change = jnp.linalg.norm(trained.W - model.W)
        params = eqx.tree_at(lambda m: m.W, params, trained.W)
        return params, P, UpdateInfo(loss, None, {"readout_change": change})


def _check_trials(model: FeedbackReservoir, trials: Trials) -> None:
    """Refuse channels that are not the model's, and a mask that FORCE cannot follow."""
    n_outputs, n_inputs = model.W.shape[0], model.n_inputs
    given = trials.inputs.shape[-1], trials.targets.shape[-1]
    # One target would be broadcast to all outputs.
    if given != (n_inputs, n_outputs):
        raise ValueError(
            f"The trials have {given[0]} input and {given[1]} target channels, and the model "
            f"{n_inputs} inputs and {n_outputs} outputs: they must be equal."
        )
    if isinstance(trials.mask, jax.core.Tracer):
        return
    mask = np.asarray(trials.mask)
    if not np.all(mask == mask[..., :1]):
        raise ValueError("FORCE needs a mask that is the same for all outputs of a step.")
    if not np.all(mask >= 0):
        raise ValueError(f"FORCE needs a mask without negative weights, got {mask.min():g}.")
