"""Figures of the capacity of place cells."""

from typing import Any

import numpy as np

from .experiment import Result
from .place_capacity_maps import NOISES

_TITLES = {"constant": "constant noise", "poisson": "Poisson-like noise"}
_SYMBOLS = {"constant": r"$\sigma$", "poisson": r"$\varphi$"}
_MARKS = ("o", "s", "^", "D", "v", "P")


def plot(result: Result) -> dict[str, Any]:
    """Distances and moments, growth, exponents, trade-off, bias, and numbers of fields."""
    from ..plotting import paper_style

    a, config = result.arrays, result.config
    with paper_style():
        figures = {
            "distances": _distances(a),
            "growth": _growth(a, config),
            "exponents": _exponents(a, config),
            "exponent_maps": _exponent_maps(a),
            "tradeoff": _tradeoff(a, config),
            "boundary_bias": _boundary_bias(a),
            "bias_by_width": _bias_by_width(a),
            "field_counts": _field_counts(a),
        }
    return figures


def _distances(a: Any) -> Any:
    from scipy.stats import gaussian_kde

    from ..plotting import new_figure
    from ..plotting.style import PALETTE, ordered_colours

    figure, axes = new_figure(6.8, 4.0, 2, 3)
    cells = a["growth.cells"]
    for row, noise in zip(axes, NOISES):
        here = f"growth.{noise}."
        for n, d, colour in zip(cells, a[here + "distances"], ordered_colours(len(cells))):
            z = np.linspace(-5, 4, 181)
            # In standard deviations, so that shapes can be compared.
            density = gaussian_kde((d - d.mean()) / d.std())(z)
            row[0].plot(z, density, color=colour, label=f"N = {n}")
        row[0].plot(z, np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), "k--", lw=0.9, label="Gaussian")
        least = r"$\delta_{min}$" if noise == "constant" else r"$N\varphi^*_{min}$"
        row[0].set(xlabel=f"{least} (standard deviations)", ylabel="density", title=_TITLES[noise])
        for ax, name, label in ((row[1], "mu", r"$\mu$ (Hz)"), (row[2], "lam", r"$\lambda$ (Hz)")):
            ax.errorbar(cells, a[here + name], a[here + name + "_error"], fmt="o-", ms=3,
                        color=PALETTE[0], capsize=2)  # fmt: skip
            ax.set(xscale="log", xlabel="cells, N", ylabel=label,
                   ylim=(0, 1.25 * a[here + name].max()))  # fmt: skip
            _plain_ticks(ax, cells)
        row[0].set(xlim=(-5, 4), xticks=(-4, -2, 0, 2, 4))
    axes[0, 0].legend(fontsize=6, loc="upper left", handlelength=1.0, borderaxespad=0)
    return figure


def _growth(a: Any, config: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, axes = new_figure(6.8, 4.4, 2, 2)
    cells = a["growth.cells"]
    for column, noise in zip(axes.T, NOISES):
        here = f"growth.{noise}."
        for i, level in enumerate(a[here + "levels"]):
            style = {"color": PALETTE[i % 7], "marker": _MARKS[i % 6], "ms": 3.5}
            share, error = a[here + "separable_share"][i], a[here + "separable_error"][i]
            column[0].errorbar(cells, share, error, ls="none", capsize=2, **style)
            column[0].plot(cells, a[here + "separable"][i], color=style["color"], lw=0.9)
            middle, ends = a[here + "log_capacity"][i], a[here + "log_capacity_range"][i]
            bars = np.maximum([middle - ends[:, 0], ends[:, 1] - middle], 0)
            column[1].errorbar(cells, middle, bars, ls="none", capsize=2,
                               label=f"{level:g} Hz", **style)  # fmt: skip
            gamma = a[here + "exponent"][i]
            law = np.where(gamma > 0, gamma * cells + np.log(cells) / 4, 0)
            column[1].plot(cells, law, color=style["color"], lw=0.9)
        column[0].set(title=_TITLES[noise], ylim=(-0.04, 1.04), ylabel=f"$P_2$ (q = {config.q:g})")
        column[1].set(xlabel="cells, N", ylabel="ln M (q = 0)")
        column[1].legend(title=_SYMBOLS[noise], loc="upper left")
    return figure


def _exponents(a: Any, config: Any) -> Any:
    from ..plotting import new_figure
    from ..plotting.style import ordered_colours

    dims = [d for d in (1, 2) if f"width.{d}d.widths" in a]
    figure, axes = new_figure(6.8, 2.5 * len(dims), len(dims), 3, squeeze=False)
    for row, dim in zip(axes, dims):
        here = f"width.{dim}d."
        sizes = a["width.rooms"] if dim == 1 else a["width.areas"]
        told = [f"{size:g} m" if dim == 1 else f"{size:g} m$^2$" for size in sizes]
        x = a[here + "widths"]
        for i, colour in enumerate(ordered_colours(len(sizes))):
            style = {"color": colour, "marker": _MARKS[i % 6], "ms": 3, "capsize": 2}
            for ax, noise in zip(row, NOISES):
                gamma, error = (a[f"{here}{noise}.exponent{end}"][i] for end in ("", "_error"))
                ax.errorbar(x, gamma, error, label=told[i], **style)
            if config.sigma in config.sigmas:
                j = config.sigmas.index(config.sigma)
                row[2].plot(x, a[here + "exact"][i, :, j], marker=_MARKS[i % 6], ms=3, color=colour)
        room = "track" if dim == 1 else "box"
        row[0].set_title(f"{room}, $\\sigma$ = {config.sigma:g} Hz")
        row[1].set_title(f"{room}, $\\varphi$ = {config.phi:g} Hz")
        row[2].set_title(f"{room}, $\\sigma$ = {config.sigma:g} Hz, exact")
        row[0].legend()
        row[0].set_ylabel(r"$\gamma$ (nats per cell)")
        for ax in row:
            ax.set(xscale="log", xlabel="width over length" if dim == 1 else "width over side")
            ax.set_ylim(bottom=0)
            _plain_ticks(ax, [w for w in (0.1, 0.2, 0.5, 1, 2) if x.min() <= w <= x.max()])
    return figure


def _exponent_maps(a: Any) -> Any:
    from ..plotting import new_figure
    from ..plotting.style import SEQUENTIAL

    dims = [d for d in (1, 2) if f"width.{d}d.widths" in a]
    columns = max(len(a["width.rooms"]), len(a["width.areas"]))
    rows = [(dim, noise) for dim in dims for noise in NOISES]
    figure, axes = new_figure(max(1.3 * columns + 0.9, 4), 1.6 * len(rows), len(rows), columns,
                              squeeze=False)  # fmt: skip
    for line, (dim, noise) in zip(axes, rows):
        here = f"width.{dim}d."
        x, levels, gamma = (a[here + key] for key in ("widths", f"{noise}.levels", f"{noise}.map"))
        sizes = a["width.rooms"] if dim == 1 else a["width.areas"]
        order = np.argsort(x)
        # Weak noise has large exponents; the root shows the rest too.
        shown = np.sqrt(gamma[:, order])
        for i, ax in enumerate(line):
            if i >= len(sizes):
                ax.set_visible(False)
                continue
            image = ax.pcolormesh(np.arange(len(x)), levels, shown[i].T, cmap=SEQUENTIAL, vmin=0,
                                  vmax=shown.max(), shading="nearest")  # fmt: skip
            edge = a[f"{here}{noise}.mu"][i, order] / (2 if noise == "constant" else 1)
            ax.plot(np.arange(len(x)), edge, color="white", lw=1.5)
            ax.set_xticks(range(len(x)), [f"{w:.2g}" for w in x[order]], rotation=90, fontsize=6)
            ax.set_ylim(0, levels[-1])
            ax.set_title(f"{sizes[i]:g} m" + ("$^2$" if dim == 2 else ""))
            if i:
                ax.set_yticklabels([])
        line[0].set_ylabel(f"{_SYMBOLS[noise]} (Hz)")
        bar = figure.colorbar(image, ax=list(line), label=r"$\gamma$ (nats)")
        top = float(gamma.max())
        marks = np.array([0, top / 16, top / 4, top])
        bar.set_ticks(np.sqrt(marks), labels=[f"{v:.2g}" for v in marks])
    for dim, line in zip([d for d, _ in rows], axes):
        for ax in line:
            ax.set_xlabel("width over length" if dim == 1 else "width over side", fontsize=6)
    return figure


def _tradeoff(a: Any, config: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, axes = new_figure(6.8, 4.4, 2, 2)
    w = a["tradeoff.widths"]
    ax = axes[0, 0]
    ax.errorbar(w, a["tradeoff.log_error"], a["tradeoff.log_error_error"], fmt="o-", ms=3,
                capsize=2, color=PALETTE[0], label="median")  # fmt: skip
    mean = a["tradeoff.log_error_mean"]
    top = a["tradeoff.log_error"].max() + 2
    ax.plot(w, np.where(mean < top, mean, np.nan), "s--", ms=3, color=PALETTE[1], label="mean")
    beyond = w[~(mean < top)]
    ax.plot(beyond, np.full(len(beyond), top), "^", ms=4, color=PALETTE[1], label="mean, beyond")
    ax.set_ylabel(r"ln Tr $I^{-1}$ (m$^2$)")
    ax.legend()
    ax = axes[0, 1]
    middle, ends = a["tradeoff.log_capacity"], a["tradeoff.log_capacity_range"]
    bars = np.maximum([middle - ends[:, 0], ends[:, 1] - middle], 0)
    ax.errorbar(w, middle, bars, fmt="o-", ms=3, capsize=2, color=PALETTE[0])
    ax.set_ylabel(f"ln M ($\\sigma$ = {config.sigma:g} Hz)")
    for ax in axes[0]:
        ax.set(xscale="log", xlabel="width of fields (m)")
        _plain_ticks(ax, [v for v in (0.05, 0.1, 0.2, 0.5, 1) if w.min() <= v <= w.max()])
    for ax, name, contexts in (
        (axes[1, 0], "capacity", "ln M"),
        (axes[1, 1], "separable", "ln P$_2$"),
    ):
        best, ends = a[f"tradeoff.best_{name}"], a[f"tradeoff.best_{name}_range"]
        bars = np.maximum([best - ends[:, 0], ends[:, 1] - best], 0)
        ax.errorbar(a["tradeoff.weights"], best, bars, fmt="o", ms=3, capsize=2, color=PALETTE[2])
        ax.set(yscale="log", xlabel=f"weight of {contexts}", ylabel="best width (m)",
               ylim=(0.8 * w.min(), 1.3 * w.max()))  # fmt: skip
        _plain_ticks(ax, [v for v in (0.05, 0.1, 0.2, 0.5, 1) if w.min() <= v <= w.max()], "y")
    return figure


def _boundary_bias(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure
    from ..plotting.style import SEQUENTIAL

    biases, surfaces = a["bias.biases"], a["bias.surfaces"]
    chosen = np.unique(np.linspace(0, len(biases) - 1, 4).round().astype(int))
    chosen = chosen[np.argsort(-biases[chosen])]
    figure, axes = new_figure(6.8, 2.0, 1, len(chosen), sharey=True, squeeze=False)
    for ax, i in zip(axes[0], chosen):
        s = surfaces[i]
        image = ax.imshow(s, origin="lower", extent=(0, 1, 0, 1), cmap=SEQUENTIAL,
                          vmin=surfaces[chosen].min(), vmax=surfaces[chosen].max())  # fmt: skip
        at = np.array(np.unravel_index(int(np.argmin(s)), s.shape)) / (len(s) - 1)
        ax.plot(*at[::-1], "o", ms=6, color=PALETTE[1], mec="white", clip_on=False, zorder=5)
        ax.set(title=f"a = {biases[i]:g}", xlabel="position in A (L)")
    axes[0, 0].set_ylabel("position in B (L)")
    figure.colorbar(image, ax=axes, label="mean distance\nper $\\sqrt{N}$ (Hz)", shrink=0.9)
    return figure


def _bias_by_width(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, axes = new_figure(6.8, 2.8, 1, 3)
    b, widths = a["bias.biases"], a["bias.widths"]
    order = np.argsort(b)
    for i, width in enumerate(widths):
        style = {"color": PALETTE[i % 7], "marker": _MARKS[i % 6], "ms": 3, "capsize": 2}
        axes[0].errorbar(b[order], a["bias.height"][i, order], a["bias.height_error"][i, order],
                         label=f"{width:.2g} m", **style)  # fmt: skip
        axes[1].errorbar(b[order], a["bias.constant.mu"][i, order],
                         a["bias.constant.mu_error"][i, order], **style)  # fmt: skip
    axes[0].set(xlabel="bias, a", ylabel="least mean distance\nper $\\sqrt{N}$ (Hz)")
    axes[1].set(xlabel="bias, a", ylabel="mean nearest distance\nper $\\sqrt{N}$ (Hz)")
    figure.legend(*axes[0].get_legend_handles_labels(), title="width of fields", ncols=len(widths),
                  loc="outside upper center")  # fmt: skip
    line = np.argsort(widths)
    axes[2].plot(widths[line], a["bias.theory"][line], "k--", label="one field")
    axes[2].plot(widths[line], a["bias.crossing"][line], "o", ms=4, color=PALETTE[0],
                 label="leaves walls")  # fmt: skip
    step = np.diff(np.sort(b)).max() / 2 if len(b) > 1 else 0
    axes[2].errorbar(widths[line], a["bias.best"][line], step, fmt="s", ms=4, capsize=2,
                     mfc="none", color=PALETTE[1], label="highest minimum")  # fmt: skip
    axes[2].set(xlabel="width of fields (m)", ylabel="bias, a", ylim=(0, 1.05))
    axes[2].legend(loc="lower left", fontsize=6)
    return figure


def _field_counts(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    shares, p, rooms = a["fields.shares"], a["fields.pmf"], a["width.rooms"]
    figure, axes = new_figure(6.8, 2.1, 1, len(rooms), squeeze=False)
    for ax, share, mass, room in zip(axes[0], shares, p, rooms):
        last = max(int(np.flatnonzero(mass > 0.002).max()), 3)
        k = np.arange(last + 1)
        ax.bar(k, share[: last + 1], color=PALETTE[4], label="drawn")
        ax.plot(k, mass[: last + 1], "k.", ms=4, label="gamma-Poisson")
        ax.set(title=f"L = {room:g} m", xlabel="fields")
    axes[0, 0].set_ylabel("share of cells")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), ncols=2, loc="outside upper center")
    return figure


def _plain_ticks(ax: Any, values: Any, axis: str = "x") -> None:
    """Ticks of a logarithmic axis at these values alone, written out."""
    from matplotlib.ticker import NullLocator

    getattr(ax, f"set_{axis}ticks")(values, [f"{v:g}" for v in values])
    getattr(ax, f"{axis}axis").set_minor_locator(NullLocator())
