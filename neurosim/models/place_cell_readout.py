"""Place cells that read position off a grid code."""

from math import ceil, isfinite
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels.lattice_interpolation import Padding, interpolate_lattice, lattice_points
from ..kernels.place_field import place_field_map
from .dynamics import fixed_field
from .parameters import check_sizes
from .position_embedding import check_embedding, read_positions


class PlaceCellReadout(eqx.Module):
    """A place cell in every bin, whose activity is the inner product <r, u(x')>.

    The weights u are interpolated between bins as the grid code is. What the cells learn is the
    place field exp(-|x - x'|^2 / (2 n^2 sigma^2)).

    - `values`: `(C, n, n)`, the weights u; of any sign.
    - `field_size`: sigma, the standard deviation of a place field, in sides of the arena.
    - `padding`: as in `PositionEmbedding`.
    - `decoded_share`: position is decoded from this share of bins, those of largest activity. One
        bin, so the argmax, for 0.

    **Reference:** Xu et al. (2022), NeurReps; Acosta et al. (2024), NeurIPS 37.
    """

    values: Float[Array, "unit bin bin"] = eqx.field(converter=jnp.asarray)
    field_size: Any = fixed_field(default=0.07)
    padding: Padding = eqx.field(static=True, default="edge")
    decoded_share: float | int = eqx.field(static=True, default=1 - 0.995)

    def __check_init__(self):
        check_embedding(self.values, self.padding)
        if isinstance(self.field_size, (int, float)) and not 0 < self.field_size < float("inf"):
            raise ValueError(f"field_size must be positive and finite, got {self.field_size}.")
        if not (isfinite(self.decoded_share) and 0 <= self.decoded_share <= 1):
            raise ValueError(f"decoded_share must lie in [0, 1], got {self.decoded_share}.")

    @classmethod
    def init(
        cls,
        n_units: int,
        n_bins: int,
        *,
        key: PRNGKeyArray,
        field_size: float | int = 0.07,
        padding: Padding = "edge",
        scale: float | int = 0.001,
    ) -> "PlaceCellReadout":
        """The published initialisation, N(0, 0.001^2).

        **Raises:** `ValueError` for sizes below 1 or a field size that is not positive.
        """
        check_sizes(n_units=n_units, n_bins=n_bins)
        values = scale * jax.random.normal(key, (n_units, n_bins, n_bins))
        return cls(values, field_size, padding)

    @property
    def n_bins(self) -> int:
        """Number of bins a side, n."""
        return self.values.shape[1]

    @property
    def n_decoded(self) -> int:
        """Number of bins that position is decoded from: 9 of 40 x 40, 3 of 20 x 20, 1 of 10 x 10.

        In floating point 1 - 0.995 is a little more than 0.005: the published 9 is ceil(8.0...7).
        """
        return max(1, ceil(self.n_bins**2 * self.decoded_share))

    def __call__(self, x: Any) -> Float[Array, "*position unit"]:
        """The weights u of place cells at positions `(..., 2)`, in bins.

        **Raises:** `ValueError` for positions of another shape or outside of the arena.
        """
        x = read_positions(x, self.n_bins, self.values.dtype)
        return interpolate_lattice(self.values, x, padding=self.padding)

    def place_activity(self, r: Any) -> Float[Array, "*code bin bin"]:
        """Activity of the place cell in every bin.

        **Arguments:**

        - `r`: grid-cell activity, `(..., C)`.
        """
        n = self.n_bins
        r = jnp.asarray(r)
        heat = r @ self.values.reshape(-1, n * n)
        return heat.reshape(*r.shape[:-1], n, n)

    def decode(self, r: Any) -> Float[Array, "*code 2"]:
        """Position in bins: along each axis the lower median of the most active bins.

        **Arguments:**

        - `r`: grid-cell activity, `(..., C)`.
        """
        return self.decode_activity(self.place_activity(r))

    @eqx.filter_jit
    def decode_activity(self, activity: Float[Array, "*code bin bin"]) -> Float[Array, "*code 2"]:
        """As `decode`, of the activity of place cells."""
        m = self.n_decoded
        flat = activity.reshape(*activity.shape[:-2], self.n_bins**2)
        _, best = jax.lax.top_k(flat, m)
        axes = jnp.stack(jnp.divmod(best, self.n_bins), axis=-1)
        median = jnp.sort(axes, axis=-2)[..., (m - 1) // 2, :]
        return median.astype(activity.dtype)

    def target(self, x: Any) -> Float[Array, "*position bin bin"]:
        """What the place cells should show at positions `(..., 2)`, in bins."""
        x = read_positions(x, self.n_bins, self.values.dtype)
        return place_field_map(x, width=self.n_bins * self.field_size, n_bins=self.n_bins)

    def bin_positions(self) -> Float[Array, "bin bin 2"]:
        """Where the place cells are, in sides of the arena."""
        return lattice_points(self.n_bins, self.values.dtype) / self.n_bins
