"""Figures of space: what is drawn is what was given, where it was."""

import numpy as np
import pytest

from neurosim.plotting.spatial import plot_autocorrelogram, plot_grid_of_maps, plot_rate_map
from neurosim.plotting.style import new_figure

MAP = np.arange(12.0).reshape(3, 4)
MAP[1, 2] = np.nan
SAC = np.linspace(-0.5, 1, 35).reshape(5, 7)


@pytest.fixture
def ax():
    """An empty axis, whose figure is drawn after the test: some faults show only then."""
    figure, ax = new_figure(3, 2)
    yield ax
    figure.canvas.draw()


def test_rate_map_has_x_to_the_right_and_blank_bins(ax):
    assert plot_rate_map(MAP, extent=((0, 3), (1, 5)), ax=ax) is ax
    (image,) = ax.images
    drawn = image.get_array()
    np.testing.assert_array_equal(drawn.filled(np.nan), MAP.T)
    assert drawn.mask.sum() == 1
    assert image.origin == "lower"
    assert image.get_extent() == [0, 3, 1, 5]
    assert image.get_clim() == (0, 11)
    # Unvisited bins are transparent.
    assert image.to_rgba(drawn)[2, 1, 3] == 0
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x (m)", "y (m)")
    assert [a.get_ylabel() for a in ax.figure.axes[1:]] == ["Hz"]


def test_rate_map_without_rates_or_bar(ax):
    plot_rate_map(np.nan * MAP, colour_bar=False, ax=ax)
    assert len(ax.figure.axes) == 1
    assert ax.get_xlabel() == "x (bins)"
    assert plot_rate_map(MAP - 5, vmax=20).images[0].get_clim() == (-5, 20)


def test_autocorrelogram_with_its_peaks(ax):
    angles = np.deg2rad([10, 190, 70, 250, 130, 310])
    peaks = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    plot_autocorrelogram(SAC, peaks=peaks, bin_size=(0.5, 0.25), length_unit="cm", ax=ax)
    (image,) = ax.images
    assert image.get_extent() == [-1.25, 1.25, -0.875, 0.875]
    assert image.get_clim() == (-1, 1)
    (ring,) = ax.lines
    # Round the middle, and back to the first.
    turned = np.unwrap(np.arctan2(*ring.get_xydata().T[::-1]))
    np.testing.assert_allclose(np.diff(turned), np.pi / 3, atol=1e-9)
    assert ax.get_xlabel() == "shift in x (cm)"
    nothing = plot_autocorrelogram(SAC, peaks=np.full((6, 2), np.nan))
    assert len(nothing.lines) == 0
    assert nothing.get_ylabel() == "shift in y (bins)"
    nothing.figure.canvas.draw()


def test_grid_of_maps():
    maps = np.stack([MAP, 2 * MAP, np.nan * MAP, MAP - 3, MAP])
    axes = plot_grid_of_maps(maps, columns=2)
    assert len(axes) == 5
    assert len(axes[0].figure.axes) == 6
    assert [ax.get_title() for ax in axes] == ["11.0 Hz", "22.0 Hz", "", "8.0 Hz", "11.0 Hz"]
    assert axes[1].images[0].get_clim() == (0, 22)
    assert axes[3].images[0].get_clim() == (-3, 8)
    np.testing.assert_array_equal(axes[1].images[0].get_array().filled(np.nan), 2 * MAP.T)
    axes[0].figure.canvas.draw()
    figure, _ = new_figure(3, 2)
    figure.clear()
    axes = plot_grid_of_maps(
        maps, titles=list("abcde"), share_scale=True, symmetric=True, figure=figure
    )
    assert axes[0].figure is figure
    assert {ax.images[0].get_clim() for ax in axes} == {(-22, 22)}
    assert [ax.get_title() for ax in axes] == list("abcde")
    figure.canvas.draw()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_rate_map(MAP[0]), r"rate_map must be \(bins, bins\)"),
        (lambda: plot_rate_map(MAP, extent=(0, 1)), r"extent must be \(\(left, right\)"),
        (lambda: plot_autocorrelogram(SAC[0]), r"autocorrelogram must be \(bins, bins\)"),
        (lambda: plot_autocorrelogram(SAC, bin_size=0), "bin_size must be positive"),
        (lambda: plot_autocorrelogram(SAC, peaks=np.ones(6)), r"peaks must be \(peak, 2\)"),
        (lambda: plot_grid_of_maps(MAP), r"maps must be \(cell, bins, bins\)"),
        (lambda: plot_grid_of_maps(MAP[None], titles=["a", "b"]), "titles must be one for each"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
