"""Coordinates of population activity along the components of a low-rank network."""

from typing import NamedTuple

from .activity import ActivityLike, AnyArray, read_activity
from .low_rank_factors import Numbers, check_independent, orthonormal_basis, read_arrays


class SpanCoordinates(NamedTuple):
    """Activity within the span of some columns; see `project_on_span`."""

    coordinates: AnyArray | list[AnyArray]
    basis: AnyArray
    directions: AnyArray


def project_modes(X: ActivityLike, L: Numbers) -> AnyArray | list[AnyArray]:
    """Coordinates of activity along the columns of L, by least squares: (L^T L)^-1 L^T x.

    With x = L kappa + rest they are kappa plus what the rest has in the span of L: input and
    initial state show in them. `exact_reduction` separates these.

    **Arguments:**

    - `X`: `(time, units)`, `(trials, time, units)` or a list of `(time_i, units)`.
    - `L`: `(units, rank)`, columns independent, orthonormal or not.

    **Returns:** coordinates in the layout of `X`, components in place of units; NumPy float64, or
    JAX if either argument is.

    **Raises:** `ValueError` for a bad layout, values that are not finite, sizes that do not fit, or
    dependent columns.

    **Reference:** Costacurta et al. (2024), section 3.1, for columns that need not be orthonormal.
    """
    activity, xp, samples, columns = _read(X, L, "L")
    q, t = orthonormal_basis(columns, xp)
    # (L^T L)^-1 L^T = T^-1 Q^T, without squaring the condition number.
    return activity.restore(xp.linalg.solve(t, (samples @ q).T).T)


def project_on_span(X: ActivityLike, R: Numbers) -> SpanCoordinates:
    """Coordinates of activity in an orthonormal basis of the span of R's columns.

    Lengths and angles within the span are kept, so this is the plane to draw trajectories in, with
    the columns themselves as `directions`. The basis is the orthonormal factor of R = Q T with
    the diagonal of T positive: its first axis points along the first column.

    **Arguments:**

    - `X`: `(time, units)`, `(trials, time, units)` or a list of `(time_i, units)`.
    - `R`: `(units, rank)`, columns independent.

    **Returns:** `SpanCoordinates`:

    - `coordinates`: Q^T x, in the layout of `X`.
    - `basis`: Q, `(units, rank)`.
    - `directions`: T = Q^T R, `(rank, rank)`; column k is where column k of R points.

    **Raises:** `ValueError` as `project_modes`.

    **Reference:** the state-space plots of Costacurta et al. (2024), Fig. 4.
    """
    activity, xp, samples, columns = _read(X, R, "R")
    q, t = orthonormal_basis(columns, xp)
    return SpanCoordinates(activity.restore(samples @ q), q, t)


def _read(X, columns, name):
    activity = read_activity(X, axis_name="unit")
    xp, (samples, matrix) = read_arrays(**{"X": activity.samples, name: columns})
    if matrix.ndim != 2 or matrix.shape[0] != samples.shape[1] or matrix.shape[1] == 0:
        raise ValueError(
            f"{name} must be (units, rank) with the {samples.shape[1]} units of X, got "
            f"{matrix.shape}."
        )
    check_independent(matrix, name)
    return activity, xp, samples, matrix
