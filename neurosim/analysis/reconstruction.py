"""How well a reconstruction of activity stands for it."""

import jax
import jax.numpy as jnp
import numpy as np

from .activity import ActivityLike, in_range, read_activity


def explained_variance(X: ActivityLike, reconstruction: ActivityLike) -> float | jax.Array:
    """Fraction of the variance of activity that a reconstruction of it explains.

    1 - |X - reconstruction|^2 / |X - mean|^2, squares summed over samples and neurons, the mean
    taken for each neuron over samples. At most 1, and negative for a reconstruction worse than
    the mean. The variance of the projections themselves is no substitute for it: that can exceed
    the variance there is, as soon as reading and writing directions differ.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`.
    - `reconstruction`: the same layout and shape, in the units of `X`, its mean included.

    **Returns:** a float; a JAX scalar where either input is JAX.

    **Raises:** `ValueError` for layouts that differ, values that are not finite, or `X` constant.

    **Reference:** Kobak et al. (2016), Demixed principal component analysis, eLife 5:e10989,
    explained variance of a component (its decoder reads, its encoder writes).
    """
    data, model = read_activity(X), read_activity(reconstruction, name="reconstruction")
    if data.samples.shape != model.samples.shape or data.lengths != model.lengths:
        raise ValueError(
            "X and its reconstruction must have one shape: the second argument is the activity "
            "that a model puts in the place of X, as PCA.inverse_transform gives it, not its "
            f"components. Got {len(data.lengths)} trial(s), {data.samples.shape} samples by "
            f"neurons, and {len(model.lengths)} trial(s), {model.samples.shape}."
        )
    if not data.varies:
        raise ValueError("X does not vary: every neuron is constant, so there is no variance.")
    xp = jnp if jnp in (data.xp, model.xp) else np
    centred, unit, _ = data.centred()
    residual, residual_unit = in_range(data.samples - model.samples, xp)
    with np.errstate(over="ignore"):
        ratio = residual_unit / unit
        fraction = 1 - xp.sum(residual**2) / xp.sum(centred**2) * ratio * ratio
    return float(fraction) if xp is np else fraction
