"""Loss against training steps."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .style import PALETTE


def plot_learning_curves(
    ax: Any,
    losses: Mapping[str, np.ndarray],
    *,
    baseline: tuple[str, float] | None = None,
    window: int = 20,
) -> Any:
    """Median loss over seeds with the range between seeds, on a logarithmic axis.

    **Arguments:**

    - `ax`: matplotlib `Axes`.
    - `losses`: name to `(seed, step)` or `(step,)` training losses.
    - `baseline`: name and loss of a predictor to compare with, drawn as a dashed line.
    - `window`: steps averaged for each point.

    **Returns:** the `Axes`.
    """
    for (name, values), colour in zip(losses.items(), PALETTE * 2):
        curves = np.atleast_2d(values)
        width = max(1, min(window, curves.shape[1]))
        usable = curves.shape[1] // width * width
        means = curves[:, :usable].reshape(curves.shape[0], -1, width).mean(axis=2)
        steps = (np.arange(means.shape[1]) + 1) * width
        ax.plot(steps, np.median(means, axis=0), color=colour, label=name)
        if curves.shape[0] > 1:
            ax.fill_between(
                steps, means.min(axis=0), means.max(axis=0), color=colour, alpha=0.2, lw=0
            )
    if baseline is not None:
        ax.axhline(baseline[1], color="0.5", ls="--", lw=0.8, label=baseline[0])
    ax.set_yscale("log")
    ax.set_xlabel("training step")
    ax.set_ylabel("mean squared error")
    ax.legend()
    return ax
