"""Classification of given images of digits, at once or as a sequence."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from neurosim.kernels import check_dt

from .constants import constant, integer, optional
from .image_steps import (
    Presentation,
    check_presentation,
    class_at_last_step,
    frame_shape,
    image_steps,
    pixel_order,
)
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys


def _floating(images: Any) -> Any:
    array = jnp.asarray(images)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


class Digits(Task):
    """Say which digit an image shows, after the last of its pixels has been seen.

    Trials are images drawn with replacement. Targets are one-hot at the last step, for a softmax
    cross-entropy on the outputs as logits; before it they are 0 and masked. With `present` as
    `"pixels"` this is sequential MNIST, and with a `permutation_seed` permuted sequential MNIST.

    ```python
    task = Digits(*read_mnist("~/data/mnist", "train"), present="pixels")
    ```

    - `images`: `(n, height, width)`, finite.
    - `labels`: `(n,)`, whole numbers from 0.
    - `present`: `"image"`, one step with a channel for each pixel; `"rows"`, a step for each row;
        or `"pixels"`, a step for each pixel, in the order of reading.
    - `hold_steps`: steps that the image, or each row or pixel, is held for.
    - `permutation_seed`: of an order of the pixels, the same in every trial; `None` for that of
        reading. Rows are cut from the permuted pixels.
    - `n_classes`: number of labels there can be.
    - `dt`: one step, the unit of time of this task; a network with time constants of its own wants
        it in its unit.

    Entries of `info`: `labels`, `(batch,)`; and `indices`, like it, the places of the images.

    **Reference:** Le, Jaitly & Hinton (2015), A simple way to initialize recurrent networks of
    rectified linear units, arXiv 1504.00941, for the sequences.
    """

    images: Float[Array, "image height width"] = eqx.field(converter=_floating)
    labels: Int[Array, " image"] = eqx.field(converter=jnp.asarray)
    present: Presentation = constant("image")
    hold_steps: int = constant(1, integer("hold_steps"))
    permutation_seed: int | None = constant(None, optional(integer("permutation_seed")))
    n_classes: int = constant(10, integer("n_classes"))
    dt: float = constant(1.0, float)

    def __check_init__(self):
        check_dt(self.dt)
        check_presentation(self.present, self.hold_steps, self.permutation_seed)
        if self.n_classes < 2:
            raise ValueError(f"n_classes must be at least 2, got {self.n_classes}.")
        images, labels = np.shape(self.images), np.shape(self.labels)
        if len(images) != 3 or labels != images[:1] or 0 in images:
            raise ValueError(
                "images must be (n, height, width) and labels (n,), not empty, got "
                f"{images} and {labels}."
            )
        if not jnp.issubdtype(self.labels.dtype, jnp.integer):
            raise ValueError(f"labels must be whole numbers, got {self.labels.dtype}.")
        if any(isinstance(x, jax.core.Tracer) for x in (self.images, self.labels)):
            return
        finite = np.isfinite(np.asarray(self.images)).all(axis=(1, 2))
        if not finite.all():
            raise ValueError(f"images must be finite: image {int(np.argmin(finite))} is not.")
        labels = np.asarray(self.labels)
        if labels.min() < 0 or labels.max() >= self.n_classes:
            raise ValueError(
                f"labels must be from 0 to {self.n_classes - 1} for n_classes = "
                f"{self.n_classes}, got {labels.min()} to {labels.max()}."
            )

    @property
    def n_inputs(self) -> int:
        """One for each pixel that is shown at once."""
        return self._frames[1]

    @property
    def n_outputs(self) -> int:
        """One logit for each label."""
        return self.n_classes

    @property
    def n_steps(self) -> int:
        """Number of time steps in every trial."""
        return self._frames[0] * self.hold_steps

    @property
    def permutation(self) -> np.ndarray:
        """`(pixel,)`, the place in the image of the pixel that comes first, second, ..."""
        return pixel_order(self.images[0].size, self.permutation_seed)

    @property
    def _frames(self) -> tuple[int, int]:
        _, height, width = self.images.shape
        return frame_shape(self.present, height, width)

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw images with replacement.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`. Since this task holds arrays, use
            `equinox.filter_jit`, or `jax.jit` on a function of the key that calls this.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    def trials(self, indices: Sequence[int] | np.ndarray | Array | None = None) -> Trials:
        """Trials of given images in order, for validation and tests.

        **Arguments:**

        - `indices`: the places of the images; `None` for all of them.

        **Returns:** the trials.

        **Raises:** `ValueError` for no indices, or others than whole numbers from 0 to n - 1.
        """
        n = len(self.images)
        chosen = np.arange(n) if indices is None else np.asarray(indices)
        if chosen.ndim != 1 or chosen.size == 0 or not np.issubdtype(chosen.dtype, np.integer):
            raise ValueError(
                f"indices must be a row of whole numbers, not empty, got {chosen.dtype} of shape "
                f"{chosen.shape}."
            )
        if chosen.min() < 0 or chosen.max() >= n:
            raise ValueError(
                f"indices must be from 0 to {n - 1}, got {chosen.min()} to {chosen.max()}."
            )
        return self._at(jnp.asarray(chosen))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        keys = trial_keys(key, batch_size)
        n = len(self.images)
        return self._at(jax.vmap(lambda key: jax.random.randint(key, (), 0, n))(keys))

    @eqx.filter_jit
    def _at(self, indices: Array) -> Trials:
        inputs = image_steps(
            self.images[indices].astype(jnp.result_type(float)),
            present=self.present,
            hold_steps=self.hold_steps,
            permutation_seed=self.permutation_seed,
        )
        labels = self.labels[indices]
        targets, mask = class_at_last_step(labels, self.n_classes, self.n_steps)
        return Trials(inputs, targets, mask, {"labels": labels, "indices": indices})
