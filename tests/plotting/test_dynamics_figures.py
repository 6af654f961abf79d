"""Figures of dynamics: borders of stability, and fixed points where they are."""

import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import DMD, find_fixed_points
from neurosim.plotting import new_figure, plot_eigenvalues, plot_flow_field


@pytest.fixture
def ax():
    """An empty axis, whose figure is drawn after the test: some faults show only then."""
    figure, ax = new_figure(3, 3)
    yield ax
    figure.canvas.draw()


def points(ax, label):
    """The points drawn under this label, `(point, 2)`."""
    found = [line.get_xydata() for line in ax.lines if line.get_label() == label]
    return np.concatenate(found) if found else np.zeros((0, 2))


# Eigenvalues


def test_eigenvalues_of_a_map_lie_about_the_unit_circle(ax):
    assert plot_eigenvalues(np.array([0.5 + 0.5j, -1.2]), kind="map", ax=ax) is ax
    np.testing.assert_allclose(np.linalg.norm(points(ax, "unit circle"), axis=1), 1)
    np.testing.assert_allclose(points(ax, "stable"), [[0.5, 0.5]])
    np.testing.assert_allclose(points(ax, "not stable"), [[-1.2, 0]])
    assert ax.get_aspect() == 1


def test_eigenvalues_of_a_flow_lie_about_the_imaginary_axis():
    ax = plot_eigenvalues(np.array([[-3.0, 0.5 + 2j], [-1, -2]]), kind="flow")
    assert (points(ax, "imaginary axis")[:, 0] == 0).all()
    np.testing.assert_allclose(points(ax, "stable"), [[-3, 0]])
    np.testing.assert_allclose(points(ax, "not stable"), [[0.5, 2]])
    # The second set has a colour of its own, and no entry of its own in a legend.
    assert ax.get_legend_handles_labels()[1] == ["imaginary axis", "stable", "not stable"]
    assert ax.lines[-1].get_markeredgecolor() != ax.lines[1].get_markeredgecolor()
    np.testing.assert_allclose(ax.lines[-1].get_xydata(), [[-1, 0], [-2, 0]])
    assert ax.get_xlabel() == "real part (per unit of time)"


def test_eigenvalues_of_a_fit_are_those_of_a_map(ax):
    x = 0.5 ** np.arange(6.0)[:, None] * [1.0, 2.0]
    plot_eigenvalues(DMD(rank=1).fit(x), ax=ax)
    np.testing.assert_allclose(points(ax, "stable"), [[0.5, 0]], atol=1e-6)


def test_eigenvalues_of_no_known_kind():
    with pytest.raises(ValueError, match="'map' or 'flow', got None"):
        plot_eigenvalues(np.ones(2))
    with pytest.raises(ValueError, match=r"\(mode,\) or \(set, mode\), got shape \(\)"):
        plot_eigenvalues(1.0, kind="map")
    fit = DMD(rank=1).fit(0.5 ** np.arange(6.0)[:, None])
    with pytest.raises(ValueError, match="kind is 'map' of what was given, not 'flow'"):
        plot_eigenvalues(fit, kind="flow")


# Flow fields


def bistable(x):
    """Fixed points at -1, 0 and 1 along the second coordinate, of which 0 is not stable."""
    return jnp.stack([-x[0], x[1] - x[1] ** 3, -x[2]])


PLANE = np.array([[0.0, 1, 0], [0, 0, 1]])
SQUARE = [(-2, 2), (-1, 1)]


def test_flow_field_has_fixed_points_where_they_are(ax, double_precision):
    starts = np.array([[0.1, y, 0.1] for y in (-1.2, 0.05, 1.2)])
    found = find_fixed_points(bistable, starts, kind="flow")
    drawn = plot_flow_field(
        bistable, PLANE, limits=SQUARE, fixed_points=found, origin=np.array([0, 0.5, 0]), ax=ax
    )
    assert drawn is ax
    # In the plane, from its origin.
    at = np.sort(points(ax, "stable fixed point")[:, 0])
    np.testing.assert_allclose(at, [-1.5, 0.5], atol=1e-6)
    np.testing.assert_allclose(points(ax, "unstable fixed point"), [[-0.5, 0]], atol=1e-6)
    assert ax.get_xlim() == (-2, 2)
    plot_eigenvalues(found, ax=new_figure(2, 2)[1])


@pytest.mark.parametrize("kind", ["map", "flow"])
def test_streamlines_follow_the_flow(ax, kind):
    # Everything moves along the first axis of the plane, and for a map by how far a step goes.
    def f(x):
        drift = jnp.array([0.0, 1.0, 0.0])
        return x + drift if kind == "map" else drift

    plot_flow_field(f, PLANE, limits=SQUARE, kind=kind, n_grid=8, ax=ax)
    (lines,) = (c for c in ax.collections if hasattr(c, "get_segments"))
    steps = np.concatenate([np.diff(s, axis=0) for s in lines.get_segments()])
    np.testing.assert_allclose(steps[:, 1], 0, atol=1e-6)
    assert steps[:, 0].max() > 0.01
    assert steps[:, 0].min() >= 0


def test_streamlines_of_a_shear_turn_back_where_it_does(ax):
    def shear(x):
        return jnp.stack([0 * x[0], x[2] - 0.5, 0 * x[2]])

    plot_flow_field(shear, PLANE, limits=SQUARE, kind="flow", ax=ax)
    (lines,) = (c for c in ax.collections if hasattr(c, "get_segments"))
    segments = np.stack([s for s in lines.get_segments() if abs(s[0, 1] - 0.5) > 0.05])
    along = np.diff(segments, axis=1)[:, 0, 0]
    assert len(along) > 10
    assert (along * (segments[:, 0, 1] - 0.5) >= 0).all()


def test_continuum_is_drawn_with_its_members(double_precision):
    def line(x):
        return jnp.stack([-x[0], 0 * x[1], -x[2]])

    starts = np.array([[0.1, y, 0.0] for y in np.linspace(-1, 1, 9)])
    found = find_fixed_points(line, starts, kind="flow")
    assert found.continuous.all()
    ax = plot_flow_field(line, PLANE, limits=SQUARE, fixed_points=found)
    drawn = points(ax, "stable continuum")
    assert len(drawn) == len(found.members[0]) > 3
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plane": np.eye(3)}, r"plane must be \(2, n\), got shape \(3, 3\)"),
        ({"plane": 2 * PLANE}, "orthonormal"),
        ({"origin": np.zeros(2)}, r"origin must be \(3,\)"),
        ({"limits": [(1, -1), (0, 1)]}, "smallest then largest"),
        ({"limits": [0, 1]}, "smallest then largest"),
        ({"kind": None}, "got None"),
    ],
)
def test_flow_fields_that_cannot_be_drawn(options, message):
    given = {"plane": PLANE, "limits": SQUARE, "kind": "flow"} | options
    with pytest.raises(ValueError, match=message):
        plot_flow_field(bistable, given.pop("plane"), **given)
