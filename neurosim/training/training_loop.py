"""The loop around the steps: what is logged, checked, kept, shown and saved, and when.

One run and an ensemble of runs go through the same loop; an ensemble has a leading axis.
"""

import dataclasses
import time
from contextlib import nullcontext
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .divergence import diverged, quantities
from .interrupt import stop_on_interrupt
from .logging_interval import interval_record, joined
from .progress import show_progress
from .run_files import RunFiles
from .run_identity import run_identity
from .run_state import Best, Run, as_saved, best_as_saved, choose, restored
from .schedule import Schedule
from .training_step import TrainingSetup, first_state, train_chunk
from .validation import plain, validate

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
    with files or nullcontext():
        run, frozen = _first_run(setup, initial, n_members)
        identity: dict[str, Any] = {}
        if files is not None:
            identity = run_identity(setup, schedule, initial, key, n_members)
            if schedule.resume and files.last.exists():
                run, frozen = restored(files, setup, run, frozen, identity)
                _check_goes_on(run, schedule)
            files.start(run.history)
        ensemble = n_members is not None
        _Loop(setup, schedule, files, run, frozen, initial, key, identity, ensemble).go()
    # Nothing has been the best yet where no validation was reached.
    found = jnp.asarray(run.best.step > 0)
    run.best = dataclasses.replace(
        run.best, params=choose(found, run.best.params, _copies(run.state.params))
    )
    return run, frozen


def _first_run(setup: TrainingSetup, initial: PyTree, n_members: int | None) -> tuple[Run, PyTree]:
    params = eqx.filter(initial, setup.trainable)
    start = eqx.filter_vmap(first_state, in_axes=(None, eqx.if_array(0)))
    state = first_state(setup, params) if n_members is None else start(setup, params)
    # A step's buffers are given away to the next one. Those of the caller's model must not be, and
    # an optimiser may start several moments from one.
    state = _copies(state)
    lead = () if n_members is None else (n_members,)
    best = Best(_copies(state.params), np.full(lead, np.inf), np.zeros(lead, np.int64))
    losses = np.zeros((*lead, 0), np.float32)
    run = Run(state, best=best, lasting_best=best, losses=losses, pending={}, history=[])
    return run, eqx.filter(initial, setup.trainable, inverse=True)


def _check_goes_on(run: Run, schedule: Schedule) -> None:
    """See to it that a restored run is one of as many steps as are asked for."""
    if run.done > schedule.steps:
        raise ValueError(
            f"The run in {schedule.run_dir} has done {run.done} steps already, more than the "
            f"{schedule.steps} asked for."
        )
    if run.done < schedule.steps:
        # What was looked at because a run ended is nothing that a longer one looks at.
        run.finished = False
        run.best = run.lasting_best
        run.history = schedule.without_end(run.history, run.done)


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
    #: `best.step` as it is on the disk, if this process wrote it.
    saved_best: np.ndarray | None = None

    def go(self) -> None:
        run, schedule = self.run, self.schedule
        if run.finished:
            return
        seconds_before = run.history[-1]["seconds"] if run.history else 0.0
        began = saved_at = time.perf_counter()
        train_key, validation_key = self._split_key()
        length = schedule.longest_chunk(run.done)
        announce = schedule.progress is not False
        saved = True
        with (
            stop_on_interrupt(announce) as stop,
            show_progress(schedule.progress, total=schedule.steps, done=run.done) as report,
        ):
            while not run.finished and not stop.made:
                began_at = run.done
                if run.done < schedule.steps:
                    self._chunk(train_key, length)
                record = self._look(validation_key, stepped=run.done > began_at)
                if len(record) > 1:
                    now = time.perf_counter()
                    self._log({**record, "seconds": round(seconds_before + now - began, 3)})
                run.finished = run.done == schedule.steps
                saved = self._checkpoint_due(time.perf_counter() - saved_at)
                if saved:
                    self._save()
                    saved_at = time.perf_counter()
                report(run.done, _mean(run.losses[..., began_at:]))
            if not saved:
                self._save()
        run.interrupted = stop.made

    def _split_key(self) -> tuple[Array, Array]:
        if not self.ensemble:
            train_key, validation_key = jax.random.split(self.key)
            return train_key, validation_key
        pairs = jax.vmap(jax.random.split)(self.key)
        return pairs[:, 0], pairs[:, 1]

    def _chunk(self, key: Array, length: int) -> None:
        """Take the steps up to the next stop."""
        run = self.run
        stop = self.schedule.next_stop(run.done)
        fixed = (
            self.setup,
            self.frozen,
            self.initial,
            key,
            jnp.asarray(run.done, jnp.int32),
            jnp.asarray(stop - run.done, jnp.int32),
            length,
            self.ensemble,
        )
        run.state, series = train_chunk(fixed, run.state)
        series = {
            name: np.asarray(values)[..., : stop - run.done] for name, values in series.items()
        }
        self._check_finite()
        run.done = stop
        losses = series.pop("loss")
        run.losses = np.concatenate([run.losses.astype(losses.dtype), losses], axis=-1)
        run.pending = joined(run.pending, series)

    def _look(self, key: Array, *, stepped: bool) -> dict[str, Any]:
        """End the logging interval and validate, where these are due, and keep what is best.

        What is due only because the run ends leaves `lasting_best` as it is.
        """
        run, schedule = self.run, self.schedule
        record: dict[str, Any] = {"step": run.done}
        at_end = run.done == schedule.steps
        regular = stepped and schedule.ends_interval(run.done)
        if regular or (at_end and not schedule.ends_interval(run.done)):
            described, loss = interval_record(run.losses, run.pending, run.done)
            record |= described
            if schedule.validation is None:
                self._keep_best(loss, regular)
            if regular:
                run.pending = {}
        regular = stepped and schedule.validates_at(run.done)
        if regular or schedule.validates_at_end(run.done):
            loss, metrics = validate(
                self.setup, schedule, run.state.params, self.frozen, key, ensemble=self.ensemble
            )
            if schedule.validation is not None:
                self._check_validation_loss(loss)
                record["validation_loss"] = plain(loss)
                self._keep_best(loss, regular)
            for name in metrics:
                if name in record:
                    raise ValueError(
                        f"A metric cannot be called {name!r}: records have that field."
                    )
            record |= metrics
        return record

    def _keep_best(self, loss: np.ndarray, regular: bool) -> None:
        run = self.run
        run.best = run.best.or_better(run.state.params, loss, run.done)
        if regular:
            run.lasting_best = run.best

    def _log(self, record: dict[str, Any]) -> None:
        history = self.run.history
        more = bool(history) and history[-1]["step"] == record["step"]
        if more:
            record = history.pop() | record
        history.append(record)
        if self.files is not None and more:
            self.files.start(history)
        elif self.files is not None:
            self.files.write_record(record)

    def _check_finite(self) -> None:
        state = self.run.state
        failed_at = np.asarray(state.failed_at)
        failed = np.asarray(failed_at > 0)
        if not failed.any() or (not self.schedule.throw and not failed.all()):
            return
        step = int(failed_at[failed].min())
        flags = np.asarray(state.failed)[failed_at == step].reshape(-1, state.failed.shape[-1])[0]
        which, numbers = int(np.argmax(flags)), quantities(state.params)
        if which < len(numbers):
            self._raise_diverged(step, numbers[which], failed)
        reason = self.setup.rule.failures[which - len(numbers)]
        self._raise_diverged(step, reason, failed, by_rule=True)

    def _check_validation_loss(self, loss: np.ndarray) -> None:
        bad = np.asarray((np.asarray(self.run.state.failed_at) == 0) & ~np.isfinite(loss))
        if bad.any() and (self.schedule.throw or not self.ensemble):
            self._raise_diverged(self.run.done, "the validation loss", bad)

    def _raise_diverged(
        self, step: int, quantity: str, which: np.ndarray, *, by_rule: bool = False
    ) -> None:
        members = tuple(int(i) for i in np.flatnonzero(which)) if self.ensemble else ()
        last = None if self.files is None else self.files.last
        raise diverged(
            step,
            quantity,
            last=last,
            members=members,
            throw=self.schedule.throw,
            by_rule=by_rule,
        )

    def _checkpoint_due(self, seconds: float) -> bool:
        every = self.schedule.checkpoint_every
        if every is None:
            return seconds >= _CHECKPOINT_PAUSE
        return self.run.done % every == 0

    def _save(self) -> None:
        if self.files is None:
            return
        run = self.run
        notes = {"key": self.key, "config": self.schedule.config, "record": self.identity}
        # The best first: a finished run that is read back shows what is there.
        if np.any(run.best.step > 0) and np.any(run.best.step != self.saved_best):
            best = best_as_saved(run.best, self.frozen)
            self.files.save(self.files.best, best, step=int(run.best.step.max()), **notes)
            self.saved_best = run.best.step
        self.files.save(self.files.last, as_saved(run, self.frozen), step=run.done, **notes)


def _mean(losses: np.ndarray) -> float:
    """The mean over the steps, and over the members that go on."""
    finite = losses[np.isfinite(losses)]
    return float(finite.mean()) if finite.size else float("nan")
