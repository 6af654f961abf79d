"""The parts a run is walked in: the steps of its grid, split where an input jumps between them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .inputs import Input
from .kernels import time_grid


class Segments(NamedTuple):
    """The parts of a run, in order; every array has them as its first axis.

    - `step`: the number of the grid step a part lies in, counted from time 0 and not from the
      start of the run, so that the noise of a run continued later is new. `part`: its place there.
    - `absolute`: time at its start.
    - `length`: `None` where all are one grid step long.
    - `limits`: for an input that is a function of time, the start in local time, counted from the
      start of the run, and the lower and upper limit of the times at which it is asked for there.
    - `last`: index of the last part of each grid step; `None` where each step is one part.
    """

    step: Any
    part: Any
    absolute: Any
    length: Any
    limits: Any
    last: Any


def lay_out(signal: Any, n_steps: int, dt: float, t0: float, dtype: Any) -> Segments:
    """The parts of a run of `n_steps` from `t0`, with times in `dtype`.

    Lengths are differences of float64 times, rounded once: a short pulse late in a run has the
    length it was given.

    **Raises:** `ValueError` for breakpoints that are too close for `dtype` to tell apart, or that
    are not known while tracing.
    """
    first = round(t0 / dt) % 2**31
    absolute = jnp.asarray(time_grid(n_steps, dt, t0=t0)[:-1], dtype)
    step = jnp.asarray((first + np.arange(n_steps)) % 2**31, jnp.int32)
    if not isinstance(signal, Input):
        return Segments(step, None, absolute, None, None, None)

    # The times an input is asked for have the precision of its own edges, which may be more.
    precision = jnp.result_type(float)
    grid = time_grid(n_steps, dt)
    points = _known(signal)
    points = points[(points > grid[0] - dt / 2) & (points < grid[-1] + dt / 2)]
    nearest = np.round(points / dt).astype(int)
    # 3 * 0.1 is not 0.3 but means it, and a shift by t0 rounds too: so close counts as on the grid.
    tolerance = 1e-9 + 4 * np.finfo(float).eps * abs(t0) / dt
    on_grid = np.abs(points / dt - nearest) <= tolerance
    inside = points[~on_grid & (points > grid[0]) & (points < grid[-1])]
    edges = np.union1d(grid, inside)
    rounded = edges.astype(precision)
    if np.any(rounded[1:] <= rounded[:-1]):
        where = t0 + edges[np.argmax(rounded[1:] <= rounded[:-1])]
        raise ValueError(
            f"breakpoints near t = {where:g} are too close for {np.dtype(precision).name} to tell "
            "apart: compute in float64, or start the run at a later t0."
        )
    lower, upper = edges[:-1].copy(), edges[1:].copy()
    where = np.searchsorted(edges, grid[nearest[on_grid]])
    starts, ends = where < lower.size, where > 0
    np.maximum.at(lower, where[starts], points[on_grid][starts])
    np.minimum.at(upper, where[ends] - 1, points[on_grid][ends])
    # The left limit at the end of a part: a jump there belongs to the next one.
    last_time = np.nextafter(upper.astype(precision), np.asarray(-np.inf, precision))
    limits = tuple(jnp.asarray(a, precision) for a in (edges[:-1], lower, last_time))
    if inside.size == 0:
        return Segments(step, None, absolute, None, limits, None)
    within = np.searchsorted(grid, edges[:-1], side="right") - 1
    part = np.arange(len(within)) - np.searchsorted(within, within)
    return Segments(
        step=step[within],
        part=jnp.asarray(part, jnp.int32),
        absolute=jnp.asarray(t0 + edges[:-1], dtype),
        length=jnp.asarray(np.diff(edges), dtype),
        limits=limits,
        last=jnp.asarray(np.searchsorted(edges, grid[1:]) - 1),
    )


def _known(signal: Input) -> np.ndarray:
    try:
        return np.asarray(signal.breakpoints, dtype=np.float64)
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "the times of an Input must be known when simulate is traced: close over the Input "
            "instead of passing it to a transformed function; its values may be traced."
        ) from None


def input_in(source: Any, limits: Any, dtype: Any) -> Any:
    """The input in one part of a run, as a function of the time since its start and of `args`.

    `args` are the values held there, for sampled inputs.
    """
    if limits is None:
        return lambda t, args: args
    begin, lower, upper = limits
    return lambda t, args: jnp.asarray(source(jnp.clip(begin + t, lower, upper)), dtype)
