"""Checkpoints: one file, found whole or not at all, and read by the names of its leaves.

Leaves are written by Equinox. Orbax was tried for it and set aside: it adds 15 packages and about
100 MB, spreads one checkpoint over a folder of files written by background threads, and answers a
flipped byte with tracebacks from those threads, so that a damaged checkpoint could not be reported
in one line. A model here is small, and one file that is replaced in one move is enough.

Layout of the file::

    neurosim-checkpoint 1 <SHA-256 of all that follows this line> <its length in bytes>
    <one line of JSON: step, key, config, environment, and name, kind, shape and dtype of each leaf>
    <the leaves in that order, as NumPy arrays; never pickled>
"""

import dataclasses
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .atomic_files import write_bytes_atomic
from .environment import environment, jax_setting

_MAGIC = "neurosim-checkpoint"
_FORMAT = 1


class CheckpointError(ValueError):
    """A file that is no checkpoint, is damaged, or belongs to something else."""


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

    **Raises:** `ValueError` if they have none.
    """
    entries, arrays = [], []
    for name, leaf in _named_leaves(tree):
        entry, array = _describe(name, leaf)
        if entry is None:
            continue
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
    try:
        line = json.dumps(header).encode() + b"\n"
    except TypeError as error:
        raise ValueError(f"A checkpoint's config must have a form in JSON: {error}.") from error
    payload = io.BytesIO()
    eqx.tree_serialise_leaves(payload, arrays)
    body = payload.getvalue()
    digest = hashlib.sha256(line)
    digest.update(body)
    magic = f"{_MAGIC} {_FORMAT} {digest.hexdigest()} {len(line) + len(body)}\n".encode()
    write_bytes_atomic(path, magic, line, body)


def load_checkpoint(path: str | os.PathLike[str], like: PyTree, *, only: str = "") -> Checkpoint:
    """Read a checkpoint into a pytree, leaf by leaf by name.

    The order of fields does not matter, so two fields of one shape are never exchanged.

    **Arguments:**

    - `path`: the file.
    - `like`: a pytree with the wanted names, shapes and dtypes; arrays may be
      `jax.ShapeDtypeStruct`s.
    - `only`: take the fields whose names begin so, and pass over all others.

    **Returns:** a `Checkpoint`, whose `tree` has the structure of `like`.

    **Raises:** `CheckpointError`, in one line, for a file that is missing, damaged or no
    checkpoint, and for a leaf of another name, shape, dtype or PRNG, which it names.
    """
    path = Path(path)
    header, body = _read(path)
    stored = _stored_leaves(path, header, body)
    stored = {name: entry for name, entry in stored.items() if name.startswith(only)}
    restored = []
    for name, leaf in _named_leaves(like):
        wanted, _ = _describe(name, leaf)
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
        key=_restore_key(path, header),
        config=header["config"],
        record=header["record"],
        environment=header["environment"],
    )


def read_checkpoint_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a checkpoint whose content is intact: step, key, config, environment, leaves.

    **Raises:** `CheckpointError` for a file that is missing, damaged or no checkpoint.
    """
    return _read(Path(path))[0]


def describe_key(key: Array | None) -> dict[str, Any] | None:
    """A PRNG key in JSON's terms: its kind, its implementation, its numbers."""
    if key is None:
        return None
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    implementation = jax.random.key_impl(key) if typed else _default_prng()
    data = jax.random.key_data(key) if typed else key
    return {"typed": bool(typed), "prng": str(implementation), "data": np.asarray(data).tolist()}


def _default_prng() -> str:
    return str(jax_setting("jax_default_prng_impl"))


def _restore_key(path: Path, header: dict[str, Any]) -> Array | None:
    key = header["key"]
    if key is None:
        return None
    data = jnp.asarray(np.asarray(key["data"], dtype=np.uint32))
    if key["typed"]:
        return jax.random.wrap_key_data(data, impl=key["prng"])
    if key["prng"] != _default_prng():
        raise CheckpointError(
            f"{path} was written under jax_default_prng_impl={key['prng']}, and this process has "
            f"{_default_prng()}: its key would give other numbers."
        )
    return data


def _named_leaves(tree: PyTree) -> list[tuple[str, Any]]:
    return [
        (jax.tree_util.keystr(path), leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    ]


def _describe(name: str, leaf: Any) -> tuple[dict[str, Any] | None, Any]:
    """A leaf's entry in the header, and the array to write, if there is one."""
    if isinstance(leaf, (bool, int, float, complex)) and not isinstance(leaf, np.generic):
        # As text, in full: a float would lose digits as a float32 array.
        return {"name": name, "kind": type(leaf).__name__, "value": repr(leaf)}, None
    if not (eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)):
        return None, None
    entry = {"name": name, "shape": list(leaf.shape), "dtype": str(leaf.dtype)}
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return {**entry, "kind": "key"}, None
        data = jax.random.key_data(leaf)
        entry |= {"prng": str(jax.random.key_impl(leaf)), "data_shape": list(data.shape)}
        return {**entry, "kind": "key"}, data
    if leaf.dtype == object:
        raise ValueError(f"{name} is an array of Python objects, which a checkpoint cannot hold.")
    kind = "numpy" if isinstance(leaf, (np.ndarray, np.generic)) else "jax"
    return {**entry, "kind": kind}, np.asarray(leaf) if kind == "numpy" else leaf


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
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
    return json.loads(line), body


def _stored_leaves(path: Path, header: dict[str, Any], body: bytes) -> dict[str, tuple[dict, Any]]:
    entries = header["leaves"]
    templates = []
    for entry in entries:
        if entry["kind"] == "key":
            templates.append(jax.ShapeDtypeStruct(tuple(entry["data_shape"]), jnp.uint32))
        elif entry["kind"] == "numpy":
            templates.append(np.empty(tuple(entry["shape"]), entry["dtype"]))
        elif entry["kind"] == "jax":
            dtype = jnp.dtype(entry["dtype"])
            if dtype.itemsize > jax.dtypes.canonicalize_dtype(dtype).itemsize:
                raise CheckpointError(
                    f"{path} holds {dtype} arrays, and this process computes in single precision: "
                    "JAX_ENABLE_X64=1 is needed."
                )
            templates.append(jax.ShapeDtypeStruct(tuple(entry["shape"]), dtype))
    arrays = iter(eqx.tree_deserialise_leaves(io.BytesIO(body), templates))
    numbers = {"bool": lambda text: text == "True", "int": int, "float": float, "complex": complex}
    stored = {}
    for entry in entries:
        if entry["kind"] in numbers:
            value = numbers[entry["kind"]](entry["value"])
        elif entry["kind"] == "key":
            value = jax.random.wrap_key_data(next(arrays), impl=entry["prng"])
        else:
            value = next(arrays)
        stored[entry["name"]] = (entry, value)
    return stored


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
