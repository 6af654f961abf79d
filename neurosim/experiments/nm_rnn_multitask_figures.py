"""The figures of the multitask experiment."""

from typing import Any

import numpy as np

from .experiment import Result
from .nm_rnn_multitask_analysis import AFTER, BEFORE, PERIODS
from .nm_rnn_multitask_networks import TRANSFERS, VARIANTS


def draw(result: Result) -> dict[str, Any]:
    """Figures by name.

    Learning curves and shares of correct responses, before and after the transfer; the subspaces
    that tasks share; and for each network `subspaces_NAME`, `response_NAME` and, where it has
    gains, `gains_NAME`.
    """
    from ..plotting import paper_style

    names = result.config.networks
    figures = {}
    with paper_style():
        figures["learning_curves"] = _learning_curves(result)
        figures["accuracy"] = _accuracy(result)
        figures["transfer"] = _transfer(result)
        figures["shared_subspaces"] = _shared_subspaces(result)
        for name in names:
            figures[f"subspaces_{name}"] = _subspaces(result, name)
            figures[f"response_{name}"] = _response(result, name)
            if f"{name}.gains.go" in result.arrays:
                figures[f"gains_{name}"] = _gains(result, name)
    return figures


def _learning_curves(result: Result) -> Any:
    from ..plotting import new_figure, plot_learning_curves

    a = result.arrays
    figure, axes = new_figure(7.0, 2.8, 1, 2)
    chosen = {VARIANTS[n].label: a[f"{n}.losses"] for n in result.config.networks}
    plot_learning_curves(axes[0], chosen, window=50)
    axes[0].set_title("pretraining")
    transfers = {label: a[f"{name}.{way}.losses"] for name, way, label in _ways(result)}
    plot_learning_curves(axes[1], transfers, window=50)
    axes[1].set_title(f"transfer to {_words(result.config.transfer_task)}")
    return figure


def _ways(result: Result) -> list[tuple[str, str, str]]:
    """Network, way of transfer and label, for every transfer."""
    found = []
    for name in result.config.networks:
        variant = VARIANTS[name]
        ways = TRANSFERS[variant.kind]
        for way, (label, _) in ways.items():
            several = f" ({label})" if len(ways) > 1 else ""
            found.append((name, way, variant.label + several))
    return found


def _accuracy(result: Result) -> Any:
    from ..plotting import new_figure, plot_accuracies

    figure, ax = new_figure(5.2, 2.6)
    shares = {VARIANTS[n].label: result.arrays[f"{n}.correct"] for n in result.config.networks}
    plot_accuracies(ax, shares, [_words(task) for task in result.config.tasks])
    ax.set_title("bars: median; dots: seeds")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center")
    return figure


def _transfer(result: Result) -> Any:
    from ..plotting import new_figure, plot_accuracies

    figure, ax = new_figure(6.2, 2.8)
    shares = {label: result.arrays[f"{name}.{way}.correct"] for name, way, label in _ways(result)}
    tasks = (*result.config.tasks, result.config.transfer_task)
    plot_accuracies(ax, shares, [_words(task) for task in tasks])
    ax.set_title(f"after the transfer to {_words(result.config.transfer_task)}")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center")
    return figure


def _shared_subspaces(result: Result) -> Any:
    from ..plotting import new_figure, plot_similarity_matrix

    names = result.config.networks
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure, axes = new_figure(2.3 * columns, 2.4 * rows, rows, columns, squeeze=False)
    for ax, name in zip(axes.flat, names):
        values = result.arrays[f"{name}.shared_subspace"]
        plot_similarity_matrix(ax, values, [_words(task) for task in result.config.tasks])
        ax.set_title(VARIANTS[name].label, fontsize=7)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    figure.suptitle("planes of the states before go: mean squared cosine", fontsize=9)
    return figure


def _subspaces(result: Result, name: str) -> Any:
    from ..plotting import add_angle_bar, new_figure, plot_states_by_angle

    a, tasks = result.arrays, result.config.tasks
    latents, scores = a[f"{name}.latents"], a[f"{name}.ring_scores"]
    figure, axes = new_figure(
        5.4, 1.6 * len(tasks) + 0.3, len(tasks), len(PERIODS), squeeze=False, sharex=True,
        sharey=True,
    )  # fmt: skip
    for row, task, shown, ring in zip(axes, tasks, latents, scores):
        for ax, period, points, score in zip(row, PERIODS, shown, ring):
            plot_states_by_angle(ax, points, a[f"{name}.angles"])
            ax.set_title(f"{_words(task)}, {period}", fontsize=7)
            ax.text(0.04, 0.03, f"ring {score:.2f}", transform=ax.transAxes, fontsize=6)
    first, second = (100 * r for r in a[f"{name}.explained_variance_ratio"][:2])
    for ax in axes[-1]:
        ax.set_xlabel(f"PC 1 ({first:.0f} %)")
    for ax in axes[:, 0]:
        ax.set_ylabel(f"PC 2 ({second:.0f} %)")
    add_angle_bar(figure, axes)
    return figure


def _response(result: Result, name: str) -> Any:
    """Every principal component at the end of the trial, against the angle of the stimulus."""
    from ..plotting import PALETTE, new_figure

    a, tasks = result.arrays, result.config.tasks
    latents, angles = a[f"{name}.latents"], a[f"{name}.angles"]
    n_shown = latents.shape[-1]
    figure, axes = new_figure(6.4, 3.2, 2, -(-n_shown // 2), squeeze=False, sharex=True)
    for k, ax in enumerate(axes.flat[:n_shown]):
        for task, shown, colour in zip(tasks, latents, PALETTE):
            ax.plot(angles, shown[-1, :, k], ".", ms=2, color=colour, label=_words(task))
        share = 100 * a[f"{name}.explained_variance_ratio"][k]
        ax.set_title(f"PC {k + 1} ({share:.0f} %)")
        ax.set_xticks([0, np.pi, 2 * np.pi], ["0", r"$\pi$", r"$2\pi$"])
    for ax in axes.flat[n_shown:]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("angle of the stimulus")
    for ax in axes[:, 0]:
        ax.set_ylabel("state at the end")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", markerscale=3)
    return figure


def _gains(result: Result, name: str) -> Any:
    from ..plotting import new_figure, plot_gains_by_task

    a, tasks = result.arrays, [_words(task) for task in result.config.tasks]
    offsets = result.config.sampler().dt * np.arange(-BEFORE, AFTER + 1)
    n_gains = a[f"{name}.gains.go"].shape[-1]
    figure, axes = new_figure(
        1.9 * n_gains + 1.2, 3.2, 2, n_gains, squeeze=False, sharex=True, sharey="col"
    )
    for row, event, label in zip(axes, ("stim1_on", "go"), ("stimulus", "go cue")):
        plot_gains_by_task(row, offsets, a[f"{name}.gains.{event}"], tasks)
        for k, ax in enumerate(row):
            ax.set_title(f"$s_{k + 1}$")
            ax.set_xlabel(f"time from {label} (ms)")
        row[0].set_ylabel("gain, mean over trials")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _words(task: str) -> str:
    """`memory_anti` as MemoryAnti."""
    return "".join(part.capitalize() for part in task.split("_"))
