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
    state_ranks: tuple[int, ...] = eqx.field(static=True)
    batched: bool = eqx.field(static=True)
    final_only: bool = eqx.field(static=True)

    @property
    def ts(self) -> np.ndarray:
        grid = time_grid(self.n_steps, self.dt, t0=self.t0)
        return grid[-1:] if self.final_only else grid[1:]

    @property
    def diverged_at(self) -> Array:
        """First saved time with a value that is not finite, else `inf`: `(batch,)`."""
        # From the back: under `vmap` over models there are further axes in front.
        ranked = list(zip(jax.tree.leaves(self.states), self.state_ranks))
        if self.outputs is not None:
            ranked.append((self.outputs, 1))
        bad = jnp.zeros((), dtype=bool)
        for leaf, rank in ranked:
            if eqx.is_inexact_array(leaf):
                bad = bad | jnp.any(~jnp.isfinite(leaf), axis=tuple(range(-rank, 0)))
        ts = jnp.asarray(self.ts, dtype=jnp.result_type(float))
        first = ts[jnp.argmax(bad, axis=-1)]
        return jnp.where(jnp.any(bad, axis=-1), first, jnp.inf)


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


def first_bad_entry(values: dict[str, Any]) -> tuple[int, str, float]:
    """Index in time, name and largest finite magnitude before it, of the first bad entry.

    `values` are pytrees of one trial, leaves `(time, ...)`, by name; of two entries that go bad at
    once, the first one named counts.
    """
    best = None
    for name, tree in values.items():
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            if not jnp.issubdtype(leaf.dtype, jnp.inexact):
                continue
            array = np.asarray(leaf)
            bad = np.argwhere(~np.isfinite(array))
            if bad.size and (best is None or bad[0][0] < best[0]):
                entry = name + jax.tree_util.keystr(path) + "".join(f"[{i}]" for i in bad[0][1:])
                before = np.abs(array[: bad[0][0]])
                best = int(bad[0][0]), entry, float(before.max()) if before.size else np.nan
    if best is None:
        raise ValueError("every value is finite.")
    return best


def divergence_of(
    trajectory: Trajectory,
    states: Trajectory,
    ok: np.ndarray,
    exhausted: np.ndarray,
    max_steps: int,
) -> DivergenceError:
    """The error that names trial, time and state.

    `states` has every state and output of the same run; `ok` and `exhausted` say for each trial
    whether it stayed finite, and whether its adaptive solver ran out of steps.
    """
    trials = np.flatnonzero(~ok)
    times, first = [], ""
    for trial in trials:
        # A state can be finite where its readout is not.
        one = {"state": states.states, "output": states.outputs}
        if states.batched:
            one = {k: jax.tree.map(lambda a, i=trial: a[i], v) for k, v in one.items()}
        index, name, before = first_bad_entry(one)
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
