"""What the directions of a low-rank network have in common: the numbers that set its dynamics."""

from typing import NamedTuple

from .activity import AnyArray
from .low_rank_factors import Numbers, check_factors, check_matrix, read_arrays


class Overlaps(NamedTuple):
    """Inner products between the directions of a low-rank network; see `overlaps`."""

    recurrent: AnyArray
    input: AnyArray | None
    output: AnyArray | None


def overlaps(
    L: Numbers,
    R: Numbers,
    *,
    B: Numbers | None = None,
    C: Numbers | None = None,
    normalise: str | None = None,
) -> Overlaps:
    """How the components of a low-rank network read each other, the input, and are read out.

    Component k reads along R_k and writes along L_k. In the linear network the coordinates follow
    tau kappa' = -kappa + g s * (R^T L kappa + R^T B v), so `recurrent` and `input` are all there
    is. Scaling a component, L_k -> a L_k and R_k -> R_k / a, changes nothing in the network and
    multiplies row k of `recurrent` and `input` by 1 / a, column k of `recurrent` and `output` by a.

    **Arguments:**

    - `L`, `R`: `(units, rank)`. `B`: `(units, input)`. `C`: `(output, units)`.
    - `normalise`: `"N"` divides by the number of units, which is the mean-field convention for a
      recurrent term with the factor 1/N; `None` does not.

    **Returns:** `Overlaps`, NumPy float64, or JAX if any argument is:

    - `recurrent`: R^T L, `(rank, rank)`; entry j, k is how component j reads component k.
    - `input`: R^T B, `(rank, input)`, `None` without B.
    - `output`: C L, `(output, rank)`, `None` without C.

    **Raises:** `ValueError` for shapes that do not fit, values that are not finite, or another
    `normalise`.

    **Reference:** Mastrogiuseppe & Ostojic (2018), Neuron 99, 609-623.
    """
    if normalise not in (None, "N"):
        raise ValueError(f"normalise must be 'N' or None, got {normalise!r}.")
    _, (L, R, B, C) = read_arrays("B", "C", L=L, R=R, B=B, C=C)
    n_units, _ = check_factors(L, R)
    unit = n_units if normalise == "N" else 1
    if B is not None:
        check_matrix(B, "B", layout="(units, input)", axis=0, n_units=n_units)
    if C is not None:
        check_matrix(C, "C", layout="(output, units)", axis=1, n_units=n_units)
    return Overlaps(
        recurrent=R.T @ L / unit,
        input=None if B is None else R.T @ B / unit,
        output=None if C is None else C @ L / unit,
    )
