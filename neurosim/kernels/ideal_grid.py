"""Ideal grid cells: sums of plane waves on a hexagonal, square or band lattice."""

import math
from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from .whole_number import whole_number


class _Lattice(NamedTuple):
    """Directions of waves from the orientation, wave number times spacing, angle of the cell."""

    waves: tuple[float, ...]
    wave_number: float
    corner: float


#: Neighbouring peaks are one spacing apart: a hexagon's rows are sqrt(3)/2 of that apart.
_LATTICES = {
    "hexagonal": _Lattice(
        (math.pi / 6, math.pi / 2, 5 * math.pi / 6), 4 * math.pi / 3**0.5, math.pi / 3
    ),
    "square": _Lattice((0.0, math.pi / 2), 2 * math.pi, math.pi / 2),
    "band": _Lattice((0.0,), 2 * math.pi, math.pi / 2),
}


def grid_wave_vectors(
    *, spacing: Any, orientation: Any = 0.0, lattice: str = "hexagonal"
) -> jax.Array | np.ndarray:
    """Wave vectors of an ideal grid, in radians per length.

    Three of length 4 pi / (sqrt(3) spacing), at 30, 90 and 150 degrees from the orientation, for
    `"hexagonal"`; two of 2 pi / spacing along the orientation and across for `"square"`; one along
    it for `"band"`.

    **Arguments:**

    - `spacing`: distance of a peak from its nearest neighbours.
    - `orientation`: direction of one of them, in radians.
    - `lattice`: `"hexagonal"`, `"square"` or `"band"`.

    **Returns:** `(wave, 2)`; JAX where `spacing` or `orientation` is.

    **Raises:** `ValueError` for another lattice, or a spacing that is not positive.
    """
    xp, spacing, orientation = _read_scalars(spacing, orientation)
    kind = _kind(lattice)
    angles = orientation + xp.asarray(kind.waves)
    return kind.wave_number / spacing * xp.stack([xp.cos(angles), xp.sin(angles)], axis=-1)


def grid_lattice_vectors(
    *, spacing: Any, orientation: Any = 0.0, lattice: str = "hexagonal"
) -> jax.Array | np.ndarray:
    """The two vectors that span the lattice of an ideal grid, each one spacing long.

    The first is along the orientation, the second 60 degrees on (90 for `"square"` and `"band"`).

    **Arguments** and **Raises** are those of `grid_wave_vectors`.

    **Returns:** `(2, 2)`, a vector in each row.
    """
    xp, spacing, orientation = _read_scalars(spacing, orientation)
    angles = orientation + xp.asarray((0.0, _kind(lattice).corner))
    return spacing * xp.stack([xp.cos(angles), xp.sin(angles)], axis=-1)


def ideal_grid_map(
    positions: Any,
    *,
    spacing: Any,
    orientation: Any = 0.0,
    phase: Any = (0.0, 0.0),
    lattice: str = "hexagonal",
) -> jax.Array | np.ndarray:
    """Firing of an ideal grid cell, 1 at its peaks and 0 at its troughs.

        r(x) = 2/3 (1/3 sum_i cos(k_i . (x - phase)) + 1/2)     hexagonal, of 3 waves
        r(x) = 1/2 (1/n sum_i cos(k_i . (x - phase)) + 1)       square and band, of n waves

    The hexagonal one has a mean of 1/3 and a variance of 2/27 over its lattice.

    ```python
    x = np.stack(np.meshgrid(centres, centres, indexing="ij"), axis=-1)
    ideal_grid_map(x, spacing=0.3, phase=(0.1, 0.2))  # (bins, bins)
    ```

    **Arguments:**

    - `positions`: `(..., 2)`, in any unit of length.
    - `spacing`, `orientation`, `lattice`: see `grid_wave_vectors`.
    - `phase`: a peak, `(2,)`, or `(cell, 2)` for several cells.

    **Returns:** `(...)`, or `(cell, ...)`; NumPy float64, or JAX where anything given is.

    **Raises:** `ValueError` as `grid_wave_vectors`, or for positions or phases of another shape.
    """
    xp = _module(positions, spacing, orientation, phase)
    x, shift = (xp.asarray(v, float) for v in (positions, phase))
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ValueError(f"positions must be (..., 2), got shape {x.shape}.")
    if shift.ndim not in (1, 2) or shift.shape[-1] != 2:
        raise ValueError(f"phase must be (2,) or (cell, 2), got shape {shift.shape}.")
    k = xp.asarray(grid_wave_vectors(spacing=spacing, orientation=orientation, lattice=lattice))
    cells = shift[None] if shift.ndim == 1 else shift
    # Phases of waves, not differences of positions: no (cell, ..., 2) array.
    angles = x @ k.T - xp.reshape(cells @ k.T, (len(cells),) + (1,) * (x.ndim - 1) + (len(k),))
    mean_wave = xp.mean(xp.cos(angles), axis=-1)
    rates = 2 / 3 * (mean_wave + 0.5) if lattice == "hexagonal" else (mean_wave + 1) / 2
    # Rounding takes troughs below 0, where no rate is.
    rates = xp.maximum(rates, 0)
    return rates[0] if shift.ndim == 1 else rates


def ideal_grid_module(
    positions: Any,
    *,
    n_per_side: int | np.integer,
    spacing: Any,
    orientation: Any = 0.0,
    lattice: str = "hexagonal",
) -> jax.Array | np.ndarray:
    """A module of ideal grid cells, whose phases are evenly spread over the lattice's unit cell.

    With N = n_per_side^2 hexagonal cells, four or more a side, the sum of squares is 5 N / 27
    everywhere, six principal components hold all variance in equal parts, and the metric is
    16 pi^2 N / (81 spacing^2) times the identity: the module is a flat torus.

    **Arguments:**

    - `positions`, `spacing`, `orientation`, `lattice`: see `ideal_grid_map`.
    - `n_per_side`: phases along each vector of the lattice.

    **Returns:** `(n_per_side^2, ...)`; the phase of cell `i * n_per_side + j` is i and j
    `n_per_side`-ths of the vectors of `grid_lattice_vectors`.

    **Raises:** `ValueError` as `ideal_grid_map`, or for fewer than one phase a side.
    """
    n = whole_number(n_per_side, "n_per_side", least=1)
    vectors = grid_lattice_vectors(spacing=spacing, orientation=orientation, lattice=lattice)
    steps = np.stack(np.meshgrid(*[np.arange(n) / n] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    return ideal_grid_map(
        positions, spacing=spacing, orientation=orientation, phase=steps @ vectors, lattice=lattice
    )


def _module(*values: Any) -> Any:
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def _kind(lattice: str) -> _Lattice:
    if lattice not in _LATTICES:
        raise ValueError(f"lattice must be one of {', '.join(_LATTICES)}; got {lattice!r}.")
    return _LATTICES[lattice]


def _read_scalars(spacing: Any, orientation: Any) -> tuple[Any, Any, Any]:
    xp = _module(spacing, orientation)
    values = [xp.asarray(value, float) for value in (spacing, orientation)]
    for name, value in zip(("spacing", "orientation"), values):
        if value.ndim:
            raise ValueError(f"{name} must be a number, got shape {value.shape}.")
        if isinstance(value, jax.core.Tracer):
            continue
        if not np.isfinite(value) or (name == "spacing" and value <= 0):
            sign = "positive and " if name == "spacing" else ""
            raise ValueError(f"{name} must be {sign}finite, got {value}.")
    return xp, *values
