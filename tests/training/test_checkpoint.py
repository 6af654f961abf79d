import os
import random
import subprocess
import sys
import textwrap
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_circuits import assert_same_bits

from neurosim.training import (
    CheckpointError,
    load_checkpoint,
    read_checkpoint_header,
    save_checkpoint,
    write_json_atomic,
    write_text_atomic,
)


class Pair(eqx.Module):
    A: Any
    B: Any


class Reordered(eqx.Module):
    B: Any
    A: Any


@pytest.fixture
def pair(tmp_path):
    path = tmp_path / "pair"
    save_checkpoint(path, Pair(jnp.ones((2, 3)), jnp.full((2, 3), 2.0)), step=4)
    return path


def test_leaves_are_matched_by_name(pair):
    like = Reordered(B=jnp.zeros((2, 3)), A=jnp.zeros((2, 3)))
    tree = load_checkpoint(pair, like).tree
    assert isinstance(tree, Reordered)
    np.testing.assert_array_equal(tree.A, 1)
    np.testing.assert_array_equal(tree.B, 2)


def test_a_mismatch_names_field_and_shapes(pair):
    message = r"field \.B is stored with shape \(2, 3\), and shape \(2, 5\) is expected"
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(pair, Pair(jnp.zeros((2, 3)), jnp.zeros((2, 5))))
    with pytest.raises(CheckpointError, match=r"field \.A is stored with dtype float32, and .*int"):
        load_checkpoint(pair, Pair(jnp.zeros((2, 3), int), jnp.zeros((2, 3))))
    with pytest.raises(CheckpointError, match=r"has no field \['A'\]; it holds \.A, \.B"):
        load_checkpoint(pair, {"A": jnp.zeros((2, 3))})
    with pytest.raises(CheckpointError, match=r"holds \.B, which the model .* does not have"):
        load_checkpoint(pair, Pair(jnp.zeros((2, 3)), None))
    with pytest.raises(CheckpointError, match=r"\.B is stored with shape"):
        load_checkpoint(pair, Pair(jnp.zeros((2, 3)), 1.0))


@pytest.mark.parametrize("double", [False, True])
def test_every_kind_of_leaf_comes_back(tmp_path, double):
    with jax.enable_x64(double):
        tree = {
            "jax": jax.random.normal(jax.random.key(0), (3,)),
            "half": jnp.arange(3, dtype=jnp.bfloat16),
            "integer": jnp.arange(3),
            "flag": jnp.array(True),
            "empty": jnp.zeros((0, 2)),
            "numpy": np.array([0.1, np.nan, -0.0]),
            "key": jax.random.split(jax.random.key(5), 2),
            "other key": jax.random.key(5, impl="rbg"),
            "number": 0.1,
            "count": 3,
            "yes": True,
            "function": jnp.tanh,
            "none": None,
        }
        path = tmp_path / "all"
        save_checkpoint(path, tree, step=12, key=jax.random.key(9), config={"a": [1, 2.5]})
        like = {**tree, "jax": jnp.zeros(3), "numpy": np.zeros(3), "number": 0.5}
        loaded = load_checkpoint(path, like)
        back = loaded.tree
    assert back["function"] is jnp.tanh
    assert back["none"] is None
    assert (back["number"], back["count"], back["yes"]) == (0.1, 3, True)
    assert isinstance(back["numpy"], np.ndarray)
    for name in ("key", "other key"):
        assert back[name].dtype == tree[name].dtype
        np.testing.assert_array_equal(
            jax.random.key_data(back.pop(name)), jax.random.key_data(tree.pop(name))
        )
    assert_same_bits(back, tree)
    assert (loaded.step, loaded.config) == (12, {"a": [1, 2.5]})
    assert loaded.key == jax.random.key(9)


def test_the_file_records_versions_precision_and_prng(pair):
    header = read_checkpoint_header(pair)
    assert header["step"] == 4
    environment = header["environment"]
    assert environment["jax"] == jax.__version__
    assert environment["precision"] == "float32"
    assert environment["prng"] == "threefry2x32"


def test_another_default_prng_gives_the_same_bits_or_is_refused(tmp_path):
    typed, old = tmp_path / "typed", tmp_path / "old"
    key = jax.random.key(3)
    save_checkpoint(typed, {}, step=0, key=key)
    save_checkpoint(old, {}, step=0, key=jax.random.PRNGKey(3))
    expected = np.asarray(jax.random.normal(key, (4,)))
    with jax.default_prng_impl("rbg"):
        back = load_checkpoint(typed, {}).key
        assert np.asarray(jax.random.normal(back, (4,))).tobytes() == expected.tobytes()
        with pytest.raises(CheckpointError, match="threefry2x32, and this process has rbg"):
            load_checkpoint(old, {})
    np.testing.assert_array_equal(load_checkpoint(old, {}).key, jax.random.PRNGKey(3))
    save_checkpoint(typed, {"k": key}, step=0)
    with pytest.raises(CheckpointError, match=r"\['k'\] is stored with dtype key<fry>"):
        load_checkpoint(typed, {"k": jax.random.key(3, impl="rbg")})


def test_double_precision_is_not_read_as_single(tmp_path):
    path = tmp_path / "double"
    with jax.enable_x64(True):
        save_checkpoint(path, {"w": jnp.ones(2)}, step=0)
    with pytest.raises(CheckpointError, match="JAX_ENABLE_X64=1 is needed"):
        load_checkpoint(path, {"w": jnp.ones(2)})


def damaged(content, how):
    if how == "flipped":
        return [
            content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :] for i in range(len(content))
        ]
    if how == "truncated":
        return [content[:n] for n in range(0, len(content), 7)]
    return [b"", b"\x93NUMPY", b"hello\n", content + b"x", os.urandom(500)]


@pytest.mark.parametrize("how", ["flipped", "truncated", "foreign"])
def test_damage_anywhere_is_one_line(pair, how):
    like = Pair(jnp.zeros((2, 3)), jnp.zeros((2, 3)))
    for content in damaged(pair.read_bytes(), how):
        pair.write_bytes(content)
        with pytest.raises(CheckpointError) as caught:
            load_checkpoint(pair, like)
        message = str(caught.value)
        assert "\n" not in message
        assert str(pair) in message
        assert "needed" in message or "format" in message


def test_no_file_and_no_file_either(tmp_path):
    with pytest.raises(CheckpointError, match="There is no checkpoint at"):
        load_checkpoint(tmp_path / "none", {})
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_checkpoint(tmp_path, {})


def test_pickles_are_neither_written_nor_read(tmp_path):
    with pytest.raises(ValueError, match="Python objects"):
        save_checkpoint(tmp_path / "objects", {"o": np.array([{}, {}])}, step=0)
    with pytest.raises(ValueError, match="form in JSON"):
        save_checkpoint(tmp_path / "config", {}, step=0, config={"o": object()})
    assert list(tmp_path.iterdir()) == []


def test_atomic_files(tmp_path):
    path = tmp_path / "note.json"
    write_json_atomic(path, {"a": 1})
    with pytest.raises(ValueError, match=r"note\.json cannot be written as JSON"):
        write_json_atomic(path, {"a": float("nan")})
    assert path.read_text() == '{\n  "a": 1\n}\n'
    write_text_atomic(path, "τ")
    assert path.read_text(encoding="utf-8") == "τ"
    assert [p.name for p in tmp_path.iterdir()] == ["note.json"]


WRITER = """
    import sys

    import numpy as np

    from neurosim.training import save_checkpoint

    path = sys.argv[1]
    step = 0
    while True:
        step += 1
        tree = {"a": np.full(30_000, step), "b": np.full(30_000, -step)}
        save_checkpoint(path, tree, step=step)
        if step == 1:
            print("writing", flush=True)
"""


def test_a_kill_in_the_middle_of_writing_leaves_a_readable_checkpoint(tmp_path):
    script = tmp_path / "writer.py"
    script.write_text(textwrap.dedent(WRITER))
    like = {"a": np.zeros(30_000, int), "b": np.zeros(30_000, int)}
    moments = random.Random(0)

    def start(index):
        command = [sys.executable, str(script), str(tmp_path / f"checkpoint{index}")]
        return subprocess.Popen(command, stdout=subprocess.PIPE)

    unfinished, steps = 0, set()
    n_kills = 20
    writers = [start(0), start(1)]
    try:
        for index in range(n_kills):
            writer = writers[index]
            assert writer.stdout is not None
            # The next ones load their libraries meanwhile.
            if index + 2 < n_kills:
                writers.append(start(index + 2))
            assert writer.stdout.readline() == b"writing\n"
            time.sleep(moments.uniform(0, 0.05))
            writer.kill()
            writer.wait()
            writer.stdout.close()
            path = tmp_path / f"checkpoint{index}"
            found = load_checkpoint(path, like)
            assert found.step >= 1
            np.testing.assert_array_equal(found.tree["a"], found.step)
            np.testing.assert_array_equal(found.tree["b"], -found.step)
            unfinished += path.with_name(f".{path.name}.tmp").exists()
            steps.add(found.step)
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()
    # Some of the kills did hit a file that was being written.
    assert unfinished > 0
    assert len(steps) > 1
