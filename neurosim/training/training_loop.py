"""The loop around the steps: what is logged, checked, kept, shown and saved, and when.

One run and an ensemble of runs go through the same loop; an ensemble has a leading axis.
"""

import dataclasses
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .checkpoint import read_checkpoint_header
from .divergence import TrainingDiverged, quantities
from .interrupt import stop_on_interrupt
from .progress import show_progress
from .run_files import RunFiles
from .run_identity import run_identity
from .run_state import Run, as_saved, restored
from .schedule import Schedule
from .training_step import (
    TrainingSetup,
    evaluate,
    first_state,
    train_chunk,
)

#: Seconds between checkpoints where the user asks for no number of steps.
_CHECKPOINT_PAUSE = 5.0


def run_training(
    setup: TrainingSetup,
    initial: PyTree,
    key: Array,
    schedule: Schedule,
    *,
    n_members: int | None,
) -> tuple[Run, PyTree]:
    """Train from `initial`, or from the checkpoint there is.

    **Returns:** where the run ended, and the leaves of the model that do not train.
    """
    files = None
    if schedule.run_dir is not None:
        files = RunFiles(schedule.run_dir, resume=schedule.resume)
    ensemble = n_members is not None
    params = eqx.filter(initial, setup.trainable)
    frozen = eqx.filter(initial, setup.trainable, inverse=True)
    start = eqx.filter_vmap(first_state, in_axes=(None, eqx.if_array(0)))
    state = start(setup, params) if ensemble else first_state(setup, params)
    # A step's buffers are given away to the next one. Those of the caller's model must not be, and
    # an optimiser may start several moments from one.
    state = _copies(state)
    lead = () if n_members is None else (n_members,)
    run = Run(
        state,
        best=_copies(state.params),
        best_loss=np.full(lead, np.inf),
        best_step=np.zeros(lead, np.int64),
        losses=np.zeros((*lead, 0), np.float32),
        history=[],
        done=0,
    )
    identity: dict[str, Any] = {}
    if files is not None:
        identity = run_identity(setup, initial, key, schedule.config, n_members)
        if schedule.resume and files.last.exists():
            run, frozen = restored(files, setup, run, frozen, identity)
        run.history = files.start(run.done)
    loop = _Loop(
        setup, schedule, files, run, frozen, initial, key, identity, ensemble, run.best_step
    )
    try:
        loop.go()
    finally:
        if files is not None:
            files.close()
    # Nothing has been the best yet where no validation was reached.
    run.best = _choose(jnp.asarray(run.best_step > 0), run.best, _copies(run.state.params))
    return run, loop.frozen


def _copies(tree: PyTree) -> PyTree:
    def copy(leaf: Any) -> Any:
        if not eqx.is_array(leaf):
            return leaf
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jnp.copy(leaf)
        return jnp.array(leaf, dtype=leaf.dtype, copy=True)

    return jax.tree.map(copy, tree)


@dataclasses.dataclass
class _Loop:
    setup: TrainingSetup
    schedule: Schedule
    files: RunFiles | None
    run: Run
    frozen: PyTree
    initial: PyTree
    key: Array
    identity: dict[str, Any]
    ensemble: bool
    #: `best_step` as it is on the disk.
    saved_best: np.ndarray

    def go(self) -> None:
        run, schedule = self.run, self.schedule
        if run.done > schedule.steps:
            raise ValueError(
                f"The run in {schedule.run_dir} has done {run.done} steps already, more than the "
                f"{schedule.steps} asked for."
            )
        if run.done == schedule.steps:
            return
        seconds_before = run.history[-1]["seconds"] if run.history else 0.0
        began = saved_at = time.perf_counter()
        saved_step = run.done
        train_key, validation_key = self._split_key()
        announce = schedule.progress is not False
        with (
            stop_on_interrupt(announce) as stop,
            show_progress(schedule.progress, total=schedule.steps, done=run.done) as report,
        ):
            while run.done < schedule.steps and not stop.made:
                record, mean_loss = self._chunk(train_key)
                validation_loss = None
                if schedule.validates_at(run.done):
                    validation_loss = self._validate(validation_key, record)
                self._keep_best(mean_loss if schedule.validation is None else validation_loss)
                now = time.perf_counter()
                record["seconds"] = round(seconds_before + now - began, 3)
                run.history.append(record)
                if self.files is not None:
                    self.files.write_record(record)
                    if self._checkpoint_due(now - saved_at):
                        self._save()
                        saved_at, saved_step = time.perf_counter(), run.done
                report(run.done, float(np.nanmean(mean_loss)))
            run.interrupted = run.done < schedule.steps
        if self.files is not None and saved_step < run.done:
            self._save()

    def _split_key(self) -> tuple[Array, Array]:
        if not self.ensemble:
            train_key, validation_key = jax.random.split(self.key)
            return train_key, validation_key
        pairs = jax.vmap(jax.random.split)(self.key)
        return pairs[:, 0], pairs[:, 1]

    def _chunk(self, key: Array) -> tuple[dict[str, Any], np.ndarray]:
        run, schedule = self.run, self.schedule
        stop = schedule.next_stop(run.done)
        fixed = (
            self.setup,
            self.frozen,
            self.initial,
            key,
            jnp.asarray(run.done, jnp.int32),
            jnp.asarray(stop - run.done, jnp.int32),
            schedule.log_every,
            self.ensemble,
        )
        run.state, series = train_chunk(fixed, run.state)
        series = {
            name: np.asarray(values)[..., : stop - run.done] for name, values in series.items()
        }
        self._check_finite()
        run.done = stop
        run.losses = np.concatenate(
            [run.losses.astype(series["loss"].dtype), series["loss"]], axis=-1
        )
        # In double precision, so that the mean does not depend on how NumPy adds.
        means = {
            name: np.asarray(np.mean(values, axis=-1, dtype=np.float64))
            for name, values in series.items()
        }
        record = {"step": run.done, **{name: _plain(mean) for name, mean in means.items()}}
        return record, means["loss"]

    def _check_finite(self) -> None:
        failed_at = np.asarray(self.run.state.failed_at)
        failed = failed_at > 0
        if not failed.any() or (not self.schedule.throw and not failed.all()):
            return
        step = int(failed_at[failed].min())
        first = failed_at == step
        flags = np.asarray(self.run.state.failed)[first].reshape(-1, self._n_flags())[0]
        names = quantities(self.run.state.params)
        quantity = names[int(np.argmax(flags))]
        members = tuple(int(i) for i in np.flatnonzero(failed)) if self.ensemble else ()
        self._raise_diverged(step, quantity, members)

    def _n_flags(self) -> int:
        return self.run.state.failed.shape[-1]

    def _raise_diverged(self, step: int, quantity: str, members: tuple[int, ...]) -> None:
        checkpoint = None
        where = "No checkpoint had been written."
        if self.files is not None and self.files.last.exists():
            checkpoint = self.files.last
            at = read_checkpoint_header(checkpoint)["step"]
            where = f"The last good checkpoint is {checkpoint} (step {at})."
        who = ""
        if members:
            who = f" in member {members[0]}" if len(members) == 1 else f" in members {members}"
            if self.schedule.throw:
                where += " With throw=False the other members go on."
        raise TrainingDiverged(
            f"Training diverged at step {step}{who}: {quantity} is not finite. {where}",
            step=step,
            quantity=quantity,
            checkpoint=checkpoint,
            members=members,
        )

    def _validate(self, key: Array, record: dict[str, Any]) -> np.ndarray:
        run, schedule = self.run, self.schedule
        source = self.setup.source if schedule.validation is None else schedule.validation
        loss, full = evaluate(
            self.setup,
            source,
            run.state.params,
            self.frozen,
            key,
            self.ensemble,
            bool(schedule.metrics),
        )
        loss = np.asarray(loss, np.float64)
        if schedule.validation is not None:
            running = np.asarray(run.state.failed_at) == 0
            bad = running & ~np.isfinite(loss)
            if bad.any() and (schedule.throw or not self.ensemble):
                members = tuple(int(i) for i in np.flatnonzero(bad)) if self.ensemble else ()
                self._raise_diverged(run.done, "the validation loss", members)
            record["validation_loss"] = _plain(loss)
        for name, metric in schedule.metrics.items():
            if not self.ensemble:
                record[name] = _plain(np.asarray(metric(*full)))
                continue
            record[name] = [
                _plain(np.asarray(metric(*_member(full, i)))) for i in range(loss.shape[0])
            ]
        return loss

    def _keep_best(self, loss: np.ndarray | None) -> None:
        if loss is None:
            return
        run = self.run
        better = loss < run.best_loss
        if not np.any(better):
            return
        run.best_loss = np.where(better, loss, run.best_loss)
        run.best_step = np.where(better, run.done, run.best_step)
        run.best = _choose(jnp.asarray(better), run.state.params, run.best)

    def _checkpoint_due(self, seconds: float) -> bool:
        every = self.schedule.checkpoint_every
        if every is None:
            return seconds >= _CHECKPOINT_PAUSE
        return self.run.done % every == 0

    def _save(self) -> None:
        assert self.files is not None
        run = self.run
        notes = {"config": self.schedule.config, "record": self.identity}
        # The best first: the last one must never speak of a best that was not saved.
        if np.any(run.best_step != self.saved_best):
            best = {
                "model": eqx.combine(run.best, self.frozen),
                "loss": run.best_loss,
                "step": run.best_step,
            }
            step = int(run.best_step.max())
            self.files.save(self.files.best, best, step=step, key=self.key, **notes)
            self.saved_best = run.best_step
        tree = as_saved(run, self.frozen)
        self.files.save(self.files.last, tree, step=run.done, key=self.key, **notes)


@jax.jit
def _choose(better: Array, new: PyTree, old: PyTree) -> PyTree:
    def pick(a: Array, b: Array) -> Array:
        return jnp.where(better.reshape(better.shape + (1,) * (a.ndim - better.ndim)), a, b)

    return jax.tree.map(pick, new, old)


def _member(tree: PyTree, index: int) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[index] if eqx.is_array(leaf) else leaf, tree)


def _plain(value: Any) -> Any:
    """Numbers as JSON has them; `None` where there is none."""
    if value.ndim:
        return [_plain(entry) for entry in value]
    return float(value) if np.isfinite(value) else None
