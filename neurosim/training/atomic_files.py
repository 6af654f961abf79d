"""Files that are either the old ones or the new ones, whatever happens while they are written."""

import json
import os
from pathlib import Path
from typing import Any


def write_bytes_atomic(path: str | os.PathLike[str], *parts: bytes) -> None:
    """Replace a file by the joined `parts` in one indivisible move.

    The new content is complete on the disk before it takes the name, so a process killed at any
    moment leaves the old file or the new one. A half-written neighbour, `.NAME.tmp`, may remain;
    the next write takes its place.

    **Arguments:**

    - `path`: where to write; the folder must exist.
    - `parts`: the content, in order.
    """
    path = Path(path)
    # The same folder: a rename across file systems would be a copy.
    unfinished = path.with_name(f".{path.name}.tmp")
    with open(unfinished, "wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    _sync_folder(path.parent)


def write_text_atomic(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by `text` (UTF-8) in one indivisible move."""
    write_bytes_atomic(path, text.encode())


def write_json_atomic(path: str | os.PathLike[str], value: Any) -> None:
    """Replace a file by `value` as indented JSON in one indivisible move.

    **Raises:** `ValueError` for a value that JSON has no form for; the file is then untouched.
    """
    try:
        text = json.dumps(value, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{Path(path).name} cannot be written as JSON: {error}.") from error
    write_text_atomic(path, text + "\n")


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    # Without it a power cut can undo the rename.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
