"""Parameters that a second-order rule cannot train."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .trainable import leaf_names


def check_leaves(rule: str, params: PyTree) -> None:
    """Refuse parameters that are not real arrays of one precision, in the name of `rule`.

    **Raises:** `ValueError` that names the leaf.
    """
    leaves = jax.tree.leaves(params)
    if not leaves:
        raise ValueError(f"{rule} needs at least one trainable leaf, and the parameters have none.")
    for name, leaf in zip(leaf_names(params), leaves):
        if not eqx.is_array(leaf):
            raise ValueError(f"{rule} trains arrays; {name} is a {type(leaf).__name__}.")
        dtype = jnp.result_type(leaf)
        if not jnp.issubdtype(dtype, jnp.floating):
            raise ValueError(
                f"{rule} trains real floating-point parameters; {name} is {dtype.name}."
            )
    dtypes = {leaf.dtype for leaf in leaves}
    if len(dtypes) > 1 or not dtypes <= {np.dtype(np.float32), np.dtype(np.float64)}:
        raise ValueError(
            f"{rule} needs parameters of one precision, float32 or float64; got "
            f"{', '.join(sorted(d.name for d in dtypes))}."
        )
