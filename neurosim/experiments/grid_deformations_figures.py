"""Figures of deformed grid modules."""

from typing import Any

import numpy as np

from .experiment import Result

#: Deformations in the order of figures and tables.
TITLES = {
    "original": "original",
    "diffused": "diffused",
    "attracted": "attracted",
    "some_bands": "some bands",
    "all_bands": "all bands",
    "parallel_bands": "parallel bands",
    "some_rings": "some rings",
    "all_rings": "all rings",
}


def plot(result: Result) -> dict[str, Any]:
    """Maps, manifolds, barcodes, the metric, and pushes by gain."""
    from ..plotting import paper_style

    a = result.arrays
    with paper_style():
        return {
            "maps": _maps(a),
            "manifolds": _manifolds(a),
            "barcodes": _barcodes(a),
            "metric": _metric(a),
            "sizes": _sizes(a),
            "push": _push(a),
        }


def _maps(a: Any) -> Any:
    from ..plotting import new_figure
    from ..plotting.style import SEQUENTIAL

    figure, axes = new_figure(6.8, 2.6, 3, len(TITLES))
    for column, (name, title) in zip(axes.T, TITLES.items()):
        for ax, rates in zip(column, a[f"{name}.maps"]):
            ax.imshow(rates.T, origin="lower", cmap=SEQUENTIAL, vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        column[0].set_title(title, fontsize=7)
    figure.colorbar(axes[0, 0].images[0], ax=axes, label="rate", shrink=0.5, aspect=30)
    return figure


def _manifolds(a: Any) -> Any:
    from ..plotting import add_angle_bar, new_figure
    from ..plotting.multitask import CYCLIC

    figure, axes = new_figure(6.8, 3.6, 2, 4, subplot_kw={"projection": "3d"})
    phase = np.mod(a["phase"].ravel(), 2 * np.pi)
    reach = 1.1 * np.abs(a["original.projection"]).max()
    for ax, (name, title) in zip(axes.ravel(), TITLES.items()):
        ax.scatter(*a[f"{name}.projection"], c=phase, s=2, lw=0, cmap=CYCLIC, vmin=0,
                   vmax=2 * np.pi)  # fmt: skip
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach),
               xticklabels=[], yticklabels=[], zticklabels=[], title=title)  # fmt: skip
        ax.view_init(elev=35, azim=-60)
    add_angle_bar(figure, axes, label="phase of one wave of the grid")
    return figure


def _barcodes(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, axes = new_figure(6.8, 3.6, 2, 4, sharex=True, sharey=True)
    for ax, (name, title) in zip(axes.ravel(), TITLES.items()):
        row = 0
        for key, colour in (("loops", PALETTE[0]), ("voids", PALETTE[1])):
            bars = a[f"{name}.{key}"][:12]
            ax.hlines(-np.arange(row, row + len(bars)), *bars.T, color=colour, lw=1.5)
            row += 13
        b = a[f"{name}.betti"][0]
        ax.set(yticks=[], title=f"{title}: ({b[0]}, {b[1]}, {b[2]})")
    for ax in axes[-1]:
        ax.set_xlabel("scale")
    for ax in axes[:, 0]:
        ax.set_ylabel("voids      loops")
    return figure


def _metric(a: Any) -> Any:
    from ..plotting import new_figure
    from ..plotting.style import SEQUENTIAL

    figure, axes = new_figure(6.8, 2.0, 2, len(TITLES))
    top = np.nanmax(a["attracted.conformal_factor_map"])
    for column, (name, title) in zip(axes.T, TITLES.items()):
        for ax, key, cmap, high in zip(
            column, ("conformal_factor_map", "anisotropy_map"), (SEQUENTIAL, "magma"), (top, 1)
        ):
            ax.imshow(a[f"{name}.{key}"].T, origin="lower", cmap=cmap, vmin=0, vmax=high)
            ax.set(xticks=[], yticks=[])
        column[0].set_title(title, fontsize=7)
    for row, label in zip(axes, ("conformal\nfactor", "anisotropy")):
        figure.colorbar(row[0].images[0], ax=row, label=label, aspect=10)
    return figure


def _sizes(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, axes = new_figure(6.8, 2.6, 1, 3, sharey=True)
    names = list(TITLES)[::-1]
    for ax, key, label in zip(
        axes, ("radius", "largest_norm", "pearson"),
        ("radius over original", "largest norm over original", "RSA with original (r)"),
    ):  # fmt: skip
        for y, name in enumerate(names):
            values = a[f"{name}.{key}"]
            if key != "pearson":
                values = values / a[f"original.{key}"][0]
            ax.plot(values, np.full(len(values), y), "o", ms=3, color=PALETTE[0], alpha=0.7)
        ax.axvline(1, color="0.7", lw=0.8, zorder=0)
        ax.set(xlabel=label, xlim=(0, None))
    axes[0].set_yticks(range(len(names)), [TITLES[name] for name in names])
    return figure


def _push(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, axes = new_figure(6.4, 2.4, 1, 2, sharey=True)
    for ax, q, label, bars in zip(axes, (1, 2), ("loops", "voids"), (3, 2)):
        for amplitude, colour, mark in (("constant", PALETTE[0], "o"), ("budget", PALETTE[1], "s")):
            lines = a[f"push.{amplitude}.lifetimes{q}"].T[:bars]
            for i, line in enumerate(lines):
                # The first bar that is not of a torus, drawn open.
                last = i == bars - 1
                name = f"{amplitude}, next" if last else amplitude if i == 0 else None
                ax.plot(a["push.gains"], line, mark, ls="--" if last else "-", ms=3, color=colour,
                        mfc="white" if last else colour, label=name)  # fmt: skip
        ax.set(xlabel="gain of the push", title=label, ylim=(0, None))
    axes[0].set_ylabel("lifetime")
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside right upper")
    return figure
