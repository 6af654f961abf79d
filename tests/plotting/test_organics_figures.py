"""Figures of normalization circuits: what was given is what is drawn."""

import numpy as np
import pytest

from neurosim.analysis.contrast_response import contrast_response, hyperbolic_ratio
from neurosim.analysis.normalization_fixed_points import fixed_points_2d
from neurosim.plotting import PALETTE, new_figure
from neurosim.plotting.organics import (
    plot_contrast_response,
    plot_energy,
    plot_phase_portrait_2d,
    plot_power_spectra,
    plot_spectrum_map,
)

FOUND = fixed_points_2d(1.0, w=1.0, w_r=2.0, b=0.5, b0=0.5, sigma=0.1, tau_y=0.002, tau_a=0.002)
LIMITS = [(-1.5, 1.5), (0, 1)]
C = np.geomspace(0.01, 1, 7)


def flow(x):
    y, a = x.T
    dy = -y + 0.5 + 2 * (1 - np.sqrt(np.maximum(a, 0))) * y
    return np.stack([dy, -a + 0.0025 + y**2 * a], axis=1)


@pytest.fixture
def ax():
    """An empty axis, whose figure is drawn after the test: some faults show only then."""
    figure, ax = new_figure(3, 3)
    yield ax
    figure.canvas.draw()


def line(ax, label):
    return next(line for line in ax.lines if line.get_label() == label)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# The phase plane


def test_phase_portrait_has_points_by_type_and_nullclines_through_them(ax):
    drawn = plot_phase_portrait_2d(flow, limits=LIMITS, fixed_points=FOUND, n_grid=101, ax=ax)
    assert drawn is ax
    for index, kind in enumerate(FOUND.types):
        shown = line(ax, kind)
        np.testing.assert_allclose(shown.get_xydata(), [[FOUND.y[index], FOUND.a[index]]])
        assert shown.get_markerfacecolor() == ("black" if FOUND.stable[index] else "white")
    assert legend(ax)[:2] == ["dy/dt = 0", "da/dt = 0"]
    contours = [c for c in ax.collections if hasattr(c, "levels")]
    assert len(contours) == 2
    for contour in contours:
        at = contour.get_paths()[0].vertices
        for point in zip(FOUND.y, FOUND.a):
            assert np.min(np.abs(at - point).sum(axis=1)) < 0.05
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1.5, 1.5), (0, 1))


def test_basins_lie_under_the_portrait(ax):
    labels = np.array([[0, 1, 1], [0, -1, 1]])
    plot_phase_portrait_2d(flow, limits=LIMITS, basins=labels, n_grid=30, ax=ax)
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array().filled(-1), labels)
    # The middle of the outer cells is on the limits.
    assert image.get_extent() == [-2.25, 2.25, -0.5, 1.5]
    with pytest.raises(ValueError, match=r"basins must be \(row, column\)"):
        plot_phase_portrait_2d(flow, limits=LIMITS, basins=labels[0], n_grid=30)


def test_points_outside_are_not_drawn_and_limits_have_an_order():
    ax = plot_phase_portrait_2d(flow, limits=[(0, 1.5), (0, 1)], fixed_points=FOUND, n_grid=30)
    assert legend(ax)[2:] == ["stable focus"]
    with pytest.raises(ValueError, match="smallest then largest"):
        plot_phase_portrait_2d(flow, limits=[(1, 0), (0, 1)])


# Spectra


def test_spectrum_map(ax):
    values = np.array([[-1 + 2j, -1 - 2j], [-3, 0.5]])
    plot_spectrum_map(values, [0.1, 1.0], name="contrast", log=True, ax=ax)
    (dots,) = ax.collections
    np.testing.assert_allclose(dots.get_offsets(), [[-1, 2], [-1, -2], [-3, 0], [0.5, 0]])
    np.testing.assert_allclose(dots.get_array(), [0.1, 0.1, 1, 1])
    assert (line(ax, "imaginary axis").get_xdata() == np.zeros(2)).all()
    assert ax.figure.axes[1].get_ylabel() == "contrast"
    # One circuit has no bar.
    assert len(plot_spectrum_map(values[:1]).figure.axes) == 1
    with pytest.raises(ValueError, match=r"values must be \(circuit,\) = \(2,\)"):
        plot_spectrum_map(values, [1.0])
    with pytest.raises(ValueError, match=r"eigenvalues must be \(circuit, mode\)"):
        plot_spectrum_map(values[0])


def test_power_spectra_mark_their_peaks(ax):
    f = np.linspace(1, 100, 100)
    spectra = np.stack([1 / (1 + (f - 40) ** 2), 1 / f])
    plot_power_spectra(f, spectra, names=["0.5", "0.1"], estimates=2 * spectra, ax=ax)
    marks = [drawn.get_xydata() for drawn in ax.lines if drawn.get_marker() == "v"]
    np.testing.assert_allclose(marks, [[[40, 1]]])
    np.testing.assert_allclose(line(ax, "0.1").get_ydata(), spectra[1])
    dots = [drawn.get_ydata() for drawn in ax.lines if drawn.get_marker() == "."]
    np.testing.assert_allclose(dots, 2 * spectra)
    assert (ax.get_xscale(), ax.get_yscale(), legend(ax)) == ("log", "log", ["0.5", "0.1"])
    for given, message in (
        ((f[1:], spectra), r"spectra \(curve, frequency\)"),
        ((f - 1, spectra), "frequencies must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            plot_power_spectra(*given)
    with pytest.raises(ValueError, match="estimates must be"):
        plot_power_spectra(f, spectra, estimates=spectra[0])


# Contrast and energy


def test_contrast_response_and_its_fit(ax):
    responses = hyperbolic_ratio(C, r_max=2, c50=0.1, exponent=2)
    fit = contrast_response(responses, C)
    plot_contrast_response(C, responses, fits=fit, names="unit", ax=ax)
    np.testing.assert_allclose(line(ax, "unit").get_xydata(), np.stack([C, responses], axis=1))
    x, y = ax.lines[1].get_data()
    np.testing.assert_allclose(y, hyperbolic_ratio(x, r_max=2, c50=0.1, exponent=2), rtol=1e-4)
    assert legend(ax) == ["unit"]
    assert ax.lines[0].get_color() == PALETTE[0]


def test_contrast_responses_without_fits_are_joined():
    order = np.array([2, 0, 1])
    ax = plot_contrast_response(C[order], np.stack([C, 2 * C])[:, order])
    np.testing.assert_allclose(ax.lines[1].get_xydata(), np.stack([C, 2 * C], axis=1)[:3])
    assert ax.get_legend() is None
    for given, message in (
        ((C, C[1:]), r"responses \(curve, contrast\)"),
        ((C - C[0], C), "contrasts must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            plot_contrast_response(*given)
    with pytest.raises(ValueError, match="names must be one for each of 1 curve"):
        plot_contrast_response(C, C, names=["a", "b"])
    with pytest.raises(ValueError, match="fits must be one for each of 2 curve"):
        plot_contrast_response(C, np.stack([C, C]), fits=[None])


def test_energy_with_its_parts(ax):
    ts = np.arange(4) / 1000
    energies = np.array([[8.0, 4, 2, 0], [1, 0.5, 0.25, 0.1]])
    plot_energy(ts, energies, parts={"response": energies[0] / 2}, ax=ax)
    np.testing.assert_allclose(line(ax, "energy").get_xydata()[:3], [[0, 8], [1, 4], [2, 2]])
    assert np.isnan(line(ax, "energy").get_ydata()[3])
    assert legend(ax) == ["energy", "response"]
    assert ax.get_ylim()[0] == pytest.approx(0.01)
    assert ax.get_yscale() == "log"
    assert plot_energy(ts, energies[1]).get_legend() is None
    with pytest.raises(ValueError, match=r"energies \(trajectory, time\)"):
        plot_energy(ts[1:], energies)
    with pytest.raises(ValueError, match="part 'response' must be"):
        plot_energy(ts, energies, parts={"response": [1.0]})
