"""Figures of task sets: states by angle, gains by task, accuracy by task, shared subspaces."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from .style import PALETTE

#: For angles: the two ends meet, and lightness tells neighbouring quarters apart.
CYCLIC = "twilight_shifted"


def plot_states_by_angle(
    ax: Any, latents: np.ndarray, angles: np.ndarray, *, size: float | int = 6
) -> Any:
    """States in a plane of latent coordinates, coloured by an angle.

    **Arguments:**

    - `ax`: matplotlib `Axes`.
    - `latents`: `(trial, >= 2)`.
    - `angles`: `(trial,)`, radians.

    **Returns:** the `Axes`.
    """
    turns = np.mod(angles, 2 * np.pi)
    ax.scatter(
        latents[:, 0], latents[:, 1], c=turns, cmap=CYCLIC, vmin=0, vmax=2 * np.pi, s=size, lw=0
    )
    return ax


def add_angle_bar(figure: Any, axes: Any, *, label: str = "angle of the stimulus") -> Any:
    """A colour bar that reads the colours of angles."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    mappable = ScalarMappable(Normalize(0, 2 * np.pi), CYCLIC)
    bar = figure.colorbar(mappable, ax=axes, ticks=[0, np.pi, 2 * np.pi])
    bar.ax.set_yticklabels(["0", r"$\pi$", r"$2\pi$"])
    bar.set_label(label)
    return bar


def plot_accuracies(
    ax: Any, accuracies: Mapping[str, Any], labels: Sequence[str], *, chance: float = 0.1
) -> Any:
    """Share of correct responses, one group for each label: seeds as dots, medians as bars.

    **Arguments:**

    - `ax`: matplotlib `Axes`.
    - `accuracies`: name of a network to `(seed, label)`.
    - `labels`: of the groups, such as tasks.
    - `chance`: drawn as a dashed line.

    **Returns:** the `Axes`.
    """
    width = 0.8 / max(1, len(accuracies))
    middle = np.arange(len(labels))
    # Beyond one round of colours the next marker tells networks apart.
    styles = ((colour, marker) for marker in cycle("os^D") for colour in PALETTE)
    for index, ((name, values), (colour, marker)) in enumerate(zip(accuracies.items(), styles)):
        values = np.atleast_2d(np.asarray(values, dtype=float))
        x = middle + width * (index - (len(accuracies) - 1) / 2)
        for seed in values:
            ax.plot(x, seed, marker, ms=2.5, mec=colour, mfc="white", mew=0.7)
        median = np.median(values, axis=0)
        half = 0.4 * width
        ax.hlines(median, x - half, x + half, color=colour, lw=1.6)
        ax.plot([], [], marker, ls="-", color=colour, ms=3, mfc="white", label=name)
    ax.axhline(chance, color="0.5", ls="--", lw=0.8, label="chance")
    ax.set_xticks(middle, labels)
    ax.set_ylim(-0.03, 1.05)
    ax.set_ylabel("correct responses")
    return ax


def plot_gains_by_task(
    axes: Any, offsets: np.ndarray, gains: np.ndarray, tasks: Sequence[str]
) -> Any:
    """Average gains about an event, each in an axis of its own, one colour a task.

    **Arguments:**

    - `axes`: `(gain,)` matplotlib `Axes`.
    - `offsets`: `(offset,)`, time from the event, ms.
    - `gains`: `(task, offset, gain)`, NaN where no trial was observed.

    **Returns:** the `Axes`.
    """
    for k, ax in enumerate(np.ravel(axes)):
        for course, task, colour in zip(gains, tasks, cycle(PALETTE)):
            ax.plot(offsets, course[:, k], color=colour, label=task)
        ax.axvline(0, color="0.7", lw=0.6)
    return axes


def plot_similarity_matrix(ax: Any, values: np.ndarray, labels: Sequence[str]) -> Any:
    """A matrix of numbers from 0 to 1, written in its cells.

    **Arguments:**

    - `ax`: matplotlib `Axes`.
    - `values`: `(label, label)`.

    **Returns:** the `Axes`.
    """
    ax.imshow(values, vmin=0, vmax=1, cmap="cividis")
    for (i, j), value in np.ndenumerate(values):
        dark = value < 0.5
        ax.text(j, i, f"{value:.2f}", ha="center", va="center", color="w" if dark else "k")
    ax.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
    ax.set_yticks(range(len(labels)), labels)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax
