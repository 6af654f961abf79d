"""Figures of topology: bars, diagrams of births and deaths, and angles round a torus."""

from typing import Any

import numpy as np

from .style import PALETTE, new_figure

_NAMES = ("components", "loops", "voids")
#: Angles: the two ends of the scale are one colour, and lightness tells halves apart.
_CYCLIC = "twilight"


def plot_barcode(persistence: Any, *, null: Any = None, n_bars: int = 20, axes: Any = None) -> Any:
    """The longest bars of each dimension as lines from birth to death, the longest at the top.

    **Arguments:**

    - `persistence`: of `rips_persistence`. Bars that do not end have an arrow at the threshold.
    - `null`: of `shuffled_persistence`; a grey band is drawn from the birth of each bar over the
      length of the longest of all shuffles: bars that reach beyond theirs stand out.
    - `n_bars`: how many of each dimension at most.
    - `axes`: matplotlib `Axes`, one for each dimension; new ones by default.

    **Returns:** the array of `Axes`, `(dimension,)`.

    **Raises:** `ValueError` for a number of axes that does not fit, or a null of fewer dimensions.
    """
    diagrams = persistence.diagrams
    if axes is None:
        figure, axes = new_figure(3.6, 1.3 * len(diagrams) + 0.3, len(diagrams), 1, squeeze=False)
        figure.set_layout_engine("constrained")
    axes = np.asarray(axes, dtype=object).ravel()
    if len(axes) != len(diagrams):
        raise ValueError(f"{len(diagrams)} axes are needed, one a dimension; got {len(axes)}.")
    if null is not None and null.longest.shape[1] < len(diagrams):
        raise ValueError(
            f"null has {null.longest.shape[1]} dimensions, the persistence {len(diagrams)}."
        )
    end = float(persistence.threshold)
    for q, (ax, bars) in enumerate(zip(axes, diagrams, strict=True)):
        shown = bars[:n_bars]
        rows = np.arange(len(shown))
        birth, death = shown[:, 0], np.minimum(shown[:, 1], end)
        if null is not None and len(shown):
            most = float(null.longest[:, q].max()) * persistence.size
            ax.barh(rows, most, left=birth, height=0.95, color="0.85", label="longest by chance")
        ax.hlines(rows, birth, death, color=PALETTE[q], lw=1.6, label=_NAMES[q])
        lasting = np.isinf(shown[:, 1])
        # Without points, what is not clipped would still count in the layout.
        if lasting.any():
            ax.plot(death[lasting], rows[lasting], ">", color=PALETTE[q], ms=4, clip_on=False)
        ax.set_ylim(max(len(shown), 4) - 0.4, -0.6)
        ax.set_yticks([])
        ax.set_xlim(0, end * 1.02)
        ax.set_ylabel(f"{_NAMES[q]}\n$H_{q}$", rotation=0, ha="right", va="center")
        if q + 1 < len(axes):
            ax.tick_params(labelbottom=False)
    axes[-1].set_xlabel("scale (unit of the cloud)")
    if null is not None:
        handles, names = axes[0].get_legend_handles_labels()
        band = [handle for handle, name in zip(handles, names, strict=True) if "chance" in name]
        axes[0].legend(band, ["longest by chance"], loc="center right")
    return axes


def plot_persistence_diagram(persistence: Any, *, ax: Any = None) -> Any:
    """Death of each bar over its birth: what is far from the diagonal lasts.

    **Arguments:**

    - `persistence`: of `rips_persistence`. Bars that do not end are at the threshold, the dotted
      line, as open triangles.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.
    """
    if ax is None:
        figure, ax = new_figure(2.8, 2.6)
        figure.set_layout_engine("constrained")
    end = float(persistence.threshold)
    ax.plot([0, end], [0, end], color="0.7", lw=0.8, zorder=0)
    ax.axhline(end, color="0.7", lw=0.8, ls=":", zorder=0)
    # Shapes differ with the dimension too, so that it is not told by colour alone.
    for q, (bars, marker) in enumerate(zip(persistence.diagrams, "osD")):
        ended = np.isfinite(bars[:, 1])
        style = {"color": PALETTE[q], "marker": marker, "s": 14, "lw": 0.6, "alpha": 0.75}
        ax.scatter(bars[ended, 0], bars[ended, 1], label=f"{_NAMES[q]} $H_{q}$", **style)
        lasting = style | {"marker": "^", "facecolor": "none", "clip_on": False}
        if not ended.all():
            ax.scatter(bars[~ended, 0], np.full((~ended).sum(), end), **lasting)
    ax.set_xlim(-0.02 * end, end * 1.02)
    ax.set_ylim(-0.02 * end, end * 1.05)
    ax.set_aspect("equal")
    ax.set_xlabel("birth (unit of the cloud)")
    ax.set_ylabel("death (unit of the cloud)")
    ax.legend(loc="lower right")
    return ax


def plot_circular_coordinates(
    positions: Any,
    angles: Any,
    *,
    n_bins: int = 40,
    length_unit: str = "m",
    axes: Any = None,
) -> Any:
    """Over an arena, the mean angle round each circle: stripes for a module of grid cells.

    **Arguments:**

    - `positions`: `(sample, 2)`.
    - `angles`: `(sample, circle)`, radians, of `CircularCoordinates`; NaN is left out.
    - `n_bins`: along each side; bins without a sample are blank.
    - `length_unit`: of positions, on the axes.
    - `axes`: matplotlib `Axes`, one for each circle; new ones by default.

    **Returns:** the array of `Axes`, `(circle,)`.

    **Raises:** `ValueError` for shapes that do not fit, or a number of axes that does not.
    """
    at, theta = np.asarray(positions, float), np.asarray(angles, float)
    theta = theta[:, None] if theta.ndim == 1 else theta
    if at.ndim != 2 or at.shape[1] != 2 or theta.ndim != 2 or len(theta) != len(at):
        raise ValueError(
            f"positions must be (sample, 2) and angles (sample, circle), got {at.shape} and "
            f"{theta.shape}."
        )
    if not np.isfinite(at).all():
        raise ValueError("positions must be finite: leave such samples out.")
    n = theta.shape[1]
    if axes is None:
        figure, axes = new_figure(2.3 * n + 0.6, 2.3, 1, n, squeeze=False)
        figure.set_layout_engine("constrained")
    axes = np.asarray(axes, dtype=object).ravel()
    if len(axes) != n:
        raise ValueError(f"{n} axes are needed, one a circle; got {len(axes)}.")
    ends = np.stack([at.min(axis=0), at.max(axis=0)], axis=1)
    edges = [np.linspace(low, high, n_bins + 1) for low, high in ends]
    for i, ax in enumerate(axes):
        known = np.isfinite(theta[:, i])
        sums = [
            np.histogram2d(*at[known].T, bins=edges, weights=wave(theta[known, i]))[0]
            for wave in (np.cos, np.sin)
        ]
        mean = np.arctan2(sums[1], sums[0]) % (2 * np.pi)
        mean[np.histogram2d(*at[known].T, bins=edges)[0] == 0] = np.nan
        image = ax.imshow(
            mean.T, origin="lower", extent=ends.ravel(), cmap=_CYCLIC, vmin=0, vmax=2 * np.pi
        )
        ax.set_xlabel(f"x ({length_unit})")
        ax.set_ylabel(f"y ({length_unit})" if i == 0 else "")
        ax.set_title(f"circle {i + 1}")
    bar = axes[-1].figure.colorbar(image, ax=list(axes), label="angle (rad)", shrink=0.85)
    bar.set_ticks([0, np.pi, 2 * np.pi], labels=["0", "π", "2π"])
    return axes


def plot_torus_coordinates(
    angles: Any, *, colour: Any = None, label: str = "", ax: Any = None
) -> Any:
    """Samples on the square of two angles, whose opposite sides are one.

    **Arguments:**

    - `angles`: `(sample, 2)`, radians.
    - `colour`: `(sample,)`, what to colour them by, such as a coordinate of position.
    - `label`: what the colour is.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for another shape.
    """
    theta = np.asarray(angles, float)
    if theta.ndim != 2 or theta.shape[1] != 2:
        raise ValueError(f"angles must be (sample, 2), got {theta.shape}.")
    if ax is None:
        figure, ax = new_figure(2.9, 2.5)
        figure.set_layout_engine("constrained")
    shown = PALETTE[0] if colour is None else np.asarray(colour, float)
    points = ax.scatter(*(theta % (2 * np.pi)).T, c=shown, s=3, lw=0, rasterized=True)
    for axis, name in (("x", "first"), ("y", "second")):
        getattr(ax, f"set_{axis}lim")(0, 2 * np.pi)
        getattr(ax, f"set_{axis}ticks")([0, np.pi, 2 * np.pi], ["0", "π", "2π"])
        getattr(ax, f"set_{axis}label")(f"{name} angle (rad)")
    ax.set_aspect("equal")
    if colour is not None:
        ax.figure.colorbar(points, ax=ax, label=label, shrink=0.85)
    return ax
