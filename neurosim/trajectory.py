"""What a simulation returns, and how it says that it went wrong."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .kernels import time_grid


class Trajectory(eqx.Module):
    """States and outputs of a simulated model on the grid `t0 + k dt`.

    The value at index k is the one *after* the step that took in the input of index k, so
    `ts[0]` is `t0 + dt`: the initial state is not repeated. Without a batch the first axis is
    missing.

    - `states`: pytree as the model's state, leaves `(batch, time, ...)`; `None` if not saved.
    - `outputs`: `(batch, time, output)`; `None` if not saved.
    - `ts`: `(time,)`, float64 NumPy, in the unit of `dt`.
    """

    states: PyTree
    outputs: PyTree
    dt: float = eqx.field(static=True)
    t0: float = eqx.field(static=True)
    n_steps: int = eqx.field(static=True)
    batched: bool = eqx.field(static=True)
    final_only: bool = eqx.field(static=True)

    @property
    def ts(self) -> np.ndarray:
        grid = time_grid(self.n_steps, self.dt, t0=self.t0)
        return grid[-1:] if self.final_only else grid[1:]

    @property
    def diverged_at(self) -> Array:
        """First saved time with a value that is not finite, else `inf`: `(batch,)`."""
        leaves = [x for x in jax.tree.leaves((self.states, self.outputs)) if eqx.is_array(x)]
        time_axis = 1 if self.batched else 0
        bad = jnp.zeros((), dtype=bool)
        for leaf in leaves:
            rest = tuple(range(time_axis + 1, leaf.ndim))
            bad = bad | jnp.any(~jnp.isfinite(leaf), axis=rest)
        ts = jnp.asarray(self.ts, dtype=jnp.result_type(float))
        first = ts[jnp.argmax(bad, axis=time_axis)]
        return jnp.where(jnp.any(bad, axis=time_axis), first, jnp.inf)


class DivergenceError(ArithmeticError):
    """A trial left the finite numbers.

    - `trials`: indices of the trials that did.
    - `times`: for each, the first time on the grid at which a value was not finite.
    - `trajectory`: the whole result; the other trials in it are sound.
    """

    def __init__(
        self, message: str, *, trials: np.ndarray, times: np.ndarray, trajectory: Trajectory
    ):
        super().__init__(message)
        self.trials = trials
        self.times = times
        self.trajectory = trajectory


def first_bad_state(states: Any) -> tuple[int, str, float]:
    """Index in time, name and largest finite magnitude before it, of the first bad state entry.

    `states` is one trial's pytree with leaves `(time, ...)`.
    """
    best = None
    for path, leaf in jax.tree_util.tree_leaves_with_path(states):
        values = np.asarray(leaf)
        bad = ~np.isfinite(values)
        if not bad.any():
            continue
        where = np.argwhere(bad)[0]
        if best is None or where[0] < best[0]:
            entry = jax.tree_util.keystr(path) + "".join(f"[{i}]" for i in where[1:])
            before = np.abs(values[: where[0]])
            best = int(where[0]), f"state{entry}", float(before.max()) if before.size else np.nan
    if best is None:
        raise ValueError("every state is finite.")
    return best


def divergence_of(
    trajectory: Trajectory,
    states: Trajectory,
    ok: np.ndarray,
    exhausted: np.ndarray,
    max_steps: int,
) -> DivergenceError:
    """The error that names trial, time and state.

    `states` has every state of the same run; `ok` and `exhausted` say for each trial whether it
    stayed finite, and whether its adaptive solver ran out of steps.
    """
    trials = np.flatnonzero(~ok)
    times, first = [], ""
    for trial in trials:
        one = states.states
        if states.batched:
            one = jax.tree.map(lambda a, i=trial: a[i], one)
        index, name, before = first_bad_state(one)
        times.append(states.ts[index])
        if not first:
            who = f"trial {trial}" if states.batched else "the trial"
            what = (
                f"took more than max_steps = {max_steps} steps before"
                if exhausted[trial]
                else "diverged at"
            )
            first = (
                f"{who} {what} t = {times[0]:g} (step {index + 1} of {states.n_steps}): {name} is "
                f"not finite; the largest magnitude up to then was {before:.3g}"
            )
    more = f"; {len(trials) - 1} more trials failed" if len(trials) > 1 else ""
    advice = (
        "Raise max_steps, loosen the tolerances or take an implicit solver"
        if exhausted[trials[0]]
        else "Try a smaller dt"
    )
    message = f"{first}{more}. {advice}, or pass throw=False and ask diverged_at."
    return DivergenceError(message, trials=trials, times=np.asarray(times), trajectory=trajectory)
