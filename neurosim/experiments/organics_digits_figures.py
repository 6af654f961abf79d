"""Figures of the digit experiment: accuracies, norms of gradients, and eigenvalues."""

from itertools import cycle
from typing import Any

import numpy as np

from .experiment import Result
from .organics_digits_networks import SEQUENCE, STATIC


def plot(result: Result) -> dict[str, Any]:
    """`static`, accuracy and largest gradient against g; `gradients` by update; `spectra`, the
    eigenvalues of the static circuits; and `sequence`, accuracy and gradients by epoch."""
    from ..plotting import paper_style

    figures = {}
    with paper_style():
        if result.config.static:
            figures["static"] = _by_scale(result)
            figures["gradients"] = _gradients(result)
        if any(name.endswith(".real_parts") for name in result.arrays):
            figures["spectra"] = _spectra(result)
        if result.config.sequence:
            figures["sequence"] = _sequence(result)
    return figures


def _by_scale(result: Result) -> Any:
    """All seeds as points, medians as lines; a cross for each seed that diverged: at the foot, and
    at the largest norm before it did."""
    from ..plotting import PALETTE, new_figure

    config, networks = result.config, result.summary["networks"]
    figure, (left, right) = new_figure(5.2, 2.6, 1, 2)
    middle = (len(config.static) - 1) / 2
    any_lost = False
    for k, (name, colour, marker) in enumerate(zip(config.static, cycle(PALETTE), cycle("osD^"))):
        found = [networks[f"{name}-g{g:g}"] for g in config.scales]
        lost = np.array([one["diverged_at"] for one in found]) > 0
        accuracy = 100 * np.array([one["test_accuracy"] for one in found], dtype=float)
        norm = np.array([one["largest_gradient_norm"] for one in found], dtype=float)
        any_lost |= bool(lost.any())
        # Side by side, for points of several networks may coincide.
        places = np.array(config.scales) * 1.07 ** (k - middle)
        x = np.broadcast_to(places[:, None], lost.shape)
        for ax, values, foot in ((left, accuracy, np.zeros(lost.shape)), (right, norm, norm)):
            ax.plot(x[~lost], values[~lost], marker, ms=3.5, mfc="none", color=colour)
            known = lost & np.isfinite(foot)
            # Marks without a place, unclipped, would make the layout collapse.
            if known.any():
                ax.plot(x[known], foot[known], "x", ms=5, color=colour, clip_on=False, zorder=3)
            whole = ~lost.any(axis=1)
            ax.plot(x[whole, 0], np.median(values[whole], axis=1), color=colour)
        left.plot([], [], marker, ls="-", ms=3.5, mfc="none", color=colour,
                  label=STATIC[name].label)  # fmt: skip
    if any_lost:
        left.plot([], [], "x", ls="none", ms=5, color="0.3", label="diverged")
    left.axhline(10, color="0.6", ls="--", lw=0.8, label="chance")
    left.set(ylim=(0, 102), ylabel="test accuracy (%)")
    right.set(yscale="log", ylabel="largest gradient norm")
    for ax in (left, right):
        ax.set(xscale="log", xlabel="scale g of the weights")
        ax.set_xlim(0.8 * min(config.scales), 1.25 * max(config.scales))
        ax.set_xticks(config.scales, [f"{g:g}" for g in config.scales])
        ax.minorticks_off()
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return figure


def _gradients(result: Result) -> Any:
    """A panel for each static network, a colour for each g."""
    from ..plotting import new_figure, ordered_colours

    config = result.config
    n = len(config.static)
    figure, axes = new_figure(1.9 * n + 0.6, 2.3, 1, n, squeeze=False, sharey=True)
    colours = ordered_colours(len(config.scales))
    for ax, name in zip(axes[0], config.static):
        for scale, colour in zip(config.scales, colours):
            # Of a run that diverged at once there is no curve to take the label from.
            ax.plot([], [], color=colour, label=f"g = {scale:g}")
            curves = result.arrays[f"{name}-g{scale:g}.gradient_norms"]
            lost = result.summary["networks"][f"{name}-g{scale:g}"]["diverged_at"]
            for curve, update in zip(curves, lost):
                _curve(ax, curve, config.train_static.log_every, colour)
                if update:
                    ax.axvline(update, color=colour, ls=":", lw=0.8)
        ax.plot([], [], color="0.4", ls=":", label="diverged")
        ax.set_title(STATIC[name].label)
        ax.set(yscale="log", xlabel="update")
    axes[0, 0].set_ylabel("gradient norm")
    _one_legend(figure, axes)
    return figure


def _spectra(result: Result) -> Any:
    """Histograms over images of all seeds, after training; outlines for before."""
    from ..plotting import new_figure, ordered_colours

    config = result.config
    names = [n for n in config.static if STATIC[n].has_spectrum]
    figure, axes = new_figure(2.4 * len(names) + 0.6, 2.4, 1, len(names), squeeze=False)
    colours = ordered_colours(len(config.scales))
    for ax, name in zip(axes[0], names):
        found = {
            g: result.arrays[f"{name}-g{g:g}.real_parts"]
            for g in config.scales
            if f"{name}-g{g:g}.real_parts" in result.arrays
        }
        every = np.concatenate([values.ravel() for values in found.values()] or [np.zeros(1)])
        bins = np.linspace(min(every.min(), -1e-3) * 1.05, max(every.max(), 0), 40)
        for (scale, values), colour in zip(found.items(), colours):
            after, before = values[:, 1].ravel(), values[:, 0].ravel()
            ax.hist(after, bins, color=colour, alpha=0.5, label=f"g = {scale:g}")
            ax.hist(before, bins, color=colour, histtype="step", lw=0.8, ls=":")
        ax.plot([], [], color="0.4", ls=":", label="before training")
        ax.axvline(0, color="0.4", lw=0.8)
        ax.set_title(STATIC[name].label)
        ax.set_xlabel(r"$\tau$ max Re $\lambda$")
    axes[0, 0].set_ylabel("test images")
    _one_legend(figure, axes)
    return figure


def _sequence(result: Result) -> Any:
    """Validation accuracy by epoch and gradient norm by update, medians over seeds."""
    from ..plotting import PALETTE, new_figure

    config = result.config
    figure, (left, right) = new_figure(5.6, 2.6, 1, 2)
    for name, colour in zip(config.sequence, cycle(PALETTE)):
        label = SEQUENCE[name].label
        accuracy = 100 * result.arrays[f"{name}.validation"]
        for curve in accuracy:
            left.plot(np.arange(len(curve)) + 1, curve, color=colour, label=label)
        for curve in result.arrays[f"{name}.gradient_norms"]:
            _curve(right, curve, config.train_sequence.log_every, colour, label)
    left.axhline(10, color="0.6", ls="--", lw=0.8, label="chance")
    left.set(ylim=(0, 102), xlabel="epoch", ylabel="validation accuracy (%)")
    right.set(yscale="log", xlabel="update", ylabel="gradient norm")
    _one_legend(figure, np.array([[left]]))
    return figure


def _curve(ax: Any, values: np.ndarray, every: int, colour: Any, label: str | None = None) -> None:
    """The mean over at most two hundred stretches of a curve; none where it never was finite."""
    width = max(1, len(values) // 200)
    usable = len(values) // width * width
    smooth = values[:usable].reshape(-1, width).mean(axis=1)
    if np.isfinite(smooth).any():
        updates = (np.arange(len(smooth)) + 1) * width * every
        ax.plot(updates, smooth, color=colour, label=label, lw=0.8)


def _one_legend(figure: Any, axes: Any) -> None:
    """Each label once, above all panels."""
    named = {
        label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels())
    }
    if named:
        figure.legend(named.values(), named, loc="outside upper center", ncols=min(5, len(named)))
