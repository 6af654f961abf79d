from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from tiny_circuits import TinyRNN

from neurosim.models import fixed_field
from neurosim.training import trainable_leaves
from neurosim.training.trainable import leaf_names


class Cell(eqx.Module):
    weight: Any
    tau: Any = fixed_field()


class Nested(eqx.Module):
    cells: Any
    named: Any
    count: Any
    start: Any = fixed_field()
    name: str = eqx.field(static=True, default="nested")


@pytest.fixture
def model():
    def cell():
        return Cell(jnp.ones(2), jnp.ones(()))

    return Nested([cell(), (cell(), cell())], {"a": cell()}, jnp.arange(3), {"x": jnp.zeros(2)})


def chosen(model, trainable=None):
    flags = trainable_leaves(model, trainable)
    assert jax.tree.structure(flags) == jax.tree.structure(model)
    return {n for n, flag in zip(leaf_names(model), jax.tree.leaves(flags)) if flag}


def test_fixed_fields_are_left_alone_at_any_depth(model):
    assert chosen(model) == {
        ".cells[0].weight",
        ".cells[1][0].weight",
        ".cells[1][1].weight",
        ".named['a'].weight",
    }
    assert chosen(TinyRNN.init(jax.random.key(0))) == {".W", ".B", ".C"}


def test_a_function_names_the_leaves(model):
    assert chosen(model, lambda m: m.cells[0].tau) == {".cells[0].tau"}
    assert chosen(model, lambda m: (m.cells[0].weight, m.start["x"])) == {
        ".cells[0].weight",
        ".start['x']",
    }


def test_a_function_names_submodules(model):
    # A submodule brings what trains by default; a fixed leaf must be named itself.
    assert chosen(model, lambda m: m.named["a"]) == {".named['a'].weight"}
    assert chosen(model, lambda m: (m.cells[1], m.named["a"].tau)) == {
        ".cells[1][0].weight",
        ".cells[1][1].weight",
        ".named['a'].tau",
    }


def test_a_pytree_of_booleans(model):
    flags = jax.tree.map(lambda _: False, model)
    flags = eqx.tree_at(lambda m: m.cells[0].weight, flags, True)
    assert chosen(model, flags) == {".cells[0].weight"}
    with pytest.raises(ValueError, match="structure of the model"):
        trainable_leaves(model, [True, False])


def test_what_cannot_train_is_refused(model):
    with pytest.raises(ValueError, match=r"\.count cannot be trained: it is a int32 array"):
        trainable_leaves(model, lambda m: m.count)
    with pytest.raises(ValueError, match="Nothing to train"):
        trainable_leaves(model, jax.tree.map(lambda _: False, model))
    with pytest.raises(ValueError, match="leaves or submodules"):
        trainable_leaves(model, lambda m: m.name)
    with pytest.raises(ValueError, match="pytree of booleans"):
        trainable_leaves(model, 3.0)
