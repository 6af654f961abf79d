"""Rates at every position, interpolated between the bins of recorded maps."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class InterpolatedPlaceMap(eqx.Module):
    """A population of cells in one context, as their rate maps have it.

    Rates are interpolated linearly along each axis between the centres of bins, and are constant
    from the last centres to the walls. Positions and derivatives are as with `PlaceMap`, in whose
    place it can be: its distances, information and noise in time are those of the recorded cells.

    - `rates`: `(cell, *bins)` in Hz.
    - `edges`: of the bins of each axis, `(bins + 1,)`, in the unit of positions.
    - `wrap`: for each axis, whether its ends meet.
    """

    rates: Float[Array, "cell *bins"]
    edges: tuple[tuple[float, ...], ...] = eqx.field(static=True)
    wrap: tuple[bool, ...] = eqx.field(static=True)

    @classmethod
    def from_rate_maps(
        cls,
        maps: Any,
        edges: Any = None,
        *,
        wrap: Any = None,
        unvisited: Literal["refuse", "nearest"] = "refuse",
    ) -> "InterpolatedPlaceMap":
        """The map of recorded cells.

        **Arguments:**

        - `maps`: `(cell, *bins)` in Hz, one or two axes of bins, NaN where unvisited; or the result
            of `neurosim.analysis.rate_maps`, which has its edges.
        - `edges`: `(bins + 1,)` for one axis, or a sequence of such for each.
        - `wrap`: whether the ends of an axis meet, for all axes or for each; by default as in
            `maps`, or not.
        - `unvisited`: whether to refuse maps with unvisited bins, or to take for each the rate of
            the nearest bin, in bins, that is known for the cell.

        **Raises:** `ValueError` for maps without edges, shapes that do not fit, edges that do not
        increase, rates that are negative or infinite, unvisited bins unless these are filled, or a
        cell that is NaN throughout.
        """
        if edges is None:
            edges = getattr(maps, "edges", None)
        if wrap is None:
            wrap = getattr(maps, "wrap", False)
        if edges is None:
            raise ValueError("maps need the edges of their bins.")
        if unvisited not in ("refuse", "nearest"):
            raise ValueError(f"unvisited must be 'refuse' or 'nearest', got {unvisited!r}.")
        rates = np.asarray(getattr(maps, "rates", maps), np.float64)
        if rates.ndim not in (2, 3) or 0 in rates.shape:
            raise ValueError(
                f"maps must be (cell, *bins), one or two axes of bins; got shape {rates.shape}."
            )
        d = rates.ndim - 1
        given = [edges] if np.ndim(edges[0]) == 0 else list(edges)
        ends = [np.asarray(edge, np.float64) for edge in given]
        if tuple(edge.shape for edge in ends) != tuple((n + 1,) for n in rates.shape[1:]):
            raise ValueError(
                f"edges must be one more than bins along each axis: maps are {rates.shape}, edges "
                f"{[edge.shape for edge in ends]}."
            )
        if not all(np.isfinite(edge).all() and (np.diff(edge) > 0).all() for edge in ends):
            raise ValueError("edges must be finite and increase along each axis.")
        around = tuple(np.broadcast_to(np.asarray(wrap, bool), (d,)).tolist())
        if np.isinf(rates).any() or (rates < 0).any():
            raise ValueError("rates must be finite and not negative, or NaN where unvisited.")
        lost = np.isnan(rates)
        if lost.any():
            cell = int(np.argwhere(lost)[0][0])
            if unvisited == "refuse":
                raise ValueError(
                    f"maps are NaN in unvisited bins, the first of cell {cell}: pass "
                    "unvisited='nearest' to fill them."
                )
            rates = np.stack([_filled(r, np.isnan(r), around, i) for i, r in enumerate(rates)])
        return cls(jnp.asarray(rates, float), tuple(tuple(e.tolist()) for e in ends), around)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.rates.shape[0]

    def __call__(self, x: Any) -> Float[Array, "*positions cell"]:
        """Rates in Hz at positions `(..., dim)`.

        **Raises:** `ValueError` for positions of another dimension, or outside of the bins.
        """
        return self._weighted(x, None)

    def jacobian(self, x: Any) -> Float[Array, "*positions cell dim"]:
        """Derivatives of the rates along each axis, in Hz per unit; arguments as in the call.

        They jump at the centres of bins, where that of the next bin is taken.
        """
        parts = [self._weighted(x, axis) for axis in range(self.rates.ndim - 1)]
        return jnp.stack(parts, axis=-1)

    def _weighted(self, x: Any, along: int | None) -> Any:
        """Rates, or their derivative along an axis: the bins around, weighed."""
        x = self._positions(x)
        sides = [self._side(x[..., axis], axis, axis == along) for axis in range(x.shape[-1])]
        total = 0.0
        for corner in np.ndindex(*(2,) * len(sides)):
            places = tuple(side[0][c] for side, c in zip(sides, corner, strict=True))
            weight = 1.0
            for side, c in zip(sides, corner, strict=True):
                weight = weight * side[1][c]
            total += jnp.asarray(weight)[..., None] * jnp.moveaxis(self.rates[:, *places], 0, -1)
        return jnp.asarray(total)

    def _side(self, x: Any, axis: int, slope: bool) -> tuple[Any, Any]:
        """The two bins next to `x` along an axis, and their weights or the slopes of these."""
        edge = np.asarray(self.edges[axis])
        centre, n = (edge[1:] + edge[:-1]) / 2, len(edge) - 1
        if self.wrap[axis]:
            period = edge[-1] - edge[0]
            x = edge[0] + jnp.mod(x - edge[0], period)
            knots = np.concatenate([[centre[-1] - period], centre, [centre[0] + period]])
            numbers = np.concatenate([[n - 1], np.arange(n), [0]])
        else:
            knots = np.concatenate([edge[:1], centre, edge[-1:]])
            numbers = np.concatenate([[0], np.arange(n), [n - 1]])
        place = jnp.searchsorted(jnp.asarray(knots, x.dtype), x, side="right") - 1
        place = jnp.clip(place, 0, n)
        low, gap = jnp.asarray(knots[:-1], x.dtype)[place], np.diff(knots)
        width = jnp.asarray(gap, x.dtype)[place]
        share = (x - low) / width
        weights = (-1 / width, 1 / width) if slope else (1 - share, share)
        bins = jnp.asarray(numbers)
        return (bins[place], bins[place + 1]), weights

    def _positions(self, x: Any) -> Any:
        x = jnp.asarray(x, self.rates.dtype)
        d = self.rates.ndim - 1
        if x.ndim == 0 or x.shape[-1] != d:
            raise ValueError(f"positions must be (..., {d}), got shape {x.shape}.")
        if not isinstance(x, jax.core.Tracer):
            # In NumPy, since a comparison within someone's `jit` would be traced.
            values = np.asarray(x)
            for axis, (edge, around) in enumerate(zip(self.edges, self.wrap, strict=True)):
                slack = 1e-6 * (edge[-1] - edge[0])
                here = values[..., axis]
                inside = (here >= edge[0] - slack) & (here <= edge[-1] + slack)
                if not (inside | (around & np.isfinite(here))).all():
                    raise ValueError(
                        f"positions must lie within the bins, {edge[0]} to {edge[-1]} along axis "
                        f"{axis}; got {float(here[~inside].ravel()[0])}."
                    )
        return x


def _filled(rates: np.ndarray, lost: np.ndarray, wrap: tuple[bool, ...], cell: int) -> np.ndarray:
    from scipy.ndimage import distance_transform_edt

    if lost.all():
        raise ValueError(f"cell {cell} is NaN in every bin.")
    # Copies beyond the ends that meet are near, too.
    width = [(n if w else 0,) * 2 for n, w in zip(rates.shape, wrap, strict=True)]
    wide = np.pad(lost, width, mode="wrap")
    nearest: Any = distance_transform_edt(wide, return_distances=False, return_indices=True)
    inner = tuple(slice(w, w + n) for (w, _), n in zip(width, rates.shape, strict=True))
    places = [
        (index[inner] - w) % n for index, (w, _), n in zip(nearest, width, rates.shape, strict=True)
    ]
    return rates[tuple(places)]
