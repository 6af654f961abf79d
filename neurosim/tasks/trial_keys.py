"""One random key for each trial of a batch."""

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray


def check_batch_size(batch_size: Any) -> int:
    """The number of trials as a Python `int`, from an integer of any kind.

    **Raises:** `ValueError` for an empty batch, or what is no whole number, as one that is traced.
    """
    try:
        size = operator.index(batch_size)
    except TypeError:
        raise ValueError(
            f"batch_size must be a whole number, and static under jit, got {batch_size!r}."
        ) from None
    if size < 1:
        raise ValueError(f"empty batch: batch_size must be at least 1, got {size}.")
    return size


def trial_keys(key: PRNGKeyArray, batch_size: int | np.integer) -> Array:
    """Keys for `batch_size` trials; the key of trial i does not depend on the batch size.

    **Arguments:**

    - `key`: the key of the batch.
    - `batch_size`: how many trials, at least 1.

    **Returns:** keys with the trial as their first axis.

    **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
    """
    # `jax.random.split` promises nothing about its first keys when their number changes.
    trials = jnp.arange(check_batch_size(batch_size))
    return jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, trials)
