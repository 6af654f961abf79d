"""What makes two training runs the same run."""

import hashlib
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..tasks import Task, Trials
from .checkpoint import describe_key
from .environment import environment
from .trainable import leaf_names
from .training_step import TrainingSetup


def run_identity(
    setup: TrainingSetup,
    initial: PyTree,
    key: Array,
    config: dict[str, Any],
    n_members: int | None,
) -> dict[str, Any]:
    """Everything that has to be equal for a run to be resumed with the same numbers.

    The number of steps is not in it, so that a finished run can be made longer. Functions and
    optimisers cannot be compared; put what chooses them into `config`.
    """
    conditions = environment()
    names = leaf_names(initial)
    trained = jax.tree.leaves(setup.trainable)
    return {
        "config": config,
        "model": _digests(initial),
        "trainable": [name for name, trains in zip(names, trained) if trains],
        "constraints": [type(constraint).__name__ for constraint in setup.constraints],
        "task": _describe_source(setup.source),
        "batch_size": setup.batch_size,
        "dt": setup.dt,
        "members": n_members,
        "key": describe_key(key),
        "precision": conditions["precision"],
        "threefry_partitionable": conditions["threefry_partitionable"],
    }


def _describe_source(source: Task | Trials) -> dict[str, Any]:
    described: dict[str, Any] = {"type": type(source).__name__}
    if isinstance(source, Task):
        described["fields"] = eqx.tree_pformat(source, width=10**6)
    return {**described, **_digests(source)}


def _digests(tree: PyTree) -> dict[str, str]:
    digests = {}
    for name, leaf in zip(leaf_names(tree), jax.tree.leaves(tree)):
        if eqx.is_array(leaf):
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                leaf = jax.random.key_data(leaf)
            content = np.ascontiguousarray(leaf)
            short = hashlib.sha256(content.tobytes()).hexdigest()[:12]
            shape = ", ".join(map(str, content.shape))
            digests[name] = f"{content.dtype}({shape}) with hash {short}"
        elif isinstance(leaf, (bool, int, float, complex)):
            digests[name] = repr(leaf)
    return digests
