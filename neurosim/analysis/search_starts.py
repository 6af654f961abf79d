"""States and inputs as searches among them are given, and what the dynamics makes of one."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from .activity import refuse_masked


def read_many(given: PyTree, name: str, of: str) -> tuple[PyTree, np.ndarray]:
    """States or inputs as JAX arrays of one floating type, and flat as `(of, n)`.

    **Arguments:**

    - `given`: arrays whose first axis is that of states, or of inputs.
    - `name`: what to call them in an error. `of`: what to call one of them.

    **Raises:** `ValueError` for none, for those that are masked, complex or not finite, and for
    arrays that disagree in number.
    """
    leaves = jax.tree.leaves(given)
    if len(leaves) == 0:
        raise ValueError(f"{name} is empty: it holds no arrays.")
    for leaf in leaves:
        refuse_masked(leaf, name)
    shapes = [np.shape(leaf) for leaf in leaves]
    counts = {shape[0] if shape else None for shape in shapes}
    if len(counts) > 1 or None in counts:
        raise ValueError(
            f"every array in {name} must have the {of}s as its first axis, the same number of "
            f"them; got shapes {shapes}."
        )
    if 0 in counts or all(math.prod(shape) == 0 for shape in shapes):
        raise ValueError(f"{name} is empty: its shapes are {shapes}.")
    arrays = jax.tree.map(jnp.asarray, given)
    if any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in jax.tree.leaves(arrays)):
        raise ValueError(f"{name} must be real: split complex ones into real and imaginary part.")
    # At least float32: there is no factorisation in half precision.
    dtype = jnp.promote_types(jnp.result_type(1.0, *jax.tree.leaves(arrays)), jnp.float32)
    arrays = jax.tree.map(lambda leaf: leaf.astype(dtype), arrays)
    x = np.asarray(jax.vmap(lambda state: ravel_pytree(state)[0])(arrays))
    x = x.reshape(len(x), -1)
    bad = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if len(bad) > 0:
        raise ValueError(
            f"{name} must be finite: {len(bad)} of {len(x)} are not, the first is {of} {bad[0]}."
        )
    return arrays, x


def check_dynamics(dynamics: Callable[..., PyTree], state: PyTree, *held: PyTree) -> Any:
    """Refuse a result that is not laid out as the state; return the type to compute in.

    **Arguments:**

    - `dynamics`: of one state, and of the input that is `held` where there is one.

    **Raises:** `ValueError` where it cannot take that, or returns something else than a state.
    """

    def layout(tree: PyTree) -> Any:
        return jax.tree.map(lambda leaf: tuple(leaf.shape), tree)

    try:
        result = jax.eval_shape(dynamics, state, *held)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        with_input = "".join(f" and one input of shape {layout(u)}" for u in held)
        reason = (str(error).strip().splitlines() or [repr(error)])[0]
        raise ValueError(
            f"dynamics cannot take one state of shape {layout(state)}{with_input}, written in "
            f"jax.numpy: {reason} (starts are (start, n): reshape trials and time into one axis)."
        ) from error

    if jax.tree.structure(result) != jax.tree.structure(state) or layout(result) != layout(state):
        raise ValueError(
            "dynamics must return what it is given, one state without a start axis: given shapes "
            f"{layout(state)}, it returned {layout(result)}."
        )
    leaves = jax.tree.leaves(result)
    if any(not jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves):
        raise ValueError(
            f"dynamics must return real floating-point numbers, got {[l.dtype for l in leaves]}."
        )
    return jnp.result_type(*jax.tree.leaves((state, *held)), *leaves)


def lay_out(template: PyTree, flat: np.ndarray) -> PyTree:
    """Flat states or inputs `(of, n)`, NumPy, each in the layout of the template."""
    _, unravel = ravel_pytree(template)
    return jax.tree.map(np.asarray, jax.vmap(unravel)(jnp.asarray(flat)))
