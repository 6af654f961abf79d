"""What a path-integrating network of grid cells is trained on.

These losses ask for the network itself, not for a trajectory: `model_loss` hands them to `fit`.
The defaults are the published constants.
"""

from collections.abc import Callable
from typing import Any, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..kernels import safe_norm
from ..kernels.place_field import place_field
from ..models.path_integrating_rnn import PathIntegratingRNN

Saliency = Callable[[Any], Any] | None


def kernel_loss(
    model: PathIntegratingRNN, x: Any, x_prime: Any, *, weight: Any = 1.05, factor: Any = 30000.0
) -> Float[Array, ""]:
    """Place fields: weight factor E (<v(x), u(x')> - exp(-|x - x'|^2 / (2 n^2 sigma^2)))^2.

    **Arguments:**

    - `x`, `x_prime`: `(pair, 2)` in bins; see `neurosim.tasks.kernel_pairs`.
    - `weight`, `factor`: published as two numbers.

    **Reference:** Xu et al. (2022), NeurReps; Acosta et al. (2024), NeurIPS 37.
    """
    x, x_prime = jnp.asarray(x), jnp.asarray(x_prime)
    shown = jnp.sum(model.embedding(x) * model.place_cells(x_prime), axis=-1)
    width = model.n_bins * model.place_cells.field_size
    wanted = place_field((x - x_prime).astype(shown.dtype), width=width)
    return weight * factor * jnp.mean((shown - wanted) ** 2)


def path_integration_loss(
    model: PathIntegratingRNN,
    positions: Any,
    *,
    saliency: Saliency = None,
    weight_at: Literal["place", "agent"] = "place",
    weight: Any = 0.1,
) -> Float[Array, ""]:
    """Place-cell activity along paths, weight sum_t E sum_x' s(x') (k(x_t, x') - <r_t, u(x')>)^2.

    The sum is over the time steps after the start and over all place cells, the mean over paths.

    **Arguments:**

    - `positions`: `(path, time + 1, 2)` in bins; see `neurosim.tasks.lattice_walks`.
    - `saliency`: a function of positions in sides of the arena, for instance
        `partial(gaussian_saliency, strength=10.0)`; `None` for 1 everywhere.
    - `weight_at`: what the saliency is asked for: the `"place"` of each cell, as in the published
        code, or the `"agent"`, as printed.
    - `weight`: 0.1 as published.

    **Raises:** `ValueError` for another word for `weight_at`.

    **Reference:** Acosta et al. (2024), NeurIPS 37.
    """
    if weight_at not in ("place", "agent"):
        raise ValueError(f"weight_at must be 'place' or 'agent', got {weight_at!r}.")
    dtype = model.embedding.values.dtype
    x = jnp.asarray(positions, dtype)
    r = model.rollout(x[:, 0], jnp.diff(x, axis=1) / model.n_bins)[:, 1:]
    error = (model.place_activity(r) - model.place_cells.target(x[:, 1:])) ** 2
    if saliency is not None:
        if weight_at == "place":
            error = saliency(model.place_cells.bin_positions()) * error
        else:
            error = saliency(x[:, 1:] / model.n_bins)[..., None, None] * error
    return weight * jnp.sum(error) / x.shape[0]


def isometry_loss(
    model: PathIntegratingRNN,
    x: Any,
    first: Any,
    second: Any,
    *,
    weight: Any = 0.005,
    n_samples: Any = None,
) -> Float[Array, ""]:
    """Conformal isometry: equal displacements change the code of a block equally.

        weight sum_k sum_i (K <v_k(x), v_k(x + d)> - K <v_k(x), v_k(x + d')>)^2 h(d)
        h(d) = 0.5 / (0.5 + |d|^2 / n^2)

    A sum over samples, not a mean: the published weight goes with 10,000 of them.

    **Arguments:**

    - `x`, `first`, `second`: `(sample, block, 2)` in bins; see `neurosim.tasks.isometry_triples`.
    - `weight`: 0.005 as published.
    - `n_samples`: how many samples the sum stands for; as many as there are by default.

    **Reference:** Xu et al. (2022), NeurReps; Acosta et al. (2024), NeurIPS 37.
    """
    code = model.embedding
    x, d1, d2 = (jnp.asarray(given, code.values.dtype) for given in (x, first, second))
    here = code.of_blocks(x)
    # One interpolation less than |v(x) - v(x + d)|^2 asks for; blocks have one norm everywhere.
    there1, there2 = (jnp.sum(here * code.of_blocks(x + d), axis=-1) for d in (d1, d2))
    squared = (code.n_blocks * (there1 - there2)) ** 2
    near = 0.5 / (0.5 + jnp.sum(d1 * d1, axis=-1) / code.n_bins**2)
    share = 1.0 if n_samples is None else n_samples / x.shape[0]
    return weight * share * jnp.sum(squared * near)


def readout_penalty(
    model: PathIntegratingRNN, step: Any = 0, *, weight: Any = 0.2, decay_steps: Any = 15000
) -> Float[Array, ""]:
    """weight max(0, 1 - step / decay_steps) sum u^2, which fades while the network learns.

    `fit` does not tell a loss how many steps are done. There it is a part of the optimiser,
    `weight_penalty(readout_penalty_weight, where=lambda m: m.model.place_cells.values)`.

    **Reference:** Xu et al. (2022), NeurReps, published code.
    """
    now = readout_penalty_weight(step, weight=weight, decay_steps=decay_steps)
    return now * jnp.sum(model.place_cells.values**2)


def readout_penalty_weight(step: Any, *, weight: Any = 0.2, decay_steps: Any = 15000) -> Any:
    """weight max(0, 1 - step / decay_steps), of `readout_penalty`: an Optax schedule."""
    return weight * jnp.maximum(0, 1 - step / decay_steps)


def distance_loss(
    model: PathIntegratingRNN, x: Any, displacement: Any, *, scale: Any
) -> Float[Array, ""]:
    """Isometry with a known scale, E (|v(x + d) - v(x)| - s |d|)^2.

    A code of norm 1 that keeps small distances so has hexagonal grids of spacing
    4 pi / (sqrt(15) s), where it can.

    **Arguments:**

    - `x`: `(sample, 2)` in bins.
    - `displacement`: `(sample, 2)` in sides of the arena; see `neurosim.tasks.local_displacements`.
    - `scale`: s, per side of the arena.

    **Reference:** Xu et al. (2025), On conformal isometry of grid cells: learning
    distance-preserving position embedding, arXiv 2405.16865.
    """
    code = model.embedding
    x, d = (jnp.asarray(given, code.values.dtype) for given in (x, displacement))
    moved = safe_norm(code(x + code.n_bins * d) - code(x))
    return jnp.mean((moved - scale * safe_norm(d)) ** 2)


def path_consistency_loss(
    model: PathIntegratingRNN, x: Any, displacement: Any, *, weight: Any = 10.0
) -> Float[Array, ""]:
    """One step of path integration, weight E |v(x + d) - F(v(x), d)|^2.

    **Arguments:**

    - `x`: `(sample, 2)` in bins.
    - `displacement`: `(sample, 2)` in sides of the arena.
    """
    code = model.embedding
    x, d = (jnp.asarray(given, code.values.dtype) for given in (x, displacement))
    moved = model.rollout(x, d[:, None])[:, 1]
    return weight * jnp.mean(jnp.sum((code(x + code.n_bins * d) - moved) ** 2, axis=-1))
