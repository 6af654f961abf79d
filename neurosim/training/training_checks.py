"""What `fit` refuses before it starts."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..kernels import check_dt
from ..models import Dynamics, HasStep
from ..tasks import Task, Trials
from .constraints import Constraint
from .schedule import Schedule
from .trainable import Trainable, leaf_names, trainable_leaves
from .training_step import TrainingSetup
from .update_rule import as_update_rule

_OWN_OPTIONS = ("model", "inputs", "dt", "key", "throw", "batch_size", "initial_state")
_OWN_RECORDS = ("step", "loss", "seconds", "validation_loss")


def checked_setup(
    model: Dynamics,
    task: Task | Trials,
    *,
    optimizer: Any,
    batch_size: int | None,
    loss: Callable[..., Any],
    dt: float | int | None,
    trainable: Trainable,
    constraints: Constraint | Sequence[Constraint],
    simulate_options: dict[str, Any] | None,
) -> TrainingSetup:
    """The setup of a run on one model, or `ValueError` with what is wrong with it."""
    options = dict(simulate_options or {})
    for name in options:
        if name in _OWN_OPTIONS:
            raise ValueError(f"simulate_options must not hold {name!r}: training sets it itself.")
    _check_finite_model(model)
    if not callable(loss):
        raise ValueError(f"loss must be a function of (trajectory, trials), got {loss!r}.")
    if isinstance(constraints, Constraint):
        constraints = (constraints,)
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise ValueError(f"constraints must hold Constraint objects, got {constraint!r}.")
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"empty batch: batch_size must be at least 1, got {batch_size}.")
    if isinstance(task, Task):
        if batch_size is None:
            raise ValueError("batch_size is needed to sample trials from a task.")
        dt = task.dt if dt is None else dt
        task_inputs = task.n_inputs
    elif isinstance(task, Trials):
        if dt is None:
            raise ValueError("dt is needed with given trials: they do not say their time step.")
        task = checked_trials(task, "the trials")
        n_trials, _, task_inputs = task.inputs.shape
        if batch_size is not None and batch_size > n_trials:
            raise ValueError(f"batch_size is {batch_size}, but there are only {n_trials} trials.")
    else:
        raise ValueError(f"task must be a Task or Trials, got {type(task).__name__}.")
    dt = check_dt(float(dt))
    check_input_channels(model, task_inputs, dt)
    return TrainingSetup(
        rule=as_update_rule(optimizer),
        loss=loss,
        constraints=tuple(constraints),
        source=task,
        batch_size=batch_size,
        dt=dt,
        simulate_options=options,
        trainable=trainable_leaves(model, trainable),
    )


def checked_schedule(
    *,
    steps: int,
    log_every: int,
    validation: Task | Trials | None,
    validate_every: int | None,
    checkpoint_every: int | None,
    metrics: dict[str, Callable[..., Any]] | None,
    run_dir: str | os.PathLike[str] | None,
    resume: bool,
    progress: bool | None,
    config: dict[str, Any] | None,
    throw: bool,
    batch_size: int | None,
) -> Schedule:
    """The schedule of a run, or `ValueError` with what is wrong with it."""
    for name, count in (
        ("steps", steps),
        ("log_every", log_every),
        ("validate_every", validate_every),
        ("checkpoint_every", checkpoint_every),
    ):
        if count is not None and count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}.")
    if resume and run_dir is None:
        raise ValueError("resume=True needs the run_dir of the run to go on with.")
    if isinstance(validation, Trials):
        validation = checked_trials(validation, "the validation trials")
    elif isinstance(validation, Task) and batch_size is None:
        raise ValueError("A validation task needs a batch_size; or pass validation trials.")
    for name in metrics or {}:
        if name in _OWN_RECORDS:
            raise ValueError(f"A metric cannot be called {name!r}: records have that field.")
    try:
        json.dumps(config)
    except (TypeError, ValueError) as error:
        raise ValueError(f"config must have a form in JSON: {error}.") from error
    return Schedule(
        steps=int(steps),
        log_every=int(log_every),
        validation=validation,
        validate_every=int(validate_every or log_every),
        checkpoint_every=None if checkpoint_every is None else int(checkpoint_every),
        metrics=dict(metrics or {}),
        run_dir=None if run_dir is None else Path(run_dir),
        resume=resume,
        progress=progress,
        config=dict(config or {}),
        throw=throw,
    )


def checked_trials(trials: Trials, name: str) -> Trials:
    """Trials as JAX arrays, or `ValueError` with what is wrong with them.

    A target may be NaN where the mask is zero: the losses here do not read it.
    """
    inputs, targets, mask = (np.asarray(x) for x in (trials.inputs, trials.targets, trials.mask))
    shapes = f"inputs {inputs.shape}, targets {targets.shape}, mask {mask.shape}"
    if inputs.ndim != 3 or targets.ndim != 3 or inputs.shape[:2] != targets.shape[:2]:
        raise ValueError(
            f"{name} must have arrays (batch, time, channel) of the same batch and time: {shapes}."
        )
    try:
        full_mask = np.broadcast_to(mask, targets.shape)
    except ValueError:
        raise ValueError(f"The mask of {name} does not fit the targets: {shapes}.") from None
    if 0 in inputs.shape[:2]:
        raise ValueError(f"{name} are empty: {shapes}; at least one trial and step are needed.")
    _refuse_not_finite(inputs, f"The inputs of {name}")
    _refuse_not_finite(full_mask, f"The mask of {name}")
    _refuse_not_finite(np.where(full_mask != 0, targets, 0), f"The targets of {name}")
    if full_mask.min() < 0:
        raise ValueError(f"The mask of {name} holds negative weights; they must be 0 or more.")
    if not full_mask.any():
        raise ValueError(f"The mask of {name} is zero everywhere: there is nothing to learn.")
    return jax.tree.map(lambda x: jnp.asarray(x) if eqx.is_array(x) else x, trials)


def check_input_channels(model: Dynamics, n_inputs: int, dt: float) -> None:
    """Refuse a task whose input channels are not those of the model."""
    if not isinstance(model, Dynamics):
        raise ValueError(f"model must be a neurosim Dynamics, got {type(model).__name__}.")
    taken = getattr(model, "n_inputs", None)
    if taken is not None and taken != n_inputs:
        raise ValueError(_wrong_channels(n_inputs, taken))
    try:
        _one_step(model, n_inputs, dt)
    except (TypeError, ValueError):
        # Few models say how many channels they take; all can be asked.
        for other in range(1, 2 * n_inputs + 65):
            try:
                _one_step(model, other, dt)
            except (TypeError, ValueError):
                continue
            raise ValueError(_wrong_channels(n_inputs, other)) from None
        raise


def _wrong_channels(given: int, taken: int) -> str:
    return f"The task has {given} input channels, and the model takes {taken}: they must be equal."


def _one_step(model: Dynamics, n_inputs: int, dt: float) -> None:
    def one(model: Dynamics, value: Any) -> Any:
        state = model.initial_state()
        if isinstance(model, HasStep):
            state = model.step(0.0, state, value, dt)
        else:
            change = model.vector_field(0.0, state, value)
            state = jax.tree.map(lambda x, dx: x + dt * dx, state, change)
        return model.readout(state)

    eqx.filter_eval_shape(one, model, jax.ShapeDtypeStruct((n_inputs,), jnp.result_type(float)))


def _check_finite_model(model: PyTree) -> None:
    for name, leaf in zip(leaf_names(model), jax.tree.leaves(model)):
        if eqx.is_inexact_array(leaf):
            _refuse_not_finite(np.asarray(leaf), f"The model's {name}")


def _refuse_not_finite(values: np.ndarray, name: str) -> None:
    if not np.issubdtype(values.dtype, np.inexact):
        return
    bad = ~np.isfinite(values)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must be finite: {int(bad.sum())} of {values.size} values are not, the first "
            f"at index {first}."
        )
