"""Training one part of a model after another."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array


class Stage(NamedTuple):
    """A number of updates, by an optimiser of their own, of some of the parameters.

    - `steps`: number of updates.
    - `optimizer`: any Optax optimiser; its state and its schedule begin with the stage.
    - `where`: a function from the parameters to the leaf, or tuple of leaves, that moves, or `None`
      for all.
    """

    steps: int
    optimizer: optax.GradientTransformation
    where: Callable[[Any], Any] | None = None


class StagedState(NamedTuple):
    """Number of updates done, and the state of each stage's optimiser."""

    count: Array
    inner: tuple[Any, ...]


def staged(stages: Sequence[Stage]) -> optax.GradientTransformationExtraArgs:
    """Stages of training as one Optax optimiser, for one run of `fit`.

    Parameters that do not move in a stage are not touched by it, weight decay included: its
    optimiser sees zero gradients for them, and their updates are zero. Every stage starts its
    optimiser afresh; moments of gradients from before would make its first updates too long.
    Optimisers that ask for the value, the gradient or the objective (`optax.lbfgs`,
    `optax.contrib.reduce_on_plateau`) get them, without a slope along what does not move.

    **Arguments:**

    - `stages`: in order. The last one goes on for as long as it is asked to.

    **Returns:** an Optax optimiser.

    **Raises:** `ValueError` for no stages, or one of less than one update.

    **Reference:** the training of the timing networks in Costacurta et al. (2024).

    ```python
    staged([Stage(1000, optax.adam(1e-2), lambda m: (m.L, m.R)), Stage(1000, optax.adam(1e-3))])
    ```
    """
    if not stages:
        raise ValueError("staged needs at least one stage.")
    if any(stage.steps < 1 for stage in stages):
        raise ValueError("every stage needs at least one update.")
    ends = [sum(stage.steps for stage in stages[: i + 1]) for i in range(len(stages) - 1)]

    def moving(stage, params):
        """`True` for each leaf that moves, as a pytree like `params`."""
        everything = jax.tree.map(lambda _: stage.where is None, params)
        if stage.where is None:
            return everything
        chosen = stage.where(params)
        several = isinstance(chosen, (tuple, list))
        return eqx.tree_at(stage.where, everything, (True,) * len(chosen) if several else True)

    def hold(tree, moves):
        return jax.tree.map(lambda u, m: u if m else jnp.zeros_like(u), tree, moves)

    def init(params):
        inner = tuple(stage.optimizer.init(params) for stage in stages)
        return StagedState(jnp.zeros((), jnp.int32), inner)

    def held_arguments(extra, moves):
        held = dict(extra)
        if "grad" in extra:
            held["grad"] = hold(extra["grad"], moves)
        if "value_fn" in extra:

            def value_fn(params, *args, **kwargs):
                still = jax.lax.stop_gradient(params)
                params = jax.tree.map(lambda p, s, m: p if m else s, params, still, moves)
                return extra["value_fn"](params, *args, **kwargs)

            held["value_fn"] = value_fn
        return held

    def branch(index, extra):
        stage = stages[index]
        optimizer = optax.with_extra_args_support(stage.optimizer)

        def take(updates, inner, params):
            moves = moving(stage, params)
            updates, own = optimizer.update(
                hold(updates, moves), inner[index], params, **held_arguments(extra, moves)
            )
            return hold(updates, moves), (*inner[:index], own, *inner[index + 1 :])

        return take

    def update(updates, state, params=None, **extra):
        if params is None:
            raise ValueError("staged needs the parameters: call update(updates, state, params).")
        index = jnp.sum(state.count >= jnp.asarray(ends, jnp.int32))
        branches = [branch(i, extra) for i in range(len(stages))]
        updates, inner = jax.lax.switch(index, branches, updates, state.inner, params)
        return updates, StagedState(state.count + 1, inner)

    return optax.GradientTransformationExtraArgs(init, update)
