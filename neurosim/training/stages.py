"""Training one part of a model after another, within one optimiser."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array


class StagedState(NamedTuple):
    """Number of updates done, and the state of the optimiser within."""

    count: Array
    inner: Any


def staged(
    optimizer: optax.GradientTransformation,
    stages: Sequence[tuple[int, Callable[[Any], Any] | None]],
) -> optax.GradientTransformation:
    """Let an optimiser move only some parameters at a time.

    In each stage the gradients of all others are zero, and so are their updates, weight decay
    included. The optimiser's own state runs through: it is not started anew between stages.

    **Arguments:**

    - `optimizer`: any Optax optimiser.
    - `stages`: pairs of a number of updates and the leaves that move during them: a function from
      the parameters to a tuple of leaves, or `None` for all. The last stage goes on for good.

    **Returns:** an Optax optimiser.

    **Raises:** `ValueError` for no stages, or one of less than one update.

    **Reference:** the training of the timing networks in Costacurta et al. (2024).

    ```python
    staged(optax.adam(1e-2), [(1000, lambda m: (m.L, m.R)), (1000, None)])
    ```
    """
    if not stages:
        raise ValueError("staged needs at least one stage.")
    if any(steps < 1 for steps, _ in stages):
        raise ValueError("every stage needs at least one update.")
    ends = [sum(steps for steps, _ in stages[: i + 1]) for i in range(len(stages) - 1)]

    def weights(params, stage):
        """1.0 for each leaf that moves in this stage, else 0.0, as a pytree like `params`."""
        ones = jax.tree.map(lambda _: 1.0, params)
        moves = []
        for _, where in stages:
            if where is None:
                moves.append(ones)
            else:
                zeros = jax.tree.map(lambda _: 0.0, params)
                chosen = where(params)
                n = len(chosen) if isinstance(chosen, (tuple, list)) else 1
                new = (1.0,) * n if isinstance(chosen, (tuple, list)) else 1.0
                moves.append(eqx.tree_at(where, zeros, new))
        return jax.tree.map(lambda *w: jnp.asarray(w)[stage], *moves)

    def init(params):
        return StagedState(jnp.zeros((), jnp.int32), optimizer.init(params))

    def update(updates, state, params=None):
        if params is None:
            raise ValueError("staged needs the parameters: call update(updates, state, params).")
        stage = jnp.sum(state.count >= jnp.asarray(ends, jnp.int32))
        moving = weights(params, stage)

        def hold(tree):
            return jax.tree.map(lambda u, w: jnp.where(w > 0, u, jnp.zeros_like(u)), tree, moving)

        updates, inner = optimizer.update(hold(updates), state.inner, params)
        return hold(updates), StagedState(state.count + 1, inner)

    return optax.GradientTransformation(init, update)
