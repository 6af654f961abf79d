"""Where a training run stands, and its way into a checkpoint and back."""

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from .checkpoint import read_checkpoint_header
from .environment import environment
from .run_files import RunFiles, check_same_run
from .training_step import TrainingSetup, TrainingState


@dataclasses.dataclass
class Run:
    """Where a run stands. Arrays of an ensemble have the member as their first axis."""

    state: TrainingState
    best: PyTree
    best_loss: np.ndarray
    best_step: np.ndarray
    losses: np.ndarray
    history: list[dict[str, Any]]
    done: int
    interrupted: bool = False


def as_saved(run: Run, frozen: PyTree) -> dict[str, Any]:
    """A run as the pytree of its last checkpoint."""
    return {
        "model": eqx.combine(run.state.params, frozen),
        "rule_state": run.state.rule_state,
        "failed_at": run.state.failed_at,
        "failed": run.state.failed,
        "losses": run.losses,
        "best_step": run.best_step,
    }


def restored(
    files: RunFiles, setup: TrainingSetup, run: Run, frozen: PyTree, identity: dict[str, Any]
) -> tuple[Run, PyTree]:
    """The run of the last checkpoint, and the leaves of its model that do not train.

    **Raises:** `CheckpointError` if it is damaged, or belongs to a run that was set up differently.
    """
    header = read_checkpoint_header(files.last)
    check_same_run(files.last, header["record"], identity)
    _warn_of_other_versions(files.last, header["environment"])
    stored = {leaf["name"]: leaf for leaf in header["leaves"]}
    losses = stored["['losses']"]
    run.losses = np.zeros(losses["shape"], losses["dtype"])
    loaded = files.load(files.last, as_saved(run, frozen))
    tree = loaded.tree
    params = eqx.filter(tree["model"], setup.trainable)
    run.state = TrainingState(params, tree["rule_state"], tree["failed_at"], tree["failed"])
    frozen = eqx.filter(tree["model"], setup.trainable, inverse=True)
    run.losses, run.done = tree["losses"], loaded.step
    if np.any(tree["best_step"] > 0):
        like = {"model": tree["model"], "loss": run.best_loss, "step": run.best_step}
        best = files.load(files.best, like).tree
        run.best, run.best_loss = eqx.filter(best["model"], setup.trainable), best["loss"]
        run.best_step = best["step"]
    return run, frozen


def _warn_of_other_versions(path: Path, stored: dict[str, Any]) -> None:
    current = environment()
    watched = ("jax", "jaxlib", "equinox", "diffrax", "optax", "backend")
    changed = [f"{n} {stored[n]} -> {current[n]}" for n in watched if stored[n] != current[n]]
    if changed:
        warnings.warn(
            f"{path} was written under other versions ({', '.join(changed)}): the resumed run may "
            "differ in the last digits.",
            stacklevel=2,
        )
