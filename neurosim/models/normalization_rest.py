"""Where a circuit of divisive normalization rests, and whether it would stay there."""

import warnings
from typing import Any, NamedTuple

import jax.core
import numpy as np


class RestPoint(NamedTuple):
    """Where a circuit of divisive normalization rests for a held input.

    - `y`, `a`: the point, `(..., N)` each.
    - `residual`: `(...)`, the largest `|tau dy/dt|` or `|tau da/dt|` there.
    - `converged`: `(...)`, whether it is a rest point up to rounding; nothing else here says so.
    - `stable`: `(...)`, whether it is one and every eigenvalue of its Jacobian has a negative real
      part; `None` where traced.
    """

    y: Any
    a: Any
    residual: Any
    converged: Any
    stable: Any


def eigenvalues_negative(jacobians: np.ndarray) -> np.ndarray:
    """Whether every eigenvalue has a negative real part, for `(..., n, n)`; no for NaN."""
    finite = np.all(np.isfinite(jacobians), axis=(-2, -1))
    safe = np.where(finite[..., None, None], jacobians, 0).astype(np.float64)
    return np.asarray(finite & (np.linalg.eigvals(safe).real.max(-1) < 0))


def warn_untested(W_r: Any, b: Any) -> None:
    """Say where a general circuit leaves the region in which rest points were found stable."""
    if not isinstance(W_r, jax.core.Tracer):
        largest = np.linalg.norm(np.asarray(W_r), 2)
        if largest > 1 + 1e-5:
            warnings.warn(
                f"the largest singular value of W_r is {largest:.4g}; above 1 a stable rest point "
                "need not exist.",
                stacklevel=3,
            )
    if not isinstance(b, jax.core.Tracer) and np.max(np.asarray(b)) > 1:
        warnings.warn(
            f"b is {np.max(np.asarray(b)):.4g}; above 1 a stable rest point need not exist, "
            "unless W_r is None.",
            stacklevel=3,
        )
