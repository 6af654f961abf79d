"""Training the networks of the digit experiment, and what is measured on each."""

import dataclasses
import json
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..simulate import simulate
from ..training import TrainingDiverged, fit, parameter_count, softmax_cross_entropy
from ..training.accuracy import last_step_accuracy
from .network_training import FreshTrialTraining, RunOptions, train_network
from .organics_digits_networks import DigitParts, Network, Training
from .run_directory import RunDirectory

#: Images that are simulated at once in tests.
_AT_ONCE = 500


@dataclasses.dataclass
class Trained:
    """What one training came to.

    - `losses`, `gradient_norms`: `(interval,)`, NaN from where it diverged.
    - `validation`: `(epoch,)`, accuracy, likewise.
    - `accuracy`: on the test images, of the network that was best on those for validation; NaN if
      the training diverged.
    - `diverged`: the update at which a number was not finite; 0 for none.
    - `real_parts`: `(2, image)`, the largest of an image's eigenvalues before and after training.
    """

    losses: np.ndarray
    gradient_norms: np.ndarray
    validation: np.ndarray
    accuracy: float
    diverged: int
    real_parts: np.ndarray | None


def train_seeds(
    name: str,
    network: Network,
    tasks: DigitParts,
    training: Training,
    optimizer: Any,
    config: Any,
    run: RunOptions,
    scale: tuple[float, ...],
) -> tuple[list[Trained], int]:
    """All seeds of one network, and its number of parameters."""
    n_epoch = training.updates_per_epoch(len(tasks.train.labels))
    train = FreshTrialTraining(
        steps=training.epochs * n_epoch,
        batch_size=training.batch_size,
        learning_rate=training.learning_rate,
        log_every=training.log_every,
    )
    found, n_parameters = [], 0
    validation = tasks.validation.trials()
    for index in range(config.seeds):
        model_key, fit_key = jax.random.split(
            jax.random.fold_in(jax.random.key(config.seed), index)
        )
        model = network.make(model_key, tasks.train.n_inputs, config, *scale)
        n_parameters = parameter_count(model)
        full = f"{name}-seed_{index}"
        best, diverged = None, 0
        try:
            best = train_network(
                fit,
                model,
                tasks.train,
                name=full,
                label=full.replace("-", ", "),
                train=train,
                directory=run.directory,
                progress=run.progress,
                resume=run.resume,
                optimizer=optimizer,
                key=fit_key,
                loss=softmax_cross_entropy,
                validation=validation,
                validate_every=n_epoch,
                metrics={"validation_accuracy": last_step_accuracy},
                simulate_options={"save": "outputs"},
            ).best_model
        except TrainingDiverged as error:
            diverged = error.step
        records = _records(run.directory, full)
        real_parts = None
        if network.has_spectrum and best is not None:
            shown = tasks.test.trials(np.arange(min(config.spectra, len(tasks.test.labels))))
            inputs = shown.inputs[:, 0]
            real_parts = np.stack([_largest_real_parts(m, inputs) for m in (model, best)])
        found.append(
            Trained(
                losses=_padded([r["loss"] for r in records if "loss" in r], train),
                gradient_norms=_padded(
                    [r["gradient_norm"] for r in records if "gradient_norm" in r], train
                ),
                validation=_accuracies(records, training.epochs, n_epoch),
                accuracy=np.nan if best is None else _tested(best, tasks.test),
                diverged=diverged,
                real_parts=real_parts,
            )
        )
    return found, n_parameters


def _records(directory: RunDirectory | None, name: str) -> list[dict[str, Any]]:
    assert directory is not None
    path = directory.training(name) / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _padded(values: list[Any], train: FreshTrialTraining) -> np.ndarray:
    """A value for each logging interval, NaN from where a training diverged."""
    every = min(train.log_every, train.steps)
    curve = np.full(-(-train.steps // every), np.nan)
    curve[: len(values)] = np.array(values, float)
    return curve


def _accuracies(records: list[dict[str, Any]], epochs: int, n_epoch: int) -> np.ndarray:
    """Validation accuracy after each epoch, NaN from where a training diverged."""
    curve = np.full(epochs, np.nan)
    for record in records:
        if "validation_accuracy" in record:
            curve[record["step"] // n_epoch - 1] = record["validation_accuracy"]
    return curve


def _tested(model: Any, task: Any) -> float:
    """The share of all images of a task that a network gets right."""
    n, right = len(task.labels), 0
    for start in range(0, n, _AT_ONCE):
        trials = task.trials(np.arange(start, min(start + _AT_ONCE, n)))
        trajectory = simulate(model, trials.inputs, dt=task.dt, save="final", throw=False)
        right += round(float(last_step_accuracy(trajectory, trials)) * len(trials.inputs))
    return right / n


def _largest_real_parts(model: Any, inputs: Any) -> np.ndarray:
    """The largest real part of the eigenvalues of all layers at rest, `(image,)`, in units of one
    over tau, the same for all neurons."""
    jacobians = _jacobians(model, inputs)
    return np.max([np.linalg.eigvals(np.asarray(j)).real.max(axis=-1) for j in jacobians], axis=0)


@eqx.filter_jit
def _jacobians(model: Any, inputs: Any) -> Any:
    return jax.vmap(model.jacobians)(inputs)
