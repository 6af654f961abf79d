"""Figures of the comparison: loss by update, loss by second, and memory by length."""

from typing import Any

import numpy as np

from .experiment import Result
from .sofo_optimizers import CONTENDERS
from .sofo_problems import SIZES


def plot(result: Result) -> dict[str, Any]:
    """Loss against updates and against seconds, a panel for each task; memory against length."""
    from ..plotting import paper_style

    with paper_style():
        figures = {
            "by_update": _curves(result, by_seconds=False),
            "by_second": _curves(result, by_seconds=True),
        }
        if "memory.lengths" in result.arrays:
            figures["memory"] = _memory(result)
    return figures


def _curves(result: Result, *, by_seconds: bool) -> Any:
    from ..plotting import PALETTE, new_figure

    config = result.config
    problems = [p for p in config.problems if f"{p}.{config.optimizers[0]}.losses" in result.arrays]
    columns = min(3, len(problems))
    rows = -(-len(problems) // columns)
    figure, axes = new_figure(2.3 * columns + 0.4, 1.9 * rows + 0.5, rows, columns, squeeze=False)
    for ax in axes.flat[len(problems) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.flat, problems):
        problem = SIZES[config.size][name]
        for optimizer, colour in zip(config.optimizers, PALETTE):
            contender = CONTENDERS[optimizer]
            if contender.longer and not by_seconds:
                continue
            if contender.only not in (None, name):
                continue
            losses = result.arrays[f"{name}.{optimizer}.losses"]
            seconds = result.arrays[f"{name}.{optimizer}.seconds"]
            _seeds(ax, losses, seconds if by_seconds else np.ones(len(seconds)), colour, contender)
        if problem.baseline is not None:
            what, value = problem.baseline
            ax.axhline(value, color="0.4", ls="--", lw=0.8)
            ax.annotate(
                what, (1, value), (0, 2), xycoords=("axes fraction", "data"),
                textcoords="offset points", ha="right", fontsize=6, color="0.3",
            )  # fmt: skip
        ax.set_title(problem.title)
        if ax.lines:
            ax.set_yscale("log")
        ax.set_xlabel("seconds, without compilation" if by_seconds else "update")
        if by_seconds and ax.lines:
            ax.set_xscale("log")
        ax.set_ylabel(problem.loss_name)
    # An optimiser may have diverged on one task and not on another.
    named = {
        label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels())
    }
    if named:
        columns = min(5, len(named))
        figure.legend(named.values(), named, loc="outside upper center", ncols=columns)
    return figure


def _seeds(ax: Any, losses: np.ndarray, each: np.ndarray, colour: str, contender: Any) -> None:
    """Smoothed curves of all seeds; the median at each update as the thick one."""
    width = max(1, losses.shape[1] // 40)
    usable = losses.shape[1] // width * width
    smooth = losses[:, :usable].reshape(len(losses), -1, width).mean(axis=2)
    updates = (np.arange(smooth.shape[1]) + 0.5) * width
    for curve, step in zip(smooth, each):
        if np.isfinite(curve).any():
            ax.plot(updates * step, curve, color=colour, lw=0.5, alpha=0.4)
    if np.isfinite(smooth).any():
        middle = np.full(smooth.shape[1], np.nan)
        known = np.isfinite(smooth).any(axis=0)
        middle[known] = np.nanmedian(smooth[:, known], axis=0)
        ax.plot(updates * np.nanmedian(each), middle, color=colour, label=contender.title)


def _memory(result: Result) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, ax = new_figure(3.6, 3.0)
    lengths = result.arrays["memory.lengths"]
    curves = {
        key.removeprefix("memory."): values
        for key, values in result.arrays.items()
        if key.startswith("memory.") and key != "memory.lengths"
    }
    for (name, values), colour, marker in zip(curves.items(), PALETTE, "osD^v"):
        ax.plot(lengths, values, marker=marker, ms=3.5, color=colour, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(lengths, [str(n) for n in lengths])
    ax.minorticks_off()
    ax.set_xlabel("length of trials (steps)")
    ax.set_ylabel("temporaries of one update (MiB)")
    figure.legend(loc="outside upper center", ncols=2)
    return figure
