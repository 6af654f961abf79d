"""Checkpoints: one file, found whole or not at all, and read by the names of its leaves.

Leaves are written by Equinox. Orbax was tried for it and set aside: it adds 15 packages and about
100 MB, spreads one checkpoint over a folder of files written by background threads, and answers a
flipped byte with tracebacks from those threads, so that a damaged checkpoint could not be reported
in one line. A model here is small, and one file that is replaced in one move is enough.
"""

import dataclasses
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .checkpoint_file import CheckpointError, read_checkpoint_file, write_checkpoint_file
from .checkpoint_leaves import (
    body_of,
    describe_key,
    describe_leaf,
    named_leaves,
    restored_key,
    stored_leaves,
)
from .environment import environment


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds.

    - `tree`: the pytree that was saved.
    - `step`: number of updates done.
    - `key`: the PRNG key of the run, or `None`.
    - `config`: the configuration given by the user.
    - `record`: whatever else the writer noted.
    - `environment`: versions, precision and PRNG under which it was written.
    """

    tree: Any
    step: int
    key: Any
    config: dict[str, Any]
    record: dict[str, Any]
    environment: dict[str, Any]


def save_checkpoint(
    path: str | os.PathLike[str],
    tree: PyTree,
    *,
    step: int,
    key: Array | None = None,
    config: dict[str, Any] | None = None,
    record: dict[str, Any] | None = None,
) -> None:
    """Write a checkpoint, in one indivisible move.

    Arrays, PRNG keys and Python numbers are saved. Other leaves (functions, strings) are not:
    loading takes them from the pytree it is given.

    **Arguments:**

    - `path`: the file; its folder must exist.
    - `tree`: any pytree.
    - `step`: number of updates done.
    - `key`: PRNG key, typed or of the older `uint32` kind.
    - `config`, `record`: dictionaries that JSON has a form for.

    **Raises:** `ValueError` if they have none, and for an array of Python objects or of records,
    which it names.
    """
    entries, arrays = [], []
    for name, leaf in named_leaves(tree):
        entry, array = describe_leaf(name, leaf)
        if entry is not None:
            entries.append(entry)
        if array is not None:
            arrays.append(array)
    header = {
        "step": int(step),
        "key": describe_key(key),
        "config": config or {},
        "record": record or {},
        "environment": environment(),
        "leaves": entries,
    }
    write_checkpoint_file(Path(path), header, body_of(arrays))


def load_checkpoint(path: str | os.PathLike[str], like: PyTree, *, only: str = "") -> Checkpoint:
    """Read a checkpoint into a pytree, leaf by leaf by name.

    The order of fields does not matter, so two fields of one shape are never exchanged.

    **Arguments:**

    - `path`: the file.
    - `like`: a pytree with the wanted names, shapes and dtypes; arrays may be
      `jax.ShapeDtypeStruct`s.
    - `only`: take the fields whose names begin so, and pass over all others.

    **Returns:** a `Checkpoint`, whose `tree` has the structure of `like`.

    **Raises:** `CheckpointError`, in one line, for a file that is missing, damaged, malformed or
    no checkpoint, and for a leaf of another name, shape, dtype or PRNG, which it names.
    """
    path = Path(path)
    header, body = read_checkpoint_file(path)
    stored = stored_leaves(path, header, body)
    stored = {name: entry for name, entry in stored.items() if name.startswith(only)}
    restored = []
    for name, leaf in named_leaves(like):
        wanted, _ = describe_leaf(name, leaf)
        if wanted is None:
            restored.append(leaf)
            continue
        if name not in stored:
            raise CheckpointError(
                f"{path} has no field {name}; it holds {_some(stored)}. "
                "A checkpoint of the same kind of model is needed."
            )
        entry, value = stored.pop(name)
        _check_same(path, entry, wanted)
        if wanted["kind"] == "numpy":
            value = np.asarray(value)
        elif wanted["kind"] == "jax":
            value = jnp.asarray(value)
        restored.append(value)
    if stored:
        raise CheckpointError(
            f"{path} holds {_some(stored)}, which the model it is loaded into does not have."
        )
    return Checkpoint(
        tree=jax.tree.unflatten(jax.tree.structure(like), restored),
        step=header["step"],
        key=restored_key(path, header["key"]),
        config=header["config"],
        record=header["record"],
        environment=header["environment"],
    )


def read_checkpoint_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a checkpoint whose content is intact: step, key, config, environment, leaves.

    **Raises:** `CheckpointError` for a file that is missing, damaged, malformed or no checkpoint.
    """
    return read_checkpoint_file(Path(path))[0]


def _check_same(path: Path, entry: dict[str, Any], wanted: dict[str, Any]) -> None:
    for what in ("shape", "dtype"):
        if entry.get(what) != wanted.get(what):
            old, new = (
                tuple(e[what]) if what == "shape" and what in e else e.get(what, e["kind"])
                for e in (entry, wanted)
            )
            raise CheckpointError(
                f"{path}: field {entry['name']} is stored with {what} {old}, and {what} {new} is "
                "expected."
            )
    numbers = ("bool", "int", "float", "complex")
    if entry["kind"] != wanted["kind"] and {entry["kind"], wanted["kind"]} & set(numbers):
        raise CheckpointError(
            f"{path}: field {entry['name']} is stored as {entry['kind']}, and {wanted['kind']} is "
            "expected."
        )


def _some(names: Any, limit: int = 4) -> str:
    names = list(names)
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if names[limit:] else "")
