"""Where a training run stands, and its way into a checkpoint and back."""

import ast
import dataclasses
import warnings
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .checkpoint import read_checkpoint_header
from .checkpoint_file import refusing_malformed
from .environment import environment
from .logging_interval import Series
from .run_files import RunFiles, check_same_run
from .training_step import TrainingSetup, TrainingState


@dataclasses.dataclass(frozen=True)
class Best:
    """The best parameters so far, their loss, and the number of steps then: 0 for none yet."""

    params: PyTree
    loss: np.ndarray
    step: np.ndarray

    def or_better(self, params: PyTree, loss: np.ndarray, step: int) -> "Best":
        """This, or member by member `params` where their `loss` is lower."""
        better = loss < self.loss
        if not np.any(better):
            return self
        return Best(
            choose(jnp.asarray(better), params, self.params),
            np.where(better, loss, self.loss),
            np.where(better, step, self.step),
        )


@dataclasses.dataclass
class Run:
    """Where a run stands. Arrays of an ensemble have the member as their first axis.

    - `pending`: what the steps of the unfinished logging interval emitted beside the loss.
    - `best`: as the result shows it.
    - `lasting_best`: without what was looked at only because the run ended, as if it had not.
    - `finished`: whether all steps are done, and what is due at the end.
    """

    state: TrainingState
    best: Best
    lasting_best: Best
    losses: np.ndarray
    pending: Series
    history: list[dict[str, Any]]
    done: int = 0
    finished: bool = False
    interrupted: bool = False


@jax.jit
def choose(better: Array, new: PyTree, old: PyTree) -> PyTree:
    """`new` where `better`, along the first axes of every leaf, else `old`."""

    def pick(a: Array, b: Array) -> Array:
        return jnp.where(better.reshape(better.shape + (1,) * (a.ndim - better.ndim)), a, b)

    return jax.tree.map(pick, new, old)


def as_saved(run: Run, frozen: PyTree) -> dict[str, Any]:
    """A run as the pytree of its last checkpoint."""
    return {
        "model": eqx.combine(run.state.params, frozen),
        "rule_state": run.state.rule_state,
        "failed_at": run.state.failed_at,
        "failed": run.state.failed,
        "losses": run.losses,
        "pending": run.pending,
        "best": run.lasting_best.params,
        "best_loss": run.lasting_best.loss,
        "best_step": run.lasting_best.step,
        "n_records": len(run.history),
        "finished": run.finished,
    }


def best_as_saved(best: Best, frozen: PyTree) -> dict[str, Any]:
    """The pytree of the best checkpoint."""
    return {"model": eqx.combine(best.params, frozen), "loss": best.loss, "step": best.step}


def restored(
    files: RunFiles, setup: TrainingSetup, run: Run, frozen: PyTree, identity: dict[str, Any]
) -> tuple[Run, PyTree]:
    """The run of the last checkpoint, and the leaves of its model that do not train.

    **Arguments:**

    - `run`, `frozen`: the same at the start of the run.

    **Raises:** `CheckpointError` if it is damaged, or belongs to a run that was set up differently.
    """
    header = read_checkpoint_header(files.last)
    check_same_run(files.last, header["record"], identity)
    _warn_of_other_versions(files.last, header["environment"])
    # Only the checkpoint knows how long these are.
    with refusing_malformed(files.last, "its series"):
        losses, pending = _empty_series(header)
    like = as_saved(dataclasses.replace(run, losses=losses, pending=pending), frozen)
    loaded = files.load(files.last, like)
    tree = loaded.tree
    frozen = eqx.filter(tree["model"], setup.trainable, inverse=True)
    params = eqx.filter(tree["model"], setup.trainable)
    best = Best(tree["best"], tree["best_loss"], tree["best_step"])
    run = Run(
        TrainingState(params, tree["rule_state"], tree["failed_at"], tree["failed"]),
        best=best,
        lasting_best=best,
        losses=tree["losses"],
        pending=tree["pending"],
        history=files.records(tree["n_records"]),
        done=loaded.step,
        finished=tree["finished"],
    )
    if run.finished and files.best.exists():
        shown = files.load(files.best, best_as_saved(best, frozen)).tree
        # A longer run may have been killed between the best and the last checkpoint.
        if np.all(shown["step"] <= run.done):
            run.best = Best(
                eqx.filter(shown["model"], setup.trainable), shown["loss"], shown["step"]
            )
    return run, frozen


def _empty_series(header: dict[str, Any]) -> tuple[np.ndarray, Series]:
    empty = {
        leaf["name"]: np.zeros(leaf["shape"], leaf["dtype"])
        for leaf in header["leaves"]
        if leaf["name"].startswith(("['losses']", "['pending']"))
    }
    losses = empty.pop("['losses']")
    return losses, {
        ast.literal_eval(name.removeprefix("['pending']"))[0]: zeros
        for name, zeros in empty.items()
    }


def _warn_of_other_versions(path: Path, stored: dict[str, Any]) -> None:
    current = environment()
    watched = ("jax", "jaxlib", "equinox", "diffrax", "optax", "backend")
    changed = [
        f"{n} {stored.get(n)} -> {current[n]}" for n in watched if stored.get(n) != current[n]
    ]
    if changed:
        warnings.warn(
            f"{path} was written under other versions ({', '.join(changed)}): the resumed run may "
            "differ in the last digits.",
            stacklevel=2,
        )
