"""How many trials a classifier gets right."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..tasks import Trials
from ..trajectory import Trajectory


def last_step_accuracy(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """The share of trials whose largest output at the last step is the class of their target.

    A metric for `fit(metrics={"accuracy": last_step_accuracy})` on tasks with one-hot targets. A
    trial with an output that is not finite is wrong.

    **Arguments:**

    - `trajectory`: with outputs `(batch, time, class)`; those at the final time are enough.
    - `trials`: with one-hot targets at the last step.

    **Returns:** the share, from 0 to 1.

    **Raises:** `ValueError` for a trajectory without outputs, and for outputs that do not fit the
    targets.
    """
    if trajectory.outputs is None:
        raise ValueError(
            "The accuracy needs the outputs, and the trajectory has none: simulate with "
            "save='both' or 'outputs'."
        )
    last, wanted = trajectory.outputs[..., -1, :], trials.targets[:, -1]
    if last.shape != wanted.shape:
        raise ValueError(
            f"The outputs at the last step have shape {last.shape} and the targets "
            f"{wanted.shape}: they must be equal."
        )
    right = jnp.argmax(last, axis=-1) == jnp.argmax(wanted, axis=-1)
    return jnp.mean(right & jnp.all(jnp.isfinite(last), axis=-1), dtype=last.dtype)
