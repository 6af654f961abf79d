"""SOFO as a direction, for Optax and for loops of one's own."""

from collections.abc import Callable
from typing import Any, NamedTuple

import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .sketch_solver import SketchStep, combine_tangents
from .sofo import SOFO, SketchFunction


def value_and_direction(
    sketch_fn: SketchFunction, sofo: SOFO
) -> Callable[[PyTree, PRNGKeyArray], tuple[Float[Array, ""], PyTree, SketchStep]]:
    """The loss and SOFO's direction, in place of `jax.value_and_grad`.

    The direction has the form and the sign of a gradient. Of `sofo` the number of tangents, their
    sampler, the damping and the power are used.

    **Arguments:**

    - `sketch_fn`: `(params, tangents) -> Sketch`.
    - `sofo`: a `SOFO`.

    **Returns:** a function of parameters and key to the loss, the direction, and a `SketchStep`.
    """

    def evaluate(params: PyTree, key: PRNGKeyArray) -> tuple[Float[Array, ""], PyTree, SketchStep]:
        tangents = sofo.tangents.sample(key, params, sofo.n_tangents)
        found = sketch_fn(params, tangents)
        solved = sofo.solve(found, sofo.damping)
        return found.loss, combine_tangents(tangents, solved.coefficients), solved

    return evaluate


class SOFODirectionState(NamedTuple):
    """The loss at the last update, before it."""

    loss: Any


def sofo_direction(sofo: SOFO) -> optax.GradientTransformationExtraArgs:
    """SOFO's direction as the first link of an Optax chain.

    It needs no gradients but the forward function, and a key:

    ```python
    chain = optax.chain(sofo_direction(SOFO(64)), optax.sgd(0.1, momentum=0.9))
    updates, state = chain.update(None, state, params, sketch_fn=sketch_fn, key=key)
    ```

    Links after it must not rescale entry by entry, as `optax.scale_by_adam` does. Inside `fit`,
    hand the rest of the chain to `SOFO(optimizer=...)`.

    **Arguments:** as in `value_and_direction`.

    **Raises:** `ValueError` from `init` for parameters SOFO cannot train, and from `update` without
    parameters.
    """

    def init(params: PyTree) -> SOFODirectionState:
        return SOFODirectionState(sofo.init(params).damping * 0)

    def update(
        updates: Any,
        state: SOFODirectionState,
        params: PyTree = None,
        *,
        sketch_fn: SketchFunction,
        key: PRNGKeyArray,
        **others: Any,
    ) -> tuple[PyTree, SOFODirectionState]:
        del updates, state, others
        if params is None:
            raise ValueError(
                "sofo_direction needs the parameters: chain.update(None, state, params)."
            )
        loss, direction, _ = value_and_direction(sketch_fn, sofo)(params, key)
        return direction, SOFODirectionState(loss)

    # Its update has arguments that Optax's own type does not name.
    return optax.GradientTransformationExtraArgs(init, update)  # pyright: ignore[reportArgumentType]
