"""How many parameters train, and which width gives a network as many as another."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PyTree

from .trainable import Trainable, trainable_leaves


def parameter_count(model: PyTree, trainable: Trainable = None) -> int:
    """The number of entries of all leaves that train.

    **Arguments:**

    - `model`: a model.
    - `trainable`: which leaves train, as in `fit`; by default all but initial states and time
      constants.

    **Returns:** the number.
    """
    chosen = eqx.filter(model, trainable_leaves(model, trainable))
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(chosen))


def match_width(
    make_model: Callable[[int], Any], target: int, *, largest: int = 4096
) -> tuple[int, int]:
    """The number of units that brings a network nearest to a number of parameters.

    **Arguments:**

    - `make_model`: from a number of units to a model, with more parameters the more units.
    - `target`: the number of parameters to come near.
    - `largest`: most units to consider.

    **Returns:** the number of units and the number of parameters with it; of two equally near, the
    smaller.

    **Raises:** `ValueError` for a target below 1, or out of reach of `largest` units.

    ```python
    match_width(lambda n: LSTM.init(n, 3, 1, key=key), 1059)  # (14, 1022)
    ```
    """
    if target < 1:
        raise ValueError(f"target must be at least 1 parameter, got {target}.")
    counts: dict[int, int] = {}

    def count(n: int) -> int:
        if n not in counts:
            counts[n] = parameter_count(make_model(n))
        return counts[n]

    low, high = 1, largest
    if count(largest) < target:
        raise ValueError(f"{largest} units have {count(largest)} parameters, fewer than {target}.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < target else (low, middle)
    best = min((low, high), key=lambda n: (abs(count(n) - target), n))
    return best, count(best)
