"""What the maps of place cells are drawn from: numbers, centres, widths and heights of fields."""

import math
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from .dynamics import fixed_field
from .parameters import check_sizes
from .place_field_statistics import Environment, FieldStatistics, check_positive


class PlaceMapEnsemble(eqx.Module):
    """A distribution over maps of place cells, independent from cell to cell.

    Numbers of fields are drawn from `statistics` by inverting a table of their distribution.

    - `environment`, `statistics`: where, and how many fields.
    - `width`: of a field in m, twice its standard deviation.
    - `bias`: a of Beta(a, a), from which each coordinate of a centre over the size is drawn: 1 is
        uniform, less has more centres near walls.
    - `normalization`: `"peak"` scales each active cell so that its largest rate is `peak`;
        `"field"` gives every field the height `peak - baseline`.
    - `width_spread`: standard deviation of the logarithm of widths, about `width`.
    - `peak`, `baseline`: in Hz.
    - `max_fields`: most fields that a map can hold; by default it is exceeded with a probability
        below 1e-9 per cell. A draw that exceeds it is an error.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eq. 1, appendices A.1 and A.6.
    """

    environment: Environment
    statistics: FieldStatistics
    width: float | int = fixed_field()
    bias: float | int = fixed_field(default=1.0)
    normalization: Literal["peak", "field"] = eqx.field(static=True, default="peak")
    width_spread: float | int = fixed_field(default=0.0)
    peak: float | int = fixed_field(default=30.0)
    baseline: float | int = fixed_field(default=0.1)
    max_fields: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        self.statistics.beta(self.environment)
        check_positive(width=self.width, bias=self.bias)
        if not self.width_spread >= 0:
            raise ValueError(f"width_spread must not be negative, got {self.width_spread}.")
        if not 0 <= self.baseline < self.peak < np.inf:
            raise ValueError(
                f"rates need 0 <= baseline < peak, got baseline {self.baseline} and peak "
                f"{self.peak}."
            )
        if self.normalization not in ("peak", "field"):
            raise ValueError(
                f"normalization must be 'peak' or 'field', got {self.normalization!r}."
            )
        if self.max_fields is not None:
            check_sizes(max_fields=self.max_fields)

    @property
    def n_fields(self) -> int:
        """Most fields that a map can hold."""
        if self.max_fields is not None:
            return self.max_fields
        return max(self.statistics.max_fields(self.environment, tail=1e-9), 1)

    def draw_counts(self, key: PRNGKeyArray, n_cells: int, propensity: Any = None) -> Any:
        """Numbers of fields, `(cell,)`, given propensities where these are known."""
        if propensity is None:
            p = self.statistics.pmf(np.arange(self.n_fields + 1), self.environment)
            counts = jnp.searchsorted(
                jnp.asarray(np.cumsum(p), float), jax.random.uniform(key, (n_cells,)), side="right"
            )
        else:
            counts = jax.random.poisson(key, propensity)
        return eqx.error_if(
            counts, counts > self.n_fields, f"a cell drew more than max_fields={self.n_fields}."
        )

    def draw_propensity(self, key: PRNGKeyArray, counts: Any) -> Any:
        """Propensities given the numbers of fields: Gamma(alpha + k, rate beta + 1), `(cell,)`."""
        shape = float(self.statistics.alpha) + counts.astype(float)
        return jax.random.gamma(key, shape) / (self.statistics.beta(self.environment) + 1)

    def draw(
        self, key: PRNGKeyArray, n_cells: int, propensity: Any = None
    ) -> tuple[Any, Any, Any, Any]:
        """Centres, mask, widths and gains of a map; see `PlaceMap`. Can be jitted and vmapped.

        **Raises:** `ValueError` for fewer than one cell.
        """
        check_sizes(n_cells=n_cells)
        k_count, k_centre, k_width = jax.random.split(key, 3)
        shape = (n_cells, self.n_fields)
        counts = self.draw_counts(k_count, n_cells, propensity)
        mask = jnp.arange(self.n_fields) < counts[:, None]
        size, dim, bias = float(self.environment.size), self.environment.dim, float(self.bias)
        if bias == 1:
            share = jax.random.uniform(k_centre, (*shape, dim))
        else:
            share = jax.random.beta(k_centre, bias, bias, (*shape, dim))
        centres = size * share
        widths = jnp.full(shape, float(self.width), centres.dtype)
        if self.width_spread > 0:
            widths *= jnp.exp(float(self.width_spread) * jax.random.normal(k_width, shape))
        gain = jnp.where(counts > 0, float(self.peak) - float(self.baseline), 0.0)
        if self.normalization == "peak":
            largest = self._largest(centres, mask, widths)
            gain = jnp.where(counts > 0, gain / jnp.where(counts > 0, largest, 1), 0)
        return centres, mask, widths, gain

    def _largest(self, centres: Any, mask: Any, widths: Any) -> Any:
        """The largest sum of fields of each cell, over a fine grid and its centres."""
        ratio = float(self.environment.size) / float(self.width)
        n = min(max(math.ceil(16 * ratio), 40), 400 if self.environment.dim == 1 else 80) + 1
        x = jnp.asarray(self.environment.grid(n), centres.dtype)

        def add(total, field):
            c, present, w = field
            own, grid = total
            own += gaussian_field(centres - c[:, None], present[:, None], w[:, None])
            return (own, grid + gaussian_field(x[:, None] - c, present, w)), None

        zero = jnp.zeros(mask.shape, centres.dtype), jnp.zeros((len(x), len(mask)), centres.dtype)
        (own, grid), _ = jax.lax.scan(add, zero, (jnp.moveaxis(centres, 1, 0), mask.T, widths.T))
        return jnp.maximum(jnp.where(mask, own, 0).max(axis=1), grid.max(axis=0))


def gaussian_field(way: Any, present: Any, width: Any) -> Any:
    """Height of a field, 1 at most, at the end of the way `(..., dim)` from its centre."""
    return jnp.where(present, jnp.exp(-2 * jnp.sum(way**2, axis=-1) / width**2), 0)
