"""What a task is: a sampler of trials."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray


class Trials(eqx.Module):
    """A batch of trials on one time grid.

    - `inputs`: `(batch, time, input channel)`; the value at index k is held over step k.
    - `targets`: `(batch, time, output channel)`; the value at index k is wanted after step k.
    - `mask`: as `targets`; weight of each entry in the loss, 0 where nothing is asked.
    - `info`: event times, labels and whatever else the analysis of a trial needs, by name; each
      entry has the batch as its first axis, or describes all trials. `initial_state`, if it is
      there, is where training starts the trials, in place of the model's own: a pytree as the
      model's state, with or without the batch as first axis.

    Padding under a zero mask is finite, always: a NaN there would still poison gradients.
    """

    inputs: Float[Array, "batch time input"]
    targets: Float[Array, "batch time output"]
    mask: Float[Array, "batch time output"]
    info: dict[str, Any]


class Task(eqx.Module):
    """A sampler of trials, every constant of which is a field.

    `sample` is a pure function of its key: it can be jitted, and vmapped over keys. All of its
    random numbers must be drawn from the key with `jax.random`. Training compiles `sample`, whose
    Python then runs once: numbers from `numpy.random` or `random` would be drawn that once and be
    the same in every batch after it, and nothing would say so.
    """

    #: The time step of the trials, in the task's unit of time.
    dt: eqx.AbstractVar[float]

    @property
    @abc.abstractmethod
    def n_inputs(self) -> int:
        """Number of input channels."""

    @property
    @abc.abstractmethod
    def n_outputs(self) -> int:
        """Number of output channels."""

    @property
    @abc.abstractmethod
    def n_steps(self) -> int:
        """Number of time steps in every trial."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        """Draw `batch_size` trials, with random numbers from `key` alone."""
