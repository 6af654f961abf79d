"""Adaptive steps: Diffrax's `diffeqsolve`, from one grid point or jump of the input to the next.

A solve of its own for each part of the run cannot step over a pulse, and its times are short
enough for float32 however long the run is.
"""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import RESULTS

from .grid import float_dtype, keep, keep_asked
from .segments import input_in


def walk_adaptively(model, source, start, solver, controller, adjoint, segments, grid):
    """One trial by an adaptive solver: what is saved, the last state, and whether steps ran out."""
    dtype = float_dtype(start)
    samples = source if eqx.is_array(source) else None
    zero = jnp.zeros((), dtype)

    def poison(tree, good):
        return jax.tree.map(lambda a: jnp.where(good, a, jnp.nan), tree)

    def interval(carry, x):
        state, good, exhausted = carry
        segment, u = x
        value = input_in(source, segment.limits, dtype)
        span = jnp.asarray(grid.dt if segment.length is None else segment.length, dtype)

        def field(t, y, args):
            return model.vector_field(segment.absolute + t, y, value(t, args))

        # A trial that has failed asks for no more steps, so it does not hold up the others.
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            solver,
            t0=zero,
            t1=jnp.where(good, span, zero),
            dt0=None,
            y0=state,
            args=u,
            saveat=diffrax.SaveAt(t1=True),
            stepsize_controller=controller,
            adjoint=diffrax.RecursiveCheckpointAdjoint() if adjoint is None else adjoint,
            max_steps=grid.max_steps,
            throw=False,
        )
        exhausted = exhausted | (good & (solution.result == RESULTS.max_steps_reached))
        good = good & (solution.result == RESULTS.successful)
        state = jax.tree.map(lambda a: a[0], solution.ys)
        kept = (None, None) if grid.save == "final" else keep(model, state, grid.save)
        return (state, good, exhausted), poison(kept, good)

    carry = (start, jnp.asarray(True), jnp.asarray(False))
    parts = segments._replace(last=None)
    (final, good, exhausted), saved = jax.lax.scan(interval, carry, (parts, samples))
    final = poison(final, good)
    return keep_asked(model, saved, final, segments, grid), final, exhausted
