"""The files of one training run: metrics as they come, the last and the best checkpoint."""

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jaxtyping import Array, PyTree

from .atomic_files import write_text_atomic
from .checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from .checkpoint_file import CheckpointError
from .run_lock import hold_run_lock


class RunFiles:
    """`metrics.jsonl`, `checkpoints/last` and `checkpoints/best` in a run directory.

    A context manager, which is the only writer there until it is left.

    **Arguments:**

    - `run_dir`: the directory, made if it does not exist.
    - `resume`: go on with what is there, instead of refusing it.

    **Raises:** `ValueError` if the directory cannot be written to, is being written by another
    process, or holds a run already and `resume` is false. Nothing is changed then.
    """

    def __init__(self, run_dir: str | os.PathLike[str], *, resume: bool):
        self.run_dir = Path(run_dir)
        self.last = self.run_dir / "checkpoints" / "last"
        self.best = self.run_dir / "checkpoints" / "best"
        self.metrics = self.run_dir / "metrics.jsonl"
        self._held = ExitStack()
        self._stream = None
        if not resume:
            self._refuse_taken()
        try:
            self.last.parent.mkdir(parents=True, exist_ok=True)
            self._held.enter_context(hold_run_lock(self.run_dir))
            with self._held.pop_all() as held:
                # Asking for permission would not do: a disk may be mounted read-only.
                probe = self.last.parent / ".probe.tmp"
                probe.touch()
                probe.unlink()
                if not resume:
                    # Another one may have come, and gone, before the lock was had.
                    self._refuse_taken()
                self._held = held.pop_all()
        except OSError as error:
            raise ValueError(
                f"The run directory {self.run_dir} cannot be written to ({error.strerror}): "
                "a directory with write permission is needed."
            ) from error

    def __enter__(self) -> "RunFiles":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._stream is not None:
            self._stream.close()
        self._held.close()

    def _refuse_taken(self) -> None:
        # An empty file is left by a run that failed before its first steps were done.
        files = (self.last, self.best, self.metrics)
        taken = [path for path in files if path.is_file() and path.stat().st_size]
        if taken:
            raise ValueError(
                f"{self.run_dir} already holds a training run ({taken[0].name}): "
                "pass resume=True to go on with it, or another run_dir."
            )

    def records(self, n_records: int) -> list[dict[str, Any]]:
        """The first `n_records` records; what is behind them will be computed, and written, again.

        **Raises:** `CheckpointError` for a damaged one among them. A file that is not there has
        none.
        """
        if not self.metrics.exists():
            return []
        found = []
        for line in self.metrics.read_bytes().splitlines()[:n_records]:
            record = _parsed(line)
            if record is None:
                break
            found.append(record)
        if len(found) < n_records:
            raise CheckpointError(
                f"{self.metrics} is damaged in line {len(found) + 1}, and {n_records} records "
                "belong to the checkpoint: an intact copy is needed, or no such file to go on "
                "without these records."
            )
        return found

    def start(self, records: list[dict[str, Any]]) -> None:
        """Open the stream of metrics behind `records`, which take the place of what is there."""
        if self._stream is not None:
            self._stream.close()
        if records or self.metrics.exists():
            write_text_atomic(self.metrics, "".join(_line(record) for record in records))
        self._stream = self.metrics.open("a", encoding="utf-8")

    def write_record(self, record: dict[str, Any]) -> None:
        """Append one line, for anyone who watches the file."""
        assert self._stream is not None
        self._stream.write(_line(record))
        self._stream.flush()

    def save(self, which: Path, tree: PyTree, *, step: int, key: Array, **notes: Any) -> None:
        """Write a checkpoint, after the metrics that lead to it."""
        if self._stream is not None:
            os.fsync(self._stream.fileno())
        save_checkpoint(which, tree, step=step, key=key, **notes)

    def load(self, which: Path, like: PyTree) -> Checkpoint:
        """Read a checkpoint of this run."""
        return load_checkpoint(which, like)


def check_same_run(path: Path, stored: dict[str, Any], current: dict[str, Any]) -> None:
    """Refuse to go on with a run that was set up in another way.

    **Raises:** `CheckpointError` that shows what differs.
    """
    # Through JSON, as the stored one went: tuples become lists, numbers of keys become strings.
    differences = _differences(stored, json.loads(json.dumps(current)))
    if differences:
        shown = "; ".join(differences[:5])
        more = f"; and {len(differences) - 5} more" if differences[5:] else ""
        raise CheckpointError(
            f"{path} belongs to a run that was set up differently: {shown}{more}. "
            "The same set-up is needed to resume, or another run_dir."
        )


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, allow_nan=False) + "\n"


def _parsed(line: bytes) -> dict[str, Any] | None:
    """A record, or `None` for a line that holds none."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    numbers = isinstance(record, dict) and all(
        isinstance(record.get(name), (int, float)) for name in ("step", "seconds")
    )
    return record if numbers else None


def _differences(stored: Any, current: Any, name: str = "") -> list[str]:
    if isinstance(stored, dict) and isinstance(current, dict):
        found = []
        names = {*stored, *current}
        if "type" in stored and "type" in current and stored["type"] != current["type"]:
            # Then everything else differs, too, and says less.
            names = {"type"}
        for key in sorted(names):
            inner = f"{name}.{key}" if name and not key.startswith((".", "[")) else f"{name}{key}"
            if key not in stored:
                found.append(f"{inner} is new ({current[key]!r})")
            elif key not in current:
                found.append(f"{inner} ({stored[key]!r}) is gone")
            else:
                found += _differences(stored[key], current[key], inner)
        return found
    if isinstance(stored, list) and isinstance(current, list) and len(stored) == len(current):
        pairs = list(enumerate(zip(stored, current)))
        if all(isinstance(one, dict) for pair in zip(stored, current) for one in pair):
            return [text for i, (a, b) in pairs for text in _differences(a, b, f"{name}[{i}]")]
    if stored != current:
        return [f"{name} was {stored!r} and is now {current!r}"]
    return []
