"""A run on the fixed grid, one step of all trials at a time, for those who keep nothing of it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .fixed_grid import step_of_grid
from .grid import float_dtype
from .models import Dynamics
from .run_layout import Run, checked_model


class StepwiseRun(NamedTuple):
    """All trials of a run as one recurrence.

    - `init`: the model to the states of all trials, `(batch, ...)`.
    - `step`: `(model, states, x) -> (states, outputs)`.
    - `xs`: what each step is given, with time as the first axis.
    """

    init: Callable[[Dynamics], Any]
    step: Callable[[Dynamics, Any, Any], tuple[Any, Any]]
    xs: Any


def stepwise_run(model: Dynamics, run: Run) -> StepwiseRun | None:
    """The run that `simulate` would do, step by step; or `None` where it has no such steps.

    That is so for adaptive runs, inputs that are functions of time, and a single trial without a
    batch. The model handed to `init` and `step` must be `prepared()` if it has that.
    """
    if run.controller is not None or run.batch is None:
        return None
    samples, _ = checked_model(model, run)
    if samples is None and run.signal is not None:
        return None
    batch = run.batch
    dtype = float_dtype(run.reference)

    def init(model: Dynamics) -> Any:
        start = run.start
        if run.from_model:
            start = jax.tree.map(
                lambda x, r: jnp.asarray(x, r.dtype), model.initial_state(), run.reference
            )
        if run.state_axis is not None:
            return start
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (batch, *x.shape)), start)

    def step(model: Dynamics, states: Any, x: Any) -> tuple[Any, Any]:
        segment, index = x
        u = samples
        if samples is not None:
            # Looked up where it lies: the inputs with time first would be a copy of them all.
            u = jax.lax.dynamic_index_in_dim(samples, index, samples.ndim - 2, keepdims=False)

        def one(state: Any, u: Any, index: Any) -> tuple[Any, Any]:
            key = None if run.key is None else jax.random.fold_in(run.key, index)
            advance = step_of_grid(
                model, samples, run.noise, key, run.solver, run.segments, run.grid, dtype
            )
            state = advance(state, (segment, u))
            return state, model.readout(state)

        axis = None if run.input_axis is None else 0
        return jax.vmap(one, in_axes=(0, axis, 0))(states, u, jnp.arange(batch))

    xs = (run.segments._replace(last=None), jnp.arange(run.n_steps))
    return StepwiseRun(init, step, xs)
