"""Figures: what was given is what is drawn, in odd cases too."""

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba

from neurosim.plotting import (
    PALETTE,
    add_interval_bar,
    new_figure,
    ordered_colours,
    plot_aligned_gains,
    plot_bifurcation,
    plot_crossing_times,
    plot_feasibility,
    plot_latent_trajectories,
    plot_learning_curves,
    plot_mode_decay,
    plot_ramps,
    plot_required_gains,
)

TS = np.arange(10.0, 60, 10)


@pytest.fixture
def ax():
    """An empty axis, whose figure is drawn after the test: some faults show only then."""
    figure, ax = new_figure(3, 2)
    yield ax
    figure.canvas.draw()


def lines(ax, label=None):
    """x and y of every line, or of those with this label."""
    return [
        tuple(np.ma.filled(np.ma.asarray(data, dtype=float), np.nan) for data in line.get_data())
        for line in ax.lines
        if label is None or line.get_label() == label
    ]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# Learning curves


def test_learning_curves_are_medians_over_seeds_of_means_over_windows(ax):
    losses = np.array([[1.0, 3, 5, 7], [2, 2, 2, 2], [9, 11, 1, 1]])
    assert plot_learning_curves(ax, {"net": losses}, baseline=("time alone", 4.0), window=2) is ax
    # Means over two steps: (2, 6), (2, 2), (10, 1).
    np.testing.assert_allclose(lines(ax, "net"), [([2, 4], [2, 2])])
    np.testing.assert_allclose(lines(ax, "time alone")[0][1], 4)
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert {tuple(v) for v in corners} == {(2, 2), (2, 10), (4, 1), (4, 6)}
    assert ax.get_yscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("training step", "mean squared error")
    assert legend(ax) == ["net", "time alone"]


def test_learning_curve_of_one_seed_has_no_band(ax):
    plot_learning_curves(ax, {"net": np.array([3.0, 2, 1])}, window=1)
    np.testing.assert_allclose(lines(ax), [([1, 2, 3], [3, 2, 1])])
    assert len(ax.collections) == 0


def test_learning_curve_leaves_out_seeds_that_have_diverged(ax):
    losses = np.array([[4.0, 4, 4, 4], [2, 2, np.nan, np.nan], [1, np.inf, np.nan, np.nan]])
    plot_learning_curves(ax, {"net": losses, "lost": np.full((2, 4), np.nan)}, window=2)
    np.testing.assert_allclose(lines(ax), [([2, 4], [3, 4])])
    assert legend(ax) == ["net (2 of 3 diverged)"]


def test_learning_curve_ends_where_every_seed_has_diverged(ax):
    losses = np.array([[4.0, np.nan, np.nan], [2, np.nan, np.nan]])
    plot_learning_curves(ax, {"net": losses}, window=1)
    np.testing.assert_allclose(lines(ax), [([1, 2, 3], [3, np.nan, np.nan])])


@pytest.mark.parametrize(
    "losses", [{}, {"net": np.full((2, 5), np.nan)}, {"net": np.zeros((2, 0))}]
)
def test_no_learning_curve_to_draw(ax, losses):
    assert plot_learning_curves(ax, losses) is ax
    assert lines(ax) == []
    assert ax.get_legend() is None


# Timing


def test_ramps_are_aligned_to_go_and_coloured_by_interval(ax):
    outputs = np.arange(15.0).reshape(3, 5)
    go, intervals = np.array([30.0, 20, 10]), np.array([80.0, 40, 80])
    assert plot_ramps(ax, TS, outputs, -outputs, go, intervals) is ax
    np.testing.assert_allclose(lines(ax, "40"), [(TS - 20, outputs[1])])
    np.testing.assert_allclose(lines(ax, "80"), [(TS - 30, outputs[0]), (TS - 10, outputs[2])])
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    np.testing.assert_allclose(dotted[0].get_ydata(), -outputs[1])
    short, long = (
        {to_hex(line.get_color()) for line in ax.lines if line.get_label() == label}
        for label in ("40", "80")
    )
    assert len(short) == len(long) == 1
    assert short != long
    assert ax.get_xlabel() == "time from go (ms)"
    assert ax.get_ylabel() == "output"


def test_ramp_of_a_single_trial(ax):
    plot_ramps(ax, TS, np.ones((1, 5)), np.zeros((1, 5)), np.array([20.0]), np.array([40.0]))
    np.testing.assert_allclose(lines(ax, "40"), [(TS - 20, np.ones(5))])


def test_crossing_times_are_medians_over_the_seeds_that_cross(ax):
    crossings = {"net": np.array([[10.0, 20, np.nan], [14, np.nan, np.nan], [30, 40, np.nan]])}
    intervals, ideal = np.array([20.0, 40, 60]), np.array([19.0, 38, 57])
    assert plot_crossing_times(ax, intervals, crossings, ideal) is ax
    np.testing.assert_allclose(lines(ax, "target"), [(intervals, ideal)])
    np.testing.assert_allclose(lines(ax, "net"), [(intervals, [14, 30, np.nan])])
    thin = [line.get_ydata() for line in ax.lines if line.get_linewidth() == 0.4]
    np.testing.assert_allclose(thin, crossings["net"])
    assert ax.get_xlabel() == "interval (ms)"
    assert ax.get_ylabel() == "crossing time after go (ms)"
    assert ax.get_title() == "thick: median; thin: each seed"


def test_crossing_times_of_one_seed_and_one_interval(ax):
    plot_crossing_times(ax, np.array([20.0]), {"net": np.array([[17.0]])}, np.array([19.0]))
    np.testing.assert_allclose(lines(ax), [([20], [19]), ([20], [17])])
    assert ax.get_title() == ""


def test_aligned_gains_have_an_axis_each():
    _, axes = new_figure(4, 2, 1, 2)
    gains = np.random.default_rng(0).uniform(size=(3, 5, 2))
    events, intervals = np.array([10.0, 20, 30]), np.array([60.0, 40, 50])
    assert plot_aligned_gains(axes, TS, gains, events, intervals) is axes
    for k, ax in enumerate(axes):
        assert ax.get_title() == f"$s_{k + 1}$"
        drawn = lines(ax)[:3]
        # By interval: trial 1, then 2, then 0.
        for (x, y), trial in zip(drawn, (1, 2, 0)):
            np.testing.assert_allclose(x, TS - events[trial])
            np.testing.assert_allclose(y, gains[trial, :, k])
    colours = [[to_hex(line.get_color()) for line in ax.lines[:3]] for ax in axes]
    assert colours[0] == colours[1]
    assert len(set(colours[0])) == 3


def test_aligned_gain_of_a_single_trial_in_a_single_axis(ax):
    assert plot_aligned_gains(ax, TS, np.ones((1, 5, 1)), np.array([10.0]), np.array([40.0])) is ax
    np.testing.assert_allclose(lines(ax)[0], (TS - 10, np.ones(5)))


@pytest.mark.parametrize(
    "intervals", [120.0, [120.0], [0.0], [1e17], [120.0, 120.0], [160.0, 120.0, 140.0]]
)
def test_interval_bar_reads_the_colours_of_the_intervals(ax, intervals):
    bar = add_interval_bar(ax.figure, ax, np.array(intervals))
    values = np.unique(intervals)
    np.testing.assert_allclose(bar.get_ticks(), values)
    np.testing.assert_allclose(bar.mappable.to_rgba(values), ordered_colours(len(values)))
    assert bar.ax.get_ylabel() == "interval (ms)"


# Gain theory


def test_mode_decay_has_theory_as_lines_and_simulation_as_dots(ax):
    ts = np.arange(50.0)
    names = [f"s = {k}" for k in range(9)]
    theory = {name: np.exp(-ts / (k + 1)) for k, name in enumerate(names)}
    simulated = {name: 2 * values for name, values in theory.items()}
    assert plot_mode_decay(ax, ts, theory, simulated) is ax
    for name in names:
        np.testing.assert_allclose(lines(ax, name), [(ts, theory[name])])
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert len(dots) == 9
    np.testing.assert_allclose(dots[3].get_xdata(), ts[::2])
    np.testing.assert_allclose(dots[3].get_ydata(), simulated["s = 3"][::2])
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel() == "time (ms)"
    assert "w(t)" in ax.get_ylabel()


def test_required_gains_and_the_band_out_of_reach(ax):
    gains = np.array([[0.5, 0.6, np.nan, 0.8, 2.0], [0.1, 0.2, 0.3, 0.4, 0.5]])
    assert plot_required_gains(ax, TS, gains, np.array([120.0, 160])) is ax
    np.testing.assert_allclose(lines(ax, "120 ms"), [(TS, gains[0])])
    np.testing.assert_allclose(lines(ax, "160 ms"), [(TS, gains[1])])
    np.testing.assert_allclose(ax.get_ylim(), (0, 2.1))
    assert legend(ax) == ["120 ms", "160 ms"]
    assert ax.get_xlabel() == "time from go (ms)"
    assert "gain" in ax.get_ylabel()


def test_required_gain_that_exists_nowhere(ax):
    plot_required_gains(ax, TS, np.full((1, 5), np.nan), np.array([120.0]))
    np.testing.assert_allclose(ax.get_ylim(), (0, 1.2))


def test_feasibility(ax):
    intervals, needed = np.array([50.0, 100, 200]), np.array([3.0, 2, 1.5])
    assert plot_feasibility(ax, intervals, needed, 2.5) is ax
    np.testing.assert_allclose(lines(ax)[0], (intervals, needed))
    np.testing.assert_allclose(lines(ax)[1][1], 2.5)
    assert ax.get_xlabel() == "interval (ms)"
    assert "overlap" in ax.get_ylabel()


def test_bifurcation_has_two_stable_branches_and_an_unstable_one(ax):
    gains = np.linspace(0, 1, 6)
    branch = np.array([0, 0, 0, 0.5, 0.8, 1.0])
    tried, reached = np.array([0.1, 0.9]), np.array([0.0, -0.9])
    assert plot_bifurcation(ax, gains, branch, (tried, reached)) is ax
    upper, lower, silent, unstable, dots = lines(ax)
    np.testing.assert_allclose(upper[1], [np.nan] * 3 + [0.5, 0.8, 1.0])
    np.testing.assert_allclose(lower[1], -upper[1])
    np.testing.assert_allclose(silent, (gains[:4], np.zeros(4)))
    np.testing.assert_allclose(unstable, (gains[3:], np.zeros(3)))
    np.testing.assert_allclose(dots, (tried, reached))
    assert legend(ax) == ["stable (mean field)", "unstable", "simulation"]
    assert "gain" in ax.get_xlabel()
    assert "kappa" in ax.get_ylabel()


def test_below_its_bifurcation_the_silent_state_is_stable_everywhere(ax):
    gains = np.linspace(0, 1, 6)
    plot_bifurcation(ax, gains, np.zeros(6), (gains, np.zeros(6)))
    _, _, silent, unstable, _ = lines(ax)
    np.testing.assert_allclose(silent, (gains, np.zeros(6)))
    assert len(unstable[0]) == 0


# Trajectories


def test_trajectories_with_events_and_fixed_points(ax):
    latents = np.random.default_rng(0).normal(size=(3, 5, 3))
    points = np.array([[0.0, 1, 9], [2, 3, 9], [4, 5, 9]])
    shown = plot_latent_trajectories(
        ax,
        latents,
        events={"go": np.array([0, 2, 4])},
        fixed_points=points,
        stable=np.array([True, False, True]),
        labels=("PC 1 (60 %)", "PC 2 (20 %)"),
    )
    assert shown is ax
    for (x, y), trial in zip(lines(ax), latents):
        np.testing.assert_allclose((x, y), trial[:, :2].T)
    np.testing.assert_allclose(lines(ax, "go")[0], latents[[0, 1, 2], [0, 2, 4], :2].T)
    np.testing.assert_allclose(lines(ax, "stable fixed point")[0], ([0, 4], [1, 5]))
    np.testing.assert_allclose(lines(ax, "unstable fixed point")[0], ([2], [3]))
    faces = [line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "X"]
    assert [to_rgba(face) for face in faces] == [to_rgba(PALETTE[1]), to_rgba("white")]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC 1 (60 %)", "PC 2 (20 %)")
    assert legend(ax) == ["go", "stable fixed point", "unstable fixed point"]


@pytest.mark.parametrize("points", [None, np.zeros((0, 2))])
def test_a_single_trajectory_without_fixed_points(ax, points):
    latents = np.arange(10.0).reshape(1, 5, 2)
    plot_latent_trajectories(ax, latents, fixed_points=points, colours=["red"])
    np.testing.assert_allclose(lines(ax), [latents[0].T])
    assert ax.lines[0].get_color() == "red"
    assert ax.get_legend() is None
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC 1", "PC 2")


def test_more_events_than_markers(ax):
    events = {f"cue {k}": np.array([k]) for k in range(7)}
    plot_latent_trajectories(ax, np.arange(14.0).reshape(1, 7, 2), events=events)
    np.testing.assert_allclose(lines(ax, "cue 6")[0], ([12], [13]))
