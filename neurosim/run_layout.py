"""A run before it is run: what `simulate` is given, checked and in one form."""

from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from .fixed_grid import for_fixed_grid
from .grid import Grid, float_dtype
from .inputs import Input, as_input
from .kernels import check_dt, steps_between
from .models import Dynamics, HasDiffusion, HasPrepared, HasStep, HasTimeConstants
from .models.parameters import check_stable
from .published_step import PublishedStep
from .segments import Segments, lay_out
from .simulate_checks import check_discrete, check_finite, check_model, check_options


class Run(NamedTuple):
    """A run that is ready to go.

    - `signal`: sampled inputs, `(time, channel)` or `(batch, time, channel)`; an `Input`; `None`.
    - `start`: the states to start from.
    - `reference`: shapes and types of one trial's state.
    - `batch`: number of trials, `None` without a batch; `input_axis`, `state_axis`: where it is.
    - `from_model`: whether the model itself said where to start.
    """

    signal: Any
    start: Any
    reference: Any
    noise: Any
    key: Any
    solver: Any
    controller: Any
    adjoint: Any
    segments: Segments
    grid: Grid
    n_steps: int
    batch: int | None
    input_axis: int | None
    state_axis: int | None
    from_model: bool


def prepare_run(
    model: Dynamics,
    inputs: Any,
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
    key: Any = None,
    save: str = "both",
) -> Run:
    """Check the arguments of `simulate`, which explains them, and bring them into one form.

    **Raises:** `ValueError` for arguments that do not fit.
    """
    dt = check_dt(dt)
    adaptive = stepsize_controller is not None
    check_options(model, solver, substeps, stepsize_controller, adjoint, noise, key, save)
    start = model.initial_state() if initial_state is None else initial_state
    reference = jax.tree.map(_as_float, jax.eval_shape(model.initial_state))
    dtype = float_dtype(reference)
    signal: Any
    if inputs is None or eqx.is_array_like(inputs) or isinstance(inputs, list):
        signal, n_steps = _sampled(model, inputs, dt=dt, t0=t0, t1=t1, dtype=dtype)
        if np.size(breakpoints):
            raise ValueError("breakpoints belong to inputs that are functions of time.")
    else:
        signal = _signal(inputs, breakpoints, float(t0))
        n_steps = _span(dt, t0, t1)
    batch, input_axis, state_axis = _batch(reference, signal, start, batch_size)
    start = jax.tree.map(lambda x, r: jnp.asarray(x, r.dtype), start, reference)
    check_finite(start)
    if solver is None:
        published = isinstance(model, HasStep) and not adaptive
        solver = PublishedStep() if published else diffrax.Tsit5() if adaptive else diffrax.Euler()
    if isinstance(solver, (PublishedStep, diffrax.Euler)) and isinstance(model, HasTimeConstants):
        check_stable(dt / substeps, **model.time_constants)
    if not adaptive:
        solver = for_fixed_grid(solver, adjoint, dtype)
    if isinstance(noise, (int, float)) and noise == 0:
        noise = None
        key = None
    # Arrays, so that another amplitude is not another program.
    noise = jax.tree.map(lambda x: jnp.asarray(x, dtype), noise)
    if noise is None and not isinstance(model, HasDiffusion):
        key = None
    grid = Grid(dt, int(substeps), max_steps, save)
    segments = lay_out(signal, n_steps, dt, float(t0), dtype)
    if isinstance(solver, PublishedStep):
        check_discrete(model, int(substeps), split=segments.last is not None)
    return Run(
        signal, start, reference, noise, key, solver, stepsize_controller, adjoint, segments, grid,
        n_steps, batch, input_axis, state_axis, from_model=initial_state is None,
    )  # fmt: skip


def checked_model(model: Dynamics, run: Run) -> tuple[Any, Any]:
    """The sampled inputs, if any; and the model, with the work done that is done once a run.

    Its vector field, step and readout are checked against state and input while tracing, so that
    costs nothing from the second run on.
    """
    samples = run.signal if eqx.is_array(run.signal) else None
    one_state = run.start
    if run.state_axis is not None:
        one_state = jax.tree.map(lambda x: x[0], run.start)
    if isinstance(run.signal, Input):
        one_input = jax.eval_shape(run.signal, jnp.zeros((), float_dtype(one_state)))
    else:
        one_input = None if samples is None else samples[(0,) * (samples.ndim - 1)]
    check_model(model, one_state, one_input)
    return samples, model.prepared() if isinstance(model, HasPrepared) else model


def _as_float(leaf: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
    """Whole numbers as floats: a state written as `jnp.array([0, 0])` means to move."""
    whole = np.issubdtype(leaf.dtype, np.integer) or leaf.dtype == bool
    return jax.ShapeDtypeStruct(leaf.shape, jnp.result_type(float)) if whole else leaf


def _signal(inputs: Any, breakpoints: Any, t0: float) -> Input:
    """The input as a function of the time since the start of the run.

    Local times are short: float32 cannot tell 4096 from 4096.0001.
    """
    if isinstance(inputs, Input):
        return as_input(inputs.shifted(-t0), np.asarray(breakpoints, float) - t0)
    return as_input(inputs, breakpoints).shifted(-t0)


def _span(dt: float, t0: Any, t1: Any) -> int:
    if t1 is None:
        raise ValueError("without sampled inputs the end of the run is needed: pass t1=.")
    if not float(t1) > float(t0):
        raise ValueError(f"t1 = {t1} must come after t0 = {t0}.")
    return steps_between(float(t0), float(t1), dt)


def _sampled(model, inputs, *, dt, t0, t1, dtype) -> tuple[Any, int]:
    n_inputs = getattr(model, "n_inputs", None)
    if inputs is None:
        n_steps = _span(dt, t0, t1)
        return (None if n_inputs is None else jnp.zeros((n_steps, n_inputs), dtype)), n_steps
    if isinstance(inputs, list) and any(isinstance(one, Input) for one in inputs):
        raise ValueError(
            "one Input serves all trials; for inputs that differ between trials sample them on "
            "the grid: (batch, time, channel)."
        )
    values = jnp.asarray(inputs)
    if values.ndim not in (2, 3):
        raise ValueError(
            f"inputs must be (time, channel) or (batch, time, channel), got shape {values.shape}."
        )
    if 0 in values.shape[:-1]:
        what = "batch" if values.ndim == 3 and values.shape[0] == 0 else "time axis"
        raise ValueError(f"inputs have an empty {what}: shape {values.shape}.")
    if n_inputs is not None and values.shape[-1] != n_inputs:
        raise ValueError(
            f"inputs have {values.shape[-1]} channels, but {type(model).__name__} takes {n_inputs}."
        )
    if not isinstance(values, jax.core.Tracer):
        bad = np.argwhere(~np.isfinite(np.asarray(values)))
        if bad.size:
            names = ("trial", "time index", "channel")[-values.ndim :]
            where = ", ".join(f"{name} {i}" for name, i in zip(names, bad[0]))
            raise ValueError(f"inputs must be finite, got {len(bad)} bad values, first at {where}.")
    n_steps = int(values.shape[-2])
    if t1 is not None and _span(dt, t0, t1) != n_steps:
        raise ValueError(
            f"inputs have {n_steps} samples, but t0 = {t0} to t1 = {t1} is "
            f"{_span(dt, t0, t1)} steps of dt = {dt}."
        )
    return values.astype(dtype), n_steps


def _batch(reference, signal, start, batch_size) -> tuple[int | None, int | None, int | None]:
    """The size of the batch, if any, and the batch axes of the inputs and of the states."""
    if jax.tree.structure(start) != jax.tree.structure(reference):
        raise ValueError(
            f"initial_state has the structure {jax.tree.structure(start)}, the model's state has "
            f"{jax.tree.structure(reference)}."
        )
    shapes = [np.shape(x) for x in jax.tree.leaves(start)]
    wanted = [x.shape for x in jax.tree.leaves(reference)]
    sizes: dict[str, int] = {}
    if shapes != wanted:
        leading = {s[0] for s, w in zip(shapes, wanted) if s[1:] == w and len(s) == len(w) + 1}
        batched = [s[1:] == w and len(s) == len(w) + 1 for s, w in zip(shapes, wanted)]
        if not all(batched) or len(leading) != 1:
            raise ValueError(
                f"initial_state has leaves of shapes {shapes}; the model needs {wanted}, with or "
                "without one leading batch axis."
            )
        sizes["initial_state"] = leading.pop()
    state_axis = 0 if sizes else None
    input_axis = None
    if eqx.is_array(signal) and signal.ndim == 3:
        sizes["inputs"], input_axis = int(signal.shape[0]), 0
    if batch_size is not None:
        sizes["batch_size"] = int(batch_size)
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name} says {n}" for name, n in sizes.items())
        raise ValueError(f"the number of trials is not clear: {said}.")
    batch = next(iter(sizes.values()), None)
    if batch is not None and batch < 1:
        raise ValueError(f"a batch needs at least one trial, got {batch}.")
    return batch, input_axis, state_axis
