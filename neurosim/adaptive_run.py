"""Adaptive steps: Diffrax's `diffeqsolve`, told where the inputs jump."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from diffrax import RESULTS

from .grid import float_dtype, keep
from .inputs import Input
from .kernels import time_grid


def walk_adaptively(model, source, start, solver, controller, adjoint, jumps, grid):
    """One trial by an adaptive solver: what is saved, the last state, and whether steps ran out."""
    dtype = float_dtype(start)
    options = {
        "dt0": None,
        "max_steps": grid.max_steps,
        "throw": False,
        "adjoint": diffrax.RecursiveCheckpointAdjoint() if adjoint is None else adjoint,
    }
    zero = jnp.zeros((), dtype)

    def poison(tree, good):
        return jax.tree.map(lambda a: jnp.where(good, a, jnp.nan), tree)

    if isinstance(source, Input):
        if jumps.size:
            # Breakpoints outside the run are never reached, and are left to the controller.
            controller = diffrax.ClipStepSizeController(
                controller, jump_ts=jnp.asarray(jumps, dtype)
            )
        ts = jnp.asarray(time_grid(grid.n_steps, grid.dt)[1:], dtype)
        # A jump at the end of the run is no part of it: the left limit holds there.
        last = jnp.nextafter(ts[-1], zero)

        def field(t, y, args):
            u = jnp.asarray(source(jnp.minimum(t, last)), dtype)
            return model.vector_field(grid.t0 + t, y, u)

        term = diffrax.ODETerm(field)
        saveat = diffrax.SaveAt(
            subs=[
                diffrax.SubSaveAt(t1=True),
                diffrax.SubSaveAt(
                    ts=ts[-1:] if grid.save == "final" else ts,
                    fn=lambda t, y, _: keep(model, y, grid.save),
                ),
            ]
        )
        solution = diffrax.diffeqsolve(
            term, solver, zero, ts[-1], y0=start, saveat=saveat,
            stepsize_controller=controller, **options,
        )  # fmt: skip
        kept: Any = solution.ys
        final, saved = kept
        good = solution.result == RESULTS.successful
        final = poison(jax.tree.map(lambda a: a[0], final), good)
        return saved, final, solution.result == RESULTS.max_steps_reached

    absolute = jnp.asarray(time_grid(grid.n_steps, grid.dt, t0=grid.t0)[:-1], dtype)

    def interval(carry, x):
        state, good, exhausted = carry
        t_absolute, u = x
        term = diffrax.ODETerm(lambda t, y, args: model.vector_field(t_absolute + t, y, args))
        # A trial that has failed asks for no more steps, so it does not hold up the others.
        solution = diffrax.diffeqsolve(
            term, solver, zero, jnp.where(good, jnp.asarray(grid.dt, dtype), zero), y0=state,
            args=u, saveat=diffrax.SaveAt(t1=True), stepsize_controller=controller, **options,
        )  # fmt: skip
        exhausted = exhausted | (good & (solution.result == RESULTS.max_steps_reached))
        good = good & (solution.result == RESULTS.successful)
        state = jax.tree.map(lambda a: a[0], solution.ys)
        kept = (None, None) if grid.save == "final" else keep(model, state, grid.save)
        return (state, good, exhausted), poison(kept, good)

    carry = (start, jnp.asarray(True), jnp.asarray(False))
    (final, good, exhausted), saved = jax.lax.scan(interval, carry, (absolute, source))
    final = poison(final, good)
    if grid.save == "final":
        saved = jax.tree.map(lambda a: a[None], keep(model, final, "final"))
    return saved, final, exhausted
