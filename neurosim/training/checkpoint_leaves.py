"""The leaves of a pytree as a checkpoint has them: an entry in the header, an array in the body."""

import io
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .checkpoint_file import CheckpointError, refusing_malformed
from .environment import jax_setting

_NUMBERS = {"bool": lambda text: text == "True", "int": int, "float": float, "complex": complex}
# What `numpy.save` writes and reads without pickling.
_PLAIN_KINDS = "biufcSUmM"


def named_leaves(tree: PyTree) -> list[tuple[str, Any]]:
    """Each leaf with its path."""
    return [
        (jax.tree_util.keystr(path), leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    ]


def describe_leaf(name: str, leaf: Any) -> tuple[dict[str, Any] | None, np.ndarray | None]:
    """A leaf's entry in the header, and the array to write; `None` for what it has not.

    **Raises:** `ValueError` for an array that a checkpoint cannot hold.
    """
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
        return {**entry, "kind": "key"}, np.asarray(data)
    dtype = np.dtype(leaf.dtype)
    if dtype.kind == "O":
        raise ValueError(f"{name} is an array of Python objects, which a checkpoint cannot hold.")
    if not (dtype.kind in _PLAIN_KINDS or _is_foreign(dtype)):
        raise ValueError(f"{name} is an array of {dtype}, which a checkpoint cannot hold.")
    kind = "numpy" if isinstance(leaf, (np.ndarray, np.generic)) else "jax"
    entry["kind"] = kind
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return entry, None
    array = np.asarray(leaf)
    return entry, _bytes_of(array) if _is_foreign(dtype) else array


def body_of(arrays: list[np.ndarray]) -> bytes:
    """Arrays one behind the other."""
    body = io.BytesIO()
    eqx.tree_serialise_leaves(body, arrays)
    return body.getvalue()


def stored_leaves(
    path: Path, header: dict[str, Any], body: bytes
) -> dict[str, tuple[dict[str, Any], Any]]:
    """Entry and value of each leaf, by name.

    **Raises:** `CheckpointError` if header and body do not agree, or hold double precision where
    this process computes in single precision.
    """
    with refusing_malformed(path, "its leaves"):
        entries = header["leaves"]
        templates = [_template(path, entry) for entry in entries if entry["kind"] not in _NUMBERS]
        stream = io.BytesIO(body)
        arrays = iter(eqx.tree_deserialise_leaves(stream, templates))
        if stream.read(1):
            raise ValueError("there are more arrays than entries")
        return {entry["name"]: (entry, _value(entry, arrays)) for entry in entries}


def describe_key(key: Array | None) -> dict[str, Any] | None:
    """A PRNG key in JSON's terms: its kind, its implementation, its numbers."""
    if key is None:
        return None
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    implementation = jax.random.key_impl(key) if typed else _default_prng()
    data = jax.random.key_data(key) if typed else key
    return {"typed": bool(typed), "prng": str(implementation), "data": np.asarray(data).tolist()}


def restored_key(path: Path, key: dict[str, Any] | None) -> Array | None:
    """The key that `describe_key` described.

    **Raises:** `CheckpointError` for a key of the older kind if it would give other numbers here.
    """
    if key is None:
        return None
    with refusing_malformed(path, "its key"):
        data = jnp.asarray(np.asarray(key["data"], dtype=np.uint32))
        if key["typed"]:
            return jax.random.wrap_key_data(data, impl=key["prng"])
        if key["prng"] != _default_prng():
            raise CheckpointError(
                f"{path} was written under jax_default_prng_impl={key['prng']}, and this process "
                f"has {_default_prng()}: its key would give other numbers."
            )
        return data


def _default_prng() -> str:
    return str(jax_setting("jax_default_prng_impl"))


def _is_foreign(dtype: np.dtype) -> bool:
    """Whether a dtype was added to NumPy from outside: bfloat16, float8, int4."""
    return dtype.isbuiltin == 2


def _bytes_of(array: np.ndarray) -> np.ndarray:
    # NumPy's files do not know these dtypes by name, and would give back raw voids.
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _template(path: Path, entry: dict[str, Any]) -> np.ndarray:
    if entry["kind"] == "key":
        return _empty(tuple(entry["data_shape"]), np.dtype(np.uint32))
    if entry["kind"] not in ("numpy", "jax"):
        raise ValueError(f"leaf {entry['name']} is of the unknown kind {entry['kind']!r}")
    dtype, shape = jnp.dtype(entry["dtype"]), tuple(entry["shape"])
    if entry["kind"] == "jax" and dtype.itemsize > jax.dtypes.canonicalize_dtype(dtype).itemsize:
        raise CheckpointError(
            f"{path} holds {dtype} arrays, and this process computes in single precision: "
            "JAX_ENABLE_X64=1 is needed."
        )
    if _is_foreign(dtype):
        return _empty((int(np.prod(shape, dtype=int)) * dtype.itemsize,), np.dtype(np.uint8))
    return _empty(shape, dtype)


def _empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    # Takes no memory, whatever the shape that a header claims.
    return np.broadcast_to(np.empty((), dtype), shape)


def _value(entry: dict[str, Any], arrays: Any) -> Any:
    if entry["kind"] in _NUMBERS:
        return _NUMBERS[entry["kind"]](entry["value"])
    array = next(arrays)
    if entry["kind"] == "key":
        return jax.random.wrap_key_data(jnp.asarray(array), impl=entry["prng"])
    dtype = jnp.dtype(entry["dtype"])
    return array.view(dtype).reshape(entry["shape"]) if _is_foreign(dtype) else array
