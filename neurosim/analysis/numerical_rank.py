"""Numerical rank: how many singular values are more than rounding."""

from typing import NamedTuple

import numpy as np


class NumericalRank(NamedTuple):
    """The rank of a matrix but for rounding; see `numerical_rank`."""

    rank: int
    threshold: float


def numerical_rank(singular: np.ndarray, shape: tuple[int, ...]) -> NumericalRank:
    """How many singular values of a matrix are larger than rounding makes of zero.

    A singular value counts above max(shape) eps s_1, with s_1 the largest and eps the spacing of
    floats at 1, as in `numpy.linalg.matrix_rank`. A matrix of zeros has rank 0.

    **Arguments:**

    - `singular`: `(direction,)`, singular values, decreasing.
    - `shape`: of the matrix.

    **Returns:** `NumericalRank`: `rank`, so that the first `rank` directions are those that count,
    and the `threshold`.
    """
    threshold = float(max(shape) * np.finfo(singular.dtype).eps * singular[0])
    return NumericalRank(int((singular > threshold).sum()), threshold)


def refuse_dependent_units(singular: np.ndarray, shape: tuple[int, int], name: str) -> None:
    """Refuse units that depend on one another, where no penalty tells them apart.

    **Arguments:**

    - `singular`: `(direction,)`, singular values of the centred samples, decreasing.
    - `shape`: `(sample, unit)`, that of the samples.
    - `name`: what to call the samples in the error.

    **Raises:** `ValueError` for units that are linearly dependent over the samples.
    """
    n_samples, n_units = shape
    rank, threshold = numerical_rank(singular, shape)
    if rank < n_units:
        raise ValueError(
            f"the {n_units} units of {name} are linearly dependent in n_samples={n_samples}: "
            f"numerical rank {rank} (singular values of the samples above {threshold:.1e}, the "
            f"largest {singular[0]:.1e}). Leave out units, keep {rank} principal components, or "
            "set regularisation above 0."
        )
