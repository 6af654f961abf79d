"""Figures of recordings: what was given is what is drawn."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from neurosim.analysis import DPCA, RDM, CrossTemporalDecoding, CrossTemporalRegression
from neurosim.plotting import (
    PALETTE,
    new_figure,
    plot_cross_temporal,
    plot_marginal_variance,
    plot_rdm,
    plot_trajectories,
)


@pytest.fixture
def ax():
    """An empty axis, whose figure is drawn after the test: some faults show only then."""
    figure, ax = new_figure(3, 2)
    yield ax
    figure.canvas.draw()


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# Trajectories

CURVES = np.arange(24.0).reshape(2, 4, 3)


def test_trajectories_are_curves_with_epochs_on_them(ax):
    drawn = plot_trajectories(CURVES, epochs={"go": [1, 3]}, names=["left", 90], ax=ax)
    assert drawn is ax
    for line, curve in zip(ax.lines, CURVES):
        np.testing.assert_array_equal(line.get_xydata(), curve[:, :2])
    np.testing.assert_array_equal(ax.lines[2].get_xydata(), [CURVES[0, 1, :2], CURVES[1, 3, :2]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC 1", "PC 2")
    assert legend(ax) == ["left", "90", "go"]


def test_trajectories_in_three_dimensions_on_an_axis_of_their_own():
    ax = plot_trajectories(CURVES, n_dims=3, epochs={"go": 0}, labels=["a", "b", "c"])
    assert ax.name == "3d"
    np.testing.assert_array_equal(np.stack(ax.lines[1].get_data_3d(), axis=1), CURVES[1])
    np.testing.assert_array_equal(np.stack(ax.lines[2].get_data_3d(), axis=1), CURVES[:, 0])
    assert ax.get_zlabel() == "c"
    ax.figure.canvas.draw()
    # A 3-D axis says itself how many coordinates there are.
    _, again = new_figure(3, 2, subplot_kw={"projection": "3d"})
    plot_trajectories(CURVES, ax=again)
    assert len(again.lines[0].get_data_3d()) == 3


def test_trajectories_of_unequal_length_without_legend(ax):
    plot_trajectories([CURVES[0], CURVES[1, :2]], colours=["r", "b"], ax=ax)
    assert [len(line.get_xdata()) for line in ax.lines] == [4, 2]
    assert [line.get_color() for line in ax.lines] == ["r", "b"]
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (CURVES[..., :1], {}, r">= 2\), got a curve of shape \(4, 1\)"),
        (CURVES[..., :2], {"n_dims": 3}, ">= 3"),
        ([], {}, "got none"),
        (CURVES, {"n_dims": 4}, "2 or 3, got 4"),
        (CURVES, {"epochs": {"go": 4}}, "'go' begins at sample 4, outside a curve of 4"),
        (CURVES, {"epochs": {"go": -1}}, "sample -1, outside"),
    ],
)
def test_trajectories_that_cannot_be_drawn(given, options, message):
    with pytest.raises(ValueError, match=message):
        plot_trajectories(given, **options)


def test_three_dimensions_do_not_fit_a_plane(ax):
    with pytest.raises(ValueError, match="must be 3-D"):
        plot_trajectories(CURVES, n_dims=3, ax=ax)


# Demixed variance


def demixed():
    """Stimulus along one axis and time along another: shares known in closed form."""
    averages = np.zeros((2, 4, 3))
    averages[..., 0] = 3 * np.array([[-1.0], [1]])
    averages[..., 1] = np.array([-1.0, 1, -1, 1])
    return DPCA(("stimulus", "time"), ridge=0.0, n_components=1).fit(averages)


def test_marginal_variance_is_stacked_by_part_with_the_most_first(ax):
    dpca = demixed()
    assert plot_marginal_variance(dpca, ax=ax) is ax
    # Variances are 9 and 1: each component is pure.
    heights = {
        bars.get_label(): [bar.get_height() for bar in bars.patches] for bars in ax.containers
    }
    np.testing.assert_allclose(heights["stimulus (90 %)"], [90, 0], atol=1e-9)
    np.testing.assert_allclose(heights["time (10 %)"], [0, 10], atol=1e-9)
    assert [text.get_text() for text in ax.texts] == ["s1", "t1"]
    assert ax.get_ylabel() == "variance explained (%)"


def test_marginal_variance_of_a_mixed_component_is_stacked_both_ways():
    dpca = demixed()
    dpca.component_variance_ratio_ = {
        "stimulus": np.array([[0.5, 0.25]]),
        "time": np.array([[0.4, -0.1]]),
    }
    ax = plot_marginal_variance(dpca)
    bars = {b.get_label().split()[0]: b.patches for b in ax.containers}
    assert [(b.get_y(), b.get_height()) for b in bars["time"]] == [(50, 25), (0, -10)]
    assert [(b.get_y(), b.get_height()) for b in bars["stimulus"]] == [(0, 50), (0, 40)]
    assert len(plot_marginal_variance(dpca, n_components=1).texts) == 1


def test_marginal_variance_needs_a_fit():
    with pytest.raises(ValueError, match="not fitted"):
        plot_marginal_variance(DPCA())


# Across time


def decoding(accuracy, p_value=None):
    n = np.array([3, 3])
    return CrossTemporalDecoding(accuracy, accuracy[None], 0.25, np.arange(4), n, n, None, p_value)


def test_decoding_is_drawn_with_fitted_times_up_and_white_at_chance(ax):
    accuracy = np.array([[1.0, 0.25], [0.0, np.nan]])
    drawn = plot_cross_temporal(
        decoding(accuracy), np.array([-0.1, 0.1]), events={"go": 0.0}, ax=ax
    )
    assert drawn is ax
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array().filled(np.nan), accuracy)
    assert image.origin == "lower"
    np.testing.assert_allclose(image.get_extent(), [-0.2, 0.2, -0.2, 0.2])
    norm = image.norm
    assert (norm.vmin, norm.vcenter, norm.vmax) == (0, 0.25, 1)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time tested (s)", "time fitted (s)")
    assert [line.get_xydata()[0].tolist() for line in ax.lines] == [[0, 0], [0, 0]]
    assert [text.get_text() for text in ax.texts] == ["go"]
    (bar,) = (each for each in ax.figure.axes if each is not ax)
    assert bar.get_ylabel() == "accuracy"


def test_decoding_that_is_not_chance_is_outlined(ax):
    p_value = np.array([[0.01, 0.5], [0.5, 0.01]])
    plot_cross_temporal(decoding(np.eye(2), p_value), colour_bar=False, ax=ax)
    assert len(ax.collections) == 1
    assert ax.figure.axes == [ax]
    assert ax.get_xlabel() == "time tested (bin)"
    plain = plot_cross_temporal(decoding(np.eye(2), np.full((2, 2), 0.01)))
    assert len(plain.collections) == 0


def test_regression_is_drawn_about_zero():
    r2 = np.array([[0.5, -7.0], [0, 1]])
    n = np.array([3, 3])
    ax = plot_cross_temporal(CrossTemporalRegression(r2, r2, r2[None], r2[None], n, n, None, None))
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), r2)
    assert (image.norm.vmin, image.norm.vcenter, image.norm.vmax) == (-1, 0, 1)


def test_decoding_on_a_scale_of_its_own():
    ax = plot_cross_temporal(decoding(np.eye(2)), limits=(0.1, 0.5))
    assert (ax.images[0].norm.vmin, ax.images[0].norm.vmax) == (0.1, 0.5)
    with pytest.raises(ValueError, match=r"about chance, 0.25, got \(0.3, 0.5\)"):
        plot_cross_temporal(decoding(np.eye(2)), limits=(0.3, 0.5))


def test_decoding_needs_the_times_decoded():
    with pytest.raises(ValueError, match=r"must be \(2,\), as decoded, got shape \(3,\)"):
        plot_cross_temporal(decoding(np.eye(2)), np.arange(3))


# Dissimilarities


def dissimilarities(values):
    conditions = {"side": np.array(["left", "right"]), "size": np.array([1, 2])}
    return RDM(np.array(values), conditions, np.array([4, 4]), 3)


def test_rdm_is_drawn_with_the_labels_of_its_conditions(ax):
    assert plot_rdm(dissimilarities([[0.0, 2.0], [2.0, 0.0]]), ax=ax) is ax
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), [[0, 2], [2, 0]])
    assert image.get_clim() == (0, 2)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["left, 1", "right, 2"]


def test_rdm_with_values_below_zero_is_white_at_zero():
    ax = plot_rdm(dissimilarities([[0.0, -2.0], [-2.0, 0.0]]), labels=["a", "b"], colour_bar=False)
    assert ax.images[0].get_clim() == (-2, 2)
    assert to_hex(ax.images[0].cmap(0.5)) == "#f7f6f6"
    assert len(ax.figure.axes) == 1


def test_rdm_of_equal_patterns_and_wrong_labels():
    same = dissimilarities(np.zeros((2, 2)))
    plot_rdm(same).figure.canvas.draw()
    with pytest.raises(ValueError, match="must be 2, one a condition, got 1"):
        plot_rdm(same, labels=["a"])


def test_parts_have_colours_of_the_palette(ax):
    plot_marginal_variance(demixed(), ax=ax)
    colours = [to_hex(bars.patches[0].get_facecolor()) for bars in ax.containers]
    assert colours == [colour.lower() for colour in PALETTE[:2]]
