"""Fixed steps: a scan over Diffrax's own `solver.step`, with inputs held by construction."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix
from diffrax import RESULTS

from .grid import float_dtype, keep, keep_asked
from .models import HasStep
from .models.dynamics import HasNoisyStep
from .published_step import NoiseTerm, RecursionTerm
from .segments import input_in


def for_fixed_grid(solver, adjoint, dtype):
    """Fill in what `diffeqsolve` would have taken from its controller and adjoint."""
    if getattr(solver, "scan_kind", "none") is None and hasattr(solver, "tableau"):
        # Of Diffrax's inner loops over stages only "bounded" serves both modes of
        # differentiation; "lax" is leaner where a forward derivative is all that is asked for.
        kind = "lax" if isinstance(adjoint, diffrax.ForwardMode) else "bounded"
        solver = eqx.tree_at(lambda s: s.scan_kind, solver, kind, is_leaf=lambda x: x is None)
    if isinstance(solver, diffrax.AbstractImplicitSolver):
        tolerance = solver.root_finder.rtol  # pyright: ignore[reportAttributeAccessIssue]
        if not isinstance(tolerance, (int, float, jax.Array, np.ndarray)):
            # Fixed steps may be long, where a chord iteration no longer contracts.
            tol = 1e-10 if dtype == jnp.float64 else 1e-5
            finder = optimistix.Newton(rtol=tol, atol=tol)
            solver = eqx.tree_at(lambda s: s.root_finder, solver, finder)
    return solver


def _terms(model, noise, key, start, length, source, state):
    """Diffrax terms for one step of `length` from absolute time `start`.

    `source(t, args)` is the input at a time t after that.
    """

    def drift(t, y, args):
        return model.vector_field(start + t, y, source(t, args))

    def recursion(t, y, args, dt):
        return model.step(start + t, y, source(t, args), dt)

    def noisy_recursion(t, y, args, dt, increment):
        return model.noisy_step(start + t, y, source(t, args), dt, increment)

    published: bool = isinstance(model, HasStep)
    within = noisy_recursion if _noise_is_within(model, noise) else None
    term = RecursionTerm(drift, recursion, within) if published else diffrax.ODETerm(drift)
    if key is None:
        return term

    def amplitude(t, y, args):
        if noise is None:
            return model.diffusion(start + t, y, source(t, args))
        if jax.tree.structure(noise) == jax.tree.structure(y):
            return jax.tree.map(lambda s, x: jnp.broadcast_to(s, x.shape).astype(x.dtype), noise, y)
        return jax.tree.map(lambda x: jnp.broadcast_to(noise, x.shape).astype(x.dtype), y)

    def increments(y):
        leaves, structure = jax.tree.flatten(y)
        keys = jax.random.split(key, len(leaves))
        root = jnp.sqrt(length)
        draws = [
            jax.random.normal(k, x.shape, x.dtype) * root.astype(x.dtype)
            for k, x in zip(keys, leaves)
        ]
        return jax.tree.unflatten(structure, draws)

    return diffrax.MultiTerm(term, NoiseTerm(amplitude, increments(state)))


def _noise_is_within(model, noise) -> bool:
    """Whether the recursion has its noise within; noise that is asked for takes its place."""
    return noise is None and isinstance(model, HasNoisyStep)


def step_of_grid(model, source, noise, key, solver, segments, grid, dtype):
    """One trial's way over one part of the grid: `(state, (part, held input)) -> state`."""
    substeps, implicit = grid.substeps, isinstance(solver, diffrax.AbstractImplicitSolver)

    def advance(state, x):
        segment, u = x
        h = (grid.dt if segment.length is None else segment.length) / substeps
        begin = 0.0
        if hasattr(solver, "tableau"):  # Runge-Kutta methods compute in the type of their times
            begin, h = jnp.zeros((), dtype), jnp.asarray(h, dtype)
        step_key = None
        if key is not None:
            step_key = jax.random.fold_in(key, segment.step)
            if segment.part is not None:
                step_key = jax.random.fold_in(step_key, segment.part)
        value = input_in(source, segment.limits, dtype)

        def substep(carry, j):
            y, solver_state = carry
            offset = j * h
            draw = None if step_key is None else jax.random.fold_in(step_key, j)
            begins = segment.absolute + offset
            terms = _terms(model, noise, draw, begins, h, lambda t, a: value(offset + t, a), y)
            if solver_state is None:
                # Inputs jump at the start of every interval, so nothing is reused across it.
                solver_state = solver.init(terms, begin, h, y, u)
            new, _, _, solver_state, result = solver.step(
                terms, begin, h, y, u, solver_state, False
            )
            # Under float64 a step widens a state of single precision.
            y = jax.tree.map(lambda a, b: a.astype(b.dtype), new, y)
            if implicit:
                failed = result != RESULTS.successful
                y = jax.tree.map(lambda a: jnp.where(failed, jnp.nan, a), y)
            return (y, solver_state), None

        carry, _ = substep((state, None), 0)
        if substeps > 1:
            carry, _ = jax.lax.scan(substep, carry, jnp.arange(1, substeps))
        return carry[0]

    return advance


def walk_fixed_grid(model, source, start, noise, key, solver, adjoint, segments, grid):
    """One trial by fixed steps: what is saved, and the last state."""
    samples = source if eqx.is_array(source) else None
    dtype = float_dtype(start)
    advance = step_of_grid(model, source, noise, key, solver, segments, grid, dtype)

    def interval(state, x):
        state = advance(state, x)
        kept = (None, None) if grid.save == "final" else keep(model, state, grid.save)
        return state, kept

    parts = segments._replace(last=None)
    final, saved = _scan(interval, start, (parts, samples), adjoint)
    return keep_asked(model, saved, final, segments, grid), final


def _scan(body, start, xs, adjoint):
    """`lax.scan`, which keeps every step for the gradient or only the start of each chunk."""
    n_steps = xs[0].step.shape[0]
    if not isinstance(adjoint, diffrax.RecursiveCheckpointAdjoint):
        return jax.lax.scan(body, start, xs)
    chunks = adjoint.checkpoints or max(1, round(n_steps**0.5))
    length = -(-n_steps // min(chunks, n_steps))
    whole = n_steps // length * length

    def chunk(carry, part):
        return jax.lax.scan(body, carry, part)

    folded = jax.tree.map(lambda a: a[:whole].reshape(-1, length, *a.shape[1:]), xs)
    carry, saved = jax.lax.scan(jax.checkpoint(chunk), start, folded)
    saved = jax.tree.map(lambda a: a.reshape(whole, *a.shape[2:]), saved)
    if whole < n_steps:
        rest = jax.tree.map(lambda a: a[whole:], xs)
        carry, tail = jax.checkpoint(chunk)(carry, rest)
        saved = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), saved, tail)
    return carry, saved
