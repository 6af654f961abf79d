"""Figures of space: rate maps, autocorrelograms with their peaks, and many maps at once."""

import math
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np

from .style import SEQUENTIAL, new_figure


def plot_rate_map(
    rate_map: Any,
    *,
    extent: Any = None,
    unit: str = "Hz",
    length_unit: str = "m",
    vmax: float | int | None = None,
    colour_bar: bool = True,
    cmap: Any = SEQUENTIAL,
    ax: Any = None,
) -> Any:
    """A map over the plane as an image, the first axis of bins to the right, the second upwards.

    Bins that are NaN, unvisited ones, are left blank.

    **Arguments:**

    - `rate_map`: `(bins, bins)`.
    - `extent`: `((left, right), (bottom, top))`, a length; by default bins are counted.
    - `unit`: of the map, on the colour bar.
    - `length_unit`: of `extent`, on the axes.
    - `vmax`: value of the last colour; the first is 0, or the least value where that is negative.
    - `colour_bar`: whether there is one.
    - `cmap`: colours.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for another shape, or an extent that does not fit.
    """
    values = _plane(rate_map, "rate_map")
    if ax is None:
        _, ax = new_figure(2.8, 2.4)
    known = values[np.isfinite(values)]
    image = _image(
        ax,
        values,
        _ends(extent, values.shape),
        cmap=cmap,
        vmin=min(0.0, float(known.min())) if len(known) else 0.0,
        vmax=float(vmax) if vmax is not None else float(known.max()) if len(known) else 1.0,
    )
    for axis, name in (("x", "x"), ("y", "y")):
        told = f"{name} (bins)" if extent is None else f"{name} ({length_unit})"
        getattr(ax, f"set_{axis}label")(told)
    if colour_bar:
        ax.figure.colorbar(image, ax=ax, label=unit, shrink=0.85)
    return ax


def plot_autocorrelogram(
    autocorrelogram: Any,
    *,
    peaks: Any = None,
    bin_size: Any = None,
    length_unit: str = "m",
    colour_bar: bool = True,
    ax: Any = None,
) -> Any:
    """An autocorrelogram, blue to red about 0, with the six peaks about its middle.

    **Arguments:**

    - `autocorrelogram`: `(2 n - 1, 2 m - 1)`, NaN left blank.
    - `peaks`: `(6, 2)`, as `grid_geometry` has them: shifts in the unit of `bin_size`. They are
        joined by a line; none is drawn where they are NaN.
    - `bin_size`: width of bins, or one for each axis; by default bins are counted.
    - `length_unit`: of `bin_size`, on the axes.
    - `colour_bar`, `ax`: see `plot_rate_map`.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for another shape of either, or a bin size that is not positive.
    """
    values = _plane(autocorrelogram, "autocorrelogram")
    if ax is None:
        _, ax = new_figure(2.8, 2.4)
    sizes = np.broadcast_to(np.asarray(1.0 if bin_size is None else bin_size, float), (2,))
    if not (sizes > 0).all():
        raise ValueError(f"bin_size must be positive, got {bin_size}.")
    half = np.array(values.shape) * sizes / 2
    ends = ((-half[0], half[0]), (-half[1], half[1]))
    image = _image(ax, values, ends, cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    if peaks is not None:
        at = np.asarray(peaks, float)
        if at.ndim != 2 or at.shape[1] != 2:
            raise ValueError(f"peaks must be (peak, 2), got {at.shape}.")
        if np.isfinite(at).all():
            ring = at[np.argsort(np.arctan2(at[:, 1], at[:, 0]))]
            ring = np.concatenate([ring, ring[:1]])
            ax.plot(*ring.T, "o-", color="k", ms=3.5, mfc="white", lw=0.8, label="peaks")
    told = "bins" if bin_size is None else length_unit
    ax.set_xlabel(f"shift in x ({told})")
    ax.set_ylabel(f"shift in y ({told})")
    if colour_bar:
        ax.figure.colorbar(image, ax=ax, label="correlation", shrink=0.85)
    return ax


def plot_grid_of_maps(
    maps: Any,
    *,
    titles: Sequence[Any] | None = None,
    columns: int | None = None,
    share_scale: bool = False,
    cmap: Any = SEQUENTIAL,
    symmetric: bool = False,
    figure: Any = None,
) -> Any:
    """Many maps, each on its own axis without ticks, rows of them one below the other.

    **Arguments:**

    - `maps`: `(cell, bins, bins)`, NaN left blank.
    - `titles`: one for each; by default the peak, in Hz, where each map has its own scale.
    - `columns`: by default about as many as rows.
    - `share_scale`: whether one scale goes for all; by default each goes from 0 to its own peak.
    - `cmap`: colours.
    - `symmetric`: whether scales go as far below 0 as above, as for correlations.
    - `figure`: matplotlib figure to fill; a new one by default.

    **Returns:** the array of `Axes`, `(cell,)`.

    **Raises:** `ValueError` for another shape, or titles that do not fit.
    """
    values = np.asarray(maps, dtype=float)
    if values.ndim != 3 or len(values) == 0:
        raise ValueError(f"maps must be (cell, bins, bins), at least one; got {values.shape}.")
    n = len(values)
    if titles is not None and len(titles) != n:
        raise ValueError(f"titles must be one for each of {n} maps, got {len(titles)}.")
    across = math.ceil(math.sqrt(n)) if columns is None else min(int(columns), n)
    down = math.ceil(n / across)
    if figure is None:
        figure, axes = new_figure(0.95 * across, 1.05 * down, down, across, squeeze=False)
        figure.set_layout_engine("constrained")
    else:
        axes = figure.subplots(down, across, squeeze=False)
    axes = axes.ravel()
    known = np.isfinite(values)
    size = np.abs(values) if symmetric else values
    peaks = np.where(known, size, -np.inf).max(axis=(1, 2))
    lows = np.where(known, values, np.inf).min(axis=(1, 2))
    if share_scale:
        peaks, lows = np.full(n, peaks.max()), np.full(n, lows.min())
    for i, ax in enumerate(axes):
        ax.set_axis_off()
        if i >= n:
            continue
        top = float(peaks[i]) if np.isfinite(peaks[i]) else 1.0
        low = -top if symmetric else min(0.0, float(lows[i]))
        _image(ax, values[i], _ends(None, values[i].shape), cmap=cmap, vmin=low, vmax=top)
        title = titles[i] if titles is not None else None
        if title is None and not share_scale and np.isfinite(peaks[i]):
            title = f"{peaks[i]:.1f} Hz"
        if title is not None:
            ax.set_title(str(title), fontsize=6, pad=2)
    return axes[:n]


def _plane(values: Any, name: str) -> np.ndarray:
    plane = np.asarray(values, dtype=float)
    if plane.ndim != 2 or plane.size == 0:
        raise ValueError(f"{name} must be (bins, bins), got {plane.shape}.")
    return plane


def _ends(extent: Any, shape: tuple[int, ...]) -> tuple[tuple[float, float], ...]:
    if extent is None:
        return (0.0, float(shape[0])), (0.0, float(shape[1]))
    ends = np.asarray(extent, float)
    if ends.shape != (2, 2) or not (ends[:, 0] < ends[:, 1]).all():
        raise ValueError(f"extent must be ((left, right), (bottom, top)), got {extent}.")
    return (ends[0, 0], ends[0, 1]), (ends[1, 0], ends[1, 1])


def _image(ax: Any, values: np.ndarray, ends: Any, *, cmap: Any, vmin: float, vmax: float) -> Any:
    """The first axis of `values` to the right, the second upwards, as positions have them."""
    colours = mpl.colormaps[cmap] if isinstance(cmap, str) else cmap
    image = ax.imshow(
        np.ma.masked_invalid(values.T),
        origin="lower",
        extent=(*ends[0], *ends[1]),
        cmap=colours.with_extremes(bad=(1, 1, 1, 0)),
        vmin=vmin,
        vmax=vmax if vmax > vmin else vmin + 1,
        interpolation="nearest",
        aspect="equal",
    )
    ax.spines[["top", "right"]].set_visible(False)
    return image
