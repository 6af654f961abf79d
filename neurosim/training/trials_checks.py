"""Given trials that cannot be trained on, refused before anything runs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..tasks import Trials


def checked_trials(trials: Trials, name: str) -> Trials:
    """Trials as JAX arrays with a full mask, or `ValueError` with what is wrong with them.

    A target may be NaN where the mask is zero: the losses here do not read it.
    """
    inputs, targets, mask = (np.asarray(x) for x in (trials.inputs, trials.targets, trials.mask))
    shapes = f"inputs {inputs.shape}, targets {targets.shape}, mask {mask.shape}"
    if inputs.ndim != 3 or targets.ndim != 3 or inputs.shape[:2] != targets.shape[:2]:
        raise ValueError(
            f"{name} must have arrays (batch, time, channel) of the same batch and time: {shapes}."
        )
    try:
        full_mask = np.broadcast_to(mask, targets.shape)
    except ValueError:
        raise ValueError(f"The mask of {name} does not fit the targets: {shapes}.") from None
    if 0 in inputs.shape[:2]:
        raise ValueError(f"{name} are empty: {shapes}; at least one trial and step are needed.")
    refuse_not_finite(inputs, f"The inputs of {name}")
    refuse_not_finite(full_mask, f"The mask of {name}")
    refuse_not_finite(np.where(full_mask != 0, targets, 0), f"The targets of {name}")
    if full_mask.min() < 0:
        raise ValueError(f"The mask of {name} holds negative weights; they must be 0 or more.")
    if not full_mask.any():
        raise ValueError(f"The mask of {name} is zero everywhere: there is nothing to learn.")
    # In full, because minibatches pick along its first axis.
    trials = eqx.tree_at(lambda t: t.mask, trials, full_mask)
    return jax.tree.map(lambda x: jnp.asarray(x) if eqx.is_array(x) else x, trials)


def refuse_not_finite(values: np.ndarray, name: str) -> None:
    """Refuse an array with values that are not finite.

    **Raises:** `ValueError` that says how many, and where the first is.
    """
    if not np.issubdtype(values.dtype, np.inexact):
        return
    bad = ~np.isfinite(values)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must be finite: {int(bad.sum())} of {values.size} values are not, the first "
            f"at index {first}."
        )
