"""Figures of interval timing: ramps, crossing times, gains aligned to events."""

from itertools import cycle
from typing import Any

import numpy as np

from .across_seeds import across_seeds
from .style import PALETTE, ordered_colours


def _by_interval(intervals: Any) -> zip:
    """Trials in the order of their intervals, each with the colour of its interval."""
    lengths, rank = np.unique(np.asarray(intervals), return_inverse=True)
    order = np.argsort(rank, kind="stable")
    return zip(order, ordered_colours(len(lengths))[rank[order]])


def plot_ramps(
    ax: Any,
    ts: np.ndarray,
    outputs: np.ndarray,
    targets: np.ndarray,
    go: np.ndarray,
    intervals: np.ndarray,
) -> Any:
    """Outputs aligned to the go cue, one colour an interval; targets dotted.

    **Arguments:**

    - `ax`: matplotlib `Axes`.
    - `ts`: `(time,)`, ms.
    - `outputs`, `targets`: `(trial, time)`.
    - `go`: `(trial,)`, time of the go cue, ms. `intervals`: `(trial,)`, ms.

    **Returns:** the `Axes`.
    """
    for trial, colour in _by_interval(intervals):
        aligned = ts - go[trial]
        ax.plot(aligned, targets[trial], color=colour, ls=":", lw=0.8)
        ax.plot(aligned, outputs[trial], color=colour, label=f"{intervals[trial]:g}")
    ax.axvline(0, color="0.7", lw=0.6)
    ax.set_xlabel("time from go (ms)")
    ax.set_ylabel("output")
    return ax


def plot_crossing_times(
    ax: Any, intervals: np.ndarray, crossings: dict[str, np.ndarray], ideal: np.ndarray
) -> Any:
    """Time from go to the crossing of the threshold against the interval asked for.

    Thick: median over the seeds that cross; thin: each seed.

    **Arguments:**

    - `ax`: matplotlib `Axes`.
    - `intervals`: `(interval,)`, ms. `ideal`: `(interval,)`, what the target itself gives, ms.
    - `crossings`: name to `(seed, interval)`, ms; NaN where the output never crosses.

    **Returns:** the `Axes`.
    """
    ax.plot(intervals, ideal, color="0.5", ls="--", lw=0.8, label="target")
    for (name, values), colour in zip(crossings.items(), cycle(PALETTE)):
        ax.plot(intervals, across_seeds(values).median, color=colour, marker="o", ms=3, label=name)
        if values.shape[0] > 1:
            for seed in values:
                ax.plot(intervals, seed, color=colour, lw=0.4, alpha=0.6)
    ax.set_xlabel("interval (ms)")
    ax.set_ylabel("crossing time after go (ms)")
    if any(values.shape[0] > 1 for values in crossings.values()):
        ax.set_title("thick: median; thin: each seed")
    ax.legend()
    return ax


def plot_aligned_gains(
    axes: Any, ts: np.ndarray, gains: np.ndarray, events: np.ndarray, intervals: np.ndarray
) -> Any:
    """Each gain s_k(t) in an axis of its own, aligned to an event, one colour an interval.

    **Arguments:**

    - `axes`: `(gain,)` matplotlib `Axes`.
    - `ts`: `(time,)`, ms. `gains`: `(trial, time, gain)`. `events`, `intervals`: `(trial,)`, ms.

    **Returns:** the `Axes`.
    """
    for k, ax in enumerate(np.ravel(axes)):
        for trial, colour in _by_interval(intervals):
            ax.plot(ts - events[trial], gains[trial, :, k], color=colour, lw=1)
        ax.axvline(0, color="0.7", lw=0.6)
        ax.set_title(f"$s_{k + 1}$")
    return axes


def add_interval_bar(figure: Any, axes: Any, intervals: Any) -> Any:
    """A colour bar that reads the colours of ordered intervals, in ms."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    values = np.unique(np.asarray(intervals, dtype=float))
    middle = (values[1:] + values[:-1]) / 2
    # A single interval has no neighbours to be told from: any width will do.
    step = np.diff(values).mean() if len(values) > 1 else abs(values[0]) / 10 or 1.0
    bounds = np.concatenate([[values[0] - step / 2], middle, [values[-1] + step / 2]])
    colours = ListedColormap(ordered_colours(len(values)))
    mappable = ScalarMappable(BoundaryNorm(bounds, len(values)), colours)
    bar = figure.colorbar(mappable, ax=axes, ticks=values[:: max(1, len(values) // 6)])
    bar.set_label("interval (ms)")
    return bar
