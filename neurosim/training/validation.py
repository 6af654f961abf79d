"""How good a model is on trials it is not trained on: the validation loss, and metrics."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..kernels import check_dt
from ..tasks import Task, Trials
from .schedule import Schedule
from .training_step import TrainingSetup, evaluate


def validation_dt(setup: TrainingSetup, validation: Task | Trials | None) -> float:
    """The time step that validation is simulated with.

    A task has its own, be it another than that of training. Where `fit` was told to train with
    another time step than the task's, that holds for validation on the same time step, too.
    """
    if not isinstance(validation, Task):
        return setup.dt
    if isinstance(setup.source, Task) and validation.dt == setup.source.dt:
        return setup.dt
    return check_dt(validation.dt)


def validate(
    setup: TrainingSetup,
    schedule: Schedule,
    params: PyTree,
    frozen: PyTree,
    key: Array,
    *,
    ensemble: bool,
) -> tuple[np.ndarray, dict[str, Any]]:
    """The loss on the validation trials (else on those of training), and the metrics by name.

    **Raises:** `ValueError` for a metric that returns no numbers, which it names, and for
    validation trials that ask for nothing: a model of any kind would be perfect on them.
    """
    source = setup.source if schedule.validation is None else schedule.validation
    setup = dataclasses.replace(setup, dt=validation_dt(setup, schedule.validation))
    wanted = bool(schedule.metrics)
    loss, asked, full = evaluate(setup, source, params, frozen, key, ensemble, wanted)
    if schedule.validation is not None and not np.all(np.asarray(asked)):
        raise ValueError("The mask of the validation trials is zero everywhere: nothing is asked.")
    loss = np.asarray(loss, np.float64)
    metrics: dict[str, Any] = {}
    for name, metric in schedule.metrics.items():
        if ensemble:
            values = [metric(*_member(full, index)) for index in range(loss.shape[0])]
            metrics[name] = [_metric_value(name, value) for value in values]
        else:
            metrics[name] = _metric_value(name, metric(*full))
    return loss, metrics


def plain(value: np.ndarray) -> Any:
    """Numbers as JSON has them; `None` where there is none."""
    if value.ndim:
        return [plain(np.asarray(entry)) for entry in value]
    return float(value) if np.isfinite(value) else None


def _metric_value(name: str, value: Any) -> Any:
    try:
        numbers = np.asarray(value)
        real = any(jnp.issubdtype(numbers.dtype, k) for k in (jnp.floating, jnp.integer, jnp.bool_))
    except (TypeError, ValueError):
        real = False
    if not real:
        raise ValueError(
            f"The metric {name!r} must return a real number or an array of them, got "
            f"{type(value).__name__}."
        )
    return plain(numbers.astype(np.float64))


def _member(tree: PyTree, index: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[index] if eqx.is_array(leaf) else leaf, tree)
