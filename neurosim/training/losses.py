"""What training minimises: masked errors of the outputs, and penalties on the activity.

A loss takes a trajectory and the trials it answers to, and returns a scalar. To ask for the last
time step only, ask for it in the mask.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from ..kernels import safe_cosine, safe_norm, safe_std
from ..tasks import Trials
from ..trajectory import Trajectory

Loss: TypeAlias = Callable[[Trajectory, Trials], Any]
Values: TypeAlias = Array | np.ndarray


def masked_sse(
    outputs: Shaped[Values, "..."],
    targets: Shaped[Values, "..."],
    mask: Shaped[Values, "..."],
) -> Float[Array, ""]:
    """Squared error, weighted by the mask and summed.

    Where the mask is zero nothing is read: a target that is NaN there changes neither the value
    nor the gradient.

    **Arguments:**

    - `outputs`, `targets`: equal shapes.
    - `mask`: weights, of the same shape or broadcast to it (a `(batch, time, 1)` mask counts for
      every output channel).

    **Returns:** a scalar.

    **Raises:** `ValueError` if the shapes do not fit.
    """
    mask = _full_mask(outputs, targets, mask)
    asked = mask != 0
    # Both branches must be finite: a NaN under `where` still reaches the gradient.
    error = jnp.where(asked, outputs, 0) - jnp.where(asked, targets, 0)
    return jnp.sum(mask * error * error)


def masked_mse(
    outputs: Shaped[Values, "..."],
    targets: Shaped[Values, "..."],
    mask: Shaped[Values, "..."],
) -> Float[Array, ""]:
    """Squared error, averaged over the mask: `sum(mask (y - y*)^2) / sum(mask)`.

    The mask is broadcast to the outputs before it is summed, so the loss does not grow with the
    number of output channels.

    **Arguments:** as `masked_sse`.

    **Returns:** a scalar. Under a JAX transformation nothing can be raised, and a mask of zeros
    gives 0, with gradient 0.

    **Raises:** `ValueError` if the shapes do not fit, or if the mask is zero everywhere.
    """
    full = _full_mask(outputs, targets, mask)
    weight = jnp.sum(full)
    if not isinstance(weight, jax.core.Tracer) and float(weight) == 0:
        raise ValueError(
            "The mask is zero everywhere, so there is nothing to average: "
            "at least one entry must be positive."
        )
    return masked_sse(outputs, targets, full) / jnp.where(weight > 0, weight, 1)


def mean_squared_error(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """The masked mean squared error between outputs and targets; the loss `fit` starts from."""
    return masked_mse(_outputs(trajectory), trials.targets, trials.mask)


def sum_squared_error(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """The masked squared error between outputs and targets, summed over all entries."""
    return masked_sse(_outputs(trajectory), trials.targets, trials.mask)


def rate_norm(rates: Float[Array, "... unit"]) -> Float[Array, ""]:
    """Euclidean norm of the population's activity, averaged over trials and time."""
    return jnp.mean(safe_norm(rates, axis=-1))


def rate_power(rates: Float[Array, "... unit"]) -> Float[Array, ""]:
    """Squared activity, averaged over trials, time and units."""
    return jnp.mean(rates * rates)


def rate_fluctuation(rates: Float[Array, "... time unit"]) -> Float[Array, ""]:
    """Standard deviation of each unit over time, averaged over trials and units."""
    return jnp.mean(safe_std(rates, axis=-2))


def pattern_mismatch(
    rates: Float[Array, "... unit"], pattern: Float[Values, "..."]
) -> Float[Array, ""]:
    """One minus the cosine between the activity and a pattern, averaged over trials and time.

    A silent population is at distance 1, and has gradient 0.
    """
    return 1 - jnp.mean(safe_cosine(rates, jnp.broadcast_to(pattern, rates.shape), axis=-1))


def _states(trajectory: Trajectory) -> Any:
    return trajectory.states


def activity_loss(
    penalty: Callable[[Any], Any], *, of: Callable[[Trajectory], Any] = _states
) -> Loss:
    """A loss for `fit` from a penalty on the activity.

    **Arguments:**

    - `penalty`: takes an array, returns a scalar; for instance `rate_power`.
    - `of`: picks the array from the trajectory; its states, where these are one array.

    ```python
    activity_loss(rate_power, of=lambda trajectory: jnp.tanh(trajectory.states[0]))
    ```
    """

    def loss(trajectory: Trajectory, trials: Trials) -> Any:
        return penalty(of(trajectory))

    return loss


def weighted_sum(*terms: tuple[float | int, Loss]) -> Loss:
    """A loss that is the sum of others, each times a number.

    ```python
    weighted_sum((1.0, mean_squared_error), (1e-3, activity_loss(rate_power)))
    ```

    **Raises:** `ValueError` without terms.
    """
    if not terms:
        raise ValueError("weighted_sum needs at least one (weight, loss) pair.")

    def loss(trajectory: Trajectory, trials: Trials) -> Any:
        first, *rest = (weight * term(trajectory, trials) for weight, term in terms)
        return sum(rest, first)

    return loss


def _outputs(trajectory: Trajectory) -> Array:
    if trajectory.outputs is None:
        raise ValueError(
            "This loss needs the outputs, and the trajectory has none: simulate with save='both' "
            "or 'outputs'."
        )
    return trajectory.outputs


def _full_mask(outputs: Values, targets: Values, mask: Values) -> Array:
    if outputs.shape != targets.shape:
        channels = ""
        if outputs.ndim == targets.ndim and outputs.ndim and outputs.shape[-1] != targets.shape[-1]:
            channels = f" ({outputs.shape[-1]} output channels for {targets.shape[-1]} targets)"
        raise ValueError(
            f"Outputs have shape {outputs.shape} and targets {targets.shape}{channels}: "
            "they must be equal."
        )
    try:
        return jnp.broadcast_to(jnp.asarray(mask, dtype=outputs.dtype), outputs.shape)
    except ValueError:
        raise ValueError(
            f"The mask has shape {mask.shape}, which does not fit targets of shape {targets.shape}."
        ) from None
