"""What training minimises: masked errors of the outputs, and penalties on the activity.

A loss takes a trajectory and the trials it answers to, and returns a scalar. To ask for the last
time step only, ask for it in the mask.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax.core
import jax.nn
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from ..kernels import safe_cosine, safe_norm, safe_std
from ..tasks import Trials
from ..trajectory import Trajectory
from .stepwise_loss import step_terms, stepwise

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


def _n_trials(mask: Array) -> int:
    return mask.shape[0]


def _one(mask: Array) -> int:
    return 1


def _n_rows(mask: Array) -> Array:
    return jnp.sum(jnp.mean(mask, axis=-1))


@stepwise(masked_sse, weight=jnp.sum)
def mean_squared_error(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """The masked mean squared error between outputs and targets; the loss `fit` starts from."""
    return masked_mse(_outputs(trajectory), trials.targets, trials.mask)


@stepwise(masked_sse, weight=_one)
def sum_squared_error(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """The masked squared error between outputs and targets, summed over all entries."""
    return masked_sse(_outputs(trajectory), trials.targets, trials.mask)


@stepwise(masked_sse, weight=_n_trials)
def squared_error_per_trial(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """The masked squared error between outputs and targets, summed over time and channels, and
    averaged over trials."""
    return sum_squared_error(trajectory, trials) / trials.targets.shape[0]


def _masked_cross_entropy(outputs: Array, targets: Values, mask: Values) -> Array:
    mask = _full_mask(outputs, targets, mask)
    asked = mask != 0
    logits, wanted = jnp.where(asked, outputs, 0), jnp.where(asked, targets, 0)
    row = jnp.sum(wanted, -1) * jax.nn.logsumexp(logits, axis=-1) - jnp.sum(wanted * logits, -1)
    return jnp.sum(jnp.mean(mask, axis=-1) * row)


@stepwise(_masked_cross_entropy, weight=_n_rows)
def softmax_cross_entropy(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """Cross-entropy of classes, averaged over the trials and steps that the mask asks for.

    Outputs are logits, targets one-hot or probabilities; a row of the mask must be the same for
    all channels.
    """
    return _averaged(_masked_cross_entropy, _n_rows, trajectory, trials)


def _masked_bernoulli(outputs: Array, targets: Values, mask: Values) -> Array:
    mask = _full_mask(outputs, targets, mask)
    asked = mask != 0
    logits, wanted = jnp.where(asked, outputs, 0), jnp.where(asked, targets, 0)
    return jnp.sum(mask * (jax.nn.softplus(logits) - wanted * logits))


@stepwise(_masked_bernoulli, weight=jnp.sum)
def bernoulli_nll(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """Negative log-likelihood of targets 0 or 1, outputs as logits, averaged over the mask."""
    return _averaged(_masked_bernoulli, jnp.sum, trajectory, trials)


def _masked_poisson(outputs: Array, targets: Values, mask: Values) -> Array:
    mask = _full_mask(outputs, targets, mask)
    asked = mask != 0
    log_rate, counts = jnp.where(asked, outputs, 0), jnp.where(asked, targets, 0)
    return jnp.sum(mask * (jnp.exp(log_rate) - counts * log_rate))


@stepwise(_masked_poisson, weight=jnp.sum)
def poisson_nll(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """Negative log-likelihood of targets as counts under outputs as log rates, averaged over the
    mask, without the term that depends on counts alone."""
    return _averaged(_masked_poisson, jnp.sum, trajectory, trials)


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

    shares = [step_terms(term) for _, term in terms]
    if all(share is not None for share in shares):
        scaled = [
            share._replace(factor=weight * share.factor)
            for (weight, _), own in zip(terms, shares)
            for share in own or ()
        ]
        loss.step_terms = tuple(scaled)
    return loss


def _averaged(term: Any, weight: Any, trajectory: Trajectory, trials: Trials) -> Array:
    outputs = _outputs(trajectory)
    mask = _full_mask(outputs, trials.targets, trials.mask)
    whole = weight(mask)
    return term(outputs, trials.targets, mask) / jnp.where(whole > 0, whole, 1)


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
