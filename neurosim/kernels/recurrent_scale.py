"""The factor on the recurrent term of a rate network, by name or as a number."""

from typing import Any

import jax.core
import numpy as np

_NAMES = ("unit", "1/N", "1/sqrt(N)")


def recurrent_scale(rec_scale: Any, n_units: int) -> Any:
    """The factor g on the recurrent term of N units: 1, 1/N, 1/sqrt(N), or the number given.

    **Raises:** `ValueError` for another name, or what is no single finite number; a traced number
    passes.
    """
    if isinstance(rec_scale, str) and rec_scale in _NAMES:
        return {"unit": 1.0, "1/N": 1.0 / n_units, "1/sqrt(N)": n_units**-0.5}[rec_scale]
    if not _is_number(rec_scale):
        raise ValueError(
            f"rec_scale must be 'unit', '1/N', '1/sqrt(N)' or one finite number, got {rec_scale!r}."
        )
    return rec_scale


def _is_number(value: Any) -> bool:
    if value is None or type(value) in (str, bool) or np.ndim(value) != 0:
        return False
    return isinstance(value, jax.core.Tracer) or bool(np.isfinite(value))
