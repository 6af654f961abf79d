"""Figures of topology: what is drawn is what was given."""

import numpy as np
import pytest

from neurosim.analysis.rips_persistence import RipsPersistence
from neurosim.analysis.shuffled_persistence import ShuffledPersistence
from neurosim.plotting.style import new_figure
from neurosim.plotting.topology import (
    plot_barcode,
    plot_circular_coordinates,
    plot_persistence_diagram,
    plot_torus_coordinates,
)

BARS = [np.array([[0, np.inf], [0, 0.5], [0, 0.4]]), np.array([[0.5, 2.0], [0.6, 0.8]])]
PERSISTENCE = RipsPersistence(BARS, np.arange(3), 0.0, 2.5, 1.5, 2, np.zeros((3, 3)), None)
NULL = ShuffledPersistence(np.array([[0.2, 0.3], [0.1, 0.4]]))
SIDE = (np.arange(8) + 0.5) / 8
POSITIONS = np.stack(np.meshgrid(SIDE, SIDE, indexing="ij"), axis=-1).reshape(-1, 2)


def test_bars_go_from_birth_to_death_over_what_is_long_by_chance():
    axes = plot_barcode(PERSISTENCE, null=NULL)
    axes[0].figure.canvas.draw()
    for ax, bars, most in zip(axes, BARS, (0.3, 0.6), strict=True):
        drawn = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
        np.testing.assert_allclose(drawn, np.minimum(bars, 2.5))
        bands = [(p.get_x(), p.get_width()) for p in ax.patches]
        np.testing.assert_allclose(bands, [(birth, most) for birth in bars[:, 0]])
    # The bar that does not end has an arrow at the threshold.
    (arrow,) = axes[0].lines
    assert (arrow.get_marker(), *arrow.get_xdata()) == (">", 2.5)
    assert len(axes[1].lines) == 0
    assert axes[1].get_xlabel() == "scale (unit of the cloud)"


def test_few_bars_on_given_axes():
    _, axes = new_figure(3, 3, 2, 1)
    assert plot_barcode(PERSISTENCE, n_bars=1, axes=axes)[1] is axes[1]
    assert len(axes[0].collections[0].get_segments()) == 1
    with pytest.raises(ValueError, match="2 axes are needed, one a dimension; got 1"):
        plot_barcode(PERSISTENCE, axes=axes[0])
    with pytest.raises(ValueError, match="null has 1 dimensions, the persistence 2"):
        plot_barcode(PERSISTENCE, null=ShuffledPersistence(np.ones((2, 1))))


def test_a_diagram_has_bars_that_do_not_end_at_the_threshold():
    ax = plot_persistence_diagram(PERSISTENCE)
    ax.figure.canvas.draw()
    points = [c.get_offsets() for c in ax.collections]
    np.testing.assert_allclose(points[0], BARS[0][1:])
    np.testing.assert_allclose(points[1], [[0, 2.5]])
    np.testing.assert_allclose(points[2], BARS[1])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "components $H_0$",
        "loops $H_1$",
    ]


def test_angles_over_an_arena_are_circular_means():
    angles = 2 * np.pi * POSITIONS
    # Twice in each bin, either side of 0.
    both = np.concatenate([angles + 0.2, angles - 0.2]) % (2 * np.pi)
    both[0, 1] = np.nan
    axes = plot_circular_coordinates(np.tile(POSITIONS, (2, 1)), both, n_bins=8)
    axes[0].figure.canvas.draw()
    assert len(axes) == 2
    drawn = axes[0].images[0].get_array()
    np.testing.assert_allclose(drawn, np.tile(2 * np.pi * SIDE, (8, 1)))
    other = axes[1].images[0].get_array()
    np.testing.assert_allclose(other[1:], np.tile(2 * np.pi * SIDE[1:, None], (1, 8)))
    # What is left of the first bin is the one that is known.
    assert other[0, 0] == pytest.approx(2 * np.pi * SIDE[0] - 0.2)
    assert axes[0].images[0].get_clim() == (0, pytest.approx(2 * np.pi))


def test_bins_without_samples_are_blank():
    keep = POSITIONS.sum(axis=1) > 0.5
    (ax,) = plot_circular_coordinates(POSITIONS[keep], POSITIONS[keep, 0], n_bins=8)
    assert ax.images[0].get_array().mask[0, 0]


def test_a_torus_is_a_square_of_two_angles():
    angles = 2 * np.pi * POSITIONS - np.pi
    ax = plot_torus_coordinates(angles, colour=POSITIONS[:, 0], label="x (m)")
    ax.figure.canvas.draw()
    np.testing.assert_allclose(ax.collections[0].get_offsets(), angles % (2 * np.pi))
    assert [a.get_ylabel() for a in ax.figure.axes[1:]] == ["x (m)"]


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"angles must be \(sample, 2\)"):
        plot_torus_coordinates(POSITIONS[:, 0])
    with pytest.raises(ValueError, match=r"positions must be \(sample, 2\) and angles"):
        plot_circular_coordinates(POSITIONS, POSITIONS[:5])
    with pytest.raises(ValueError, match="positions must be finite"):
        plot_circular_coordinates(POSITIONS * np.nan, POSITIONS)
    _, ax = new_figure(2, 2)
    with pytest.raises(ValueError, match="2 axes are needed, one a circle; got 1"):
        plot_circular_coordinates(POSITIONS, POSITIONS, axes=ax)
