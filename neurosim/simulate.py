"""The one door to the solver: a model and its inputs in, a trajectory out."""

from typing import Any, Literal

import diffrax
import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from .adaptive_run import walk_adaptively
from .fixed_grid import walk_fixed_grid
from .models import Dynamics
from .run_layout import checked_model, prepare_run
from .trajectory import Trajectory, divergence_of

Save = Literal["both", "states", "outputs", "final"]


def simulate(
    model: Dynamics,
    inputs: Any = None,
    *,
    dt: float | int,
    t0: float | int = 0.0,
    t1: float | int | None = None,
    breakpoints: Any = (),
    batch_size: int | None = None,
    initial_state: Any = None,
    solver: diffrax.AbstractSolver | None = None,
    substeps: int | np.integer = 1,
    stepsize_controller: diffrax.AbstractStepSizeController | None = None,
    adjoint: diffrax.AbstractAdjoint | None = None,
    max_steps: int = 4096,
    noise: Any = None,
    key: PRNGKeyArray | None = None,
    save: Save = "both",
    throw: bool = True,
) -> Trajectory:
    """Run a model on inputs.

    The grid has the spacing `dt`. Sampled inputs are held over each of its steps, and are handed
    to the model by the index of the step, so that a solver keeps its order on them. Inputs given
    as functions of time are evaluated where the solver asks, and no step crosses one of their
    breakpoints. `initial_state`, `inputs` or `batch_size` decide whether there is a batch.

    Can be jitted, vmapped, and differentiated in reverse and in forward mode.

    **Arguments:**

    - `model`: any `Dynamics`.
    - `inputs`: `(time, channel)` or `(batch, time, channel)`; or one `Input`, function of time or
      Diffrax path for all trials; or `None` for silence.
    - `dt`: the grid spacing, in the model's unit of time.
    - `t0`, `t1`: start and end. `t1` is needed where no samples give the number of steps.
    - `breakpoints`: the times at which a plain function of time jumps.
    - `batch_size`: number of trials where neither inputs nor initial states say it.
    - `initial_state`: pytree as the model's state, with or without a leading batch axis.
    - `solver`: `None` for the published step if the model has one, else explicit Euler; or any
      Diffrax solver. With a step-size controller `None` means `diffrax.Tsit5()`.
    - `substeps`: solver steps for each `dt` on the fixed grid.
    - `stepsize_controller`: an adaptive Diffrax controller; `None` for the fixed grid.
    - `adjoint`: for an adaptive run a Diffrax adjoint other than `BacksolveAdjoint`. On the fixed
      grid `None` or `DirectAdjoint()` keep every step for the gradient,
      `RecursiveCheckpointAdjoint(checkpoints=)` keeps that many (square root of the number of
      steps by default) and computes the rest again, `ForwardMode()` is for JVPs alone.
    - `max_steps`: bound on adaptive steps between two grid points.
    - `noise`: standard deviation of process noise per square root of time, `dx = f dt + noise dW`:
      a number, or a pytree of numbers as the state. `None` takes the model's `diffusion` if it has
      one, or its `noisy_step` with the published step; 0 switches it off.
    - `key`: PRNG key of the noise. Trial i gets the same noise whatever the number of trials, and
      so does the step at a time t in a run that starts later: a run can be continued with its key.
    - `save`: `"both"` states and outputs, one of them, or both at the `"final"` time only.
    - `throw`: raise `DivergenceError` if a trial is not finite; `False` leaves it to the caller
      to ask `trajectory.diverged_at`. Under a JAX transformation nothing can be raised.

    **Returns:** a `Trajectory`.

    **Raises:** `ValueError` for arguments that do not fit; `DivergenceError` that names trial,
    time and state.

    ```python
    trajectory = simulate(model, trials.inputs, dt=task.dt)
    trajectory.outputs  # (batch, time, output)
    ```
    """
    prepared = prepare_run(
        model, inputs, dt=dt, t0=t0, t1=t1, breakpoints=breakpoints, batch_size=batch_size,
        initial_state=initial_state, solver=solver, substeps=substeps,
        stepsize_controller=stepsize_controller, adjoint=adjoint, max_steps=max_steps,
        noise=noise, key=key, save=save,
    )  # fmt: skip

    def run(prepared):
        saved, ok, exhausted = _run(model, prepared)
        return Trajectory(
            *saved, dt=prepared.grid.dt, t0=float(t0), n_steps=prepared.n_steps,
            state_ranks=tuple(len(leaf.shape) for leaf in jax.tree.leaves(prepared.reference)),
            batched=prepared.batch is not None, final_only=prepared.grid.save == "final",
        ), ok, exhausted  # fmt: skip

    trajectory, ok, exhausted = run(prepared)
    if throw and not isinstance(ok, jax.core.Tracer) and not np.all(np.asarray(ok)):
        every_state = trajectory
        if save != "both":
            every_state, *_ = run(prepared._replace(grid=prepared.grid.keeping("both")))
        raise divergence_of(
            trajectory, every_state, np.atleast_1d(ok), np.atleast_1d(exhausted), max_steps
        )
    return trajectory


@eqx.filter_jit
def _run(model, run):
    samples, model = checked_model(model, run)

    def trial(samples, state, index):
        key = None if run.key is None else jax.random.fold_in(run.key, index)
        source = run.signal if samples is None else samples
        if run.controller is None:
            saved, final = walk_fixed_grid(
                model,
                source,
                state,
                run.noise,
                key,
                run.solver,
                run.adjoint,
                run.segments,
                run.grid,
            )
            exhausted = jnp.asarray(False)
        else:
            saved, final, exhausted = walk_adaptively(
                model,
                source,
                state,
                run.solver,
                run.controller,
                run.adjoint,
                run.segments,
                run.grid,
            )
        watched = (final, saved[1])
        numbers = [x for x in jax.tree.leaves(watched) if eqx.is_inexact_array(x)]
        finite = [jnp.all(jnp.isfinite(x)) for x in numbers]
        return saved, jnp.all(jnp.stack(finite)), exhausted

    if run.batch is None:
        return trial(samples, run.start, 0)
    mapped = jax.vmap(trial, in_axes=(run.input_axis, run.state_axis, 0))
    return mapped(samples, run.start, jnp.arange(run.batch))
