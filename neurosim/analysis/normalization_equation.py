"""The normalization equation: each response divided by the pooled activity of others."""

from typing import NamedTuple

import numpy as np

from .activity import AnyArray, is_traced
from .low_rank_factors import Numbers, read_arrays
from .normalization_circuit import read_circuit


class NormalizationState(NamedTuple):
    """Principal and normalization neurons; see `normalization_equation`."""

    y: AnyArray
    a: AnyArray


def normalization_equation(
    z: Numbers,
    *,
    W: Numbers,
    sigma: Numbers,
    b: Numbers = 1.0,
    b0: Numbers = None,
    exponent: float | int | np.number = 2.0,
    rectify: str = "none",
) -> NormalizationState:
    """The normalized responses to a drive, at which a circuit with W_r = I comes to rest.

        a = (b0 sigma)^p + W |b z|^p,    y = b z / a^(1/p)

    With b = b0 equal in all units, |y|^p = |z|^p / (sigma^p + W |z|^p) whatever b is. Rectified,
    `a = (b0 sigma)^p + W [b z]+^p` and `y = [b z]+ / a^(1/p) - [-b z]+`: negative drive is neither
    normalized nor part of the pool.

    ```python
    normalization_equation(contrasts[:, None], W=[[1.0]], sigma=0.1).y ** 2
    ```

    **Arguments:**

    - `z`: `(..., n)`, input drive, of either sign.
    - `W`: `(..., n, n)`, normalization weights, not negative.
    - `sigma`: number or `(..., n)`, semisaturation, in the unit of `z`, positive.
    - `b`, `b0`: number or `(..., n)`, gains of input and baseline, positive; `b0` is `b` by
      default.
    - `exponent`: p, positive.
    - `rectify`: `"none"`, `"inner"` or `"outer"`; the last two agree here.

    **Returns:** `y` and `a`, `(..., n)`; NumPy float64, or JAX where anything given is.

    **Raises:** `ValueError` for shapes that do not fit, values that are missing, masked or not
    finite, negative weights, or another parameter that is not positive.

    **Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
    circuit implementing divisive normalization, NeurIPS 37, Eq. 2 and appendix A; Heeger (1992),
    Visual Neuroscience 9, 181-197.
    """
    if not is_traced(exponent) and not 0 < exponent < np.inf:
        raise ValueError(f"exponent must be positive and finite, got {exponent}.")
    b0 = b if b0 is None else b0
    circuit = read_circuit(z, W=W, sigma=sigma, b=b, b0=b0, rectify=rectify)
    return NormalizationState(*circuit.rest(exponent))


def normalization_first_order(
    z: Numbers,
    perturbation: Numbers,
    *,
    W: Numbers,
    sigma: Numbers,
    b: Numbers,
    b0: Numbers,
) -> NormalizationState:
    """How the normalized responses change per unit of eps with recurrent weights I + eps K.

    To first order, of the circuit that is not rectified:

        a1 = W (2 b z (1 - sqrt(a)) (K y))
        y1 = (1 / sqrt(a) - 1) (K y) - (y / 2 a) a1

    **Arguments:**

    - `perturbation`: K, `(..., n, n)`.
    - The others are those of `normalization_equation`.

    **Returns:** y1 and a1, `(..., n)`, as `normalization_equation`.

    **Raises:** `ValueError` as `normalization_equation` does, and for a K of another shape.

    **Reference:** first-order response of the circuit of Rawat, Heeger & Martiniani (2024).
    """
    circuit = read_circuit(z, W=W, sigma=sigma, b=b, b0=b0, rectify="none")
    _, (K, _) = read_arrays(perturbation=perturbation, z=z)
    n = circuit.z.shape[-1]
    if K.ndim < 2 or K.shape[-2:] != (n, n):
        raise ValueError(f"perturbation must be (..., n, n) with n = {n}, got {K.shape}.")
    y, a = circuit.rest()
    root = a**0.5
    moved = (K @ y[..., None])[..., 0]
    a1 = circuit.pool(2 * circuit.b * circuit.z * (1 - root) * moved)
    return NormalizationState((1 / root - 1) * moved - y / (2 * a) * a1, a1)
