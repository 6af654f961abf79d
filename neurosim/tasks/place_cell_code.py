"""Activity of place cells as a code that sums to one, and the position it stands for."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import whole_number


class PlaceCellCode(eqx.Module):
    """Place cells whose activities sum to one: a softmax of squared distances.

        p(x) = softmax(-|x - c|^2 / (2 s^2))
        p(x) = normed(p_s(x) - p_(sqrt(2) s)(x) + |min|)         difference of Gaussians

    The difference has the surround of twice the variance subtracted, is shifted so that its
    smallest entry is 0, and divided by its sum.

    - `centres`: `(P, 2)`, in m. `width`: s, in m.
    - `kind`: `"gaussian"` or `"dog"`. `surround`: variance of the surround over that of the centre.

    **Reference:** Sorscher, Mel, Ganguli & Ocko (2019), A unified theory for the origin of grid
    cells through the lens of pattern formation, NeurIPS 32, and its published code.
    """

    centres: Float[Array, "place_cell 2"] = eqx.field(converter=jnp.asarray)
    width: Any = 0.12
    kind: Literal["gaussian", "dog"] = eqx.field(static=True, default="gaussian")
    surround: Any = 2.0

    def __check_init__(self):
        if self.centres.ndim != 2 or self.centres.shape[1] != 2 or len(self.centres) == 0:
            raise ValueError(f"centres must be (place cell, 2), got {self.centres.shape}.")
        if self.kind not in ("gaussian", "dog"):
            raise ValueError(f"kind must be 'gaussian' or 'dog', got {self.kind!r}.")
        for name, least in (("width", 0), ("surround", 1)):
            value = getattr(self, name)
            if isinstance(value, (int, float)) and not least < value < float("inf"):
                raise ValueError(f"{name} must be above {least} and finite, got {value}.")

    @classmethod
    def scattered(
        cls,
        key: PRNGKeyArray,
        n_cells: int | np.integer = 512,
        *,
        box: float | int = 2.2,
        width: float | int = 0.12,
        kind: Literal["gaussian", "dog"] = "gaussian",
    ) -> "PlaceCellCode":
        """Centres uniform over a square box, from 0 to `box` m.

        **Raises:** `ValueError` for fewer than one cell, or sizes that are not positive.
        """
        n = whole_number(n_cells, "n_cells", least=1)
        if not (box > 0 and np.isfinite(box)):
            raise ValueError(f"box must be positive and finite, got {box}.")
        return cls(box * jax.random.uniform(key, (n, 2)), float(width), kind)

    @property
    def n_cells(self) -> int:
        """Number of place cells, P."""
        return self.centres.shape[0]

    def __call__(self, positions: Any) -> Float[Array, "*sample place_cell"]:
        """Activities at positions `(..., 2)` in m; each sample sums to one."""
        way = jnp.asarray(positions)[..., None, :] - self.centres
        exponent = -jnp.sum(way * way, axis=-1) / (2 * jnp.asarray(self.width) ** 2)
        p = jax.nn.softmax(exponent, axis=-1)
        if self.kind == "gaussian":
            return p
        p = p - jax.nn.softmax(exponent / self.surround, axis=-1)
        p = p - jnp.min(p, axis=-1, keepdims=True)
        return p / jnp.sum(p, axis=-1, keepdims=True)

    def decode(self, activity: Any, *, n_best: int | np.integer = 3) -> Float[Array, "*sample 2"]:
        """The mean centre of the most active cells, in m.

        **Arguments:**

        - `activity`: `(..., place cell)`, activities or logits.
        - `n_best`: how many cells.

        **Raises:** `ValueError` for more cells than there are, or fewer than one.
        """
        m = whole_number(n_best, "n_best", least=1)
        if m > self.n_cells:
            raise ValueError(f"n_best must not exceed the {self.n_cells} cells, got {m}.")
        _, best = jax.lax.top_k(activity, m)
        return jnp.mean(self.centres[best], axis=-2)
