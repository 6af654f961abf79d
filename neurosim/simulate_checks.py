"""What `simulate` refuses before anything runs: options and models that do not fit."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from .models import Dynamics, HasDiffusion, HasStep


def check_options(model, solver, substeps, controller, adjoint, noise, key, save) -> None:
    """Refuse arguments of `simulate` that exclude each other or make no sense.

    **Raises:** `ValueError` that says what is wrong and what would do.
    """
    if not isinstance(model, Dynamics):
        raise ValueError(f"model must be a neurosim Dynamics, got {type(model).__name__}.")
    if solver is not None and not isinstance(solver, diffrax.AbstractSolver):
        raise ValueError(f"solver must be a Diffrax solver such as diffrax.Tsit5(), got {solver}.")
    split = getattr(solver, "term_structure", diffrax.AbstractTerm) is not diffrax.AbstractTerm
    if split and getattr(solver, "minimal_levy_area", None) is None:
        raise ValueError(
            f"{type(solver).__name__} needs a vector field in several parts, and a model has one."
        )
    if key is not None and not (eqx.is_array(key) and key.size in (1, 2, 4)):
        raise ValueError(f"key must be a PRNG key such as jax.random.key(0), got {key!r}.")
    if save not in ("both", "states", "outputs", "final"):
        raise ValueError(f"save must be 'both', 'states', 'outputs' or 'final', got {save!r}.")
    if not (isinstance(substeps, (int, np.integer)) and substeps >= 1):
        raise ValueError(f"substeps must be a whole number from 1 on, got {substeps!r}.")
    amplitudes = [x for x in jax.tree.leaves(noise) if not isinstance(x, jax.core.Tracer)]
    if any(bool(np.any(~(np.asarray(x) >= 0))) for x in amplitudes):
        raise ValueError(f"noise is a standard deviation: it must not be negative, got {noise}.")
    silent = all(np.all(np.asarray(x) == 0) for x in amplitudes) if amplitudes else noise is None
    if key is None and (not silent or (noise is None and isinstance(model, HasDiffusion))):
        raise ValueError("process noise needs a key=; noise=0 runs the model without it.")
    if controller is None:
        allowed = (diffrax.DirectAdjoint, diffrax.RecursiveCheckpointAdjoint, diffrax.ForwardMode)
        if adjoint is not None and not isinstance(adjoint, allowed):
            raise ValueError(
                f"{type(adjoint).__name__} works with a step-size controller only; on the fixed "
                "grid use DirectAdjoint, RecursiveCheckpointAdjoint or ForwardMode."
            )
        if getattr(solver, "minimal_levy_area", None) is not None:
            raise ValueError(
                f"{type(solver).__name__} needs Lévy areas, which the fixed grid does not draw; "
                "use Euler, Heun or the published step."
            )
        if isinstance(solver, diffrax.LeapfrogMidpoint):
            raise ValueError(
                "LeapfrogMidpoint remembers earlier steps, and inputs jump between steps; use a "
                "one-step method such as Midpoint."
            )
        return
    if not isinstance(controller, diffrax.AbstractAdaptiveStepSizeController):
        raise ValueError(
            f"{type(controller).__name__} takes fixed steps: say them by dt= and substeps= instead."
        )
    if isinstance(adjoint, diffrax.BacksolveAdjoint):
        raise ValueError(
            "BacksolveAdjoint cannot follow a model's parameters here; leave adjoint out, or use "
            "RecursiveCheckpointAdjoint or DirectAdjoint."
        )
    if substeps != 1:
        raise ValueError("substeps divide the fixed grid; an adaptive run chooses its own steps.")
    if solver is not None and not isinstance(solver, diffrax.AbstractAdaptiveSolver):
        raise ValueError(f"{type(solver).__name__} has no error estimate to adapt its steps by.")
    if not silent or (noise is None and isinstance(model, HasDiffusion)):
        raise ValueError("process noise needs the fixed grid; pass no stepsize_controller.")


def check_finite(start: Any) -> None:
    """Refuse an initial state with values that are not finite; traced ones pass."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(start):
        if isinstance(leaf, jax.core.Tracer) or not jnp.issubdtype(leaf.dtype, jnp.inexact):
            continue
        if not np.all(np.isfinite(np.asarray(leaf))):
            raise ValueError(f"initial_state{jax.tree_util.keystr(path)} must be finite.")


def check_discrete(model: Dynamics, substeps: int, *, split: bool) -> None:
    """Refuse what would apply a recursion that knows no `dt` more than once a grid step."""
    if getattr(model, "discrete", False) and (substeps != 1 or split):
        what = "substeps" if substeps != 1 else "inputs that change between grid points"
        raise ValueError(
            f"{type(model).__name__} is applied once for each grid step, whatever its length: it "
            f"cannot take {what}."
        )


def check_model(model: Dynamics, state: Any, value: Any) -> None:
    """Evaluate the shapes of a model's functions on one state and one input.

    A derivative of another shape than the state would be broadcast to it without a word.

    **Arguments:**

    - `model`: the model.
    - `state`: pytree of arrays or shapes, one trial's state.
    - `value`: array, shape, or `None`: the input at one time.

    **Raises:** `ValueError` that names the function, what it was given and what it gave back.
    """
    name = type(model).__name__
    n_inputs = getattr(model, "n_inputs", None)
    if value is not None and n_inputs is not None and value.shape != (n_inputs,):
        raise ValueError(
            f"{name}.vector_field cannot take an input of shape {tuple(value.shape)}: the model "
            f"has {n_inputs} input channels."
        )
    if value is None:
        given = "no input"
    else:
        given = f"an input of shape {tuple(value.shape)}"

    def shapes_of(function, called, *args):
        try:
            return jax.eval_shape(function, *args)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            reason = str(error).strip().splitlines()
            hint = "" if value is not None else "; pass inputs, or give the model an n_inputs"
            raise ValueError(
                f"{name}.{called} cannot take {given}{hint} ({reason[0] if reason else error!r})."
            ) from error

    time = jax.ShapeDtypeStruct((), _float_of(state))
    calls = [("vector_field", lambda t, s, u: model.vector_field(t, s, u))]
    if isinstance(model, HasStep):
        calls.append(("step", lambda t, s, u: model.step(t, s, u, t + 1)))
    wanted = [tuple(leaf.shape) for leaf in jax.tree.leaves(state)]
    for called, function in calls:
        found = shapes_of(function, called, time, state, value)
        if jax.tree.structure(found) != jax.tree.structure(state):
            raise ValueError(
                f"{name}.{called} returns {jax.tree.structure(found)}, but the state is "
                f"{jax.tree.structure(state)}."
            )
        shapes = [tuple(leaf.shape) for leaf in jax.tree.leaves(found)]
        if shapes != wanted:
            raise ValueError(
                f"{name}.{called} returns arrays of shapes {_plain(shapes)}, but the state has "
                f"{_plain(wanted)}."
            )
    output = shapes_of(model.readout, "readout", state)
    if not isinstance(output, jax.ShapeDtypeStruct) or len(output.shape) != 1:
        raise ValueError(f"{name}.readout must return one array (output,), got {output}.")


def _plain(shapes: list[tuple[int, ...]]) -> str:
    return str(shapes[0]) if len(shapes) == 1 else str(shapes)


def _float_of(state: Any) -> Any:
    for leaf in jax.tree.leaves(state):
        if np.issubdtype(leaf.dtype, np.floating):
            return leaf.dtype
    return np.dtype("float32")
