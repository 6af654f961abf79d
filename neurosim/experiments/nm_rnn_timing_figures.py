"""The figures of the interval-timing experiment."""

from typing import Any

import numpy as np

from .experiment import Result


def draw(result: Result, labels: dict[str, str]) -> dict[str, Any]:
    """Figures by name, for networks by name and label.

    Learning curves, outputs and crossing times of all networks; and for each network with gains
    `overview_NAME`, `gains_NAME`, `ablations_NAME` and `latents_NAME`.
    """
    from ..plotting import paper_style

    figures = {}
    with paper_style():
        figures["learning_curves"] = _learning_curves(result, labels)
        figures["outputs"] = _outputs(result, labels)
        figures["crossing_times"] = _crossing_times(result, labels)
        for name in labels:
            if f"{name}.gains" in result.arrays:
                figures[f"overview_{name}"] = _overview(result, name, labels[name])
                figures[f"gains_{name}"] = _gains(result, name)
                figures[f"ablations_{name}"] = _ablations(result, name)
                figures[f"latents_{name}"] = _latents(result, name)
    return figures


def _learning_curves(result: Result, labels: dict[str, str]) -> Any:
    from ..plotting import new_figure, plot_learning_curves

    figure, ax = new_figure(3.6, 2.6)
    losses = {label: result.arrays[f"{name}.losses"] for name, label in labels.items()}
    plot_learning_curves(ax, losses, baseline=("time alone", result.summary["time_alone_mse"]))
    return figure


def _outputs(result: Result, labels: dict[str, str]) -> Any:
    """The best seed of each network, by the trained intervals, on all tested ones."""
    from ..plotting import add_interval_bar, new_figure, plot_ramps

    a = result.arrays
    columns = min(3, len(labels))
    rows = -(-len(labels) // columns)
    figure, axes = new_figure(
        2.2 * columns + 0.8, 2.1 * rows, rows, columns, squeeze=False, sharey=True
    )
    for ax, (name, label) in zip(axes.flat, labels.items()):
        outputs = a[f"{name}.outputs"][a[f"{name}.shown_seed"]]
        plot_ramps(ax, a["ts"], outputs, a["test_targets"], a["test_go"], a["test_intervals"])
        ax.set_title(label)
        ax.set_ylim(-0.9, 0.9)
    for ax in axes.flat[len(labels) :]:
        ax.set_visible(False)
    _only_outer_labels(axes)
    add_interval_bar(figure, axes, a["test_intervals"])
    return figure


def _crossing_times(result: Result, labels: dict[str, str]) -> Any:
    from ..plotting import new_figure, plot_crossing_times

    a = result.arrays
    figure, ax = new_figure(3.6, 2.9)
    crossings = {label: a[f"{name}.crossings"] for name, label in labels.items()}
    plot_crossing_times(ax, a["test_intervals"], crossings, a["ideal_crossings"])
    low, high = min(result.config.intervals), max(result.config.intervals)
    ax.axvspan(low, high, color="0.93", lw=0, zorder=0)
    ax.text((low + high) / 2, ax.get_ylim()[0], "trained", ha="center", va="bottom", color="0.4")
    return figure


def _overview(result: Result, name: str, label: str) -> Any:
    """Outputs and gains of one network, aligned to the go cue."""
    from ..plotting import add_interval_bar, new_figure, plot_aligned_gains, plot_ramps

    a = result.arrays
    n_gains = a[f"{name}.gains"].shape[-1]
    figure, axes = new_figure(1.75 * (n_gains + 1) + 0.8, 2.1, 1, n_gains + 1, squeeze=False)
    first, *others = axes[0]
    outputs, intervals = a[f"{name}.outputs"][a[f"{name}.shown_seed"]], a["test_intervals"]
    plot_ramps(first, a["ts"], outputs, a["test_targets"], a["test_go"], intervals)
    first.set_title(f"{label}: output")
    plot_aligned_gains(np.array(others), a["ts"], a[f"{name}.gains"], a["test_go"], intervals)
    for k, ax in enumerate(others):
        ax.set_ylim(-0.03, 1.03)  # the range a gain can have
        ax.set_title(f"gain $s_{k + 1}$")
        ax.set_xlabel("time from go (ms)")
    add_interval_bar(figure, axes, intervals)
    return figure


def _gains(result: Result, name: str) -> Any:
    from ..plotting import add_interval_bar, new_figure, plot_aligned_gains

    a = result.arrays
    n_gains = a[f"{name}.gains"].shape[-1]
    figure, axes = new_figure(2.0 * n_gains + 0.8, 3.4, 2, n_gains, squeeze=False, sharey=True)
    for row, (event, when) in zip(axes, (("wait", a["test_wait"]), ("go", a["test_go"]))):
        plot_aligned_gains(row, a["ts"], a[f"{name}.gains"], when, a["test_intervals"])
        row[0].set_ylabel("gain $s_k$")
        for ax in row:
            ax.set_xlabel(f"time from {event} cue (ms)")
    add_interval_bar(figure, axes, a["test_intervals"])
    return figure


def _ablations(result: Result, name: str) -> Any:
    from ..plotting import add_interval_bar, new_figure, plot_ramps

    a = result.arrays
    ablated = a[f"{name}.ablated_outputs"]
    figure, axes = new_figure(
        2.0 * len(ablated) + 0.8, 2.1, 1, len(ablated), squeeze=False, sharey=True
    )
    for k, (ax, outputs) in enumerate(zip(axes[0], ablated)):
        plot_ramps(ax, a["ts"], outputs, a["test_targets"], a["test_go"], a["test_intervals"])
        ax.set_title(f"$s_{k + 1}$ held at its initial value")
    _only_outer_labels(axes)
    add_interval_bar(figure, axes, a["test_intervals"])
    return figure


def _latents(result: Result, name: str) -> Any:
    from ..plotting import add_interval_bar, new_figure, plot_latent_trajectories

    a, dt = result.arrays, result.config.dt
    figure, ax = new_figure(4.4, 3.2)
    ax.set_title("fixed points without input")
    first, second = (100 * r for r in a[f"{name}.explained_variance_ratio"][:2])
    plot_latent_trajectories(
        ax,
        a[f"{name}.latents"],
        events={
            "wait cue": np.round(a["test_wait"] / dt).astype(int),
            "go cue": np.round(a["test_go"] / dt).astype(int),
        },
        fixed_points=a[f"{name}.fixed_points"],
        stable=a[f"{name}.fixed_points_stable"],
        labels=(f"PC 1 ({first:.0f} % of variance)", f"PC 2 ({second:.0f} % of variance)"),
    )
    add_interval_bar(figure, ax, a["test_intervals"])
    return figure


def _only_outer_labels(axes: Any) -> None:
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
