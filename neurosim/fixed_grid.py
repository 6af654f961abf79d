"""Fixed steps: a scan over Diffrax's own `solver.step`, with inputs held by construction."""

from typing import Any, NamedTuple

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


class Segments(NamedTuple):
    """The parts of a run between breakpoints, in local time.

    `start` and `length` of each (`None` if all are a grid step long); the `lower` and `upper`
    limits of the times at which the input is asked for there; the index of the `last` part of each
    grid step (`None` if there is one part to a step).
    """

    start: Any
    length: Any
    lower: Any
    upper: Any
    last: Any


def split_at_breakpoints(signal, n_steps: int, dt: float) -> Segments | None:
    """The grid split at the breakpoints between its points; `None` without a function of time."""
    if not isinstance(signal, Input):
        return None
    grid = time_grid(n_steps, dt)
    points = np.asarray(signal.breakpoints, dtype=np.float64)
    points = points[(points > grid[0] - dt / 2) & (points < grid[-1] + dt / 2)]
    nearest = np.round(points / dt).astype(int)
    # 3 * 0.1 is not 0.3 but means it: a jump that close to the grid counts as on it.
    on_grid = np.abs(points / dt - nearest) <= 1e-9
    inside = points[~on_grid & (points > grid[0]) & (points < grid[-1])]
    edges = np.union1d(grid, inside)
    lower, upper = edges[:-1].copy(), edges[1:].copy()
    where = np.searchsorted(edges, grid[nearest[on_grid]])
    starts, ends = where < lower.size, where > 0
    np.maximum.at(lower, where[starts], points[on_grid][starts])
    np.minimum.at(upper, where[ends] - 1, points[on_grid][ends])
    start, lower, upper = (jnp.asarray(a) for a in (edges[:-1], lower, upper))
    if inside.size == 0:
        return Segments(start, None, lower, upper, None)
    last = np.searchsorted(edges, grid[1:]) - 1
    return Segments(start, jnp.asarray(np.diff(edges)), lower, upper, jnp.asarray(last))


def _terms(model, noise, key, start, length, source, state):
    """Diffrax terms for one step of `length` from absolute time `start`, in local time.

    `source(t, args)` is the input at local time t.
    """

    def drift(t, y, args):
        return model.vector_field(start + t, y, source(t, args))

    def recursion(t, y, args, dt):
        return model.step(start + t, y, source(t, args), dt)

    published: bool = isinstance(model, HasStep)
    term = RecursionTerm(drift, recursion) if published else diffrax.ODETerm(drift)
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


def walk_fixed_grid(model, source, start, noise, key, solver, adjoint, segments, grid):
    """One trial by fixed steps: what is saved, and the last state."""
    dtype = float_dtype(start)
    substeps, implicit = grid.substeps, isinstance(solver, diffrax.AbstractImplicitSolver)
    n_parts, limits, length, last = grid.n_steps, None, None, None
    absolute = jnp.asarray(time_grid(grid.n_steps, grid.dt, t0=grid.t0)[:-1], dtype)
    if segments is not None:
        # The left limit at the end of a part: a jump there belongs to the next one.
        limits = (segments.start, segments.lower, jnp.nextafter(segments.upper, -jnp.inf))
        if segments.length is not None:
            n_parts, length, last = segments.start.shape[0], segments.length, segments.last
            absolute, length = (segments.start + grid.t0).astype(dtype), length.astype(dtype)
    samples = source if eqx.is_array(source) else None
    xs = (jnp.arange(n_parts), absolute, length, limits, samples)

    def interval(state, x):
        index, t_absolute, span, bounds, u = x
        h = (grid.dt if span is None else span) / substeps
        begin = 0.0
        if implicit:  # its root finder traces both ends of the step
            begin, h = jnp.zeros((), dtype), jnp.asarray(h, dtype)

        def value(offset):
            if bounds is None:
                return lambda t, args: args
            t_local, lower, upper = bounds

            def at(t, args):
                return jnp.asarray(source(jnp.clip(t_local + (offset + t), lower, upper)), dtype)

            return at

        def substep(carry, j):
            y, solver_state = carry
            offset = j * h
            step_key = None if key is None else jax.random.fold_in(key, index * substeps + j)
            terms = _terms(model, noise, step_key, t_absolute + offset, h, value(offset), y)
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
        state = carry[0]
        kept = (None, None) if grid.save == "final" else keep(model, state, grid.save)
        return state, kept

    final, saved = _scan(interval, start, xs, adjoint)
    if grid.save == "final":
        saved = jax.tree.map(lambda a: a[None], keep(model, final, "final"))
    elif last is not None:
        saved = jax.tree.map(lambda a: a[last], saved)
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
