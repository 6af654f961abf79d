"""Checkpoints whose checksum is right and whose content is not, and arrays of unusual types."""

import hashlib
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.training import (
    CheckpointError,
    load_checkpoint,
    read_checkpoint_header,
    save_checkpoint,
)

TREE = {"a": np.arange(6.0).reshape(2, 3), "b": 2.5, "k": jax.random.key(1)}


@pytest.fixture
def path(tmp_path):
    save_checkpoint(tmp_path / "file", TREE, step=4, key=jax.random.key(0))
    return tmp_path / "file"


def rewrite(path, edit, body=None):
    """Change the header, or the body, and make the checksum right again."""
    _, line, old = path.read_bytes().split(b"\n", 2)
    header = json.loads(line)
    header = edit(header) or header
    line = header if isinstance(header, bytes) else json.dumps(header).encode()
    rest = line + b"\n" + (old if body is None else body(old))
    magic = f"neurosim-checkpoint 1 {hashlib.sha256(rest).hexdigest()} {len(rest)}\n"
    path.write_bytes(magic.encode() + rest)


def leaf(name, **changes):
    def edit(header):
        entry = next(e for e in header["leaves"] if e["name"] == name)
        entry.update(changes)

    return edit


def without(entry, field):
    def edit(header):
        del (header if entry is None else header["leaves"][entry])[field]

    return edit


def put(**changes):
    return lambda header: header.update(changes)


HEADERS = {
    "no JSON": lambda header: b"{",
    "no UTF-8": lambda header: b"\xff\xfe",
    "null": lambda header: b"null",
    "list": lambda header: [1],
    "number": lambda header: b"7",
    "empty": lambda header: b"{}",
    "no step": without(None, "step"),
    "no leaves": without(None, "leaves"),
    "step": put(step="four"),
    "bool step": put(step=True),
    "negative step": put(step=-1),
    "leaves": put(leaves={"a": 1}),
    "a leaf": put(leaves=[1]),
    "key": put(key=7),
    "key without data": put(key={"typed": True}),
    "key of words": put(key={"typed": True, "prng": "threefry2x32", "data": ["a"]}),
    "prng": put(key={"typed": True, "prng": "dice", "data": [0, 0]}),
    "environment": put(environment=[]),
    "record": put(record=None),
    "leaf without name": without(0, "name"),
    "leaf without kind": without(0, "kind"),
    "leaf without shape": without(0, "shape"),
    "kind": leaf("['a']", kind="parquet"),
    "dtype": leaf("['a']", dtype="float99"),
    "other dtype": leaf("['a']", dtype="int64"),
    "no dtype": leaf("['a']", dtype=None),
    "shape": leaf("['a']", shape=[3, 2]),
    "huge shape": leaf("['a']", shape=[10**9, 10**9]),
    "negative shape": leaf("['a']", shape=[-2, 3]),
    "shape of words": leaf("['a']", shape=["2", "3"]),
    "number of words": leaf("['b']", value="much"),
    "number of another kind": leaf("['b']", kind="int"),
    "key shape": leaf("['k']", data_shape=[3]),
    "key kind": leaf("['k']", prng="dice"),
    "no key shape": leaf("['k']", data_shape=None),
}


@pytest.mark.parametrize("name", list(HEADERS))
def test_a_malformed_header_is_one_line(path, name):
    rewrite(path, HEADERS[name])
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path, TREE)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


BODIES = {
    "empty": lambda body: b"",
    "short": lambda body: body[:-3],
    "long": lambda body: body + b"x",
    "noise": lambda body: bytes(range(256)),
    "pickle": lambda body: b"\x80\x04N.",
    "twice": lambda body: body + body,
}


@pytest.mark.parametrize("name", list(BODIES))
def test_a_malformed_body_is_one_line(path, name):
    rewrite(path, lambda header: None, BODIES[name])
    assert read_checkpoint_header(path)["step"] == 4
    with pytest.raises(CheckpointError, match="is malformed: its leaves cannot be read") as caught:
        load_checkpoint(path, TREE)
    assert "\n" not in str(caught.value)


def test_rewriting_alone_breaks_nothing(path):
    rewrite(path, lambda header: None)
    np.testing.assert_array_equal(load_checkpoint(path, TREE).tree["a"], TREE["a"])


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_types_that_numpy_does_not_know(tmp_path, dtype, shape):
    values = jnp.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    tree = {"jax": values, "numpy": np.asarray(values), "behind": np.arange(2)}
    save_checkpoint(tmp_path / "file", tree, step=0)
    back = load_checkpoint(tmp_path / "file", tree).tree
    assert isinstance(back["jax"], jax.Array)
    assert isinstance(back["numpy"], np.ndarray)
    for name in ("jax", "numpy"):
        assert (back[name].dtype, back[name].shape) == (values.dtype, shape)
        assert np.asarray(back[name]).tobytes() == np.asarray(values).tobytes()
    np.testing.assert_array_equal(back["behind"], [0, 1])


@pytest.mark.parametrize(
    "array",
    [np.array([1.5, 2], ">f8"), np.array(["ab", "c"]), np.array(["2020-01-01"], "M8[D]")],
    ids=["big endian", "text", "dates"],
)
def test_types_that_only_numpy_knows(tmp_path, array):
    save_checkpoint(tmp_path / "file", {"a": array}, step=0)
    back = load_checkpoint(tmp_path / "file", {"a": array}).tree["a"]
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("dtype", [[("x", float), ("n", int)], "V4"])
def test_types_that_cannot_be_kept_are_refused_by_name(tmp_path, dtype):
    with pytest.raises(ValueError, match=r"\['odd'\]\[0\] is an array of .* cannot hold"):
        save_checkpoint(tmp_path / "file", {"odd": [np.zeros(2, dtype)]}, step=0)
    assert list(tmp_path.iterdir()) == []
