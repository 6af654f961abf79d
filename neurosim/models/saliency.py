"""How much more an error of place counts where there is reward."""

from math import pi
from typing import Any, Literal

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels.place_field import place_field

SaliencyNormalization = Literal["density", "paper", "peak"]


def gaussian_saliency(
    positions: Float[Array, "... 2"],
    *,
    center: Any = (0.5, 0.5),
    width: Any = 0.1,
    strength: Any = 1.0,
    normalization: SaliencyNormalization = "density",
) -> Float[Array, "..."]:
    """Saliency around a rewarded place, s(x) = 1 + s0 A exp(-|x - x*|^2 / (2 width^2)).

    **Arguments:**

    - `positions`: in sides of the arena.
    - `center`: x*, of two coordinates in [0, 1].
    - `width`: standard deviation, in sides of the arena.
    - `strength`: s0.
    - `normalization`: the factor A: `"density"` 1 / (2 pi width^2), as the published code has it;
        `"paper"` 1 / sqrt(2 pi width^2), as printed; `"peak"` 1, so that the largest is 1 + s0.

    **Raises:** `ValueError` for a centre that is no point of the arena, a width that is not
    positive, or another normalisation.

    **Reference:** Acosta et al. (2024), Global distortions from local rewards, NeurIPS 37.
    """
    if np.shape(center) != (2,):
        raise ValueError(f"center must be two coordinates, got {center!r}.")
    for name, value in (("center", center), ("width", width), ("strength", strength)):
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
            continue
        given = np.asarray(value, float)
        if name == "center" and not np.all((given >= 0) & (given <= 1)):
            raise ValueError(f"center must lie in the arena, from 0 to 1; got {center}.")
        if name == "width" and not (np.all(given > 0) and np.all(np.isfinite(given))):
            raise ValueError(f"width must be positive and finite, got {width}.")
        if name == "strength" and not np.all(np.isfinite(given)):
            raise ValueError(f"strength must be finite, got {strength}.")
    variance = 2 * pi * width**2
    if normalization == "density":
        peak = 1 / variance
    elif normalization == "paper":
        peak = variance**-0.5
    elif normalization == "peak":
        peak = 1.0
    else:
        raise ValueError(
            f"normalization must be 'density', 'paper' or 'peak', got {normalization!r}."
        )
    way = positions - jnp.asarray(center, positions.dtype)
    return 1 + strength * peak * place_field(way, width=width)


def left_half_saliency(
    positions: Float[Array, "... 2"], *, strength: Any = 1.0
) -> Float[Array, "..."]:
    """Saliency of half the arena, 1 + s0 where x[0] < 0.5 and 1 elsewhere.

    **Arguments:**

    - `positions`: in sides of the arena.
    - `strength`: s0.
    """
    return 1 + strength * (positions[..., 0] < 0.5).astype(positions.dtype)
