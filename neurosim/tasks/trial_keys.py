"""One random key for each trial of a batch."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray


def trial_keys(key: PRNGKeyArray, batch_size: int) -> Array:
    """Keys for `batch_size` trials; the key of trial i does not depend on the batch size.

    **Arguments:**

    - `key`: the key of the batch.
    - `batch_size`: how many trials, at least 1.

    **Returns:** keys with the trial as their first axis.

    **Raises:** `ValueError` for an empty batch.
    """
    if batch_size < 1:
        raise ValueError(f"empty batch: batch_size must be at least 1, got {batch_size}.")
    # `jax.random.split` promises nothing about its first keys when their number changes.
    return jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, jnp.arange(batch_size))
