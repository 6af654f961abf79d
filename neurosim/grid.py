"""How a run is walked and what is kept of it."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp


class Grid(eqx.Module):
    """The spacing of the grid of a run, how it is walked, and what is kept."""

    dt: float = eqx.field(static=True)
    substeps: int = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    save: str = eqx.field(static=True)

    def keeping(self, save: str) -> "Grid":
        """The same grid with something else kept."""
        return dataclasses.replace(self, save=save)


def keep(model: Any, state: Any, save: str) -> tuple[Any, Any]:
    """The states and outputs to save at one time."""
    states = state if save in ("both", "states", "final") else None
    outputs = model.readout(state) if save in ("both", "outputs", "final") else None
    return states, outputs


def keep_asked(model: Any, saved: Any, final: Any, segments: Any, grid: Grid) -> Any:
    """What was saved after each part of a run, thinned to the grid or to the final state."""
    if grid.save == "final":
        return jax.tree.map(lambda a: a[None], keep(model, final, "final"))
    if segments.last is None:
        return saved
    return jax.tree.map(lambda a: a[segments.last], saved)


def float_dtype(state: Any) -> Any:
    """The real floating-point type that times and inputs of a state take."""
    leaves = [jnp.result_type(x) for x in jax.tree.leaves(state)]
    floats = [jnp.finfo(d).dtype for d in leaves if jnp.issubdtype(d, jnp.inexact)]
    return jnp.result_type(*floats) if floats else jnp.result_type(float)
