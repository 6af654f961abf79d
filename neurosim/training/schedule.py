"""When a training run does what."""

import dataclasses
import json
import operator
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..tasks import Task, Trials
from .trials_checks import checked_trials

#: A whole number as users have it, NumPy's among them.
Count: TypeAlias = int | np.integer

#: Fields of a record that no metric may be called by.
OWN_RECORDS = ("step", "loss", "seconds", "validation_loss", "asked")
# Losses wait on the device to the end of a chunk, and Ctrl-C is heard between chunks.
_LONGEST_CHUNK = 4096


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How long a run is, and what happens on the way."""

    steps: int
    log_every: int
    validation: Task | Trials | None
    validate_every: int
    checkpoint_every: int | None
    metrics: dict[str, Callable[..., Any]]
    run_dir: Path | None
    resume: bool
    progress: bool | None
    config: dict[str, Any]
    throw: bool

    def next_stop(self, done: int) -> int:
        """The next step after `done` at which there is something to do.

        Chunks are no longer than `longest_chunk`.
        """
        periods = [self.log_every]
        if self._validates:
            periods.append(self.validate_every)
        if self.checkpoint_every is not None and self.run_dir is not None:
            periods.append(self.checkpoint_every)
        soonest = min(done - done % period + period for period in periods)
        return min(self.steps, soonest, done + _LONGEST_CHUNK)

    def longest_chunk(self, done: int) -> int:
        """An upper bound of the chunks of a run from step `done` on."""
        return max(1, min(self.log_every, self.steps - done, _LONGEST_CHUNK))

    def ends_interval(self, done: int) -> bool:
        """Whether a logging interval ends here however long the run is."""
        return done % self.log_every == 0

    def validates_at(self, done: int) -> bool:
        """Whether validation is due here however long the run is."""
        return self._validates and done % self.validate_every == 0

    def validates_at_end(self, done: int) -> bool:
        """Whether validation is due here because the run ends."""
        return self._validates and done == self.steps and not self.validates_at(done)

    def without_end(self, history: list[dict[str, Any]], done: int) -> list[dict[str, Any]]:
        """The records of a run that goes on, from those of one that ended after `done` steps."""
        if not history or history[-1]["step"] != done:
            return history
        *before, last = history
        validated = {"validation_loss", *self.metrics}
        regular = {"step", "seconds"}
        if self.validates_at(done):
            regular |= validated
        if self.ends_interval(done):
            regular |= set(last) - validated
        kept = {name: value for name, value in last.items() if name in regular}
        return [*before, kept] if len(kept) > 2 else before

    @property
    def _validates(self) -> bool:
        return self.validation is not None or bool(self.metrics)


def checked_count(name: str, value: Any) -> int:
    """A whole number from 1 on, as an `int`.

    **Raises:** `ValueError` for anything else; nothing is rounded.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        count = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {value!r}.") from None
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {count}.")
    return count


def checked_schedule(
    *,
    steps: Count,
    log_every: Count,
    validation: Task | Trials | None,
    validate_every: Count | None,
    checkpoint_every: Count | None,
    metrics: dict[str, Callable[..., Any]] | None,
    run_dir: str | os.PathLike[str] | None,
    resume: bool,
    progress: bool | None,
    config: dict[str, Any] | None,
    throw: bool,
    batch_size: Count | None,
) -> Schedule:
    """The schedule of a run, or `ValueError` with what is wrong with it."""
    steps = checked_count("steps", steps)
    if steps >= 2**31:
        raise ValueError(f"steps must be less than 2^31, got {steps}.")
    log_every = checked_count("log_every", log_every)
    if validate_every is not None:
        validate_every = checked_count("validate_every", validate_every)
    if checkpoint_every is not None:
        checkpoint_every = checked_count("checkpoint_every", checkpoint_every)
    if resume and run_dir is None:
        raise ValueError("resume=True needs the run_dir of the run to go on with.")
    if isinstance(validation, Trials):
        validation = checked_trials(validation, "the validation trials")
    elif isinstance(validation, Task):
        if batch_size is None:
            raise ValueError("A validation task needs a batch_size; or pass validation trials.")
    elif validation is not None:
        raise ValueError(f"validation must be a Task or Trials, got {type(validation).__name__}.")
    for name, metric in (metrics or {}).items():
        if name in OWN_RECORDS:
            raise ValueError(f"A metric cannot be called {name!r}: records have that field.")
        if not callable(metric):
            raise ValueError(
                f"The metric {name!r} must be a function of (trajectory, trials), got {metric!r}."
            )
    if config is not None and not isinstance(config, dict):
        raise ValueError(f"config must be a dictionary, got {type(config).__name__}.")
    try:
        json.dumps(config)
    except (TypeError, ValueError) as error:
        raise ValueError(f"config must have a form in JSON: {error}.") from error
    return Schedule(
        steps=steps,
        log_every=log_every,
        validation=validation,
        validate_every=validate_every or log_every,
        checkpoint_every=checkpoint_every,
        metrics=dict(metrics or {}),
        run_dir=None if run_dir is None else Path(run_dir),
        resume=resume,
        progress=progress,
        config=dict(config or {}),
        throw=throw,
    )
