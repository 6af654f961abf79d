"""A unit's transfer function, given from outside, and its slope, in NumPy or JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .activity import AnyArray


def rates(phi: Callable[[Any], Any], x: AnyArray, xp: Any) -> AnyArray:
    """`phi(x)` in the namespace `xp`, float64 in NumPy.

    A NumPy function of its own kind (`numpy.tanh`) is taken as its JAX counterpart where `x` is
    JAX's, and a JAX function serves NumPy arrays in double precision, whatever JAX's setting.

    **Raises:** `ValueError` for a function that does not act on entries one by one.
    """
    if xp is jnp:
        y = _in_jax(phi)(x)
    elif phi is jnp.tanh:
        y = np.tanh(x)
    else:
        with jax.enable_x64(True):
            y = np.asarray(phi(x), dtype=np.float64)
    if np.shape(y) != np.shape(x):
        raise ValueError(
            "phi must act on every entry by itself: given an array of shape "
            f"{np.shape(x)}, it returned one of shape {np.shape(y)}."
        )
    return y


def slopes(phi: Callable[[Any], Any], x: AnyArray, xp: Any) -> AnyArray:
    """The derivative of `phi` at each entry of `x`, in the namespace `xp`.

    **Raises:** `ValueError` for a function that JAX cannot differentiate.
    """
    if xp is np:
        with jax.enable_x64(True):
            return np.asarray(slopes(phi, jnp.asarray(x), jnp), dtype=np.float64)
    function = _in_jax(phi)
    try:
        _, slope = jax.jvp(lambda x: rates(function, x, jnp), (x,), (jnp.ones_like(x),))
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError(
            "phi cannot be differentiated: write it with jax.numpy in place of numpy."
        ) from error
    return slope


def _in_jax(phi: Callable[[Any], Any]) -> Callable[[Any], Any]:
    if not isinstance(phi, np.ufunc):
        return phi
    counterpart = getattr(jnp, phi.__name__, None)
    if counterpart is None:
        raise ValueError(f"jax.numpy has no {phi.__name__}: write phi with jax.numpy.")
    return counterpart
