"""Figures of the stability of normalization circuits."""

from typing import Any, NamedTuple

import numpy as np

from .experiment import Result
from .organics_planar import PLANAR, planar_flow


class _Points(NamedTuple):
    """What a phase portrait marks."""

    y: np.ndarray
    a: np.ndarray
    types: np.ndarray


def plot(result: Result) -> dict[str, Any]:
    """The theorem, the conjecture, the iteration, the energy, phase portraits and basins."""
    from ..plotting import paper_style

    a = result.arrays
    with paper_style():
        return {
            "theorem": _theorem(a),
            "conjecture": _conjecture(a),
            "iteration": _iteration(a),
            "energy": _energy(a),
            "portraits_positive_input": _portraits(a, 1.0),
            "portraits_negative_input": _portraits(a, -1.0),
            "basins": _basins(a),
        }


def _theorem(a: Any) -> Any:
    from ..plotting import new_figure, ordered_colours

    figure, ax = new_figure(3.6, 2.6)
    sizes = sorted(int(key.split(".")[1]) for key in a if key.startswith("theorem."))
    for n, colour in zip(sizes, ordered_colours(len(sizes))):
        values = np.sort(-a[f"theorem.{n}"])
        ax.step(values, np.arange(1, len(values) + 1) / len(values), color=colour, label=f"{n}")
    ax.set(
        xscale="log", xlabel="slowest decay rate x fastest time constant",
        ylabel="share of circuits",
    )  # fmt: skip
    ax.legend(title="neurons of each kind")
    return figure


def _conjecture(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    kinds, numbers, stable = a["conjecture.kind"], a["conjecture.numbers"], a["conjecture.stable"]
    n, norm, top = numbers.T
    figure, axes = new_figure(6.8, 2.5, 1, 3, sharey=True)
    large = n.max()
    for index, kind in enumerate(("gaussian", "orthogonal", "symmetric")):
        picked = (kinds == kind) & (norm == 1) & (top == 1)
        order = np.argsort(n[picked])
        axes[0].plot(
            n[picked][order], 100 * stable[picked][order], "os^"[index] + "-",
            color=PALETTE[index], label=kind,
        )  # fmt: skip
    picked = (kinds == "gaussian") & (top == 1) & (n == large)
    axes[1].plot(norm[picked], 100 * stable[picked], "o-", color=PALETTE[0])
    for index, size in enumerate(sorted({int(i) for i in n[top > 1]})):
        picked = (kinds == "gaussian") & (norm == 1) & (n == size)
        order = np.argsort(top[picked])
        axes[2].plot(
            top[picked][order], 100 * stable[picked][order], "os"[index] + "-",
            color=PALETTE[index], label=f"n = {size}",
        )  # fmt: skip
    axes[0].set(xlabel="neurons of each kind, n", ylabel="with a stable point (%)")
    axes[1].set(xlabel=f"norm of W_r (n = {int(large)})", title="gaussian")
    axes[2].set(xlabel="b up to", title="gaussian, norm 1")
    axes[0].set_title("norm 1, b up to 1")
    for ax in (axes[0], axes[2]):
        ax.legend()
    return figure


def _iteration(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    errors = np.maximum(a["iteration.errors"], 1e-16)
    rounds = np.arange(errors.shape[1])
    figure, ax = new_figure(3.2, 2.4)
    ax.fill_between(rounds, *np.quantile(errors, [0.05, 0.95], axis=0), color=PALETTE[0], alpha=0.3,
                    lw=0, label="5 to 95 % of circuits")  # fmt: skip
    ax.plot(rounds, np.median(errors, axis=0), color=PALETTE[0], label="median")
    ax.plot(rounds, errors.max(axis=0), color=PALETTE[1], ls="--", label="largest")
    ax.set(yscale="log", xlabel="rounds", ylabel="distance of y from the rest point")
    ax.legend()
    return figure


def _energy(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure, ordered_colours

    sizes = sorted(k.split(".", 1)[1] for k in a if k.startswith("energy.") and k[7].isdigit())
    figure, axes = new_figure(6.4, 2.5, 1, 2)
    ts = a["energy.ts"]
    for size, colour in zip(sizes, ordered_colours(len(sizes))):
        axes[0].plot(ts, a[f"energy.{size}"].T, color=colour, lw=0.6)
        axes[0].plot([], [], color=colour, label=size)
    axes[0].set(yscale="log", ylim=(1e-12, 3), xlabel="time (tau_y)",
                ylabel="energy over its value at the start")  # fmt: skip
    axes[0].legend(title="relative perturbation")
    axes[1].plot(ts, a["energy.response"], color=PALETTE[0], label="from the normalized response")
    axes[1].plot(ts, a["energy.mismatch"], color=PALETTE[1], ls="--",
                 label="from the gated input")  # fmt: skip
    axes[1].set(xlabel="time (tau_y)", ylabel="parts of the energy", xlim=(0, 10))
    axes[1].legend(title="distance")
    return figure


def _portraits(a: Any, z: float) -> Any:
    from ..plotting import new_figure, plot_phase_portrait_2d

    figure, axes = new_figure(7.0, 4.8, 2, 3)
    limits = ((-1.5, 1.5), (0, 1.5))
    for row, rectify in zip(axes, ("none", "inner")):
        for index, ax in enumerate(row):
            w_r, b0, sigma = PLANAR[index]
            key = f"planar.{rectify}.{z:+.0f}.{index}"
            points = a[f"{key}.points"]
            plot_phase_portrait_2d(
                planar_flow(w_r, b0, sigma, rectify, z, (2e-3, 2e-3)), limits=limits,
                fixed_points=_Points(points[:, 0], points[:, 1], a[f"{key}.types"]), ax=ax,
            )  # fmt: skip
            ax.get_legend().remove()
            said = "main" if rectify == "none" else "rectified"
            values = rf"$w_r$ = {w_r:g}, $b_0$ = {b0:g}, $\sigma$ = {sigma:g}"
            ax.set_title(f"{said}\n{values}", fontsize="medium")
    handles: dict[str, Any] = {}
    for ax in axes.flat:
        handles |= {label: handle for handle, label in zip(*ax.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5)
    return figure


def _basins(a: Any) -> Any:
    from ..plotting import new_figure, plot_phase_portrait_2d

    figure, ax = new_figure(3.8, 3.0)
    w_r, b0, sigma = PLANAR[1]
    points = a["basins.points"]
    plot_phase_portrait_2d(
        planar_flow(w_r, b0, sigma, "none", 1.0, (0.04, 0.002)),
        limits=((a["basins.y"][0], a["basins.y"][-1]), (a["basins.a"][0], a["basins.a"][-1])),
        fixed_points=_Points(points[:, 0], points[:, 1], a["basins.types"]),
        basins=a["basins.labels"],
        ax=ax,
    )
    return figure
