"""The files of one training run: metrics as they come, the last and the best checkpoint."""

import json
import os
from pathlib import Path
from typing import Any

from jaxtyping import Array, PyTree

from .atomic_files import write_text_atomic
from .checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint


class RunFiles:
    """`metrics.jsonl`, `checkpoints/last` and `checkpoints/best` in a run directory.

    **Arguments:**

    - `run_dir`: the directory, made if it does not exist.
    - `resume`: go on with what is there, instead of refusing it.

    **Raises:** `ValueError` if the directory cannot be written to, or holds a run already and
    `resume` is false. Nothing is changed then.
    """

    def __init__(self, run_dir: str | os.PathLike[str], *, resume: bool):
        self.run_dir = Path(run_dir)
        self.last = self.run_dir / "checkpoints" / "last"
        self.best = self.run_dir / "checkpoints" / "best"
        self.metrics = self.run_dir / "metrics.jsonl"
        self._stream = None
        # An empty file is left by a run that failed before its first steps were done.
        files = (self.last, self.best, self.metrics)
        taken = [path for path in files if path.is_file() and path.stat().st_size]
        if taken and not resume:
            raise ValueError(
                f"{self.run_dir} already holds a training run ({taken[0].name}): "
                "pass resume=True to go on with it, or another run_dir."
            )
        try:
            self.last.parent.mkdir(parents=True, exist_ok=True)
            # Asking for permission would not do: a disk may be mounted read-only.
            probe = self.last.parent / ".probe.tmp"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise ValueError(
                f"The run directory {self.run_dir} cannot be written to ({error.strerror}): "
                "a directory with write permission is needed."
            ) from error

    def start(self, step: int) -> list[dict[str, Any]]:
        """Open the stream of metrics behind the records up to `step`, and return these."""
        records = []
        if self.metrics.exists():
            for line in self.metrics.read_text().splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    # The line a killed process was writing.
                    break
                if record["step"] > step:
                    break
                records.append(record)
            # What came after the checkpoint will be computed, and written, again.
            write_text_atomic(self.metrics, "".join(json.dumps(r) + "\n" for r in records))
        self._stream = self.metrics.open("a")
        return records

    def write_record(self, record: dict[str, Any]) -> None:
        """Append one line, for anyone who watches the file."""
        assert self._stream is not None
        self._stream.write(json.dumps(record, allow_nan=False) + "\n")
        self._stream.flush()

    def save(self, which: Path, tree: PyTree, *, step: int, key: Array, **notes: Any) -> None:
        """Write a checkpoint, after the metrics that lead to it."""
        if self._stream is not None:
            os.fsync(self._stream.fileno())
        save_checkpoint(which, tree, step=step, key=key, **notes)

    def load(self, which: Path, like: PyTree) -> Checkpoint:
        """Read a checkpoint of this run."""
        return load_checkpoint(which, like)

    def close(self) -> None:
        """Close the stream of metrics."""
        if self._stream is not None:
            self._stream.close()


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


def _differences(stored: Any, current: Any, name: str = "") -> list[str]:
    if isinstance(stored, dict) and isinstance(current, dict):
        found = []
        for key in sorted({*stored, *current}):
            inner = f"{name}.{key}" if name and not key.startswith((".", "[")) else f"{name}{key}"
            if key not in stored:
                found.append(f"{inner} is new ({current[key]!r})")
            elif key not in current:
                found.append(f"{inner} ({stored[key]!r}) is gone")
            else:
                found += _differences(stored[key], current[key], inner)
        return found
    if stored != current:
        return [f"{name} was {stored!r} and is now {current!r}"]
    return []
