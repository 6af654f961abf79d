"""Matplotlib figures: each takes results and returns the Axes it drew on."""

from .dynamics import plot_eigenvalues, plot_flow_field
from .gain_theory import plot_bifurcation, plot_feasibility, plot_mode_decay, plot_required_gains
from .latent import plot_latent_trajectories
from .learning import plot_learning_curves
from .multitask import (
    add_angle_bar,
    plot_accuracies,
    plot_gains_by_task,
    plot_similarity_matrix,
    plot_states_by_angle,
)
from .organics import (
    plot_contrast_response,
    plot_energy,
    plot_phase_portrait_2d,
    plot_power_spectra,
    plot_spectrum_map,
)
from .recordings import plot_cross_temporal, plot_marginal_variance, plot_rdm, plot_trajectories
from .spatial import plot_autocorrelogram, plot_grid_of_maps, plot_rate_map
from .style import PALETTE, new_figure, ordered_colours, paper_style
from .timing import add_interval_bar, plot_aligned_gains, plot_crossing_times, plot_ramps
from .topology import (
    plot_barcode,
    plot_circular_coordinates,
    plot_persistence_diagram,
    plot_torus_coordinates,
)

__all__ = [
    "PALETTE",
    "add_angle_bar",
    "add_interval_bar",
    "new_figure",
    "ordered_colours",
    "paper_style",
    "plot_accuracies",
    "plot_aligned_gains",
    "plot_autocorrelogram",
    "plot_barcode",
    "plot_bifurcation",
    "plot_circular_coordinates",
    "plot_contrast_response",
    "plot_cross_temporal",
    "plot_crossing_times",
    "plot_eigenvalues",
    "plot_energy",
    "plot_feasibility",
    "plot_flow_field",
    "plot_gains_by_task",
    "plot_grid_of_maps",
    "plot_latent_trajectories",
    "plot_learning_curves",
    "plot_marginal_variance",
    "plot_mode_decay",
    "plot_persistence_diagram",
    "plot_phase_portrait_2d",
    "plot_power_spectra",
    "plot_ramps",
    "plot_rate_map",
    "plot_rdm",
    "plot_required_gains",
    "plot_similarity_matrix",
    "plot_spectrum_map",
    "plot_states_by_angle",
    "plot_torus_coordinates",
    "plot_trajectories",
]
