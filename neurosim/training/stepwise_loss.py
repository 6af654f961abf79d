"""Losses that are sums over time steps, so that a run need not be kept to compute them."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array

from ..tasks import Trials

#: `(outputs, targets, mask) -> scalar`, of arrays `(trial, output)` at one step or with time too.
Term: TypeAlias = Callable[[Array, Array, Array], Any]
#: The whole mask, `(trial, time, output)`, to what the sum is divided by.
Weight: TypeAlias = Callable[[Array], Any]


class StepTerm(NamedTuple):
    """One term of a loss: `factor * sum_t term(y_t, target_t, mask_t) / weight(mask)`."""

    factor: Any
    term: Term
    weight: Weight


def stepwise(term: Term, weight: Weight) -> Callable[[Callable], Callable]:
    """Mark a loss as a sum over time steps.

    Rules that go through time once, as `SOFO` does, then need no memory for the length of trials.

    ```python
    def log_cosh(y, target, mask):
        return jnp.sum(mask * jnp.log(jnp.cosh(y - target)))


    @stepwise(log_cosh, weight=jnp.sum)
    def mean_log_cosh(trajectory, trials):
        whole = log_cosh(trajectory.outputs, trials.targets, trials.mask)
        return whole / jnp.sum(trials.mask)
    ```

    **Arguments:**

    - `term`: of outputs, targets and mask, `(trial, output)` each, at one step.
    - `weight`: the whole mask, `(trial, time, output)`, to what the sum is divided by.

    **Returns:** a decorator, which leaves the loss as it is. That the two agree is up to you.

    **Raises:** `ValueError` for what is not a plain function.
    """

    def marked(loss: Callable) -> Callable:
        if not inspect.isfunction(loss):
            raise ValueError(f"stepwise marks plain functions, got {type(loss).__name__}.")
        loss.step_terms = (StepTerm(1.0, term, weight),)
        return loss

    return marked


def step_terms(loss: Any) -> tuple[StepTerm, ...] | None:
    """The terms of a loss that was marked with `stepwise`, or of a weighted sum of such; else
    `None`."""
    return getattr(loss, "step_terms", None)


def share_of_a_step(
    terms: tuple[StepTerm, ...], trials: Trials
) -> Callable[[Array, tuple[Array, Array]], Any]:
    """The share of one step in the loss of trials: `(outputs, (targets, mask)) -> scalar`."""
    mask = jnp.broadcast_to(trials.mask, trials.targets.shape)
    scales = []
    for factor, _, weight in terms:
        whole = jnp.asarray(weight(mask))
        # A mask of zeros asks for nothing, and its loss is 0.
        scales.append(factor / jnp.where(whole != 0, whole, 1))

    def share(outputs: Array, at: tuple[Array, Array]) -> Any:
        first, *rest = (scale * t.term(outputs, *at) for scale, t in zip(scales, terms))
        return sum(rest, first)

    return share
