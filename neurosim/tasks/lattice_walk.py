"""Random walks on a lattice of positions, the paths that grid cells learn to integrate."""

from functools import partial
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import whole_number
from ..kernels.place_field import place_field_map
from .constants import constant, integer
from .feasible_positions import feasible_box, finite_or_refused, first_feasible
from .task import Task, Trials
from .trial_keys import check_batch_size

_REMEDY = "shorten the walks or their steps, or raise oversampling"


def lattice_steps(max_step: float | int = 3.0) -> np.ndarray:
    """All whole-numbered displacements of at most this length, that of zero included.

    **Returns:** `(step, 2)`; 29 of them for a length of 3.

    **Raises:** `ValueError` for a length that is negative or not finite.
    """
    if not (np.isfinite(max_step) and max_step >= 0):
        raise ValueError(f"max_step must be finite and not negative, got {max_step}.")
    along = np.arange(-int(max_step), int(max_step) + 1)
    steps = np.stack(np.meshgrid(along, along, indexing="ij"), axis=-1).reshape(-1, 2)
    return steps[np.sum(steps**2, axis=1) <= max_step**2]


def lattice_walks(
    key: PRNGKeyArray,
    n_walks: int | np.integer,
    n_steps: int | np.integer,
    *,
    n_bins: int | np.integer,
    max_step: float | int = 3.0,
    margin: float | int = 2.0,
    oversampling: int | np.integer = 10,
) -> Float[Array, "walk step 2"]:
    """Walks of independent steps from `lattice_steps`, away from the walls.

    The start is uniform over the box from which the walk stays in [margin, n - margin] and which
    lies in [margin + 1, n - margin - 1], less half a bin and rounded. Walks without such a box are
    rejected: the first feasible ones are taken of `oversampling` times as many. Can be jitted,
    with the numbers static.

    **Arguments:**

    - `key`: PRNG key.
    - `n_walks`, `n_steps`: how many, and how long.
    - `n_bins`: bins a side, n.
    - `max_step`: longest step, in bins. `margin`: in bins.
    - `oversampling`: walks drawn for each one.

    **Returns:** `(walk, n_steps + 1, 2)`, positions in bins, whole numbers.

    **Raises:** `ValueError` for numbers out of range, or if too few walks fit into the arena. Under
    a JAX transformation those that are missing are NaN.

    **Reference:** Xu et al. (2022), NeurReps, published code.
    """
    count = whole_number(n_walks, "n_walks", least=1)
    length = whole_number(n_steps, "n_steps", least=1)
    n = whole_number(n_bins, "n_bins", least=2)
    more = whole_number(oversampling, "oversampling", least=1)
    if not (np.isfinite(margin) and margin >= 0 and n - margin - 1 > margin + 1):
        raise ValueError(f"margin must leave room between the walls of {n} bins, got {margin}.")
    walks, enough = _draw(key, count, length, n, float(max_step), float(margin), more)
    return finite_or_refused(walks, enough, _REMEDY)


@partial(jax.jit, static_argnums=(1, 2, 4, 6))
def _draw(key, count, length, n, max_step, margin, more):
    k_step, k_start = jax.random.split(key)
    options = jnp.asarray(lattice_steps(max_step), jnp.result_type(float))
    picks = jax.random.randint(k_step, (count * more, length), 0, len(options))
    way = jnp.cumsum(options[picks], axis=1)
    low, high = feasible_box(way, margin, n - margin)
    low, high = jnp.maximum(low, margin + 1), jnp.minimum(high, n - margin - 1)
    # At a corner that is a point the draw is that point; as published it has to be a box.
    chosen, enough = first_feasible(jnp.all(low < high, axis=-1), count)
    low, high, way = low[chosen], high[chosen], way[chosen]
    start = jnp.round(low + (high - low) * jax.random.uniform(k_start, low.shape) - 0.5)
    walks = jnp.concatenate([start[:, None], start[:, None] + way], axis=1)
    return jnp.where(enough[:, None, None], walks, jnp.nan), enough


class LatticeWalk(Task):
    """Lattice walks as trials: displacement in, place out.

    Inputs are displacements in sides of the arena, one each time step of `dt = 1`; targets are the
    activities exp(-|x - x'|^2 / (2 n^2 sigma^2)) of a place cell in every bin, row after row, or
    positions in bins. `LatticeWalk(length=30)` has the published evaluation paths.

    - `n_bins`: bins a side. `length`: steps of a walk. `max_step`, `margin`, `oversampling`: see
        `lattice_walks`.
    - `field_size`: sigma, in sides of the arena.
    - `target`: `"place_cells"` or `"positions"`.

    Entries of `info`: `positions`, `(batch, length + 1, 2)` in bins; `start`, the first of them.

    **Reference:** Xu et al. (2022), NeurReps; Acosta et al. (2024), NeurIPS 37.
    """

    n_bins: int = constant(40, integer("n_bins"))
    length: int = constant(10, integer("length"))
    max_step: float = constant(3.0, float)
    margin: float = constant(2.0, float)
    field_size: float = constant(0.07, float)
    target: Literal["place_cells", "positions"] = constant("place_cells")
    oversampling: int = constant(10, integer("oversampling"))
    dt: float = constant(1.0, float)

    def __check_init__(self):
        if self.target not in ("place_cells", "positions"):
            raise ValueError(f"target must be 'place_cells' or 'positions', got {self.target!r}.")
        if not 0 < self.field_size < float("inf"):
            raise ValueError(f"field_size must be positive and finite, got {self.field_size}.")
        if self.dt != 1:
            raise ValueError(f"dt must be 1: a step of the walk is one time step; got {self.dt}.")
        if self.length < 1:
            raise ValueError(f"length must be at least 1, got {self.length}.")
        lattice_steps(self.max_step)

    @property
    def n_inputs(self) -> int:
        """Two components of displacement."""
        return 2

    @property
    def n_outputs(self) -> int:
        """One for each bin, or two coordinates."""
        return self.n_bins**2 if self.target == "place_cells" else 2

    @property
    def n_steps(self) -> int:
        """Number of steps of a walk."""
        return self.length

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw walks.

        **Arguments:**

        - `key`: of the batch. Rejection makes the walks depend on their number.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or if too few walks fit into the arena.
        """
        walks = lattice_walks(
            key, check_batch_size(batch_size), self.length, n_bins=self.n_bins,
            max_step=self.max_step, margin=self.margin, oversampling=self.oversampling,
        )  # fmt: skip
        return self._trials(walks)

    @eqx.filter_jit
    def _trials(self, walks: Array) -> Trials:
        inputs = jnp.diff(walks, axis=1) / self.n_bins
        targets = walks[:, 1:]
        if self.target == "place_cells":
            width = self.n_bins * self.field_size
            fields = place_field_map(targets, width=width, n_bins=self.n_bins)
            targets = fields.reshape(*targets.shape[:2], self.n_bins**2)
        info = {"positions": walks, "start": walks[:, 0]}
        return Trials(inputs, targets, jnp.ones_like(targets), info)
