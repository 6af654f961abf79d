"""Fields against closed forms of Gaussians, next to walls, holes and the ends of circles."""

import numpy as np
import pytest

from neurosim.analysis.place_fields import detect_place_fields
from neurosim.analysis.rate_maps import rate_maps

S = 0.06
EDGES = np.linspace(0, 1, 201)
X = (EDGES[1:] + EDGES[:-1]) / 2


def bump(centre, height=10.0, x=X):
    return height * np.exp(-((x - centre) ** 2) / (2 * S**2))


def test_width_and_area_of_gaussian_fields():
    found = detect_place_fields(bump(0.4), edges=EDGES)
    (field,) = found.fields
    assert field.size == pytest.approx(3.5882 * S, abs=0.0101)
    assert field.centroid == pytest.approx((0.4,), abs=1e-3)
    assert field.peak == pytest.approx((0.4,), abs=0.0026)
    assert field.peak_rate == pytest.approx(10, rel=1e-3)
    assert field.n_bins == np.sum(found.labels == 1)
    inside = found.labels == 1
    assert field.mean_rate == pytest.approx(bump(0.4)[inside].mean())
    assert field.in_out_ratio == pytest.approx(bump(0.4)[inside].mean() / bump(0.4)[~inside].mean())
    # Other thresholds: 2 s sqrt(2 ln(1 / threshold)).
    for threshold in (0.1, 0.5):
        size = detect_place_fields(bump(0.4), edges=EDGES, threshold=threshold).fields[0].size
        assert size == pytest.approx(2 * S * np.sqrt(2 * np.log(1 / threshold)), abs=0.0101)
    square = np.multiply.outer(bump(0.4), bump(0.6)) / 10
    (field,) = detect_place_fields(square, bin_size=0.005, d=2).fields
    assert field.size == pytest.approx(10.1125 * S**2, rel=0.01)
    assert field.centroid == pytest.approx((0.4, 0.6), abs=1e-3)


def test_many_cells_at_once_are_those_one_by_one():
    rng = np.random.default_rng(0)
    maps = np.array([bump(a) + bump(b, h) for a, b, h in rng.uniform([0, 0, 1], [1, 1, 9], (9, 3))])
    for how in ("map", "field"):
        together = detect_place_fields(maps, edges=EDGES, relative_to=how)
        assert len(together) >= 9
        for cell in range(9):
            alone = detect_place_fields(maps[cell], edges=EDGES, relative_to=how)
            assert np.array_equal(together.labels[cell], alone.labels)
            assert [f.centroid for f in together.of(cell)] == [f.centroid for f in alone.fields]
            peaks = [f.peak_rate for f in alone.fields]
            assert peaks == sorted(peaks, reverse=True)


def test_small_fields_next_to_large_ones():
    both = bump(0.25, 30) + bump(0.75, 4)
    assert len(detect_place_fields(both, edges=EDGES)) == 1
    found = detect_place_fields(both, edges=EDGES, relative_to="field")
    assert [f.centroid[0] for f in found.fields] == pytest.approx([0.25, 0.75], abs=2e-3)
    assert [f.size for f in found.fields] == pytest.approx([3.5882 * S] * 2, abs=0.0101)
    # The flank of a field is no field: its bins are no local maxima.
    assert len(detect_place_fields(bump(0.25, 30), edges=EDGES, relative_to="field")) == 1
    assert len(detect_place_fields(both, edges=EDGES, relative_to="field", min_peak=5)) == 1


def test_fields_across_the_ends_of_a_circle():
    x = np.mod(X + 0.5, 1) - 0.5
    for how in ("map", "field"):
        circle = detect_place_fields(bump(0.02, x=x), edges=EDGES, wrap=True, relative_to=how)
        (field,) = circle.fields
        assert field.size == pytest.approx(3.5882 * S, abs=0.0101)
        assert field.centroid == pytest.approx((0.02,), abs=1e-3)
    assert len(detect_place_fields(bump(0.02, x=x), edges=EDGES)) == 2
    torus = np.multiply.outer(bump(0.0, x=x), bump(0.0, x=x)) / 10
    for connectivity in (1, 2):
        found = detect_place_fields(
            torus, bin_size=0.005, wrap=True, d=2, connectivity=connectivity
        )
        assert [f.size for f in found.fields] == pytest.approx([10.1125 * S**2], rel=0.01)
    assert len(detect_place_fields(torus, bin_size=0.005, wrap=(True, False), d=2)) == 2
    # A corner of a torus that touches its opposite one.
    corner = np.zeros((6, 6))
    corner[0, 0] = corner[5, 5] = 5
    assert len(detect_place_fields(corner, wrap=True, d=2, connectivity=2)) == 1
    assert len(detect_place_fields(corner, wrap=True, d=2)) == 2
    assert len(detect_place_fields(corner, wrap=(True, False), d=2, connectivity=2)) == 2


def test_corners_join_by_connectivity_and_unvisited_bins_part():
    steps = np.zeros((6, 6))
    steps[1, 1] = steps[2, 2] = 5
    assert len(detect_place_fields(steps, d=2)) == 2
    assert len(detect_place_fields(steps, d=2, connectivity=2)) == 1
    holed = bump(0.5)
    holed[98:102] = np.nan
    found = detect_place_fields(holed, edges=EDGES)
    assert len(found) == 2
    assert (found.labels[98:102] == 0).all()


@pytest.mark.parametrize("how", ["map", "field"])
def test_maps_without_fields(how):
    for rates in (np.zeros(9), np.full(9, 5.0), np.full(9, np.nan), np.full(9, 0.1)):
        found = detect_place_fields(rates, relative_to=how)
        assert found.fields == ()
        assert (found.labels == 0).all()
    stack = np.stack([np.full(200, np.nan), bump(0.3), np.full(200, 3.0), bump(0.3, 0.9)])
    assert [f.cell for f in detect_place_fields(stack, relative_to=how).fields] == [1]
    busy = bump(0.3, 40) + 9
    assert len(detect_place_fields(busy, relative_to=how, threshold=0.5)) == 0
    assert len(detect_place_fields(busy, relative_to=how, threshold=0.5, max_mean_rate=99)) == 1
    assert len(detect_place_fields(bump(0.3), edges=EDGES, relative_to=how, min_size=0.3)) == 0


def test_ratio_where_the_cell_is_silent_elsewhere():
    rates = np.where(np.arange(9) == 4, 5.0, 0)
    assert detect_place_fields(rates).fields[0].in_out_ratio == np.inf


def test_maps_of_a_session():
    t = np.arange(0, 200, 0.1)
    x = np.mod(t / 10, 1)
    spikes = np.arange(0, 199.9, 0.05)
    spikes = spikes[np.abs(np.mod(spikes / 10 + 0.5, 1) - 0.5) < 0.1]
    maps = rate_maps(spikes, t, x, bin_size=0.05, extent=(0, 1), wrap=True)
    (field,) = detect_place_fields(maps).fields
    assert field.size == pytest.approx(0.2)
    assert np.mod(field.centroid[0] + 0.5, 1) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": 1}, "threshold must be from 0 up to 1"),
        ({"relative_to": "peak"}, "relative_to must be"),
        ({"connectivity": 3}, "connectivity must be 1 or 2"),
        ({"min_peak": -1}, "min_peak and min_size"),
        ({"edges": EDGES[1:]}, r"edges are of \(199,\) bins, but maps have \(200,\)"),
        ({"edges": EDGES, "bin_size": 1}, "edges or bin_size, not both"),
        ({"bin_size": 0}, "bin_size must be positive"),
        ({"maps": -bump(0.4)}, "not negative"),
        ({"maps": np.zeros((2, 2, 2, 2))}, "1 or 2 axes"),
    ],
)
def test_bad_input(change, message):
    given = {"maps": bump(0.4)} | change
    with pytest.raises(ValueError, match=message):
        detect_place_fields(given.pop("maps"), **given)
