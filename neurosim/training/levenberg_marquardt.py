"""Damping that follows how well the quadratic model foretold the last decrease."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class LevenbergMarquardt(eqx.Module):
    """Raises damping where the loss fell by less than foretold, and lowers it where it fell so.

    With rho the actual over the predicted decrease: below `poor` damping is multiplied by `up`,
    above `good` by `down`.

    - `poor`, `good`: bounds of rho, 0 < poor < good.
    - `up`, `down`: factors, above and below 1.
    - `least`, `most`: bounds of the damping.

    **Reference:** Martens (2010), ICML, section 4.1.
    """

    poor: float = 0.25
    good: float = 0.75
    up: float = 1.5
    down: float = 2 / 3
    least: float = 1e-6
    most: float = 1e3

    def __check_init__(self):
        if not 0 < self.poor < self.good:
            raise ValueError(f"0 < poor < good is needed, got {self.poor} and {self.good}.")
        if not 0 < self.down < 1 < self.up:
            raise ValueError(f"0 < down < 1 < up is needed, got {self.down} and {self.up}.")
        if not 0 < self.least < self.most:
            raise ValueError(f"0 < least < most is needed, got {self.least} and {self.most}.")

    def adapted(
        self, damping: Float[Array, ""], actual: Float[Array, ""], predicted: Float[Array, ""]
    ) -> Float[Array, ""]:
        """The damping of the next step."""
        # No division: the predicted decrease can be zero at a minimum.
        up = jnp.where(actual < self.poor * predicted, self.up, 1.0)
        factor = jnp.where(actual > self.good * predicted, self.down, up)
        return jnp.clip(damping * factor, self.least, self.most).astype(damping.dtype)
