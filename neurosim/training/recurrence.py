"""A loss over trials as a recurrence, for rules that go through time once and keep nothing."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ..kernels.tangents import push_tangents
from .sketch import Sketch, sketch_scan


class Recurrence(eqx.Module):
    """A loss that is a sum over the steps of a recurrence.

    - `prepare`: parameters to what a step needs of them; once a run.
    - `init`: prepared parameters to the state of all trials before the first step.
    - `step`: `(prepared, state, x) -> (state, y)`.
    - `share`: `(y, target) -> scalar`, a step's share of the loss.
    - `xs`, `targets`: pytrees with time as the first axis.
    """

    prepare: Callable[[PyTree], PyTree]
    init: Callable[[PyTree], PyTree]
    step: Callable[[PyTree, PyTree, PyTree], tuple[PyTree, PyTree]]
    share: Callable[[PyTree, PyTree], Any]
    xs: PyTree
    targets: PyTree

    def of(self, before: Callable[[PyTree], PyTree]) -> "Recurrence":
        """The recurrence of parameters that go through `before` first."""
        prepare = self.prepare
        return dataclasses.replace(self, prepare=lambda params: prepare(before(params)))

    def loss(self, params: PyTree) -> Float[Array, ""]:
        """The loss alone."""
        prepared = self.prepare(params)

        def body(carry: Any, at: Any) -> tuple[Any, None]:
            state, total = carry
            x, target = at
            state, y = self.step(prepared, state, x)
            return (state, total + self.share(y, target)), None

        start = (self.init(prepared), jnp.zeros((), jnp.result_type(float)))
        (_, total), _ = jax.lax.scan(body, start, (self.xs, self.targets))
        return total

    def sketch(self, params: PyTree, tangents: PyTree, *, chunk_size: int | None = None) -> Sketch:
        """The loss along tangents, see `sketch_scan`."""
        prepared, moving = push_tangents(
            self.prepare, (params,), (tangents,), chunk_size=chunk_size
        )
        return sketch_scan(
            self.step,
            self.share,
            self.init,
            prepared,
            moving,
            self.xs,
            self.targets,
            chunk_size=chunk_size,
        )
