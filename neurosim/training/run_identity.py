"""What makes two training runs the same run."""

import contextlib
import hashlib
import re
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .checkpoint_leaves import describe_key
from .constraints import Constraint
from .environment import environment
from .schedule import Schedule
from .trainable import leaf_names
from .training_step import TrainingSetup
from .validation import validation_dt


def run_identity(
    setup: TrainingSetup,
    schedule: Schedule,
    initial: PyTree,
    key: Array,
    n_members: int | None,
) -> dict[str, Any]:
    """Everything that has to be equal for a run to be resumed with the same numbers.

    The number of steps is not in it, so that a finished run can be made longer, nor is when it
    validates and saves. Functions and optimisers cannot be compared; put what chooses them into
    `config`.
    """
    conditions = environment()
    names = leaf_names(initial)
    trained = jax.tree.leaves(setup.trainable)
    validation = None
    if schedule.validation is not None:
        dt = validation_dt(setup, schedule.validation)
        validation = {**_describe(schedule.validation), "dt": dt}
    return {
        "config": schedule.config,
        "model": _digests(initial),
        "trainable": [name for name, trains in zip(names, trained) if trains],
        "constraints": [_describe_constraint(one, initial) for one in setup.constraints],
        "task": _describe(setup.source),
        "validation": validation,
        "simulate_options": {k: _describe(v) for k, v in setup.simulate_options.items()},
        "batch_size": setup.batch_size,
        "dt": setup.dt,
        "log_every": schedule.log_every,
        "members": n_members,
        "key": describe_key(key),
        "precision": conditions["precision"],
        "threefry_partitionable": conditions["threefry_partitionable"],
    }


def _describe(value: Any) -> Any:
    """A value in JSON's terms: itself if it is plain, else its form, and digests of its arrays."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {"type": type(value).__name__, "fields": _form(value), **_digests(value)}


def _describe_constraint(constraint: Constraint, model: PyTree) -> dict[str, Any]:
    described = _describe(constraint)
    where = getattr(constraint, "where", None)
    if callable(where):
        # What a function picks can be compared, though the function cannot.
        names = jax.tree.unflatten(jax.tree.structure(model), leaf_names(model))
        # A constraint of the user's may mean something else by it.
        with contextlib.suppress(Exception):
            described["where"] = [str(name) for name in jax.tree.leaves(where(names))]
    return described


def _form(value: Any) -> str:
    """A value's type and fields in one line: functions by name, arrays by shape."""
    text = eqx.tree_pformat(value, width=10**6)
    # Where something lies in memory is another place in every process, and functions made inside
    # of others are named after these.
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return re.sub(r"<function \S*<locals>\.", "<function ", text)


def _digests(tree: PyTree) -> dict[str, str]:
    digests = {}
    for name, leaf in zip(leaf_names(tree), jax.tree.leaves(tree)):
        name = name or "value"
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
