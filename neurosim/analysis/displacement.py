"""F of a map or a flow: what vanishes at a fixed point."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree


class Displacement(eqx.Module):
    """F: what vanishes at a fixed point, as a function of one flat state and one flat input.

    - `dynamics`: state, or state and input -> next state (`kind="map"`) or velocity
      (`kind="flow"`).
    - `template`: a state, for its layout.
    - `kind`: `"map"` or `"flow"`.
    - `input_template`: an input, for its layout; `None` for dynamics of a state alone, whose flat
      input is empty.
    """

    dynamics: Callable[..., PyTree]
    template: PyTree
    kind: str = eqx.field(static=True)
    input_template: PyTree = None

    def given(self, x: Float[Array, " n"], u: Float[Array, " m"]) -> Float[Array, " n"]:
        """The dynamics as they were given, on a flat state and input."""
        _, unravel = ravel_pytree(self.template)
        held = () if self.input_template is None else (ravel_pytree(self.input_template)[1](u),)
        return ravel_pytree(self.dynamics(unravel(x), *held))[0].astype(x.dtype)

    def __call__(self, x: Float[Array, " n"], u: Float[Array, " m"]) -> Float[Array, " n"]:
        value = self.given(x, u)
        return value - x if self.kind == "map" else value


def flow_or_map(kind: str) -> None:
    """Raise `ValueError` for another kind."""
    if kind not in ("map", "flow"):
        raise ValueError(f"kind must be 'map' or 'flow', got {kind!r}.")


def value_and_jacobians(
    displacement: Displacement, x: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F and its Jacobians to the state and to the input, in NumPy, at one flat state and input."""
    f, by_x, by_u = _value_and_jacobians(displacement, jnp.asarray(x), jnp.asarray(u))
    return np.asarray(f), np.asarray(by_x), np.asarray(by_u)


@eqx.filter_jit
def _value_and_jacobians(displacement: Displacement, x: Array, u: Array) -> tuple[Array, ...]:
    def value_twice(x: Array, u: Array) -> tuple[Array, Array]:
        value = displacement(x, u)
        return value, value

    (by_x, by_u), value = jax.jacfwd(value_twice, argnums=(0, 1), has_aux=True)(x, u)
    return value, by_x, by_u
