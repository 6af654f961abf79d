"""Drawn digits: ten bitmaps, turned, scaled, sheared, shifted and blurred, with noise."""

from math import ceil, isfinite

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from neurosim.kernels import check_dt, whole_number

from .constants import constant, integer, optional, pair
from .image_steps import (
    Presentation,
    check_presentation,
    class_at_last_step,
    frame_shape,
    image_steps,
)
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys

_GLYPHS = """
01110 00100 01110 01110 00010 11111 00110 11111 01110 01110
10001 01100 10001 10001 00110 10000 01000 00001 10001 10001
10011 00100 00001 00001 01010 11110 10000 00010 10001 10001
10101 00100 00010 00110 10010 00001 11110 00100 01110 01111
11001 00100 00100 00001 11111 00001 10001 01000 10001 00001
10001 00100 01000 10001 00010 10001 10001 01000 10001 00010
01110 01110 11111 01110 00010 01110 01110 01000 01110 01100
"""

#: `(digit, row, column)`, 1 where there is ink.
GLYPHS = np.array(
    [[[int(c) for c in word] for word in line.split()] for line in _GLYPHS.split("\n") if line]
).swapaxes(0, 1)

#: Rows of a glyph with one of margin on either side: these fill the height of the image.
_PADDED_ROWS = GLYPHS.shape[1] + 2


class GlyphDigits(Task):
    """Say which of ten drawn digits an image shows; every batch has images of its own.

    A stand-in for handwritten digits where no files are at hand. A glyph of 5 x 7 pixels, with a
    margin of one, is turned, sheared, scaled and shifted at random, drawn at the size of the
    image by bilinear interpolation, blurred, divided by its maximum, given Gaussian noise on every
    pixel, and clipped to [0, 1]. Targets are one-hot at the last step, and masked before it.

    - `size`: height and width of the image in pixels.
    - `rotation`: largest angle either way, in degrees.
    - `scale`: largest change of the size, as a share of it.
    - `shift`: largest shift along either axis, as a share of the image's size.
    - `shear`: largest shear, columns a row.
    - `noise`: standard deviation of the noise of a pixel.
    - `blur`: least and largest standard deviation of the blur, in pixels of an image of 28.
    - `present`, `hold_steps`, `permutation_seed`, `dt`: as in `Digits`.

    Rotation, scale, shifts, shear and blur are uniform. Entries of `info`: `labels`, `(batch,)`.
    """

    size: int = constant(14, integer("size"))
    rotation: float = constant(25.0, float)
    scale: float = constant(0.25, float)
    shift: float = constant(0.12, float)
    shear: float = constant(0.2, float)
    noise: float = constant(0.15, float)
    blur: tuple[float, float] = constant((0.5, 1.0), pair("blur"))
    present: Presentation = constant("image")
    hold_steps: int = constant(1, integer("hold_steps"))
    permutation_seed: int | None = constant(None, optional(integer("permutation_seed")))
    dt: float = constant(1.0, float)

    def __check_init__(self):
        check_dt(self.dt)
        check_presentation(self.present, self.hold_steps, self.permutation_seed)
        if self.size < 7:
            raise ValueError(f"size must be at least 7 pixels, got {self.size}.")
        for name, most in (("rotation", 180), ("scale", 0.9), ("shift", 0.5), ("shear", 2)):
            if not 0 <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be from 0 to {most}, got {getattr(self, name)}.")
        if not (isfinite(self.noise) and self.noise >= 0):
            raise ValueError(f"noise must be finite and not negative, got {self.noise}.")
        low, high = self.blur
        if not 0 < low <= high <= 4:
            raise ValueError(
                f"blur must be two numbers, the first above 0 and the second not below it and at "
                f"most 4, got {self.blur}."
            )

    @property
    def n_inputs(self) -> int:
        """One for each pixel that is shown at once."""
        return frame_shape(self.present, self.size, self.size)[1]

    @property
    def n_outputs(self) -> int:
        """One logit for each digit."""
        return len(GLYPHS)

    @property
    def n_steps(self) -> int:
        """Number of time steps in every trial."""
        return frame_shape(self.present, self.size, self.size)[0] * self.hold_steps

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: digits, and how each is drawn.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        images, labels = self._draw(key, batch_size)
        inputs = image_steps(
            images,
            present=self.present,
            hold_steps=self.hold_steps,
            permutation_seed=self.permutation_seed,
        )
        targets, mask = class_at_last_step(labels, len(GLYPHS), self.n_steps)
        return Trials(inputs, targets, mask, {"labels": labels})

    def _draw(self, key: PRNGKeyArray, n: int) -> tuple[Array, Array]:
        """Images `(n, size, size)` and labels `(n,)`."""

        def one(key: Array) -> tuple[Array, Array]:
            label_key, jitter_key, noise_key = jax.random.split(key, 3)
            label = jax.random.randint(label_key, (), 0, len(GLYPHS))
            jitter = jax.random.uniform(jitter_key, (6,), jnp.result_type(float), -1, 1)
            clean = self._drawn(jnp.asarray(GLYPHS, jitter.dtype)[label], jitter)
            noise = jax.random.normal(noise_key, clean.shape, clean.dtype)
            return jnp.clip(clean + self.noise * noise, 0, 1), label

        return jax.vmap(one)(trial_keys(key, n))

    def _drawn(
        self, glyph: Float[Array, "row column"], jitter: Float[Array, "6"]
    ) -> Float[Array, "size size"]:
        """A glyph as an image with maximum 1, for jitters from -1 to 1."""
        turn, grow, slant, up, left, soft = jitter
        angle = jnp.deg2rad(self.rotation) * turn
        # From the image's coordinates, one across the image, back to rows and columns.
        where = (jnp.arange(self.size) + 0.5) / self.size - 0.5
        unit = _PADDED_ROWS / (1 + self.scale * grow)
        y = unit * (where[:, None] - self.shift * up)
        x = unit * (where[None, :] - self.shift * left)
        row = jnp.cos(angle) * y + jnp.sin(angle) * x
        column = jnp.cos(angle) * x - jnp.sin(angle) * y - self.shear * slant * row
        n_rows, n_columns = glyph.shape
        # Bilinear: each pixel of the glyph is a tent. A gather or a product of matrices would be
        # slow or round by the size of the batch.
        beside = [_tent(column + (n_columns - 1) / 2 - c) for c in range(n_columns)]
        image = jnp.zeros((self.size, self.size), glyph.dtype)
        for r in range(n_rows):
            along = sum(
                (glyph[r, c] * beside[c] for c in range(1, n_columns)),
                start=glyph[r, 0] * beside[0],
            )
            image += along * _tent(row + (n_rows - 1) / 2 - r)
        low, high = (self.size / 28 * width for width in self.blur)
        image = _blurred(image, low + (high - low) * (soft + 1) / 2, ceil(3 * high))
        most = jnp.max(image)
        return image / jnp.where(most > 0, most, 1)


def make_glyph_digits(
    n: int | np.integer,
    size: int | np.integer = 14,
    *,
    key: PRNGKeyArray,
    rotation: float | int = 25.0,
    scale: float | int = 0.25,
    shift: float | int = 0.12,
    shear: float | int = 0.2,
    noise: float | int = 0.15,
    blur: tuple[float | int, float | int] = (0.5, 1.0),
) -> tuple[Float[Array, "{n} {size} {size}"], Array]:
    """Draw a fixed set of images of digits, as in `GlyphDigits`.

    ```python
    train = Digits(*make_glyph_digits(3000, key=jax.random.key(73)))
    ```

    **Arguments:**

    - `n`: number of images. `size`: their height and width in pixels.
    - `key`: of the images; image i is the same in a larger set.
    - `rotation`, `scale`, `shift`, `shear`, `noise`, `blur`: see `GlyphDigits`.

    **Returns:** images `(n, size, size)` from 0 to 1, and labels `(n,)`.

    **Raises:** `ValueError` for numbers out of range.
    """
    n = whole_number(n, "n", least=1)
    task = GlyphDigits(
        size=whole_number(size, "size"),
        rotation=rotation,
        scale=scale,
        shift=shift,
        shear=shear,
        noise=noise,
        blur=blur,
    )
    return _images(task, key, n)


@eqx.filter_jit
def _images(task: GlyphDigits, key: PRNGKeyArray, n: int) -> tuple[Array, Array]:
    return task._draw(key, n)


def _tent(distance: Array) -> Array:
    return jnp.maximum(1 - jnp.abs(distance), 0)


def _blurred(image: Array, width: Array, radius: int) -> Array:
    """A Gaussian blur with a standard deviation of `width` pixels, cut off at `radius`."""
    offsets = np.arange(-radius, radius + 1)
    weights = jnp.exp(-(offsets**2) / (2 * width**2)).astype(image.dtype)
    weights = weights / jnp.sum(weights)
    for axis in (0, 1):
        margins = [(0, 0), (0, 0)]
        margins[axis] = (radius, radius)
        padded = jnp.pad(image, margins)
        n = image.shape[axis]
        image = sum(
            (
                weights[i] * jax.lax.slice_in_dim(padded, i, i + n, axis=axis)
                for i in range(len(offsets))
            ),
            start=jnp.zeros_like(image),
        )
    return image
