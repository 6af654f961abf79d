"""What `fit` refuses before it starts."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..kernels import check_dt
from ..models import Dynamics, HasStep
from ..simulate import simulate
from ..tasks import Task, Trials
from .constraints import Constraint
from .schedule import Count, checked_count
from .trainable import Trainable, leaf_names, trainable_leaves
from .training_step import TrainingSetup, draw_trials, run_model
from .trials_checks import checked_trials, refuse_not_finite
from .update_rule import as_update_rule, called

_OWN_OPTIONS = ("model", "inputs", "dt", "key", "throw", "batch_size", "initial_state")


def checked_setup(
    model: Dynamics,
    task: Task | Trials,
    *,
    optimizer: Any,
    batch_size: Count | None,
    loss: Callable[..., Any],
    dt: float | int | None,
    trainable: Trainable,
    constraints: Constraint | Sequence[Constraint],
    simulate_options: dict[str, Any] | None,
) -> TrainingSetup:
    """The setup of a run on one model, or `ValueError` with what is wrong with it."""
    options = _checked_options(simulate_options)
    _check_finite_model(model)
    if not callable(loss):
        raise ValueError(f"loss must be a function of (trajectory, trials), got {loss!r}.")
    if isinstance(constraints, Constraint):
        constraints = (constraints,)
    if not isinstance(constraints, Sequence):
        raise ValueError(f"constraints must be a list of Constraint objects, got {constraints!r}.")
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise ValueError(f"constraints must hold Constraint objects, got {constraint!r}.")
    if batch_size is not None:
        batch_size = checked_count("batch_size", batch_size)
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
        raise ValueError(f"task must be a Task or Trials, got {called(task)}.")
    dt = check_dt(float(dt))
    check_input_channels(model, task_inputs, dt)
    setup = TrainingSetup(
        rule=as_update_rule(optimizer),
        loss=loss,
        constraints=tuple(constraints),
        source=task,
        batch_size=batch_size,
        dt=dt,
        simulate_options=options,
        trainable=trainable_leaves(model, trainable),
    )
    if options.get("save", "both") != "both":
        _check_saved_is_enough(setup, model)
    return setup


def check_key(key: Any) -> None:
    """Refuse what is not one PRNG key.

    **Raises:** `ValueError` that says what was given.
    """
    if eqx.is_array(key):
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.shape == ():
            return
        # The older kind: 2 numbers for Threefry, 4 for the others.
        if key.dtype == np.uint32 and key.shape in ((2,), (4,)):
            return
        key = f"an array of {key.dtype} and shape {key.shape}"
    raise ValueError(f"key must be one PRNG key such as jax.random.key(0), got {key}.")


def check_validation(setup: TrainingSetup, validation: Task | Trials | None) -> None:
    """Refuse validation whose channels are not those of training.

    **Raises:** `ValueError` that names both numbers.
    """
    if validation is None:
        return
    for what, here, there in zip(
        ("input", "output"), _n_channels(setup.source), _n_channels(validation)
    ):
        if here != there:
            raise ValueError(
                f"The validation has {there} {what} channels, and training has {here}: they must "
                "be equal."
            )


def _n_channels(source: Task | Trials) -> tuple[int, int]:
    if isinstance(source, Task):
        return source.n_inputs, source.n_outputs
    return source.inputs.shape[-1], source.targets.shape[-1]


def _checked_options(options: Any) -> dict[str, Any]:
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise ValueError(f"simulate_options must be a dictionary, got {type(options).__name__}.")
    allowed = [name for name in inspect.signature(simulate).parameters if name not in _OWN_OPTIONS]
    for name in options:
        if name in _OWN_OPTIONS:
            raise ValueError(f"simulate_options must not hold {name!r}: training sets it itself.")
        if name not in allowed:
            raise ValueError(
                f"simulate_options holds {name!r}, which simulate does not take: "
                f"{', '.join(allowed)} are allowed."
            )
    # NumPy's numbers would be traced, as arrays are.
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in options.items()}


def _check_saved_is_enough(setup: TrainingSetup, model: Dynamics) -> None:
    def loss(model: Dynamics, key: Array) -> Any:
        trials = draw_trials(setup.source, key, setup.batch_size)
        return setup.loss(run_model(setup, model, trials, key), trials)

    try:
        eqx.filter_eval_shape(loss, model, jax.random.key(0))
    except (AttributeError, TypeError) as error:
        reason = " ".join(str(error).split())
        save = setup.simulate_options["save"]
        raise ValueError(
            f"The loss cannot be computed with save={save!r} in simulate_options, which leaves "
            f"out a part of the trajectory ({reason})."
        ) from error


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
            refuse_not_finite(np.asarray(leaf), f"The model's {name}")
