"""A task as a stream of NumPy batches, in the form that PyTorch training loops for it expect."""

from collections.abc import Iterator

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from .constants import integer
from .task import Task, Trials
from .trial_keys import check_batch_size

Batch = tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]


class TrialDataset:
    """Fresh trials at every call, as inputs and targets; made by `as_dataset`.

    Called, or iterated over, like the `Dataset` of neurogym, whose place it can take: a loop that
    was written for that needs another first line. Batch n is drawn from `fold_in(key, n)`, so that
    a run that stopped goes on with the batches it would have had once `index` is set.

    - `seq_len`, `batch_size`: of every batch, in steps and trials.
    - `inputs_shape`, `target_shape`: of its two arrays.
    - `index`: of the next batch.
    - `trials`: the last batch as it was drawn, with `info` and the batch first; `None` before it.
    - `mask`: its weights in the loss, in the form of the targets; `None` before it.
    """

    def __init__(
        self, task: Task, key: PRNGKeyArray, batch_size: int | np.integer, batch_first: bool
    ):
        self.batch_size = check_batch_size(batch_size)
        self.batch_first = batch_first
        self.seq_len = task.n_steps
        shape = (self.batch_size, self.seq_len) if batch_first else (self.seq_len, self.batch_size)
        self.inputs_shape = (*shape, task.n_inputs)
        self.target_shape = (*shape, task.n_outputs)
        self.index = 0
        self.trials: Trials | None = None
        self.mask: Float[np.ndarray, "..."] | None = None
        self._task, self._key = task, key

    def __call__(self) -> Batch:
        """The next batch.

        **Returns:** inputs and targets, float32 NumPy arrays of the caller's own.

        **Raises:** `ValueError` if `index` is not a whole number from 0 on.
        """
        index = integer("index")(self.index)
        if not 0 <= index < 2**32:
            raise ValueError(f"index must be from 0 to 2^32 - 1, got {index}.")
        trials = _batch(self._task, self._key, np.uint32(index), self.batch_size)
        self.trials, self.index = trials, index + 1
        self.mask = self._as_numpy(trials.mask)
        return self._as_numpy(trials.inputs), self._as_numpy(trials.targets)

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        return self()

    def _as_numpy(self, array: Array) -> np.ndarray:
        values = np.asarray(array)
        # A copy: PyTorch wants arrays that it may write to.
        return np.array(
            values if self.batch_first else values.swapaxes(0, 1), np.float32, order="C"
        )


@eqx.filter_jit
def _batch(task: Task, key: PRNGKeyArray, index: ArrayLike, batch_size: int) -> Trials:
    return task.sample(jax.random.fold_in(key, index), batch_size)


def as_dataset(
    task: Task,
    key: PRNGKeyArray,
    batch_size: int | np.integer,
    *,
    batch_first: bool = False,
) -> TrialDataset:
    """A task as a stream of NumPy batches, for training loops outside JAX.

    ```python
    dataset = as_dataset(Multitask.yang(), jax.random.key(0), 64)
    inputs, labels = dataset()  # (time, batch, channel) each
    ```

    **Arguments:**

    - `task`: any task of this package, or one of yours.
    - `key`: batch n is `task.sample(fold_in(key, n), batch_size)`.
    - `batch_size`: number of trials in a batch.
    - `batch_first`: `(batch, time, channel)` in place of `(time, batch, channel)`.

    **Returns:** the dataset; see `TrialDataset`. It has no end.

    **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
    """
    return TrialDataset(task, key, batch_size, batch_first)
