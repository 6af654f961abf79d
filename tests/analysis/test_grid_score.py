"""Grid scores against figures of the published scorer, and against it, turn by turn."""

import numpy as np
import pytest
import scipy.ndimage

from neurosim.analysis.grid_score import autocorrelogram_grid_score, grid_score
from neurosim.analysis.rotated_correlogram import ANGLES, ring_correlations
from neurosim.analysis.spatial_autocorrelogram import spatial_autocorrelogram
from neurosim.kernels.ideal_grid import ideal_grid_map

RNG = np.random.default_rng(0)
CENTRES = (np.arange(40) + 0.5) / 40
X = np.stack(np.meshgrid(CENTRES, CENTRES, indexing="ij"), axis=-1)
HEX = ideal_grid_map(X, spacing=0.3)
SQUARE = ideal_grid_map(X, spacing=0.3, lattice="square")
NOISY = np.stack([HEX, SQUARE]) + 0.3 * RNG.normal(size=(2, 40, 40))


@pytest.mark.parametrize(
    ("settings", "score_60", "score_90", "outer"),
    [
        ({"spacing": 0.3}, 1.41615, 0.22415, 0.3895),
        ({"spacing": 0.3, "orientation": np.deg2rad(7.5)}, 1.417, 0.243, 0.3895),
        ({"spacing": 0.45, "orientation": 0.2}, 1.41159, 0.42436, 0.5789),
        ({"spacing": 0.3, "lattice": "square"}, -0.31498, 1.76517, 0.7684),
        ({"spacing": 0.3, "orientation": 0.5, "lattice": "band"}, 0.15231, 0.28243, 0.3895),
    ],
)
def test_published_scorer_on_ideal_maps(settings, score_60, score_90, outer):
    scores = grid_score(ideal_grid_map(X, **settings))
    tolerance = 6e-6 if len(str(score_60)) > 6 else 6e-4
    assert scores.score_60 == pytest.approx(score_60, abs=tolerance)
    assert scores.score_90 == pytest.approx(score_90, abs=tolerance)
    np.testing.assert_allclose(scores.ring_60, [0.1, outer], atol=6e-5)
    assert scores.reasons == ""


def test_published_scorer_on_more():
    maps = [ideal_grid_map(X, spacing=s) for s in (0.2, 0.6)]
    maps.append(np.exp(-np.sum((X - 0.5) ** 2, axis=-1) / (2 * 0.125**2)))
    scores = grid_score(np.stack(maps))
    np.testing.assert_allclose(scores.score_60, [1.463, 1.346, 0.000], atol=6e-4)
    assert scores.score_90[2] == pytest.approx(0.560, abs=6e-4)
    narrow = grid_score(np.stack([HEX, SQUARE]), variant="narrow")
    np.testing.assert_allclose(narrow.score_60, [1.640, -0.318], atol=6e-4)
    assert narrow.score_90[1] == pytest.approx(1.303, abs=6e-4)


def one_by_one(sac, r_in, r_out):
    """Correlations of rings with images that scipy has turned."""
    middle = len(sac) // 2
    at = np.arange(len(sac)) - middle
    radius = np.hypot(at[:, None], at)
    found = {}
    for angle in ANGLES:
        turned = scipy.ndimage.rotate(sac, angle, reshape=False, order=3)
        for r in r_out:
            ring = (radius <= r) & (radius > r_in)
            s = sac[ring] - sac[ring].mean()
            product = np.mean(s * (turned[ring] - sac[ring].mean()))
            found.setdefault(angle, []).append(product / (np.mean(s**2) + 1e-5))
    return found


@pytest.mark.parametrize("side", [9, 40])
def test_turns_are_those_of_scipy(side):
    noise = RNG.normal(size=(3, side, side))
    sacs = np.nan_to_num(spatial_autocorrelogram(noise, min_overlap=2))
    r_out = np.linspace(0.2, 1.4, 6) * side
    found = ring_correlations(sacs, r_in=0.1 * side, r_out=r_out)
    for i, sac in enumerate(sacs):
        for angle, expected in one_by_one(sac, 0.1 * side, r_out).items():
            np.testing.assert_allclose(found[angle][i], expected, atol=1e-11)


@pytest.mark.parametrize("variant", ["official", "min_max", "narrow", "narrow_min_max"])
def test_variants_from_correlations(variant):
    wide = not variant.startswith("narrow")
    r_in, r_out = (0.1, np.linspace(0.2, 1.4, 20)) if wide else (0.2, np.linspace(0.4, 1, 10))
    scores = grid_score(NOISY, variant=variant)
    sacs = spatial_autocorrelogram(NOISY, min_overlap=2)
    for i, sac in enumerate(np.nan_to_num(sacs)):
        c = {k: np.array(v) for k, v in one_by_one(sac, 40 * r_in, 40 * r_out).items()}
        if variant.endswith("min_max"):
            score = np.minimum(c[60], c[120]) - np.maximum.reduce([c[30], c[90], c[150]])
        else:
            score = (c[60] + c[120]) / 2 - (c[30] + c[90] + c[150]) / 3
        assert scores.score_60[i] == pytest.approx(score.max(), abs=1e-10)
        assert scores.ring_60[i] == pytest.approx([r_in, r_out[score.argmax()]])
        square = c[90] - (c[45] + c[135]) / 2
        assert scores.score_90[i] == pytest.approx(square.max(), abs=1e-10)
    again = autocorrelogram_grid_score(sacs, variant=variant)
    np.testing.assert_allclose(again.score_60, scores.score_60, atol=1e-12)
    own = grid_score(NOISY, variant=variant, r_in=r_in, r_out=r_out)
    np.testing.assert_array_equal(own.score_60, scores.score_60)


def test_unvisited_bins_hardly_matter():
    corner, holes = HEX.copy(), HEX.copy()
    corner[:10, :10] = np.nan
    holes[RNG.random(HEX.shape) < 0.2] = np.nan
    scores = grid_score(np.stack([HEX, corner, holes])).score_60
    assert scores[0] > 1
    np.testing.assert_allclose(scores[1:], scores[0], atol=0.05)


def test_maps_without_information_are_nan_with_a_reason():
    maps = np.stack([0 * HEX, 0 * HEX + 2.7, np.nan * HEX, HEX])
    with pytest.warns(UserWarning, match=r"grid score is NaN for 3 of 4 map\(s\).*constant"):
        scores = grid_score(maps)
    assert np.isnan(scores.score_60[:3]).all()
    assert np.isnan(scores.score_90[:3]).all()
    assert np.isnan(scores.ring_60[:3]).all()
    assert list(scores.reasons) == ["the map is constant"] * 2 + ["every bin is NaN", ""]
    assert scores.score_60[3] == grid_score(HEX).score_60
    with pytest.warns(UserWarning, match="too small for any ring"):
        tiny = grid_score(np.array([[1.0, 2.0], [3.0, 5.0]]), r_in=0.1, r_out=0.2)
    assert np.isnan(tiny.score_60)
    assert tiny.reasons == "the map is too small for any ring"


def test_one_field_only_is_no_grid():
    spot = np.exp(-np.sum((X - [0.2, 0.7]) ** 2, axis=-1) / (2 * 0.1**2))
    assert abs(grid_score(spot).score_60) < 0.1


def test_boxes_that_are_not_square():
    # The middle of a long box, and the box itself, have a grid to show.
    y = np.stack(np.meshgrid(CENTRES, np.arange(60) / 40, indexing="ij"), axis=-1)
    scores = grid_score(np.stack([ideal_grid_map(y, spacing=s) for s in (0.25, 0.4)]))
    assert (scores.score_60 > 1.2).all()
    turned = grid_score(ideal_grid_map(y, spacing=0.25).T)
    assert turned.score_60 == pytest.approx(scores.score_60[0], abs=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grid_score(HEX, variant="best"), "variant must be one of official, min_max"),
        (lambda: grid_score(HEX, r_in=-0.1), "r_in must be a number, not negative"),
        (lambda: grid_score(HEX, r_out=np.array([0.3, 0.2])), "r_out must increase"),
        (lambda: grid_score(HEX, r_in=0.4, r_out=0.3), r"from above r_in \(0.4\)"),
        (lambda: grid_score(HEX[0]), r"must be \(cell, bins, bins\)"),
        (lambda: grid_score(HEX, min_overlap=0), "min_overlap must be at least 2"),
        (lambda: autocorrelogram_grid_score(HEX), "must be of odd size"),
        (lambda: autocorrelogram_grid_score(HEX[1:, 1:]), "must be point-symmetric"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
