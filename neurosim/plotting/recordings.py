"""Figures of recordings: trajectories, demixed variance, decoding across time, dissimilarities."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from .style import PALETTE, new_figure, ordered_colours

#: White in the middle, for values that lie on both sides of chance or 0.
DIVERGING = "RdBu_r"


def plot_trajectories(
    trajectories: Any,
    *,
    epochs: Mapping[str, Any] | None = None,
    n_dims: int | None = None,
    labels: Sequence[str] | None = None,
    names: Sequence[Any] | None = None,
    colours: Any = None,
    ax: Any = None,
) -> Any:
    """Conditions or trials as curves in two or three latent coordinates.

    **Arguments:**

    - `trajectories`: `(condition, time, >= 2)`, or a list of `(time_i, >= 2)`; NaN leaves a gap.
    - `epochs`: name to the sample at which the epoch begins, one for all or `(condition,)`; marked
      on each curve.
    - `n_dims`: 2 or 3; by default 3 on a 3-D axis, else 2.
    - `labels`: of the coordinates, "PC 1" and so on by default.
    - `names`: of the conditions, for the legend.
    - `colours`: one for each condition; by default a scale from the first to the last.
    - `ax`: matplotlib `Axes`, 3-D for three coordinates; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for curves without enough coordinates, an axis that does not fit, or an
    epoch that does not begin within a curve.
    """
    curves = [np.asarray(curve, dtype=float) for curve in trajectories]
    if n_dims is None:
        n_dims = 3 if getattr(ax, "name", "") == "3d" else 2
    if n_dims not in (2, 3):
        raise ValueError(f"n_dims must be 2 or 3, got {n_dims}.")
    shapes = [curve.shape for curve in curves if curve.ndim != 2 or curve.shape[1] < n_dims]
    if shapes or not curves:
        raise ValueError(
            f"trajectories must be (condition, time, >= {n_dims}), got "
            f"{f'a curve of shape {shapes[0]}' if shapes else 'none'}."
        )
    if ax is None:
        projection = {"projection": "3d"} if n_dims == 3 else {}
        _, ax = new_figure(3.0, 2.6, subplot_kw=projection)
    elif (ax.name == "3d") != (n_dims == 3):
        raise ValueError(f"ax must be {n_dims}-D for n_dims={n_dims}.")
    if colours is None:
        colours = ordered_colours(len(curves))
    for index, (curve, colour) in enumerate(zip(curves, colours)):
        name = {} if names is None else {"label": str(names[index])}
        ax.plot(*curve[:, :n_dims].T, color=colour, lw=0.9, **name)
    for (name, begins), marker in zip((epochs or {}).items(), cycle("osv^D")):
        starts = np.broadcast_to(begins, len(curves))
        for curve, start in zip(curves, starts):
            if not 0 <= start < len(curve):
                raise ValueError(
                    f"epoch {name!r} begins at sample {start}, outside a curve of {len(curve)}."
                )
        at = np.stack([curve[start, :n_dims] for curve, start in zip(curves, starts)])
        ax.plot(*at.T, marker, color="0.3", ms=3.5, mfc="white", label=name, ls="none")
    labels = labels or [f"PC {k + 1}" for k in range(n_dims)]
    for axis, label in zip("xyz", labels[:n_dims]):
        getattr(ax, f"set_{axis}label")(label)
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    return ax


def plot_marginal_variance(dpca: Any, *, n_components: int = 12, ax: Any = None) -> Any:
    """What leading demixed components explain, and which parts of the activity that is.

    One bar a component, the most variance first; its colours say from which parts. A demixed
    component has one colour. The legend has the share of each part in all variance.

    **Arguments:**

    - `dpca`: a fitted `DPCA`.
    - `n_components`: number of bars, at most.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` if `dpca` is not fitted.
    """
    if not hasattr(dpca, "component_variance_ratio_"):
        raise ValueError("dpca is not fitted yet: call fit first.")
    if ax is None:
        _, ax = new_figure(3.6, 2.4)
    parts = list(dpca.marginalisations_)
    table = np.concatenate([dpca.component_variance_ratio_[part] for part in parts])
    own = np.concatenate([np.full(dpca.n_components_[part], k) for k, part in enumerate(parts)])
    order = np.argsort(-table.sum(axis=1), kind="stable")[:n_components]
    shares = 100 * table[order]
    at = np.arange(1, len(order) + 1)
    # What a component loses in one part goes below zero, not into another.
    above, below = np.zeros(len(order)), np.zeros(len(order))
    for k, (part, colour) in enumerate(zip(parts, cycle(PALETTE))):
        share = shares[:, k]
        bottom = np.where(share >= 0, above, below)
        name = f"{part} ({100 * dpca.marginal_variance_ratio_[part]:.0f} %)"
        ax.bar(at, share, 0.8, bottom=bottom, color=colour, label=name)
        above, below = above + np.maximum(share, 0), below + np.minimum(share, 0)
    counts = np.zeros(len(parts), int)
    for x, height, part in zip(at, above, own[order]):
        counts[part] += 1
        ax.annotate(
            f"{parts[part][0]}{counts[part]}", (x, height), (0, 1.5),
            textcoords="offset points", ha="center", fontsize=6,
        )  # fmt: skip
    ax.set_xticks(at)
    ax.set(xlabel="component", ylabel="variance explained (%)")
    ax.legend()
    return ax


def plot_cross_temporal(
    found: Any,
    times: Any = None,
    *,
    events: Mapping[str, float] | None = None,
    unit: str | None = None,
    alpha: float | int = 0.05,
    limits: Sequence[float | int] | None = None,
    colour_bar: bool = True,
    ax: Any = None,
) -> Any:
    """Decoding by time fitted and time tested; white is chance.

    **Arguments:**

    - `found`: of `cross_temporal_decode` or `cross_temporal_regress`.
    - `times`: `(time,)`, centres of bins, evenly spaced; by default their numbers.
    - `events`: name to time, drawn as lines on both axes, the name above.
    - `unit`: of `times`.
    - `alpha`: where there are p values, those below it are outlined.
    - `limits`: of the colours, one below chance and one above; by default 0 and 1 for accuracy,
      -1 and 1 for R^2, about a chance of 0. What lies beyond looks like the limit.
    - `colour_bar`: whether to add one.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for times that do not match, or limits on one side of chance.
    """
    from matplotlib.colors import TwoSlopeNorm

    if hasattr(found, "accuracy"):
        values, name, chance, bounds = found.accuracy, "accuracy", found.chance, (0, 1)
    else:
        values, name, chance, bounds = found.r2, "$R^2$", 0.0, (-1, 1)
    low, high = bounds if limits is None else limits
    if not low < chance < high:
        raise ValueError(f"limits must lie about chance, {chance:g}, got {limits}.")
    norm = TwoSlopeNorm(chance, low, high)
    n_times = len(values)
    if unit is None:
        unit = "bin" if times is None else "s"
    centres = np.arange(n_times) if times is None else np.asarray(times, dtype=float)
    if centres.shape != (n_times,):
        raise ValueError(f"times must be ({n_times},), as decoded, got shape {centres.shape}.")
    if ax is None:
        _, ax = new_figure(3.2, 2.6)
    half = (centres[-1] - centres[0]) / max(n_times - 1, 1) / 2 or 0.5
    low, high = centres[0] - half, centres[-1] + half
    image = ax.imshow(
        values, origin="lower", extent=(low, high, low, high), cmap=DIVERGING, norm=norm,
        aspect="equal", interpolation="none",
    )  # fmt: skip
    if found.p_value is not None:
        significant = np.asarray(found.p_value) < alpha
        if significant.any() and not significant.all():
            ax.contour(centres, centres, significant.astype(float), [0.5], colors="k", linewidths=1)
    for event, time in (events or {}).items():
        ax.axvline(time, color="0.2", lw=0.7, ls="--")
        ax.axhline(time, color="0.2", lw=0.7, ls="--")
        ax.text(time, high, event, ha="center", va="bottom", fontsize=7)
    ax.set(xlabel=f"time tested ({unit})", ylabel=f"time fitted ({unit})")
    if colour_bar:
        bar = ax.figure.colorbar(image, ax=ax, label=name)
        ticks = [norm.vmin, norm.vcenter, norm.vmax]
        bar.set_ticks(ticks, labels=[f"{tick:.2g}" for tick in ticks])
    return ax


def plot_rdm(
    found: Any, *, labels: Sequence[Any] | None = None, colour_bar: bool = True, ax: Any = None
) -> Any:
    """Dissimilarities between conditions.

    From 0 on a scale of lightness; with estimates below 0, such as crossnobis has, white is 0.

    **Arguments:**

    - `found`: of `rdm` or `crossnobis`.
    - `labels`: of the conditions; by default those found.
    - `colour_bar`: whether to add one.
    - `ax`: matplotlib `Axes`; a new one by default.

    **Returns:** the `Axes`.

    **Raises:** `ValueError` for a number of labels other than that of the conditions.
    """
    values = np.asarray(found.dissimilarities)
    if labels is None:
        labels = [", ".join(map(str, each)) for each in zip(*found.conditions.values())]
    if len(labels) != len(values):
        raise ValueError(f"labels must be {len(values)}, one a condition, got {len(labels)}.")
    if ax is None:
        _, ax = new_figure(3.2, 2.6)
    most = np.abs(values).max() or 1.0
    signed = (values < 0).any()
    image = ax.imshow(
        values, vmin=-most if signed else 0, vmax=most, cmap=DIVERGING if signed else "cividis"
    )
    ax.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
    ax.set_yticks(range(len(labels)), labels)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if colour_bar:
        ax.figure.colorbar(image, ax=ax, label="dissimilarity")
    return ax
