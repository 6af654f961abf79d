"""The published objective of grid cells that integrate paths, and what it draws in each step."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..tasks.isometry_triples import isometry_triples
from ..tasks.kernel_pairs import kernel_pairs
from ..tasks.lattice_walk import lattice_walks
from .grid_cell_losses import Saliency, isometry_loss, kernel_loss, path_integration_loss


class GridCellDraw(NamedTuple):
    """What one step of training looks at, in bins; see `grid_cell_draws`.

    - `pair`: two times `(pair, 2)`. `walks`: `(walk, time + 1, 2)`.
    - `triple`: three times `(sample, block, 2)`.
    """

    pair: Any
    walks: Any
    triple: Any


def grid_cell_draws(
    *,
    n_bins: int | np.integer,
    n_blocks: int | np.integer,
    n_pairs: int | np.integer = 10000,
    n_walks: int | np.integer = 100,
    n_steps: int | np.integer = 10,
    n_triples: int | np.integer = 10000,
    radii: Any = 15.0,
    bounds: Any = None,
) -> Callable[[PRNGKeyArray], GridCellDraw]:
    """A sampler for `model_loss` of pairs, walks and triples, in the published numbers.

    **Arguments:**

    - `n_bins`, `n_blocks`: bins a side; blocks of units.
    - `n_pairs`, `n_walks`, `n_steps`, `n_triples`: see `kernel_pairs`, `lattice_walks`,
        `isometry_triples`.
    - `radii`: of triples in bins, one for all blocks or one for each.
    - `bounds`: of pairs and triples, `(low, high)` in bins; the whole arena by default.

    **Raises:** `ValueError`, when it is called, for numbers out of range.
    """
    radius = np.broadcast_to(np.asarray(radii, float), (int(n_blocks),))

    def draw(key: PRNGKeyArray) -> GridCellDraw:
        k_pair, k_walk, k_triple = jax.random.split(key, 3)
        return GridCellDraw(
            kernel_pairs(k_pair, n_pairs, n_bins=n_bins, bounds=bounds),
            lattice_walks(k_walk, n_walks, n_steps, n_bins=n_bins),
            isometry_triples(k_triple, n_triples, n_bins=n_bins, radii=radius, bounds=bounds),
        )

    return draw


def grid_cell_terms(
    *,
    saliency: Saliency = None,
    weight_at: Literal["place", "agent"] = "place",
    kernel_weight: Any = 1.05,
    path_weight: Any = 0.1,
    isometry_weight: Any = 0.005,
    n_samples: Any = 10000,
) -> Callable[[Any, GridCellDraw], tuple[Any, ...]]:
    """The terms for `model_loss`: kernel, path integration and isometry, in that order.

    The penalty on the read-out, which fades with the number of steps, is a part of the optimiser:
    see `readout_penalty`. Only path integration is weighted by saliency.

    **Arguments:**

    - `saliency`, `weight_at`: see `path_integration_loss`.
    - `kernel_weight`, `path_weight`, `isometry_weight`: the published ones by default.
    - `n_samples`: of triples that the sum of `isometry_loss` stands for, however many there are.
    """

    def terms(model: Any, draw: GridCellDraw) -> tuple[Any, ...]:
        return (
            kernel_loss(model, *draw.pair, weight=kernel_weight),
            path_integration_loss(
                model, draw.walks, saliency=saliency, weight_at=weight_at, weight=path_weight
            ),
            isometry_loss(model, *draw.triple, weight=isometry_weight, n_samples=n_samples),
        )

    return terms


def grid_cell_learning_rate(step: Any) -> Array:
    """The published learning rate of pre-training: an Optax schedule.

    It rises to 6e-3 over 2,000 steps, goes from there, with a jump to 4.86e-3, down to 3e-4 at
    step 10,000, and stays.

    **Reference:** Xu et al. (2022), NeurReps, published code.
    """
    step = jnp.asarray(step, jnp.result_type(float))
    high, low = 0.006, 3e-4
    falling = high - (high - low) * step / 10000
    return jnp.where(step < 2000, high * step / 2000 + 3e-6, jnp.where(step < 10000, falling, low))
