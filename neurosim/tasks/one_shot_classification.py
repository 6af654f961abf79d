"""One-shot classification: learn the labels of a trial from one example of each class."""

from math import isfinite

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from neurosim.kernels import check_dt

from .constants import constant, integer
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys


class OneShotClassification(Task):
    """Examples with labels, then items without, whose labels the outputs give.

    An item of class i is the unit vector i plus Gaussian noise, and is held for `item_steps`
    steps. First comes one example of each class in order, with its label, which is drawn anew in
    every trial, and a cue; then one item of each class in random order, without. Targets are
    one-hot labels, for a softmax cross-entropy on the outputs as logits, at the last step of each
    unlabelled item; elsewhere they are 0 and masked.

    Input channels: `n_classes` for the item, `n_classes` for the label, one for the cue.

    - `dt`: one step, the unit of time of this task.
    - `n_classes`: number of classes; 3 as published.
    - `item_steps`: steps that an item is held for.
    - `noise_std`: of each coordinate of an item, one draw an item. 0.1 as in the authors' code. The
        paper says 1, at which `bayes_accuracy` is 63 %.

    Entries of `info`: `labels`, `(batch, class)`, the label of each class; `queries`, `(batch,
    item)`, the classes of the unlabelled items; `answers`, like it, their labels; `response_steps`,
    like it, the steps that count.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), Second-order forward-mode optimization
    of recurrent neural networks for neuroscience, NeurIPS 37, appendix A.1.
    """

    dt: float = constant(1.0, float)
    n_classes: int = constant(3, integer("n_classes"))
    item_steps: int = constant(10, integer("item_steps"))
    noise_std: float = constant(0.1, float)

    def __check_init__(self):
        check_dt(self.dt)
        if self.n_classes < 2:
            raise ValueError(f"n_classes must be at least 2, got {self.n_classes}.")
        if self.item_steps < 1:
            raise ValueError(f"item_steps must be at least 1 step, got {self.item_steps}.")
        if not (isfinite(self.noise_std) and self.noise_std >= 0):
            raise ValueError(f"noise_std must be finite and not negative, got {self.noise_std}.")

    @property
    def n_inputs(self) -> int:
        """Item, label and cue."""
        return 2 * self.n_classes + 1

    @property
    def n_outputs(self) -> int:
        """One logit for each label."""
        return self.n_classes

    @property
    def n_steps(self) -> int:
        """Of two items of each class."""
        return 2 * self.n_classes * self.item_steps

    @property
    def bayes_accuracy(self) -> float:
        """Share of single items that the best classifier gets right, which knows the classes.

        It takes the largest coordinate. That a trial asks for each class once would help it
        further where items are not clear.
        """
        if self.noise_std == 0:
            return 1.0
        # Probability that 1 + s n exceeds the others, all s n: smooth, so the trapezium is exact.
        x = np.linspace(-12, 12, 4001)
        density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
        below = jax.scipy.stats.norm.cdf(x + 1 / self.noise_std)
        return float(np.sum(density * np.asarray(below) ** (self.n_classes - 1)) * (x[1] - x[0]))

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: labels, the order of the unlabelled items, and noise.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        dtype, n = jnp.result_type(float), self.n_classes

        def draw(key: Array) -> tuple[Array, Array, Array]:
            label_key, order_key, noise_key = jax.random.split(key, 3)
            noise = jax.random.normal(noise_key, (2 * n, n), dtype)
            return (
                jax.random.permutation(label_key, n),
                jax.random.permutation(order_key, n),
                noise,
            )

        labels, queries, noise = jax.vmap(draw)(trial_keys(key, batch_size))
        answers = jnp.take_along_axis(labels, queries, axis=1)
        classes = jnp.concatenate([jnp.broadcast_to(jnp.arange(n), labels.shape), queries], axis=1)
        items = jax.nn.one_hot(classes, n, dtype=dtype) + self.noise_std * noise
        told = jnp.pad(jax.nn.one_hot(labels, n, dtype=dtype), ((0, 0), (0, n), (0, 0)))
        cue = jnp.broadcast_to(jnp.arange(2 * n) < n, classes.shape).astype(dtype)[..., None]
        inputs = jnp.repeat(jnp.concatenate([items, told, cue], -1), self.item_steps, axis=1)
        steps = (jnp.arange(n, 2 * n) + 1) * self.item_steps - 1
        blank = jnp.zeros((batch_size, self.n_steps, n), dtype)
        targets = blank.at[:, steps].set(jax.nn.one_hot(answers, n, dtype=dtype))
        info = {"labels": labels, "queries": queries, "answers": answers}
        info["response_steps"] = jnp.broadcast_to(steps, queries.shape)
        return Trials(inputs, targets, blank.at[:, steps].set(1), info)
