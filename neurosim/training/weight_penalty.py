"""A penalty on squared weights, as part of an optimiser."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import optax


def _recurrent(model: Any) -> Any:
    return model.J


def weight_penalty(
    weight: Any = 1e-4, *, where: Callable[[Any], Any] = _recurrent
) -> optax.GradientTransformation:
    """The gradient of weight |J|^2, added to that of the loss.

    It goes before clipping and before Adam, which then see the gradient of the sum; the loss that
    is logged is without the penalty. The place-cell-supervised network is trained so, on
    `softmax_cross_entropy`. A weight that depends on the number of steps may be a schedule: that of
    the read-out of grid cells fades (see `readout_penalty`).

    ```python
    optimizer = optax.chain(weight_penalty(), optax.adam(1e-4))
    fit(model, task, loss=softmax_cross_entropy, optimizer=optimizer, batch_size=200, ...)
    ```

    **Arguments:**

    - `weight`: 1e-4 as published; or a function of the number of steps done.
    - `where`: picks the weights in the model; `J` by default.

    **Raises:** `ValueError` for a weight that is negative.

    **Reference:** Sorscher et al. (2023), Neuron 111.
    """
    if not callable(weight) and not weight >= 0:
        raise ValueError(f"weight must not be negative, got {weight}.")

    def mask(params: Any) -> Any:
        return eqx.tree_at(where, jax.tree.map(lambda _: False, params), True)

    def decay(step: Any) -> Any:
        now: Any = weight(step) if callable(weight) else weight
        return 2 * now

    return optax.add_decayed_weights(decay, mask=mask)
