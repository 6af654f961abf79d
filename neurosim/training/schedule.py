"""When a training run does what."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..tasks import Task, Trials


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
        """The next step after `done` at which there is something to do."""
        periods = [self.log_every]
        if self.validation is not None or self.metrics:
            periods.append(self.validate_every)
        if self.checkpoint_every is not None and self.run_dir is not None:
            periods.append(self.checkpoint_every)
        return min(self.steps, *(done - done % period + period for period in periods))

    def validates_at(self, done: int) -> bool:
        wanted = self.validation is not None or bool(self.metrics)
        return wanted and (done % self.validate_every == 0 or done == self.steps)
