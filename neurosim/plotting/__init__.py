"""Matplotlib figures: each takes results and returns the Axes it drew on."""

from .gain_theory import (
    plot_bifurcation,
    plot_feasibility,
    plot_mode_decay,
    plot_required_gains,
)
from .latent import plot_latent_trajectories
from .learning import plot_learning_curves
from .style import PALETTE, new_figure, ordered_colours, paper_style
from .timing import (
    add_interval_bar,
    plot_aligned_gains,
    plot_crossing_times,
    plot_ramps,
)

__all__ = [
    "PALETTE",
    "add_interval_bar",
    "new_figure",
    "ordered_colours",
    "paper_style",
    "plot_aligned_gains",
    "plot_bifurcation",
    "plot_crossing_times",
    "plot_feasibility",
    "plot_latent_trajectories",
    "plot_learning_curves",
    "plot_mode_decay",
    "plot_ramps",
    "plot_required_gains",
]
