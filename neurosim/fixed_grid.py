"""Fixed steps: a scan over Diffrax's own `solver.step`, with inputs held by construction."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix
from diffrax import RESULTS

from .grid import float_dtype, keep
from .inputs import Input
from .kernels import time_grid
from .models import HasStep
from .published_step import NoiseTerm, RecursionTerm


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


def split_at_breakpoints(signal, n_steps: int, dt: float) -> Any:
    """Grid intervals split at the breakpoints that fall between grid points.

    Returns `None` if none does, else the start and length of each part, in local time, and the
    index of the last part of each interval.
    """
    if not isinstance(signal, Input):
        return None
    grid = time_grid(n_steps, dt)
    points = np.asarray(signal.breakpoints, dtype=np.float64)
    inside = points[(points > grid[0]) & (points < grid[-1])]
    off_grid = np.abs(inside / dt - np.round(inside / dt)) > 1e-9
    if not off_grid.any():
        return None
    edges = np.union1d(grid, inside[off_grid])
    last = np.searchsorted(edges, grid[1:]) - 1
    return jnp.asarray(edges[:-1]), jnp.asarray(np.diff(edges)), jnp.asarray(last)


def _terms(model, noise, key, start, length, source):
    """Diffrax terms for one step of `length` from absolute time `start`, in local time.

    `source(t, args)` is the input at local time t.
    """

    def drift(t, y, args):
        return model.vector_field(start + t, y, source(t, args))

    def recursion(t, y, args, dt):
        return model.step(start + t, y, source(t, args), dt)

    term = RecursionTerm(drift, recursion) if isinstance(model, HasStep) else diffrax.ODETerm(drift)
    if key is None:
        return term

    def amplitude(t, y, args):
        if noise is None:
            return model.diffusion(start + t, y, source(t, args))
        if jax.tree.structure(noise) == jax.tree.structure(y):
            return jax.tree.map(lambda s, x: jnp.broadcast_to(s, x.shape).astype(x.dtype), noise, y)
        return jax.tree.map(lambda x: jnp.broadcast_to(noise, x.shape).astype(x.dtype), y)

    def increment(y):
        leaves, structure = jax.tree.flatten(y)
        keys = jax.random.split(key, len(leaves))
        root = jnp.sqrt(length)
        draws = [
            jax.random.normal(k, x.shape, x.dtype) * root.astype(x.dtype)
            for k, x in zip(keys, leaves)
        ]
        return jax.tree.unflatten(structure, draws)

    return lambda y: diffrax.MultiTerm(term, NoiseTerm(amplitude, increment(y)))


def walk_fixed_grid(model, source, start, noise, key, solver, adjoint, segments, grid):
    """One trial by fixed steps: what is saved, and the last state."""
    dtype = float_dtype(start)
    substeps, implicit = grid.substeps, isinstance(solver, diffrax.AbstractImplicitSolver)
    if segments is None:
        local = jnp.asarray(time_grid(grid.n_steps, grid.dt)[:-1], dtype)
        absolute = jnp.asarray(time_grid(grid.n_steps, grid.dt, t0=grid.t0)[:-1], dtype)
        length = None
    else:
        local, length = segments[0].astype(dtype), segments[1].astype(dtype)
        absolute = local + grid.t0
    samples = source if eqx.is_array(source) else None
    xs = (jnp.arange(local.shape[0]), local, absolute, length, samples)

    def interval(state, x):
        index, t_local, t_absolute, span, u = x
        h = (grid.dt if span is None else span) / substeps
        begin = 0.0
        if implicit:  # its root finder traces both ends of the step
            begin, h = jnp.zeros((), dtype), jnp.asarray(h, dtype)
        stop = t_local + (grid.dt if span is None else span)

        def value(offset):
            if not isinstance(source, Input):
                return lambda t, args: args
            # The left limit at the end of the step: a jump there belongs to the next one.
            last = jnp.nextafter(stop.astype(dtype), jnp.asarray(-jnp.inf, dtype))
            return lambda t, args: source(jnp.clip(t_local + offset + t, t_local, last))

        def substep(carry, j):
            y, solver_state = carry
            offset = j * h
            step_key = None if key is None else jax.random.fold_in(key, index * substeps + j)
            terms = _terms(model, noise, step_key, t_absolute + offset, h, value(offset))
            if key is not None:
                terms = terms(y)
            if solver_state is None:
                # Inputs jump at the start of every interval, so nothing is reused across it.
                solver_state = solver.init(terms, begin, h, y, u)
            y, _, _, solver_state, result = solver.step(terms, begin, h, y, u, solver_state, False)
            if implicit:
                failed = result != RESULTS.successful
                y = jax.tree.map(lambda a: jnp.where(failed, jnp.nan, a), y)
            return (y, solver_state), None

        carry, _ = substep((state, None), 0)
        if substeps > 1:
            carry, _ = jax.lax.scan(substep, carry, jnp.arange(1, substeps))
        state = carry[0]
        kept = (None, None) if grid.save == "final" else keep(model, state, grid.save)
        return state, kept

    final, saved = _scan(interval, start, xs, adjoint)
    if grid.save == "final":
        saved = jax.tree.map(lambda a: a[None], keep(model, final, "final"))
    elif segments is not None:
        saved = jax.tree.map(lambda a: a[segments[2]], saved)
    return saved, final


def _scan(body, start, xs, adjoint):
    """`lax.scan`, which keeps every step for the gradient or only the start of each chunk."""
    n_steps = xs[0].shape[0]
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
