"""Which leaves of a model train."""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

import equinox as eqx
import jax
from jaxtyping import PyTree

from ..models.dynamics import is_fixed

Trainable: TypeAlias = Callable[[Any], Any] | PyTree | None


class _Place:
    """Stands for a leaf of the model, so that a selecting function can be asked what it picks."""

    def __init__(self, index: int):
        self.index = index


def leaf_names(tree: PyTree) -> list[str]:
    """The path of every leaf as one would write it behind the model: `.W_z`, `.cells[0].bias`."""
    return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]


def trainable_leaves(model: PyTree, trainable: Trainable = None) -> PyTree[bool]:
    """A pytree like the model with `True` at every leaf that trains.

    **Arguments:**

    - `model`: any pytree of modules, containers and arrays.
    - `trainable`: `None` for every floating-point array except those declared with
      `neurosim.models.fixed_field`; a function that returns the leaves or submodules that train,
      `lambda model: (model.L, model.R)` (a leaf named so trains even if it is fixed, a submodule
      brings the leaves that train by default); or a pytree of booleans like the model.

    **Returns:** a pytree of `bool`, of the structure of `model`.

    **Raises:** `ValueError` if nothing is selected, or something that cannot train.
    """
    entries, structure = jax.tree_util.tree_flatten_with_path(model)
    default = [
        eqx.is_inexact_array(leaf) and not _declared_fixed(model, path) for path, leaf in entries
    ]
    if trainable is None:
        chosen = default
    elif _is_filter(trainable):
        chosen = _from_filter(model, trainable)
    elif callable(trainable):
        chosen = _from_function(structure, default, trainable)
    else:
        raise ValueError(
            f"trainable must be None, a function of the model or a pytree of booleans like it, "
            f"got {type(trainable).__name__}."
        )
    for (path, leaf), wanted in zip(entries, chosen):
        if wanted and not eqx.is_inexact_array(leaf):
            kind = f"{leaf.dtype} array" if eqx.is_array(leaf) else type(leaf).__name__
            raise ValueError(
                f"{jax.tree_util.keystr(path)} cannot be trained: it is a {kind}, and training "
                "needs floating-point arrays."
            )
    if not any(chosen):
        raise ValueError("Nothing to train: no floating-point array of the model is selected.")
    return jax.tree_util.tree_unflatten(structure, chosen)


def _declared_fixed(model: Any, path: tuple[Any, ...]) -> bool:
    node = model
    for key in path:
        if isinstance(key, jax.tree_util.GetAttrKey):
            if dataclasses.is_dataclass(node):
                fields = {field.name: field for field in dataclasses.fields(node)}
                if key.name in fields and is_fixed(fields[key.name]):
                    return True
            node = getattr(node, key.name)
        elif isinstance(key, jax.tree_util.SequenceKey):
            node = node[key.idx]
        elif isinstance(key, jax.tree_util.DictKey):
            node = node[key.key]
        else:
            # A container that JAX cannot see into by name has no declared fields either.
            return False
    return False


def _is_filter(trainable: Any) -> bool:
    leaves = jax.tree.leaves(trainable)
    return bool(leaves) and all(isinstance(leaf, bool) for leaf in leaves)


def _from_filter(model: Any, trainable: PyTree[bool]) -> list[bool]:
    try:
        full = jax.tree.map(lambda flag, part: jax.tree.map(lambda _: flag, part), trainable, model)
    except ValueError as error:
        raise ValueError(
            f"trainable, a pytree of booleans, must have the structure of the model: {error}"
        ) from error
    return jax.tree.leaves(full)


def _from_function(
    structure: Any, default: list[bool], trainable: Callable[[Any], Any]
) -> list[bool]:
    places = [_Place(index) for index in range(len(default))]
    picked = trainable(jax.tree_util.tree_unflatten(structure, places))
    chosen = [False] * len(default)
    for node in picked if isinstance(picked, (tuple, list)) else (picked,):
        if isinstance(node, _Place):
            chosen[node.index] = True
            continue
        for leaf in jax.tree.leaves(node):
            if not isinstance(leaf, _Place):
                raise ValueError(
                    "The function given as trainable must return leaves or submodules of the "
                    f"model, but returned {leaf!r}."
                )
            chosen[leaf.index] = default[leaf.index]
    return chosen
