"""Arguments of an analysis that is computed in NumPy, whatever they are given as."""

from typing import Any

import jax
import numpy as np

from .estimator import refuse_traced
from .low_rank_factors import read_arrays


def read_known(what: str, *optional: str, **values: Any) -> list[Any]:
    """The values as NumPy float64 arrays; `None` stays `None` where the name is `optional`.

    `what` names the analysis for a `TypeError` where values are not known, under `jit`, `grad` or
    `vmap`.

    **Raises:** `ValueError` as `read_arrays` does.
    """
    refuse_traced(values, what)
    _, arrays = read_arrays(*optional, **{name: in_numpy(x) for name, x in values.items()})
    return arrays


def in_numpy(x: Any) -> Any:
    """A JAX array in NumPy, and anything else as it is."""
    return np.asarray(x) if isinstance(x, jax.Array) else x
