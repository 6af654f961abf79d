"""The Lorenz system, and its trajectories by the classical Runge-Kutta method."""

from functools import partial

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .time_grid import check_dt
from .whole_number import whole_number


def lorenz_field(x: Array | np.ndarray) -> Float[Array, "... 3"]:
    """The time derivative of the Lorenz system at its classical parameters.

    dx1/dt = 10 (x2 - x1), dx2/dt = x1 (28 - x3) - x2, dx3/dt = x1 x2 - 8/3 x3

    **Arguments:** `x`, `(..., 3)`.

    **Returns:** `(..., 3)`.

    **Reference:** Lorenz (1963), Journal of the Atmospheric Sciences 20, 130-141.
    """
    x = jnp.asarray(x)
    x1, x2, x3 = x[..., 0], x[..., 1], x[..., 2]
    return jnp.stack([10 * (x2 - x1), x1 * (28 - x3) - x2, x1 * x2 - 8 / 3 * x3], axis=-1)


def lorenz_trajectory(
    start: Array | np.ndarray, n_steps: int | np.integer, *, dt: float | int = 0.01
) -> Float[Array, "time ... 3"]:
    """The states of Lorenz systems after each step of a fourth-order Runge-Kutta method.

    Nearby trajectories part about 2.5-fold each unit of time, so after some 20 units single
    precision alone decides where a state is; how often it is where does not depend on that.

    **Arguments:**

    - `start`: `(..., 3)`, the states at time 0.
    - `n_steps`: number of steps, at least 1, static under `jit`.
    - `dt`: length of a step.

    **Returns:** `(n_steps, ..., 3)`; entry k is the state at time `(k + 1) dt`.

    **Raises:** `ValueError` for a start of another shape or, where it is known, one that is not
    finite; for a number of steps below 1; for a `dt` that is not positive.
    """
    n_steps, dt = whole_number(n_steps, "n_steps", least=1), check_dt(dt)
    x = jnp.asarray(start, jnp.result_type(start, float))
    if x.ndim == 0 or x.shape[-1] != 3:
        raise ValueError(f"start must be (..., 3), got shape {x.shape}.")
    if not isinstance(x, jax.core.Tracer) and not np.all(np.isfinite(np.asarray(x))):
        raise ValueError("start must be finite.")
    return _trajectory(x, n_steps, dt)


@partial(jax.jit, static_argnums=1)
def _trajectory(x: Array, n_steps: int, dt: Array | float) -> Array:
    def advance(x: Array, _: None) -> tuple[Array, Array]:
        k1 = lorenz_field(x)
        k2 = lorenz_field(x + dt / 2 * k1)
        k3 = lorenz_field(x + dt / 2 * k2)
        k4 = lorenz_field(x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x, x

    return jax.lax.scan(advance, x, None, length=n_steps)[1]
