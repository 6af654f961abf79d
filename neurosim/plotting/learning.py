"""Loss against training steps."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np

from .across_seeds import across_seeds
from .style import PALETTE


def plot_learning_curves(
    ax: Any,
    losses: Mapping[str, Any],
    *,
    baseline: tuple[str, float | int] | None = None,
    window: int = 20,
) -> Any:
    """Median loss over seeds with the range between seeds, on a logarithmic axis.

    Seeds that have diverged are left out from there on, and counted in the legend; a name none of
    whose losses is finite has no curve.

    **Arguments:**

    - `ax`: matplotlib `Axes`.
    - `losses`: name to `(seed, step)` or `(step,)` training losses; NaN where a seed diverged.
    - `baseline`: name and loss of a predictor to compare with, drawn as a dashed line.
    - `window`: steps averaged for each point.

    **Returns:** the `Axes`.
    """
    for (name, values), colour in zip(losses.items(), cycle(PALETTE)):
        curves = np.atleast_2d(np.asarray(values, dtype=float))
        if not np.isfinite(curves).any():
            continue
        width = max(1, min(window, curves.shape[1]))
        usable = curves.shape[1] // width * width
        # A mean over a window in which the seed diverges is not finite either.
        means = curves[:, :usable].reshape(curves.shape[0], -1, width).mean(axis=2)
        steps = (np.arange(means.shape[1]) + 1) * width
        median, lowest, highest = across_seeds(means)
        diverged = int((~np.isfinite(curves)).any(axis=1).sum())
        label = f"{name} ({diverged} of {len(curves)} diverged)" if diverged else name
        ax.plot(steps, median, color=colour, label=label)
        if curves.shape[0] > 1:
            ax.fill_between(steps, lowest, highest, color=colour, alpha=0.2, lw=0)
    if baseline is not None:
        ax.axhline(baseline[1], color="0.5", ls="--", lw=0.8, label=baseline[0])
    ax.set_yscale("log")
    ax.set_xlabel("training step")
    ax.set_ylabel("mean squared error")
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    return ax
