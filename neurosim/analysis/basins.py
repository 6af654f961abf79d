"""Basins of attraction: which fixed point each start comes to rest at."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels import check_dt, whole_number
from .known_arrays import read_known
from .low_rank_factors import Numbers

# Steps between looks at whether anything still moves.
_BETWEEN = 50


class Basins(NamedTuple):
    """Where starts lead; see `basins_of_attraction`."""

    labels: np.ndarray
    shares: np.ndarray
    states: np.ndarray
    n_steps: int


def basins_of_attraction(
    flow: Callable[..., Any],
    starts: Numbers,
    fixed_points: Numbers,
    *,
    dt: float | int,
    n_steps: int | np.integer,
    tolerance: float | int = 1e-3,
    scale: Numbers = 1.0,
) -> Basins:
    """Label starts by the fixed point that their trajectories end at, by integration.

    All starts are carried together by the Runge-Kutta method of fourth order. A trajectory that
    leaves the finite numbers is left where it did so. Ends early where nothing moves any more.

    ```python
    grid = np.stack(np.meshgrid(y, a), axis=-1)
    basins_of_attraction(flow, grid, points, dt=1e-4, n_steps=5000).labels  # (a, y)
    ```

    **Arguments:**

    - `flow`: of states `(point, dim)` to their time derivatives `(point, dim)`, in NumPy or JAX.
    - `starts`: `(..., dim)`, such as a grid `(row, column, dim)`.
    - `fixed_points`: `(label, dim)`, that may attract.
    - `dt`: the step, well below the fastest time constant. `n_steps`: how many at most; long
      enough for the slowest to settle.
    - `tolerance`: distance from a fixed point within which an end counts as its own.
    - `scale`: number or `(dim,)`, what a distance of 1 is along each axis.

    **Returns:** `Basins`, NumPy:

    - `labels`: `(...)`, integers: the index of a fixed point; -1 elsewhere: another attractor, not
      settled, or no longer finite.
    - `shares`: `(label,)`, of all starts.
    - `states`: `(..., dim)`, where each trajectory ended.
    - `n_steps`: how many steps were taken.

    **Raises:** `ValueError` for shapes that do not fit, values that are missing or not finite,
    numbers of steps, steps, tolerances or scales that are not positive, or a flow that returns
    another shape or is not finite at a start. `TypeError` under `jit`, `grad` or `vmap`.
    """
    if not callable(flow):
        raise ValueError(f"flow must be a function of states (point, dim), got {flow!r}.")
    step, count = check_dt(dt), whole_number(n_steps, "n_steps", least=1)
    x, points, unit = read_known(
        "basins_of_attraction", starts=starts, fixed_points=fixed_points, scale=scale
    )
    if x.ndim == 0 or 0 in x.shape:
        raise ValueError(f"starts must be (..., dim) and not empty, got shape {x.shape}.")
    dim = x.shape[-1]
    if points.ndim != 2 or points.shape[1] != dim or len(points) == 0:
        raise ValueError(
            f"fixed_points must be (label, dim) with dim = {dim}, as starts have, got "
            f"{points.shape}."
        )
    if unit.shape not in ((), (1,), (dim,)) or not (unit > 0).all():
        raise ValueError(f"scale must be positive, a number or (dim,) = ({dim},), got {scale}.")
    if not 0 < tolerance < np.inf:
        raise ValueError(f"tolerance must be positive, got {tolerance}.")
    states, taken = _settle(flow, x.reshape(-1, dim), step, count, tolerance * unit)
    distances = np.linalg.norm((states[:, None] - points) / unit, axis=-1)
    nearest = distances.argmin(axis=1)
    near = distances[np.arange(len(states)), nearest] <= tolerance
    labels = np.where(near, nearest, -1)
    return Basins(
        labels=labels.reshape(x.shape[:-1]),
        shares=np.array([(labels == i).mean() for i in range(len(points))]),
        states=states.reshape(x.shape),
        n_steps=taken,
    )


def _settle(
    flow: Callable[..., Any], states: np.ndarray, dt: float, n_steps: int, small: Any
) -> tuple[np.ndarray, int]:
    states = states.copy()
    _derivative(flow, states, first=True)
    finite, before = np.ones(len(states), bool), states.copy()
    for taken in range(1, n_steps + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            moved = _runge_kutta(flow, states[finite], dt)
        lost = ~np.isfinite(moved).all(axis=1)
        moved[lost] = states[finite][lost]
        states[finite] = moved
        if lost.any():
            finite[np.flatnonzero(finite)[lost]] = False
        if not finite.any():
            return states, taken
        if taken % _BETWEEN == 0:
            # Far below the tolerance, so that a slow passage by a saddle is not an end.
            if (np.abs(states - before)[finite] <= 1e-6 * small).all():
                return states, taken
            before = states.copy()
    return states, n_steps


def _runge_kutta(flow: Callable[..., Any], x: np.ndarray, dt: float) -> np.ndarray:
    k1 = _derivative(flow, x)
    k2 = _derivative(flow, x + dt / 2 * k1)
    k3 = _derivative(flow, x + dt / 2 * k2)
    k4 = _derivative(flow, x + dt * k3)
    return x + dt / 6 * (k1 + 2 * (k2 + k3) + k4)


def _derivative(flow: Callable[..., Any], x: np.ndarray, *, first: bool = False) -> np.ndarray:
    found = np.asarray(flow(x), dtype=np.float64)
    if first and found.shape != x.shape:
        raise ValueError(
            f"flow must return the derivative of each state: given {x.shape}, it returned "
            f"{found.shape}."
        )
    if first and not np.isfinite(found).all():
        at = int(np.argmin(np.isfinite(found).all(axis=1)))
        raise ValueError(f"flow is not finite at start {at}, {x[at]}.")
    return found
