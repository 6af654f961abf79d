"""Whether a set of fixed points can be all there are, by the index theorem."""

from typing import Any

import numpy as np

from .activity import refuse_masked


def poincare_hopf_sum(eigenvalues: Any) -> int:
    """The sum over fixed points of (-1)^p, p the number of eigenvalues with positive real part.

    Trajectories of a network with bounded rates all end in a ball, and then the sum over all its
    fixed points is 1, as long as each is isolated and has no eigenvalue of 0. Another sum says that
    some were not found; 1 does not say that all were, since a stable point and a saddle may be
    missing together.

    **Arguments:**

    - `eigenvalues`: `(point, n)`, of the Jacobian of the flow at each point, as found by
      `reduced_fixed_points` and `modulated_fixed_points`.

    **Returns:** an integer; 0 for no points.

    **Raises:** `ValueError` for another shape, and for masked values or ones that are not finite.

    **Reference:** the index theorem of Poincaré and Hopf.
    """
    refuse_masked(eigenvalues, "eigenvalues")
    try:
        values = np.asarray(eigenvalues).astype(complex)
    except (TypeError, ValueError):
        raise ValueError(f"eigenvalues must be numbers, got {eigenvalues!r}.") from None
    if values.ndim != 2:
        raise ValueError(f"eigenvalues must be (point, n), got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("eigenvalues must be finite.")
    return int(np.sum((-1) ** (np.real(values) > 0).sum(axis=1)))
