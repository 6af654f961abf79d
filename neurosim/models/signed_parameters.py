"""Values in the form in which training cannot take their sign away.

Positive values are stored as logarithms, non-negative weights as square roots: a weight of 0 is
exactly 0, has the derivative 0, and stays.
"""

from typing import Any

import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..kernels.safe_math import safe_sqrt


def log_of_positive(name: str, value: Any, n: int) -> Float[Array, " unit"]:
    """The logarithm of one positive number for each of `n` units; a single number is for all.

    **Raises:** `ValueError` for another shape or a value that is not positive and finite; traced
    values pass.
    """
    if isinstance(value, jax.core.Tracer):
        return jnp.broadcast_to(jnp.log(value), (n,))
    array = finite_array(name, value)
    if array.shape not in ((), (1,), (n,)):
        raise ValueError(
            f"{name} must be a number or have shape {(n,)}, got shape {array.shape}: one value for "
            "each unit."
        )
    if not np.all(array > 0):
        raise ValueError(f"{name} must be positive, got {np.min(array):g}.")
    return jnp.asarray(np.log(np.broadcast_to(array, (n,))))


def root_of_weights(name: str, value: Any, n: int) -> Float[Array, "unit unit"]:
    """The square roots of `(n, n)` weights that are not negative; a single number is for all.

    **Raises:** `ValueError` for another shape, or a weight that is negative or not finite; traced
    values pass.
    """
    if isinstance(value, jax.core.Tracer):
        # Not the square root of JAX, whose derivative is infinite at 0: a weight of 0 stays.
        return safe_sqrt(jnp.broadcast_to(value, (n, n)))
    array = finite_array(name, value)
    if n < 1 or array.shape not in ((), (n, n)):
        wanted = (n, n) if n > 0 else "(n, n), n from 1 on"
        raise ValueError(f"{name} must have shape {wanted}, got {array.shape}.")
    if np.any(array < 0):
        row, column = np.unravel_index(np.argmin(array), array.shape) if array.ndim else (0, 0)
        raise ValueError(
            f"{name} must not be negative, got {np.min(array):g} at entry ({row}, {column})."
        )
    return jnp.asarray(np.sqrt(np.broadcast_to(array, (n, n))))


def shaped_array(name: str, value: Any, shape: tuple[int | None, ...]) -> Array:
    """A finite array of the given shape, in which `None` stands for any length from 1 on.

    **Raises:** `ValueError` that names what does not fit; traced values are asked for their shape
    alone.
    """
    traced = isinstance(value, jax.core.Tracer)
    array = value if traced else finite_array(name, value)
    fits = array.ndim == len(shape) and all(
        have >= 1 and want in (None, have) for have, want in zip(array.shape, shape)
    )
    if not fits:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {array.shape}.")
    return jnp.asarray(array)


def optional_array(name: str, value: Any, shape: tuple[int | None, ...]) -> Array | None:
    """As `shaped_array`, for what may be left out."""
    return None if value is None else shaped_array(name, value, shape)


def finite_array(name: str, value: Any) -> np.ndarray:
    """Values that are not traced, as NumPy float64.

    **Raises:** `ValueError` for what is not an array of finite real numbers.
    """
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of real numbers, got {value!r}.") from error
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)].flat[0]}.")
    return array
