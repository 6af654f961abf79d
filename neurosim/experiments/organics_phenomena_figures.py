"""Figures of what normalization circuits show."""

from typing import Any

from .experiment import Result


def plot(result: Result) -> dict[str, Any]:
    """Contrast and masks, time courses, memory, surround and plaids."""
    from ..plotting import paper_style

    a = result.arrays
    with paper_style():
        return {
            "contrast": _contrast(a),
            "time": _time(a),
            "memory": _memory(a),
            "surround": _surround(a),
            "supralinear": _supralinear(a),
        }


def _contrast(a: Any) -> Any:
    from ..plotting import new_figure, plot_contrast_response

    figure, ax = new_figure(3.2, 2.6)
    names = ["no mask", *(f"mask {m:g}" for m in a["contrast.masks"][1:])]
    plot_contrast_response(a["contrast.c"], a["contrast.squares"], names=names, ax=ax)
    ax.set_ylabel("squared rate of the preferred neuron")
    return figure


def _time(a: Any) -> Any:
    from ..plotting import new_figure, ordered_colours, plot_power_spectra

    figure, axes = new_figure(6.6, 2.6, 1, 2)
    contrasts = a["onset.contrasts"]
    for c, y, colour in zip(contrasts, a["onset.y"], ordered_colours(len(contrasts))):
        axes[0].plot(1e3 * a["onset.ts"], y, color=colour, label=f"{c:g}")
    axes[0].set(xlabel="time after onset (ms)", ylabel="rate of the preferred neuron")
    axes[0].legend(title="contrast")
    plot_power_spectra(
        a["rhythm.f"], a["rhythm.exact"], estimates=a["rhythm.simulated"],
        names=[f"{c:g}" for c in a["rhythm.contrasts"]], ax=axes[1],
    )  # fmt: skip
    axes[1].get_legend().set_title("contrast")
    return figure


def _memory(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, axes = new_figure(6.4, 2.3, 1, 2, sharey=True)
    ts = 1e3 * a["memory.ts"]
    for ax, (name, title) in zip(axes, (("still", "identity"), ("turning", "rotation, 10 Hz"))):
        for unit, colour in zip(a[f"memory.{name}"].T, PALETTE):
            ax.plot(ts, unit, color=colour)
        for start, end, said in ((0, 100, "load"), (100, 400, "hold"), (400, 500, "clear")):
            ax.axvline(start, color="0.8", lw=0.8, zorder=0)
            ax.text((start + end) / 2, 1.12, said, ha="center", va="bottom", color="0.4")
        ax.set(xlabel="time (ms)", title=f"recurrent weights: {title}", ylim=(-1.1, 1.35))
    axes[0].set_ylabel("activity of two units")
    return figure


def _surround(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, axes = new_figure(7.0, 2.5, 1, 3)
    for c, curve, mark, colour in zip(
        a["surround.contrasts"], a["surround.organics"], "os", PALETTE
    ):
        axes[0].plot(a["surround.sizes"], curve / curve.max(), f"{mark}-", ms=3, color=colour,
                     label=f"{c:g}")  # fmt: skip
    axes[0].set(xscale="log", xlabel="size (degrees)", ylabel="squared rate over its largest",
                title="ORGaNICs, wide pool")  # fmt: skip
    axes[0].legend(title="contrast")
    axes[1].plot(a["surround.ssn_sizes"], a["surround.ssn"], "^-", color=PALETTE[2])
    axes[1].set(xscale="log", xlabel="size (degrees)", ylabel="E rate at the centre (Hz)",
                title="SSN line, contrast 50")  # fmt: skip
    axes[2].plot(100 * a["plaids.organics_contrasts"], a["plaids.organics"], color=PALETTE[0],
                 label="ORGaNICs")  # fmt: skip
    axes[2].plot(a["plaids.contrasts"], a["plaids.ssn"], "^--", color=PALETTE[2], label="SSN ring")
    axes[2].axhline(1, color="0.7", lw=0.8, zorder=0)
    axes[2].set(xscale="log", xlabel="contrast (%)", ylabel="plaid over sum of its parts")
    axes[2].legend()
    return figure


def _supralinear(a: Any) -> Any:
    from ..plotting import PALETTE, new_figure

    figure, axes = new_figure(6.2, 2.4, 1, 2)
    for rates, name, style, colour in zip(a["ssn.rates"].T, "EI", ("-", "--"), PALETTE):
        axes[0].plot(a["ssn.inputs"], rates, style, color=colour, label=name)
    axes[0].set(xlabel="input to both", ylabel="rate (Hz)")
    axes[0].legend()
    axes[1].plot(a["ssn.inputs"], a["ssn.gains"], color=PALETTE[0])
    axes[1].axhline(0, color="0.7", lw=0.8, zorder=0)
    axes[1].set(xlabel="input to both", ylabel="gain of excitation by itself, less 1")
    return figure
