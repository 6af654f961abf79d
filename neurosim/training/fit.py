"""Training a model on a task."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from ..models import Dynamics
from ..tasks import Task, Trials
from .constraints import Constraint, admissible_start
from .losses import Loss, mean_squared_error
from .run_state import Run
from .schedule import Count, Schedule, checked_schedule
from .trainable import Trainable
from .training_checks import check_key, check_validation, checked_setup
from .training_loop import run_training
from .update_rule import UpdateRule


@dataclasses.dataclass(frozen=True)
class FitResult:
    """A trained model and how it came about.

    - `model`: after the last step.
    - `best_model`: where the validation loss was lowest; without validation, at the end of the
      logging interval whose mean training loss was lowest.
    - `best_loss`, `best_step`: that loss, and the number of steps done then (0 for none).
    - `losses`: `(steps_done,)`, the training loss before each update.
    - `history`: one dictionary for each logging interval: `step`, mean `loss`, `seconds`, and
      where they were computed `validation_loss` and the metrics. Validation within an interval has
      a dictionary of its own, without `loss`. As in `metrics.jsonl`.
    - `steps_done`: number of updates.
    - `interrupted`: whether Ctrl-C was pressed, which ends the run early, unless during its last
      steps.
    - `run_dir`: where its files are, if anywhere.
    """

    model: Any
    best_model: Any
    best_loss: float
    best_step: int
    losses: np.ndarray
    history: list[dict[str, Any]]
    steps_done: int
    interrupted: bool
    run_dir: Path | None


def fit(
    model: Dynamics,
    task: Task | Trials,
    *,
    optimizer: optax.GradientTransformation | UpdateRule,
    steps: Count,
    key: PRNGKeyArray,
    batch_size: Count | None = None,
    loss: Loss = mean_squared_error,
    dt: float | int | None = None,
    trainable: Trainable = None,
    constraints: Constraint | Sequence[Constraint] = (),
    simulate_options: dict[str, Any] | None = None,
    validation: Task | Trials | None = None,
    validate_every: Count | None = None,
    metrics: dict[str, Callable[..., Any]] | None = None,
    log_every: Count = 100,
    checkpoint_every: Count | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    config: dict[str, Any] | None = None,
    progress: bool | None = None,
) -> FitResult:
    """Train a model.

    The steps run on the device in chunks; between chunks the loss is logged and Ctrl-C is heard:
    it saves and returns, and a second one raises. All randomness of a step comes from `key` and
    the number of the step, so a run killed and resumed ends with the same numbers, bit for bit.

    **Arguments:**

    - `model`: any `Dynamics`.
    - `task`: a task, sampled anew at every step; or trials, all of them at every step or
      `batch_size` of them picked at random. A task must draw with the JAX key it is given: its
      `sample` is traced once, and what it draws from NumPy's or Python's generators would be the
      same at every step. A step whose trials have a mask of zeros asks for nothing: its loss is in
      `losses`, and counts neither in the means of `history` nor for the best model.
    - `optimizer`: an Optax optimiser (chain clipping and schedules into it), or an `UpdateRule`.
    - `steps`: number of updates, counted from the very beginning also when resuming.
    - `key`: the PRNG key of the run.
    - `batch_size`: trials a step.
    - `loss`: function of trajectory and trials to a scalar. The last time step alone is a matter
      of the trials' mask.
    - `dt`: the time step; the task's by default.
    - `trainable`: which leaves train; see `trainable_leaves`.
    - `constraints`: kept from the start and through every update.
    - `simulate_options`: further arguments of `simulate`: `solver`, `noise`, `adjoint`, ...
    - `validation`: trials, or a task from which `batch_size` of them are drawn once and simulated
      with the time step of that task.
    - `validate_every`: steps between validations; `log_every` by default. The last step validates.
    - `metrics`: functions of trajectory and trials, by name, evaluated like the validation loss
      (on the validation trials, else on the given trials or a batch of the task that is not
      trained on). They run on concrete arrays and may use NumPy.
    - `log_every`: steps of one logging interval, counted from the very beginning. The last
      interval of a run may be shorter; a longer run has it in full.
    - `checkpoint_every`: steps between checkpoints; by default every few seconds. The last step is
      always saved. Where a run is saved, or cut and resumed, changes no other number.
    - `run_dir`: directory for `metrics.jsonl`, `checkpoints/last` and `checkpoints/best`. One run
      writes there at a time.
    - `resume`: go on from `checkpoints/last`, or from the start if there is none. The other
      arguments must be the same, but for the number of steps, when to validate and save, metrics
      and progress. Functions and optimisers cannot be compared: see `config`.
    - `config`: whatever defines the run beyond these arguments, in JSON's terms; kept in the
      checkpoints, and compared when resuming.
    - `progress`: `False` for silence; else a bar, or plain lines where stderr is no terminal.

    **Returns:** a `FitResult`.

    **Raises:** `ValueError` for arguments that do not fit, and for a `run_dir` that is taken or in
    use; `CheckpointError` for one that belongs to another run; `TrainingDiverged` when the loss, a
    gradient or a parameter is no longer finite.

    ```python
    result = fit(model, task, optimizer=optax.adam(1e-3), steps=2000, batch_size=64, key=key)
    result.best_model
    ```
    """
    check_key(key)
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
        config=config,
        throw=True,
        batch_size=batch_size,
    )
    setup = checked_setup(
        model,
        task,
        optimizer=optimizer,
        batch_size=batch_size,
        loss=loss,
        dt=dt,
        trainable=trainable,
        constraints=constraints,
        simulate_options=simulate_options,
    )
    check_validation(setup, schedule.validation)
    initial = admissible_start(setup.constraints, model)
    run, frozen = run_training(setup, initial, key, schedule, n_members=None)
    return fit_result(run, frozen, schedule)


def fit_result(run: Run, frozen: Any, schedule: Schedule) -> FitResult:
    """What a finished or interrupted run of one model found."""
    return FitResult(
        model=eqx.combine(run.state.params, frozen),
        best_model=eqx.combine(run.best.params, frozen),
        best_loss=float(run.best.loss),
        best_step=int(run.best.step),
        losses=run.losses,
        history=run.history,
        steps_done=run.done,
        interrupted=run.interrupted,
        run_dir=schedule.run_dir,
    )
