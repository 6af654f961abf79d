"""How an image becomes the input of a trial: at once, row by row, or pixel by pixel."""

from typing import Literal, TypeAlias, get_args

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

#: `"image"`: all pixels as channels of one step. `"rows"`: a step for each row, its pixels as
#: channels. `"pixels"`: a step for each pixel, in the order of reading.
Presentation: TypeAlias = Literal["image", "rows", "pixels"]


def check_presentation(present: str, hold_steps: int, permutation_seed: int | None) -> None:
    """Refuse an unknown presentation, and steps or seeds that are none.

    **Raises:** `ValueError` that names the field.
    """
    if present not in get_args(Presentation):
        known = ", ".join(map(repr, get_args(Presentation)))
        raise ValueError(f"present must be one of {known}, got {present!r}.")
    if hold_steps < 1:
        raise ValueError(f"hold_steps must be at least 1 step, got {hold_steps}.")
    if permutation_seed is not None and permutation_seed < 0:
        raise ValueError(f"permutation_seed must not be negative, got {permutation_seed}.")


def frame_shape(present: str, height: int, width: int) -> tuple[int, int]:
    """How many frames an image is shown in, and the channels of one."""
    return {
        "image": (1, height * width),
        "rows": (height, width),
        "pixels": (height * width, 1),
    }[present]


def pixel_order(n_pixels: int, permutation_seed: int | None) -> np.ndarray:
    """`(pixel,)`, the pixel that comes at each place; the order of reading without a seed."""
    if permutation_seed is None:
        return np.arange(n_pixels)
    return np.random.default_rng(permutation_seed).permutation(n_pixels)


def image_steps(
    images: Float[Array, "image height width"],
    *,
    present: str,
    hold_steps: int,
    permutation_seed: int | None,
) -> Float[Array, "image time channel"]:
    """Images as inputs over time.

    **Arguments:**

    - `images`: pixels.
    - `present`: see `Presentation`.
    - `hold_steps`: steps that each frame is shown for.
    - `permutation_seed`: of an order of the pixels, the same for all images; they are permuted
        before they are cut into rows. `None` leaves them.

    **Returns:** the inputs.
    """
    n, height, width = images.shape
    pixels = images.reshape(n, height * width)
    if permutation_seed is not None:
        pixels = pixels[:, pixel_order(height * width, permutation_seed)]
    frames = pixels.reshape(n, *frame_shape(present, height, width))
    return jnp.repeat(frames, hold_steps, axis=1) if hold_steps > 1 else frames


def class_at_last_step(
    labels: Array, n_classes: int, n_steps: int
) -> tuple[Float[Array, "image time label"], Float[Array, "image time label"]]:
    """Targets, one-hot at the last step and 0 before it, and the mask that asks for that step."""
    blank = jnp.zeros((len(labels), n_steps, n_classes), jnp.result_type(float))
    one_hot = (labels[:, None] == jnp.arange(n_classes)).astype(blank.dtype)
    return blank.at[:, -1].set(one_hot), blank.at[:, -1].set(1)
