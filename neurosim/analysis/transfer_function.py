"""A unit's transfer function, given from outside, and its slope, in NumPy or JAX."""

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .activity import AnyArray

#: A function of an array, elementwise; `check_function` refuses what is none.
TransferFunction: TypeAlias = Any

_NOT_TRACED = (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError)


def check_function(phi: TransferFunction, name: str = "phi") -> None:
    """Raise `ValueError` where `phi` cannot be called, as the name of a function cannot."""
    if not callable(phi):
        raise ValueError(f"{name} must be a function, such as jax.numpy.tanh, got {phi!r}.")


def rates(phi: TransferFunction, x: AnyArray, xp: Any, *, name: str = "phi") -> AnyArray:
    """`phi(x)` in the namespace `xp`, float64 in NumPy.

    A NumPy function of its own kind (`numpy.tanh`) is taken as its JAX counterpart where `x` is
    JAX's, and a JAX function serves NumPy arrays in double precision, whatever JAX's setting.

    **Raises:** `ValueError` for a function that does not act on entries one by one, or that JAX
    cannot trace where `x` is traced.
    """
    if xp is jnp:
        y = _traceable(phi, x, name, "traced")
    elif phi is jnp.tanh:
        y = np.tanh(x)
    else:
        with jax.enable_x64(True):
            y = np.asarray(phi(x), dtype=np.float64)
    several = isinstance(y, (tuple, list))
    if several or np.shape(y) != np.shape(x):
        returned = f"{len(y)} results" if several else f"one of shape {np.shape(y)}"
        raise ValueError(
            f"{name} must act on every entry by itself: given an array of shape "
            f"{np.shape(x)}, it returned {returned}."
        )
    return y


def slopes(phi: TransferFunction, x: AnyArray, xp: Any) -> AnyArray:
    """The derivative of `phi` at each entry of `x`, in the namespace `xp`.

    **Raises:** `ValueError` for a function that JAX cannot differentiate.
    """
    if xp is np:
        with jax.enable_x64(True):
            return np.asarray(slopes(phi, jnp.asarray(x), jnp), dtype=np.float64)

    def checked(x: AnyArray) -> AnyArray:
        return rates(lambda x: _traceable(phi, x, "phi", "differentiated"), x, jnp)

    _, slope = jax.jvp(checked, (x,), (jnp.ones_like(x),))
    return slope


def _traceable(phi: TransferFunction, x: AnyArray, name: str, done: str) -> Any:
    """`phi(x)` by JAX's functions, and an error that says what cannot be `done` to another."""
    try:
        return _in_jax(phi, name)(x)
    except _NOT_TRACED as error:
        raise ValueError(
            f"{name} cannot be {done}: write it with jax.numpy in place of numpy."
        ) from error


def _in_jax(phi: TransferFunction, name: str) -> TransferFunction:
    if not isinstance(phi, np.ufunc):
        return phi
    counterpart = getattr(jnp, phi.__name__, None)
    if counterpart is None:
        raise ValueError(f"jax.numpy has no {phi.__name__}: write {name} with jax.numpy.")
    return counterpart
