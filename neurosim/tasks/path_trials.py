"""Paths as trials: velocity in, place out."""

from typing import Any, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

from .place_cell_code import PlaceCellCode
from .task import Trials

Cue = Literal["none", "place_cells"]


def path_trials(
    positions: Float[Array, "trial step 2"], dt: float, place_cells: PlaceCellCode | None, cue: Cue
) -> Trials:
    """Trials whose inputs are the velocities between positions, and targets what comes of them.

    **Arguments:**

    - `positions`: one more than there are time steps.
    - `dt`: time between them.
    - `place_cells`: whose activity is the target, or `None` for positions as targets.
    - `cue`: `"place_cells"` adds a channel for each place cell that holds its activity at the start
        in the first time step, 0 later; `"none"` adds nothing.

    **Returns:** trials with `positions` in their `info`, and `start`, the first of them.
    """
    velocity = jnp.diff(positions, axis=1) / dt
    later = positions[:, 1:]
    targets = later if place_cells is None else place_cells(later)
    inputs = velocity
    if cue == "place_cells":
        assert place_cells is not None
        first = place_cells(positions[:, :1])
        silence = jnp.zeros((*velocity.shape[:2], first.shape[-1]), first.dtype)
        inputs = jnp.concatenate([velocity, silence.at[:, :1].set(first)], axis=-1)
    info = {"positions": positions, "start": positions[:, 0]}
    return Trials(inputs, targets, jnp.ones_like(targets), info)


def check_cue(cue: Any, place_cells: Any) -> None:
    """Refuse a cue that there are no place cells for, or another word."""
    if cue not in ("none", "place_cells"):
        raise ValueError(f"cue must be 'none' or 'place_cells', got {cue!r}.")
    if cue == "place_cells" and place_cells is None:
        raise ValueError("a cue of place cells needs place_cells.")


def n_path_inputs(place_cells: PlaceCellCode | None, cue: str) -> int:
    """Two components of velocity, and a channel for each place cell of the cue."""
    return 2 + (place_cells.n_cells if cue == "place_cells" and place_cells is not None else 0)


def n_path_outputs(place_cells: PlaceCellCode | None) -> int:
    """One for each place cell, or two coordinates."""
    return 2 if place_cells is None else place_cells.n_cells
