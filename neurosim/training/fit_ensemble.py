"""Training many seeds of one model at once."""

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PRNGKeyArray, PyTree

from ..models import Dynamics
from ..tasks import Task, Trials
from .constraints import Constraint, admissible_start
from .fit import FitResult
from .losses import Loss, mean_squared_error
from .schedule import Count, checked_count, checked_schedule
from .trainable import Trainable
from .training_checks import check_key, check_validation, checked_setup
from .training_loop import run_training
from .update_rule import UpdateRule


@dataclasses.dataclass(frozen=True)
class EnsembleResult:
    """Trained models, stacked, and how they came about.

    - `models`, `best_models`: a model whose arrays have the member as their first axis.
    - `best_losses`, `best_steps`: `(member,)`, as in `FitResult`.
    - `losses`: `(member, steps_done)`, NaN from the step after a member diverged.
    - `history`: as in `FitResult`, with lists over members for values.
    - `diverged_at`: `(member,)`, the step at which a member diverged, 0 for none. Its model is
      the one before that step.
    - `steps_done`, `interrupted`, `run_dir`: as in `FitResult`.
    """

    models: Any
    best_models: Any
    best_losses: np.ndarray
    best_steps: np.ndarray
    losses: np.ndarray
    history: list[dict[str, Any]]
    diverged_at: np.ndarray
    steps_done: int
    interrupted: bool
    run_dir: Path | None

    def __len__(self) -> int:
        return len(self.losses)

    def __iter__(self) -> Iterator[FitResult]:
        return (self.member(index) for index in range(len(self)))

    def member(self, index: int) -> FitResult:
        """One member, as if it had been trained alone.

        **Raises:** `ValueError` for an index that the ensemble does not have.
        """
        if not 0 <= index < len(self):
            raise ValueError(f"member must be 0 to {len(self) - 1}, got {index}.")
        history = [
            {name: value[index] if isinstance(value, list) else value for name, value in r.items()}
            for r in self.history
        ]
        return FitResult(
            model=_member(self.models, index),
            best_model=_member(self.best_models, index),
            best_loss=float(self.best_losses[index]),
            best_step=int(self.best_steps[index]),
            losses=self.losses[index],
            history=history,
            steps_done=self.steps_done,
            interrupted=self.interrupted,
            run_dir=self.run_dir,
        )


def member_keys(key: PRNGKeyArray, n_seeds: Count) -> Array:
    """The key of each member of an ensemble; that of member i does not depend on their number."""
    return jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, jnp.arange(n_seeds))


def fit_ensemble(
    make_model: Callable[[PRNGKeyArray], Dynamics] | Sequence[Dynamics],
    task: Task | Trials,
    *,
    n_seeds: Count,
    key: PRNGKeyArray,
    optimizer: optax.GradientTransformation | UpdateRule,
    steps: Count,
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
    throw: bool = True,
) -> EnsembleResult:
    """Train `n_seeds` models at once, by `vmap` over the step that `fit` takes.

    Member i has the key `member_keys(key, n_seeds)[i]`; split in two, the first half goes to
    `make_model`, the second to training. So member i is, up to rounding,

    ```python
    model_key, fit_key = jax.random.split(member_keys(key, n_seeds)[i])
    fit(make_model(model_key), task, key=fit_key, ...)
    ```

    **Arguments:** as `fit`, and

    - `make_model`: from a key to a model, or a list of models, one a member, to go on from; all
      models must have the same shapes.
    - `n_seeds`: number of members. More members do not change the first ones.
    - `throw`: raise `TrainingDiverged` when any member diverges. `False` holds such a member at
      its parameters of the step before, lets the others go on, and notes it in `diverged_at`;
      only when no member is left does it raise.

    **Returns:** an `EnsembleResult`.

    **Raises:** as `fit`.
    """
    n_seeds = checked_count("n_seeds", n_seeds)
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
        throw=throw,
        batch_size=batch_size,
    )
    pairs = jax.vmap(jax.random.split)(member_keys(key, n_seeds))
    models = _starts(make_model, pairs[:, 0])
    setup = checked_setup(
        models[0],
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
    initial = _stack([admissible_start(setup.constraints, model) for model in models])
    run, frozen = run_training(setup, initial, pairs[:, 1], schedule, n_members=n_seeds)
    return EnsembleResult(
        models=eqx.combine(run.state.params, frozen),
        best_models=eqx.combine(run.best.params, frozen),
        best_losses=run.best.loss,
        best_steps=run.best.step,
        losses=run.losses,
        history=run.history,
        diverged_at=np.asarray(run.state.failed_at),
        steps_done=run.done,
        interrupted=run.interrupted,
        run_dir=schedule.run_dir,
    )


def _starts(
    make_model: Callable[[PRNGKeyArray], Dynamics] | Sequence[Dynamics], keys: Array
) -> list[Dynamics]:
    if callable(make_model):
        return [make_model(key) for key in keys]
    models = list(make_model)
    if len(models) != len(keys):
        raise ValueError(
            f"one model for each of the n_seeds = {len(keys)} members is needed, got {len(models)}."
        )
    return models


def _stack(models: list[Dynamics]) -> PyTree:
    for index, model in enumerate(models):
        if _form(model) != _form(models[0]):
            raise ValueError(
                "make_model must give models that differ in the values of their arrays only; "
                f"model {index} has another structure, or other shapes, than model 0."
            )
    return jax.tree.map(
        lambda first, *rest: jnp.stack([first, *rest]) if eqx.is_array(first) else first, *models
    )


def _member(models: PyTree, index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index] if eqx.is_array(leaf) else leaf, models)


def _form(model: Dynamics) -> Any:
    leaves = [(x.shape, x.dtype) if eqx.is_array(x) else x for x in jax.tree.leaves(model)]
    return jax.tree.structure(model), leaves
