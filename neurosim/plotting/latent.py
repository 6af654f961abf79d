"""Trajectories in a plane of latent coordinates, with fixed points."""

from itertools import cycle
from typing import Any

import numpy as np

from .style import PALETTE, ordered_colours


def plot_latent_trajectories(
    ax: Any,
    latents: np.ndarray,
    *,
    events: dict[str, np.ndarray] | None = None,
    fixed_points: np.ndarray | None = None,
    stable: np.ndarray | None = None,
    labels: tuple[str, str] = ("PC 1", "PC 2"),
    colours: Any = None,
) -> Any:
    """Trials as curves in the first two latent coordinates, coloured in their order.

    **Arguments:**

    - `ax`: matplotlib `Axes`.
    - `latents`: `(trial, time, >= 2)`.
    - `events`: name to `(trial,)` time indices, marked on each curve.
    - `fixed_points`: `(point, >= 2)` in the same coordinates; filled where `stable`, else open.
    - `colours`: one for each trial; by default a scale from the first to the last.

    **Returns:** the `Axes`.
    """
    if colours is None:
        colours = ordered_colours(len(latents))
    for trial, colour in zip(latents, colours):
        ax.plot(trial[:, 0], trial[:, 1], color=colour, lw=0.9)
    for (name, indices), marker in zip((events or {}).items(), cycle("osv^D")):
        at = latents[np.arange(len(latents)), indices]
        ax.plot(at[:, 0], at[:, 1], marker, color="0.3", ms=3, mfc="white", label=name, ls="none")
    if fixed_points is not None and len(fixed_points):
        is_stable = np.ones(len(fixed_points), bool) if stable is None else np.asarray(stable)
        for chosen, face, name in (
            (is_stable, PALETTE[1], "stable fixed point"),
            (~is_stable, "white", "unstable fixed point"),
        ):
            if chosen.any():
                at = np.asarray(fixed_points)[chosen]
                ax.plot(
                    at[:, 0],
                    at[:, 1],
                    "X",
                    ms=6,
                    mfc=face,
                    mec=PALETTE[1],
                    label=name,
                    ls="none",
                    zorder=4,
                )
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    return ax
