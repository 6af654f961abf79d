"""Figures of interval timing: ramps, crossing times, gains aligned to events."""

from typing import Any

import numpy as np

from .style import PALETTE, ordered_colours


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
    colours = ordered_colours(len(intervals))
    order = np.argsort(intervals)
    for trial, colour in zip(order, colours):
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
    for (name, values), colour in zip(crossings.items(), PALETTE * 2):
        known = np.isfinite(values)
        median = np.array(
            [np.median(v[k]) if k.any() else np.nan for v, k in zip(values.T, known.T)]
        )
        ax.plot(intervals, median, color=colour, marker="o", ms=3, label=name)
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
    colours = ordered_colours(len(intervals))
    order = np.argsort(intervals)
    for k, ax in enumerate(np.atleast_1d(axes)):
        for trial, colour in zip(order, colours):
            ax.plot(ts - events[trial], gains[trial, :, k], color=colour, lw=1)
        ax.axvline(0, color="0.7", lw=0.6)
        ax.set_title(f"$s_{k + 1}$")
    return axes


def add_interval_bar(figure: Any, axes: Any, intervals: np.ndarray) -> Any:
    """A colour bar that reads the colours of ordered intervals, in ms."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    values = np.sort(np.asarray(intervals, dtype=float))
    middle = (values[1:] + values[:-1]) / 2
    step = np.diff(values).mean() if len(values) > 1 else 1.0
    bounds = np.concatenate([[values[0] - step / 2], middle, [values[-1] + step / 2]])
    colours = ListedColormap(ordered_colours(len(values)))
    mappable = ScalarMappable(BoundaryNorm(bounds, len(values)), colours)
    bar = figure.colorbar(mappable, ax=axes, ticks=values[:: max(1, len(values) // 6)])
    bar.set_label("interval (ms)")
    return bar
