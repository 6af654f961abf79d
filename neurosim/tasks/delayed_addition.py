"""Delayed addition: the sum of two marked numbers out of a long row."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from neurosim.kernels import check_dt

from .constants import constant, integer
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys


class DelayedAddition(Task):
    """Numbers pass by, two of them marked; at the last step the outputs are the sum of these two.

    Input 0 is uniform between 0 and 1 at every step. Input 1 is 1 at the two marked steps, counted
    from 0: the first is one of the `first_within` at the start, the second any later one up to
    `length // 2`. Only the last step counts; targets before it are 0 and masked.

    - `dt`: one step, the unit of time of this task.
    - `length`: number of steps; 32, 128 and 512 as published.
    - `first_within`: number of steps that the first mark may be at.
    - `n_outputs`: number of output channels, all with the same target; 2 in the authors' code.

    Entries of `info`: `marks`, `(batch, 2)`, the marked steps; `marked`, `(batch, 2)`, the numbers
    there; `sum`, `(batch,)`.

    **Reference:** Hochreiter & Schmidhuber (1997), Neural Computation 9, for the task; Yu, Xia, Ma,
    Lengyel & Hennequin (2024), NeurIPS 37, appendix A.2, for its present form.
    """

    dt: float = constant(1.0, float)
    length: int = constant(128, integer("length"))
    first_within: int = constant(10, integer("first_within"))
    n_outputs: int = constant(1, integer("n_outputs"))

    def __check_init__(self):
        check_dt(self.dt)
        for name in ("first_within", "n_outputs"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.length // 2 < self.first_within:
            raise ValueError(
                f"length {self.length} leaves no second mark after a first one in the last of "
                f"first_within = {self.first_within} steps: it must be at least "
                f"{2 * self.first_within}."
            )

    @property
    def n_inputs(self) -> int:
        """Two: the numbers, and their marks."""
        return 2

    @property
    def n_steps(self) -> int:
        """`length`."""
        return self.length

    @property
    def chance_mse(self) -> float:
        """Mean squared error of the best answer that ignores the input: 1/6."""
        return 1 / 6

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: numbers and marks.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        dtype = jnp.result_type(float)

        def draw(key: Array) -> tuple[Array, Array]:
            number_key, first_key, second_key = jax.random.split(key, 3)
            numbers = jax.random.uniform(number_key, (self.length,), dtype)
            first = jax.random.randint(first_key, (), 0, self.first_within)
            second = jax.random.randint(second_key, (), first + 1, self.length // 2 + 1)
            return numbers, jnp.stack([first, second])

        numbers, marks = jax.vmap(draw)(trial_keys(key, batch_size))
        shown = jnp.any(jnp.arange(self.length) == marks[..., None], axis=1)
        marked = jnp.take_along_axis(numbers, marks, axis=1)
        total = jnp.sum(marked, axis=1)
        inputs = jnp.stack([numbers, shown.astype(dtype)], axis=-1)
        mask = jnp.zeros((batch_size, self.length, self.n_outputs), dtype).at[:, -1].set(1)
        targets = mask * total[:, None, None]
        return Trials(inputs, targets, mask, {"marks": marks, "marked": marked, "sum": total})
