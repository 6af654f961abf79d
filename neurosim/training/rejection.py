"""When a second-order step is not taken, and what that does to the damping of the next."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from .levenberg_marquardt import LevenbergMarquardt

#: What a rejected step multiplies the damping by, the least it starts from, and the most.
_RAISE, _LEAST_RAISED, _MOST_RAISED = 10.0, 1e-8, 1e20


def raised_damping(damping: Float[Array, ""]) -> Float[Array, ""]:
    """The damping after a rejected step."""
    return jnp.clip(damping * _RAISE, _RAISE * _LEAST_RAISED, _MOST_RAISED).astype(damping.dtype)


def next_damping(
    damping: Float[Array, ""],
    usual: Any,
    adapt: LevenbergMarquardt | None,
    *,
    actual: Float[Array, ""],
    predicted: Float[Array, ""],
) -> Float[Array, ""]:
    """The damping after a step that was taken: moved by how well its decrease was foretold, or on
    its way back to the `usual` one."""
    if adapt is not None:
        return adapt.adapted(damping, actual, predicted)
    return jnp.maximum(usual, damping * LevenbergMarquardt().down).astype(damping.dtype)


def grew_too_much(
    loss: Float[Array, ""], decrease: Float[Array, ""], largest_increase: float | int
) -> Any:
    """Whether a step would make a loss more than `largest_increase` times what it was.

    For losses of either sign: it may grow by so many times its own size, less one.
    """
    # At a minimum rounding alone goes up half of the time.
    slack = largest_increase - 1 + 10 * jnp.finfo(loss.dtype).eps
    return -decrease > slack * jnp.abs(loss)
