"""What K directions in parameter space see of a loss: value, slopes, and curvature between them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ..kernels.tangents import project_curvature, push_tangents

_ADVICE = (
    "Forward-mode derivatives do not pass a custom_vjp. Inside Diffrax choose an adjoint that has "
    "none, adjoint=diffrax.ForwardMode(), and a plain lax.scan instead of checkpointed loops"
)


class Sketch(NamedTuple):
    """A loss l(y(p)) seen along K tangents V of its parameters p, with Y = (dy/dp) V.

    - `loss`: `()`, l(y(p)).
    - `gradient`: `(K,)`, V dl/dp.
    - `ggn`: `(K, K)`, the generalised Gauss-Newton matrix between the tangents, Y l'' Y^T:
      symmetric, and with no negative eigenvalue where l is convex in y.
    """

    loss: Float[Array, ""]
    gradient: Float[Array, " tangent"]
    ggn: Float[Array, "tangent tangent"]


def sketch(
    outputs: Callable[[PyTree], PyTree],
    loss: Callable[[PyTree], Any],
    params: PyTree,
    tangents: PyTree,
    *,
    chunk_size: int | None = None,
) -> Sketch:
    """Sketch of `loss(outputs(params))`, by forward mode alone.

    Keeps the tangents of all outputs at once, K times their size. For long recurrences
    `sketch_scan` keeps those of one step.

    **Arguments:**

    - `outputs`: parameters to everything the loss looks at, a pytree of arrays.
    - `loss`: outputs to a scalar, convex.
    - `params`: pytree of floating-point arrays.
    - `tangents`: like `params`, with a leading axis of K on every leaf.
    - `chunk_size`: tangents pushed at once; `None` for all K.

    **Returns:** a `Sketch`.

    **Raises:** `ValueError` where a `custom_vjp` is in the way.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), NeurIPS 37, algorithm 1.
    """
    y, pushed = forward(lambda p: push_tangents(outputs, (p,), (tangents,), chunk_size=chunk_size))(
        params
    )
    return Sketch(*project_curvature(loss, y, pushed))


def sketch_scan(
    step: Callable[[PyTree, PyTree, PyTree], tuple[PyTree, PyTree]],
    loss: Callable[[PyTree, PyTree], Any],
    init: Callable[[PyTree], PyTree],
    params: PyTree,
    tangents: PyTree,
    xs: PyTree,
    targets: PyTree,
    *,
    weights: Any = None,
    chunk_size: int | None = None,
) -> Sketch:
    """Sketch of a loss summed over the steps of a recurrence, in memory for one step.

    Activity of one step, and its K tangents, are all that is kept: the loss, its slopes and its
    curvature are added up as time goes.

    ```python
    step = lambda p, z, x: (jnp.tanh(z @ p.T + x),) * 2
    loss = lambda y, target: jnp.mean((y - target) ** 2) / n_steps
    sketch_scan(step, loss, lambda p: jnp.zeros((64, 32)), p, tangents, inputs, targets)
    ```

    **Arguments:**

    - `step`: `(params, state, x) -> (state, y)`, for a whole batch of trials.
    - `loss`: `(y, target) -> scalar`, the share of one step.
    - `init`: `params -> state` before the first step; its tangents count.
    - `params`, `tangents`, `chunk_size`: as in `sketch`.
    - `xs`, `targets`: pytrees with time as the first axis of every leaf; one may be `None`.
    - `weights`: `(time,)`, of each step's share; 1 by default.

    **Returns:** a `Sketch`.

    **Raises:** `ValueError` where a `custom_vjp` is in the way, or for weights of another length.
    """
    n_steps = {leaf.shape[0] for leaf in jax.tree.leaves((xs, targets))}
    if len(n_steps) != 1:
        raise ValueError(
            f"xs and targets must have one number of steps between them, got {sorted(n_steps)}."
        )
    length = n_steps.pop()
    weights = None if weights is None else jnp.asarray(weights)
    if weights is not None and weights.shape != (length,):
        raise ValueError(f"weights must have shape ({length},), got {weights.shape}.")
    wide = jnp.result_type(float)
    k = jax.tree.leaves(tangents)[0].shape[0]

    def body(carry: Any, at: Any) -> tuple[Any, None]:
        state, moving, total, gradient, ggn = carry
        x, target, weight = at

        def advance(p: PyTree, z: PyTree) -> tuple[PyTree, PyTree]:
            return step(p, z, x)

        (state, y), (moving, pushed) = push_tangents(
            advance, (params, state), (tangents, moving), chunk_size=chunk_size
        )

        def share(y: PyTree) -> Any:
            return loss(y, target) if weight is None else weight * loss(y, target)

        value, slope, curved = project_curvature(share, y, pushed)
        return (state, moving, total + value, gradient + slope, ggn + curved), None

    def run(params: PyTree) -> Any:
        state, moving = push_tangents(init, (params,), (tangents,))
        start = (
            state, moving, jnp.zeros((), wide), jnp.zeros(k, wide), jnp.zeros((k, k), wide)
        )  # fmt: skip
        (_, _, *found), _ = jax.lax.scan(body, start, (xs, targets, weights))
        return found

    return Sketch(*forward(run)(params))


def forward(run: Callable[[PyTree], Any]) -> Callable[[PyTree], Any]:
    """`run`, whose refusal of forward mode says what to do about it."""

    def guarded(params: PyTree) -> Any:
        try:
            return run(params)
        except TypeError as error:
            if "custom_vjp" not in str(error):
                raise
            raise ValueError(f"{_ADVICE}.") from error

    return guarded
