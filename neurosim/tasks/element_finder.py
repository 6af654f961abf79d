"""Element Finder: report the element of a sequence that was asked for before it began."""

from math import isfinite

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from neurosim.kernels import check_dt

from .constants import constant, integer, integers, optional
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys

#: The sampler's bounds: the upper one is exclusive, and has to be a 32-bit integer itself.
_LOWEST, _HIGHEST = -(2**31), 2**31 - 2


class ElementFinder(Task):
    """Given a position and then a sequence of integers, answer the integer at that position.

    One input channel: at step 0 the query q as a raw number, then `length` integers, uniform from
    `low` to `high` with both ends included. One output, of which only the last step counts; there
    its target is element q of the sequence, counted from 0. Targets before it are 0 and masked.

    - `dt`: one step, the unit of time of this task.
    - `length`: number of elements in the sequence.
    - `low`, `high`: the smallest and the largest element, from -2^31 to 2^31 - 2. float32 holds
        every integer up to 2^24, and rounds beyond.
    - `queries`: the positions to draw q from; `None` for all.
    - `fixed_value`: `None`, or the element at the position asked for, in every trial. With one
        query it holds query and answer fixed while the rest of the sequence varies.

    Entries of `info`, one a trial: `query`, the position asked for, and `value`, the answer.

    **Reference:** Costacurta, Bhandarkar, Zoltowski & Linderman (2024), section 6.
    """

    dt: float = constant(1.0, float)
    length: int = constant(25, integer("length"))
    low: int = constant(-10, integer("low"))
    high: int = constant(10, integer("high"))
    queries: tuple[int, ...] | None = constant(None, optional(integers("queries")))
    fixed_value: float | int | None = constant(None)

    def __check_init__(self):
        check_dt(self.dt)
        if self.length < 1:
            raise ValueError(f"length must be at least 1 element, got {self.length}.")
        if self.low > self.high:
            raise ValueError(f"low must not exceed high, got {self.low} and {self.high}.")
        if self.low < _LOWEST or self.high > _HIGHEST:
            raise ValueError(
                f"elements are 32-bit integers: low must be at least {_LOWEST} and high at most "
                f"{_HIGHEST}, got {self.low} and {self.high}."
            )
        if self.queries is not None:
            if not self.queries:
                raise ValueError("queries must hold at least one position, got none.")
            outside = [query for query in self.queries if not 0 <= query < self.length]
            if outside:
                raise ValueError(
                    f"queries must be positions from 0 to {self.length - 1}, got {outside}."
                )
        if self.fixed_value is not None and not isfinite(self.fixed_value):
            raise ValueError(f"fixed_value must be finite, got {self.fixed_value}.")

    @property
    def n_inputs(self) -> int:
        """One: the query, then the elements."""
        return 1

    @property
    def n_outputs(self) -> int:
        """One: the answer."""
        return 1

    @property
    def n_steps(self) -> int:
        """The query and the elements."""
        return 1 + self.length

    @property
    def chance_mse(self) -> float:
        """Mean squared error of the best answer that ignores the input: 110/3 by default."""
        if self.fixed_value is not None:
            return 0.0
        return ((self.high - self.low + 1) ** 2 - 1) / 12

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: query and elements, each independently and uniformly.

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
        queries = jnp.asarray(range(self.length) if self.queries is None else self.queries)

        # Both ends included: which query, and each element.
        lowest = jnp.array([0] + [self.low] * self.length)
        highest = jnp.array([len(queries) - 1] + [self.high] * self.length)

        def draw(key):
            picks = jax.random.randint(key, lowest.shape, lowest, highest + 1)
            # Integers would make the inputs a dead end for derivatives.
            query, elements = queries[picks[0]], picks[1:].astype(dtype)
            if self.fixed_value is not None:
                elements = jnp.where(jnp.arange(self.length) == query, self.fixed_value, elements)
            return query, elements

        query, elements = jax.vmap(draw)(trial_keys(key, batch_size))
        value = jnp.take_along_axis(elements, query[:, None], axis=1)[:, 0]
        inputs = jnp.concatenate([query[:, None].astype(dtype), elements], axis=1)[..., None]
        mask = jnp.zeros_like(inputs).at[:, -1].set(1)
        targets = mask * value[:, None, None]
        return Trials(inputs, targets, mask, {"query": query, "value": value})
