"""How an angle is written on channels: as its sine and cosine, or as a bump on a ring."""

from math import pi, tau
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

#: Height and width of the bump.
PEAK, WIDTH = 0.8, pi / 8
#: What every output channel of a ring holds where nothing is asked of it.
RING_BACKGROUND = 0.05


def preferred_angles(n_ring: int) -> np.ndarray:
    """The angles that the channels of a ring stand for, evenly spaced from 0.

    **Returns:** `(n_ring,)`, in radians.
    """
    return tau * np.arange(n_ring) / n_ring


def encode_angle(
    angle: Float[Array, "..."], *, encoding: Literal["sincos", "ring"], n_ring: int
) -> Float[Array, "... channel"]:
    r"""An angle on the channels that stand for it.

    As `"sincos"` $(\sin\theta, \cos\theta)$; as a `"ring"`
    $0.8 \exp(-\frac{1}{2} (d / (\pi/8))^2)$, with $d$ the distance round the circle from the
    angle to the one that the channel prefers.

    **Arguments:**

    - `angle`: in radians, from 0 to 2 pi.
    - `encoding`, `n_ring`: which of the two, and the number of channels of a ring.

    **Returns:** one more axis, of 2 or `n_ring` channels.
    """
    if encoding == "sincos":
        return jnp.stack([jnp.sin(angle), jnp.cos(angle)], axis=-1)
    apart = jnp.abs(angle[..., None] - jnp.asarray(preferred_angles(n_ring), angle.dtype))
    apart = jnp.minimum(apart, tau - apart)
    return PEAK * jnp.exp(-0.5 * (apart / WIDTH) ** 2)
