"""Linear regression of one population, or output, on another, by way of singular values."""

from typing import NamedTuple

import numpy as np

from .numerical_rank import numerical_rank, refuse_dependent_units


class RidgeFactors(NamedTuple):
    """Centred predictors as `U diag(s) V^T`, and the penalty on squared coefficients.

    - `left`: U, `(sample, direction)`.
    - `singular`: s, `(direction,)`, none of them 0 but for rounding.
    - `axes`: V^T, `(direction, unit)`.
    - `penalty`: in squared units of activity, times samples.
    """

    left: np.ndarray
    singular: np.ndarray
    axes: np.ndarray
    penalty: float

    def coefficients(self, Y: np.ndarray) -> np.ndarray:
        """`(unit, target)`, those that predict centred `Y`, `(sample, target)`, best."""
        gain = self.singular / (self.singular**2 + self.penalty)
        return self.axes.T @ (gain[:, None] * (self.left.T @ Y))


def ridge_factors(centred: np.ndarray, regularisation: float | int, name: str) -> RidgeFactors:
    """Factors of predictors, `(sample, unit)`, centred.

    The penalty is `regularisation` times samples times the mean variance of the units.

    **Raises:** `ValueError` for a regularisation below 0, predictors that do not vary, or, without
    regularisation, that are linearly dependent.
    """
    if not 0 <= regularisation < np.inf:
        raise ValueError(f"regularisation must be finite and not negative, got {regularisation}.")
    U, s, Vt = np.linalg.svd(centred, full_matrices=False)
    if not s[0] > 0:
        raise ValueError(f"{name} does not vary (n_samples={len(centred)}): it predicts nothing.")
    if regularisation == 0:
        refuse_dependent_units(s, centred.shape, name)
    rank = numerical_rank(s, centred.shape).rank
    penalty = regularisation * float(np.sum(s**2)) / centred.shape[1]
    return RidgeFactors(U[:, :rank], s[:rank], Vt[:rank], penalty)
