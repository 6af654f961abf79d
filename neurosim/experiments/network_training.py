"""Training the networks of an experiment into the folder of its run."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from ..training import EnsembleResult, fit_ensemble
from .experiment import announce, check_at_least, check_positive
from .run_directory import RunDirectory


@dataclasses.dataclass(frozen=True)
class FreshTrialTraining:
    """How a network is trained on fresh trials at every update."""

    steps: int
    """Updates."""
    batch_size: int
    """Trials an update."""
    learning_rate: float
    """Of Adam; the one at the start where a schedule lowers it."""
    log_every: int = 100
    """Updates of one logging interval."""

    def __post_init__(self):
        check_at_least(self, {"steps": 1, "batch_size": 1, "log_every": 1})
        check_positive(self, ["learning_rate"])


class RunOptions(NamedTuple):
    """What an experiment's `run` is given beside its config, for each of its trainings."""

    directory: RunDirectory | None
    resume: bool
    progress: bool | None


def train_network(
    trainer: Callable[..., Any],
    *args: Any,
    name: str,
    label: str,
    train: Any,
    directory: RunDirectory | None,
    progress: bool | None,
    **options: Any,
) -> Any:
    """Run `fit` or `fit_ensemble` for one network of an experiment.

    **Arguments:**

    - `trainer`: `fit` or `fit_ensemble`; `args` and `options` go to it.
    - `name`: of the network, and of the folder of its files. `label`: what to call it on screen.
    - `train`: the training part of the experiment's config.
    - `directory`, `progress`: as the experiment got them.

    **Returns:** what the trainer returns.

    **Raises:** `KeyboardInterrupt` if Ctrl-C cut the training short, after it has saved.
    """
    announce(f"training {label}", progress)
    if isinstance(train, FreshTrialTraining):
        options = {"batch_size": train.batch_size} | options
    result = trainer(
        *args,
        steps=train.steps,
        log_every=min(train.log_every, train.steps),
        run_dir=None if directory is None else directory.training(name),
        config=dataclasses.asdict(train) | {"network": name},
        progress=progress,
        **options,
    )
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def train_seeds(
    models: Any,
    task: Any,
    *,
    config: Any,
    run: RunOptions,
    name: str,
    label: str,
    train: Any = None,
    seed: int | None = None,
    **options: Any,
) -> EnsembleResult:
    """Train `config.seeds` networks of one kind at once.

    **Arguments:**

    - `models`, `task`, `options`: for `fit_ensemble`.
    - `config`: of the experiment; its `seed` and `train` serve unless others are given.
    - `run`, `name`, `label`: as in `train_network`.

    **Returns:** what `fit_ensemble` returns.

    **Raises:** as `train_network`.
    """
    return train_network(
        fit_ensemble,
        models,
        task,
        name=name,
        label=label,
        train=config.train if train is None else train,
        directory=run.directory,
        progress=run.progress,
        resume=run.resume,
        n_seeds=config.seeds,
        key=jax.random.key(config.seed if seed is None else seed),
        **options,
    )


def check_names(
    field: str, names: tuple[str, ...], known: Mapping[str, Any], *, what: str = "network"
) -> None:
    """Refuse a config that asks for no network (or other `what`), or for one that there is not.

    **Raises:** `ValueError` with the names that there are.
    """
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        said = f"unknown {what} {unknown[0]!r}" if unknown else f"no {what}"
        raise ValueError(f"{said} in {field}; known: {', '.join(known)}.")
