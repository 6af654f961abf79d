"""The bytes of a checkpoint: a guarded header in JSON, and a body of arrays behind it.

Layout of the file::

    neurosim-checkpoint 1 <SHA-256 of all that follows this line> <its length in bytes>
    <one line of JSON: step, key, config, environment, and name, kind, shape and dtype of each leaf>
    <the leaves in that order, as NumPy arrays; never pickled>
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .atomic_files import write_bytes_atomic

_MAGIC = "neurosim-checkpoint"
_FORMAT = 1
_FIELDS = {
    "step": int,
    "key": (dict, type(None)),
    "config": dict,
    "record": dict,
    "environment": dict,
    "leaves": list,
}


class CheckpointError(ValueError):
    """A file that is no checkpoint, is damaged, or belongs to something else."""


def write_checkpoint_file(path: Path, header: dict[str, Any], body: bytes) -> None:
    """Write header and body, in one indivisible move.

    **Raises:** `ValueError` for a header that JSON has no form for.
    """
    try:
        line = json.dumps(header).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise ValueError(f"A checkpoint's config must have a form in JSON: {error}.") from error
    digest = hashlib.sha256(line)
    digest.update(body)
    magic = f"{_MAGIC} {_FORMAT} {digest.hexdigest()} {len(line) + len(body)}\n".encode()
    write_bytes_atomic(path, magic, line, body)


def read_checkpoint_file(path: Path) -> tuple[dict[str, Any], bytes]:
    """Header and body of a file whose content is intact.

    **Raises:** `CheckpointError`, in one line, for a file that is missing, damaged, malformed or
    no checkpoint.
    """
    needed = "A file written by save_checkpoint is needed."
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"There is no checkpoint at {path}. {needed}") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}). {needed}") from None
    first, _, rest = content.partition(b"\n")
    words = first.split(b" ")
    if len(words) != 4 or words[0] != _MAGIC.encode() or not words[3].isdigit():
        raise CheckpointError(f"{path} is not a checkpoint. {needed}")
    if words[1] != str(_FORMAT).encode():
        raise CheckpointError(
            f"{path} has checkpoint format {words[1].decode(errors='replace')}, and this version "
            f"of neurosim reads format {_FORMAT}."
        )
    if len(rest) != int(words[3]):
        raise CheckpointError(
            f"{path} is truncated or was added to: {len(rest)} bytes where {int(words[3])} were "
            "written. An intact copy is needed."
        )
    if hashlib.sha256(rest).hexdigest().encode() != words[2]:
        raise CheckpointError(
            f"{path} is damaged: its content does not match its SHA-256. An intact copy is needed."
        )
    line, _, body = rest.partition(b"\n")
    with refusing_malformed(path, "its header"):
        header = json.loads(line)
        _check_header(header)
    return header, body


@contextmanager
def refusing_malformed(path: Path, what: str) -> Iterator[None]:
    """Turn whatever goes wrong while `what` is read into a `CheckpointError` of one line.

    A file may be intact and yet hold anything: another program can have written it.
    """
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise CheckpointError(
            f"{path} is malformed: {what} cannot be read ({reason}). "
            "A file written by save_checkpoint is needed."
        ) from None


def _check_header(header: Any) -> None:
    if not isinstance(header, dict):
        raise ValueError(f"it is a {type(header).__name__}")
    for name, kind in _FIELDS.items():
        if name not in header:
            raise ValueError(f"it has no {name}")
        if not isinstance(header[name], kind) or isinstance(header[name], bool):
            raise ValueError(f"its {name} is a {type(header[name]).__name__}")
    if header["step"] < 0:
        raise ValueError(f"its step is {header['step']}")
    for entry in header["leaves"]:
        if not (isinstance(entry, dict) and isinstance(entry.get("name"), str)):
            raise ValueError("one of its leaves has no name")
        wanted = {"kind": str}
        if "value" not in entry:
            wanted |= {"shape": list, "dtype": str}
        for field, kind in wanted.items():
            if not isinstance(entry.get(field), kind):
                raise ValueError(f"leaf {entry['name']} has no proper {field}")
        for size in entry.get("shape", []):
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise ValueError(f"leaf {entry['name']} has the shape {entry['shape']}")
