"""Figures of the closed-form theory of gain-modulated low-rank networks."""

from itertools import cycle
from typing import Any

import numpy as np

from .style import PALETTE, ordered_colours


def plot_mode_decay(
    ax: Any, ts: np.ndarray, theory: dict[str, np.ndarray], simulated: dict[str, np.ndarray]
) -> Any:
    """Decay of a mode, w(t) / w(0): theory as lines, simulation as dots on them.

    `ts` `(time,)` in ms; the mappings go from a name to `(time,)`.
    """
    every = max(1, len(ts) // 25)
    for name, colour in zip(theory, cycle(PALETTE)):
        ax.plot(ts, theory[name], color=colour, label=name)
        ax.plot(ts[::every], simulated[name][::every], "o", color=colour, ms=2.5, ls="none")
    ax.set_yscale("log")
    ax.set_xlabel("time (ms)")
    ax.set_ylabel("mode $w(t)\\,/\\,w(0)$")
    ax.set_title("lines: closed form; dots: simulation")
    ax.legend()
    return ax


def plot_required_gains(ax: Any, ts: np.ndarray, gains: np.ndarray, intervals: np.ndarray) -> Any:
    """The gain that makes a linear rank-1 network ramp, one colour an interval.

    `ts` `(time,)` in ms from go; `gains` `(interval, time)`. The band above 1 is out of reach of a
    sigmoid gain.
    """
    for interval, gain, colour in zip(intervals, gains, ordered_colours(len(intervals))):
        ax.plot(ts, gain, color=colour, label=f"{interval:g} ms")
    top = max(1.2, float(np.max(gains, where=np.isfinite(gains), initial=0)) * 1.05)
    ax.axhspan(1, top, color="0.9", lw=0)
    ax.text(ts[-1], 1.02, "not realisable", ha="right", va="bottom", color="0.4", fontsize=7)
    ax.set_ylim(0, top)
    ax.set_xlabel("time from go (ms)")
    ax.set_ylabel("required gain $s(t)$")
    ax.legend(title="interval")
    return ax


def plot_feasibility(
    ax: Any, intervals: np.ndarray, minimum_overlap: np.ndarray, chosen: float | int
) -> Any:
    """Smallest overlap l.r that lets gains below 1 make a ramp of each length (ms)."""
    ax.plot(intervals, minimum_overlap, color=PALETTE[0])
    ax.fill_between(intervals, 0, minimum_overlap, color=PALETTE[0], alpha=0.15, lw=0)
    ax.axhline(chosen, color="0.4", ls="--", lw=0.8)
    ax.text(intervals[-1], chosen, "network shown", ha="right", va="bottom", fontsize=7)
    ax.set_ylim(0, max(1.3 * chosen, 1.0))
    ax.set_xlabel("interval (ms)")
    ax.set_ylabel("overlap $l \\cdot r$")
    ax.set_title("shaded: not realisable")
    return ax


def plot_bifurcation(
    ax: Any, gains: np.ndarray, branch: np.ndarray, simulated: tuple[np.ndarray, np.ndarray]
) -> Any:
    """Pitchfork of a rank-1 network under its gain: mean-field branch and simulated networks.

    `gains`, `branch`: `(n,)`, the non-negative branch; `simulated`: gains and final overlaps.
    """
    critical = gains[np.flatnonzero(branch > 0)[0]] if (branch > 0).any() else np.inf
    upper = np.where(gains >= critical, branch, np.nan)
    ax.plot(gains, upper, color=PALETTE[0], label="stable (mean field)")
    ax.plot(gains, -upper, color=PALETTE[0])
    ax.plot(gains[gains <= critical], 0 * gains[gains <= critical], color=PALETTE[0])
    ax.plot(
        gains[gains >= critical], 0 * gains[gains >= critical], color=PALETTE[0], ls=":",
        label="unstable",
    )  # fmt: skip
    ax.plot(*simulated, "o", color=PALETTE[1], ms=3, ls="none", label="simulation")
    ax.set_xlabel("gain $s$")
    ax.set_ylabel("overlap $\\kappa^*$")
    ax.legend()
    return ax
