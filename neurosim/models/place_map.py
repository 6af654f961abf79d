"""Rates of place cells at every position of one context."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .place_map_ensemble import PlaceMapEnsemble, gaussian_field


class PlaceMap(eqx.Module):
    """A population of place cells with Gaussian fields in one context.

        f_i(x) = b + C_i sum_j exp(-|x - c_ij|^2 / (2 (w_ij / 2)^2))

    A width is twice the standard deviation of a field. The map has no time: it is no `Dynamics`.
    A map is made by `sample_place_map`, or by hand; `InterpolatedPlaceMap` is that of recordings.

    - `centres`: `(cell, field, dim)` in m. `mask`: `(cell, field)`, which fields there are.
    - `widths`: `(cell, field)` in m. `gain`: `(cell,)`, C in Hz. `baseline`: b in Hz.
    - `propensity`: `(cell,)` of the number of fields, where it is known.
    - `ensemble`: what the map was drawn from; global and partial remapping need it.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eq. 1.
    """

    centres: Float[Array, "cell field dim"]
    mask: Bool[Array, "cell field"]
    widths: Float[Array, "cell field"]
    gain: Float[Array, " cell"]
    baseline: Any = 0.1
    propensity: Float[Array, " cell"] | None = None
    ensemble: PlaceMapEnsemble | None = None

    @property
    def n_cells(self) -> int:
        """Number of cells, silent ones included."""
        return self.centres.shape[0]

    def __call__(self, x: Any) -> Float[Array, "*positions cell"]:
        """Rates in Hz at positions `(..., dim)`.

        Fields are added one after another, so no array holds positions by cells by fields.

        **Raises:** `ValueError` for positions of another dimension, or outside the environment.
        """
        x = self._positions(x)

        def add(total, field):
            c, present, w = field
            return total + _field(x, c, present, w)[0], None

        zero = jnp.zeros((*x.shape[:-1], self.n_cells), x.dtype)
        total, _ = jax.lax.scan(add, zero, self._fields())
        return self.baseline + self.gain * total

    def jacobian(self, x: Any) -> Float[Array, "*positions cell dim"]:
        """Derivatives of the rates along each axis, in Hz per m; arguments as in the call."""
        x = self._positions(x)

        def add(total, field):
            c, present, w = field
            g, step = _field(x, c, present, w)
            return total - 4 * (g / w**2)[..., None] * step, None

        zero = jnp.zeros((*x.shape[:-1], *self.centres.shape[::2]), x.dtype)
        total, _ = jax.lax.scan(add, zero, self._fields())
        return self.gain[:, None] * total

    def remap(
        self,
        key: PRNGKeyArray,
        kind: Literal["global", "partial", "rate"] = "global",
        *,
        fraction: float | int = 0.5,
        gain_sd: float | int = 0.5,
        preserve_propensity: bool = False,
    ) -> "PlaceMap":
        """The map of the same cells in another context.

        - `"global"`: every cell draws a new map.
        - `"partial"`: each does so with probability `fraction`, and keeps its map otherwise.
        - `"rate"`: fields stay, and gains are multiplied by log-normal numbers of mean 1.

        **Arguments:**

        - `fraction`: for partial remapping, from 0 to 1.
        - `gain_sd`: standard deviation of the logarithm of the factors.
        - `preserve_propensity`: whether a cell keeps its propensity for fields. Where the map does
            not know it, it is drawn from its distribution given the number of fields; the new map
            knows it, so remap that one for more contexts of the same cells.

        **Raises:** `ValueError` for another kind, a fraction or deviation out of range, or a map
        that does not know its ensemble, unless for rates.
        """
        if kind not in ("global", "partial", "rate"):
            raise ValueError(f"kind must be 'global', 'partial' or 'rate', got {kind!r}.")
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must be from 0 to 1, got {fraction}.")
        if not gain_sd >= 0:
            raise ValueError(f"gain_sd must not be negative, got {gain_sd}.")
        if kind == "rate":
            z = jax.random.normal(key, self.gain.shape, self.gain.dtype)
            gain = self.gain * jnp.exp(gain_sd * z - gain_sd**2 / 2)
            return eqx.tree_at(lambda m: m.gain, self, gain)
        if self.ensemble is None:
            raise ValueError(f"{kind} remapping needs a map that was drawn from an ensemble.")
        k_map, k_which, k_propensity = jax.random.split(key, 3)
        propensity = None
        if preserve_propensity:
            propensity = self.propensity
            if propensity is None:
                propensity = self.ensemble.draw_propensity(k_propensity, self.mask.sum(axis=-1))
        c, mask, w, gain = self.ensemble.draw(k_map, self.n_cells, propensity)
        if kind == "partial":
            moves = jax.random.bernoulli(k_which, fraction, (self.n_cells,))
            c = jnp.where(moves[:, None, None], c, self.centres)
            mask = jnp.where(moves[:, None], mask, self.mask)
            w = jnp.where(moves[:, None], w, self.widths)
            gain = jnp.where(moves, gain, self.gain)
        return PlaceMap(c, mask, w, gain, self.baseline, propensity, self.ensemble)

    def _fields(self) -> tuple[Any, Any, Any]:
        return jnp.moveaxis(self.centres, 1, 0), self.mask.T, self.widths.T

    def _positions(self, x: Any) -> Any:
        x = jnp.asarray(x, self.centres.dtype)
        dim = self.centres.shape[-1]
        if x.ndim == 0 or x.shape[-1] != dim:
            raise ValueError(f"positions must be (..., {dim}), got shape {x.shape}.")
        if self.ensemble is not None and not isinstance(x, jax.core.Tracer):
            size = float(self.ensemble.environment.size)
            # In NumPy, since a comparison within someone's `jit` would be traced.
            values = np.asarray(x)
            inside = (values >= 0) & (values <= size * (1 + 1e-6))
            if not inside.all():
                raise ValueError(
                    f"positions must lie in the environment, from 0 to {size} m; "
                    f"got {float(values[~inside][0])}."
                )
        return x


def sample_place_map(key: PRNGKeyArray, n_cells: int, ensemble: PlaceMapEnsemble) -> PlaceMap:
    """A map of `n_cells` place cells, drawn from an ensemble.

    **Raises:** `ValueError` for fewer than one cell.
    """
    centres, mask, widths, gain = ensemble.draw(key, n_cells)
    return PlaceMap(centres, mask, widths, gain, float(ensemble.baseline), None, ensemble)


def _field(x: Any, c: Any, present: Any, w: Any) -> tuple[Any, Any]:
    """One field of each cell, and the way from its centre."""
    step = x[..., None, :] - c
    return gaussian_field(step, present, w), step
