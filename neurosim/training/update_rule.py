"""The door for optimisers: an objective in two halves, and a rule that lowers it."""

import abc
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import optax
from jaxtyping import PRNGKeyArray, PyTree

from .recurrence import Recurrence


class Objective(eqx.Module):
    """What one update lowers, as the composition `loss(outputs(params))`.

    A first-order rule differentiates the composition. A second-order rule pushes tangents through
    `outputs` and takes the curvature of `loss`, both in the scale they have here, masks and
    weights included. Trials and noise are fixed inside, so calls at different parameters compare.

    - `outputs`: parameters to everything the loss looks at, a pytree of arrays.
    - `loss`: outputs to a scalar.
    - `recurrence`: the same loss as a sum over time, for rules that go through time once and keep
      nothing; `None` where it is no such sum.
    - `project`: what training's constraints make of parameters; `None` without constraints. They
      are kept after the update in any case; a rule that foretells what its step will do must know.
    """

    outputs: Callable[[PyTree], PyTree]
    loss: Callable[[PyTree], Any]
    recurrence: Recurrence | None = None
    project: Callable[[PyTree], PyTree] | None = None

    def __call__(self, params: PyTree) -> Any:
        return self.loss(self.outputs(params))

    def constrained(self) -> "Objective":
        """The same loss of parameters that are projected first: flat along what may not move."""
        project = self.project
        if project is None:
            return self
        recurrence = self.recurrence
        if recurrence is not None:
            recurrence = recurrence.of(project)
        return Objective(lambda p: self.outputs(project(p)), self.loss, recurrence, project)


class UpdateInfo(NamedTuple):
    """What an update tells about itself.

    - `loss`: the objective before the update.
    - `gradient`: pytree like the parameters, watched for values that are not finite; `None` where
      the rule computes none.
    - `diagnostics`: scalars by name, averaged over steps and written with the metrics.
    - `rejected`: whether the rule itself found numbers that are not finite and kept parameters as
      they were. That is no failure, and counts in no mean of the loss.
    - `failed`: for each entry of the rule's `failures`, whether the run must end for it.
    """

    loss: Any
    gradient: PyTree
    diagnostics: dict[str, Any]
    rejected: Any = False
    failed: Any = ()


class UpdateRule(eqx.Module):
    """How parameters change, given an objective. Must be traceable.

    `failures` are the reasons for which the rule itself may end a run.
    """

    failures: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def init(self, params: PyTree) -> PyTree:
        """The rule's state before the first update: a pytree of arrays."""

    @abc.abstractmethod
    def update(
        self, objective: Objective, params: PyTree, state: PyTree, key: PRNGKeyArray
    ) -> tuple[PyTree, PyTree, UpdateInfo]:
        """New parameters, new state, and what to tell about the step.

        `params` holds `None` wherever the model has a leaf that does not train.
        """


class OptaxRule(UpdateRule):
    """Any Optax optimiser, on the gradient by reverse mode.

    Optimisers that ask for more than the gradient, such as `optax.lbfgs` or
    `optax.contrib.reduce_on_plateau`, are given the value, the gradient and the objective.

    **Arguments:**

    - `optimizer`: an `optax.GradientTransformation`, with clipping and schedules chained in.
    """

    optimizer: optax.GradientTransformation

    def init(self, params: PyTree) -> PyTree:
        return self.optimizer.init(params)

    def update(
        self, objective: Objective, params: PyTree, state: PyTree, key: PRNGKeyArray
    ) -> tuple[PyTree, PyTree, UpdateInfo]:
        loss, gradient = eqx.filter_value_and_grad(objective)(params)
        updates, state = optax.with_extra_args_support(self.optimizer).update(
            gradient, state, params, value=loss, grad=gradient, value_fn=objective
        )
        info = UpdateInfo(loss, gradient, {"gradient_norm": optax.tree.norm(gradient)})
        return optax.apply_updates(params, updates), state, info


def as_update_rule(optimizer: Any) -> UpdateRule:
    """An update rule as it is; an Optax optimiser wrapped in `OptaxRule`.

    **Raises:** `ValueError` for anything else.
    """
    if isinstance(optimizer, UpdateRule):
        return optimizer
    if isinstance(optimizer, optax.GradientTransformation):
        return OptaxRule(optimizer)
    raise ValueError(
        "optimizer must be an optax.GradientTransformation, such as optax.adam(1e-3), or an "
        f"UpdateRule; got {called(optimizer)}."
    )


def called(value: Any) -> str:
    """What a value is, for an error: a class or function is often given where a call was meant."""
    if isinstance(value, type) or inspect.isroutine(value):
        kind = "class" if isinstance(value, type) else "function"
        return f"the {kind} {value.__name__} itself: call it"
    return type(value).__name__
