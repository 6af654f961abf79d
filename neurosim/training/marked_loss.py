"""Losses that tell their curvature from inside loops one does not own."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .sketch import Sketch, forward

_AXIS = "neurosim tangents"


class MarkedLoss(eqx.Module):
    """A share of a loss that carries its curvature; shares are added, and scaled by numbers.

    - `loss`: `()`.
    - `row`: of the curvature, as a tangent: zeros in value, and one for each tangent pushed.
    """

    loss: Float[Array, ""]
    row: Float[Array, " tangent"]

    def __add__(self, other: "MarkedLoss") -> "MarkedLoss":
        return MarkedLoss(self.loss + other.loss, self.row + other.row)

    def __radd__(self, other: Any) -> "MarkedLoss":
        # `sum` starts from the number 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __truediv__(self, weight: Any) -> "MarkedLoss":
        return self * (1 / weight)

    def __mul__(self, weight: Any) -> "MarkedLoss":
        return MarkedLoss(weight * self.loss, weight * self.row)

    __rmul__ = __mul__


def no_loss() -> MarkedLoss:
    """Nothing yet: where a sum of marked losses starts, for the carry of a loop."""
    wide = jnp.result_type(float)
    return MarkedLoss(jnp.zeros((), wide), jnp.zeros(_n_tangents(), wide))


def mark(loss: Callable[..., Any], y: PyTree, *args: PyTree) -> MarkedLoss:
    """`loss(y, *args)`, in a form that `sketch_marked` can read the curvature from.

    May stand in any loop that forward mode passes, in a Diffrax vector field as in a `while_loop`.
    Outside of `sketch_marked` it is the plain loss, also under `grad`. Solve with
    `adjoint=diffrax.ForwardMode()`, and with `throw=False` where a bad step should be rejected
    rather than raise.

    **Arguments:**

    - `loss`: function of `y` and `args` to a scalar, convex in `y`. What it needs of traced arrays
      must come through `args`, such as targets and weights: JAX refuses those it closes over.
      Slopes are those along `y` and `args`; the curvature is that in `y` alone.
    - `y`: pytree of floating-point arrays.

    **Returns:** a `MarkedLoss`.
    """
    wide = jnp.result_type(float)
    value, row = _mark(loss, y, args)
    return MarkedLoss(value.astype(wide), row)


def sketch_marked(fn: Callable[[PyTree], MarkedLoss], params: PyTree, tangents: PyTree) -> Sketch:
    """Sketch of a loss that was added up from marked shares, wherever these stand.

    ```python
    def total(params):
        def body(carry, x):
            z, loss = carry
            z = step(params, z, x)
            return (z, loss + mark(squared_error, readout(params, z), x)), None

        (_, loss), _ = jax.lax.scan(body, (z0, no_loss()), xs)
        return loss


    sketch_marked(total, params, tangents)
    ```

    **Arguments:**

    - `fn`: parameters to the sum of all shares.
    - `params`, `tangents`: as in `sketch`.

    **Returns:** a `Sketch`.

    **Raises:** `ValueError` where a `custom_vjp` is in the way, or if `fn` returns something else.
    """

    def lane(tangent: PyTree) -> tuple[Any, Any]:
        return jax.jvp(fn, (params,), (tangent,))

    lanes = jax.vmap(lane, out_axes=(None, 0), axis_name=_AXIS)
    total, along = forward(lanes)(tangents)
    if not isinstance(total, MarkedLoss):
        raise ValueError(f"fn must return a sum of marked losses, got {type(total).__name__}.")
    return Sketch(total.loss, along.loss, along.row)


def _n_tangents() -> int:
    try:
        return jax.lax.axis_size(_AXIS)
    except NameError:
        return 0


def _row(n: int) -> Array:
    return jnp.zeros(n, jnp.result_type(float))


def _mark(loss: Callable[..., Any], y: PyTree, args: tuple[PyTree, ...]) -> tuple[Array, Array]:
    @jax.custom_jvp
    def marked(y: PyTree, args: tuple[PyTree, ...]) -> tuple[Array, Array]:
        return jnp.asarray(loss(y, *args)), _row(_n_tangents())

    @marked.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        y, args = primals
        direction = tangents[0]

        def at(y: PyTree) -> Any:
            return loss(y, *args)

        value, along = jax.jvp(lambda y, args: loss(y, *args), primals, tangents)
        _, bent = jax.jvp(jax.grad(at), (y,), (direction,))
        n = _n_tangents()
        row = _row(n)
        if n:
            # The directions of all lanes, which every lane sees alike: one product, not K.
            everyone = jax.lax.all_gather(direction, _AXIS)
            for a, b in _pairs(everyone, bent):
                highest = jax.lax.Precision.HIGHEST
                flat = a.reshape(n, -1).astype(row.dtype)
                row += jnp.matmul(flat, b.reshape(-1).astype(row.dtype), precision=highest)
        return (jnp.asarray(value), _row(n)), (jnp.asarray(along), row)

    return marked(y, args)


def _pairs(a: PyTree, b: PyTree) -> Any:
    return zip(jax.tree.leaves(a), jax.tree.leaves(b))
