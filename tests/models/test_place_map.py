"""Place maps against closed forms of their statistics; Monte-Carlo errors are stated."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels import min_distance
from neurosim.models.place_field_statistics import Environment, FieldStatistics
from neurosim.models.place_map import PlaceMap
from neurosim.models.place_map import sample_place_map as draw_map
from neurosim.models.place_map_ensemble import PlaceMapEnsemble

KEY = jax.random.key(0)
UNKNOWN: Any = "shift"
sample_place_map = eqx.filter_jit(draw_map)
TRACK, BOX = (FieldStatistics.preset(f"rooke2024_{d}d") for d in (1, 2))
ENDS = np.array([[0.0], [0.5]])


def ensemble(**options):
    return PlaceMapEnsemble(Environment(1.0), TRACK, 1 / 3, **options)


def test_numbers_of_fields():
    for statistics, room, expected in (
        (TRACK, Environment(1.0), [0.71554, 0.21466, 0.05367, 0.01252]),
        (TRACK, Environment(8.0), [0.19245, 0.19245, 0.16038, 0.12474]),
        (BOX, Environment(1.0, 2), [0.76720, 0.19180, 0.03463, 0.00545]),
    ):
        np.testing.assert_allclose(statistics.pmf(np.arange(4), room), expected, atol=5.1e-6)
        assert statistics.active_fraction(room) == pytest.approx(1 - expected[0], abs=5e-6)
    tracks = [Environment(L) for L in (1, 2, 4, 8, 16)]
    assert [TRACK.max_fields(room) for room in tracks] == [9, 13, 21, 37, 68]
    boxes = [Environment(A**0.5, 2) for A in (1, 2, 4, 8, 16)]
    assert [BOX.max_fields(room) for room in boxes] == [7, 10, 15, 24, 42]
    assert TRACK.mean_fields(tracks[3]) == pytest.approx(3.0)
    assert FieldStatistics.preset("rich2014").beta0 == pytest.approx(7.81, abs=0.01)


def test_drawn_numbers_have_their_probabilities():
    counts = np.asarray(ensemble().draw_counts(KEY, 20000))
    p = TRACK.pmf(np.arange(4), Environment(1.0))
    shares = [(counts == k).mean() for k in range(4)]
    np.testing.assert_allclose(shares, p, atol=4 * np.sqrt(0.25 / 20000))


@pytest.mark.usefixtures("double_precision")
def test_one_field_and_its_derivatives():
    m = PlaceMap(
        jnp.full((1, 1, 1), 0.5), jnp.ones((1, 1), bool), jnp.full((1, 1), 0.2), jnp.array([29.9])
    )
    assert float(m([0.45])[0]) == pytest.approx(26.486657, abs=1e-6)
    assert float(m.jacobian([0.45])[0, 0]) == pytest.approx(131.933286, abs=1e-6)
    room = Environment(1.5, 2)
    m = sample_place_map(KEY, 20, PlaceMapEnsemble(room, BOX, 0.6, width_spread=0.3))
    x = jnp.asarray(room.grid(3))
    np.testing.assert_allclose(m.jacobian(x), jax.vmap(jax.jacfwd(m))(x), atol=1e-10)
    x = x[4:5]
    pushed = jax.jvp(m, (x,), (jnp.ones_like(x),))[1]
    np.testing.assert_allclose(pushed, (m(x + 1e-6) - m(x - 1e-6)) / 2e-6, atol=1e-5)


@pytest.mark.parametrize("dim", [1, 2])
def test_peaks(dim):
    room = Environment(1.0, dim)
    m = sample_place_map(KEY, 60, PlaceMapEnsemble(room, (TRACK, BOX)[dim - 1], 0.3))
    peaks = np.asarray(m(room.grid(101 if dim == 1 else 41))).max(axis=0)
    active = np.asarray(m.mask.any(axis=1))
    # Between the points of the grids, which are 1/40 of the width apart or less.
    np.testing.assert_allclose(peaks[active], 30, rtol=0.015)
    np.testing.assert_allclose(peaks[~active], 0.1, rtol=1e-6)


def test_moments_of_fields_of_one_height():
    rates = np.asarray(sample_place_map(KEY, 40000, ensemble(normalization="field"))(ENDS))
    # Standard errors: sqrt(var / n) of means, about 2 % of variances.
    np.testing.assert_allclose(rates.mean(axis=1), [2.442131, 4.771615], atol=4 * 0.05)
    np.testing.assert_allclose(rates.var(axis=1), [53.175534, 113.584104], rtol=0.06)
    long = PlaceMapEnsemble(Environment(8.0), TRACK, 1.0, normalization="field")
    rates = np.asarray(sample_place_map(KEY, 20000, long)(8 * ENDS))
    np.testing.assert_allclose(rates.mean(axis=1), [7.126392, 14.152785], atol=4 * 0.15)
    np.testing.assert_allclose(rates.var(axis=1), [181.46891, 428.76474], rtol=0.06)
    box = PlaceMapEnsemble(Environment(1.0, 2), BOX, 0.5, normalization="field")
    corner = np.asarray(sample_place_map(KEY, 40000, box)([0.0, 0.0]))
    assert corner.mean() == pytest.approx(0.925484, abs=4 * 0.018)
    assert corner.var() == pytest.approx(12.645402, rel=0.15)


def test_centres_near_walls():
    for bias in (1.0, 0.5):
        m = sample_place_map(KEY, 2000, ensemble(bias=bias))
        c = np.asarray(m.centres)
        assert c.mean() == pytest.approx(0.5, abs=0.01)
        assert c.var() == pytest.approx(1 / (4 * (2 * bias + 1)), rel=0.03)


def test_correlation_between_contexts():
    m = sample_place_map(KEY, 40000, ensemble(normalization="field"))
    key = jax.random.key(5)
    before = np.asarray(m(ENDS))
    # Standard error 0.005; twice that for heavy tails.
    cases: Any = (
        ([0.0, 0.0], {}),
        ([0.7, 0.7], {"kind": "partial", "fraction": 0.3}),
        ([0.068773, 0.128093], {"preserve_propensity": True}),
    )
    for expected, options in cases:
        after = np.asarray(m.remap(key, **options)(ENDS))
        r = [np.corrcoef(u, v)[0, 1] for u, v in zip(before, after, strict=True)]
        np.testing.assert_allclose(r, expected, atol=0.03)
        if options.get("kind") == "partial":
            # The nearest pair is at one place, sqrt(rho) of the distance of new maps, 10.31: so
            # sigma has to be below that of rho_c = (2 sigma / 10.31)^2.
            nearest = min_distance(before, after)
            assert nearest.index_a == nearest.index_b == 0
            distance = nearest.value / 40000**0.5
            assert distance == pytest.approx((0.3 * 2 * 53.175534) ** 0.5, rel=0.03)
            for sigma in (2.7, 3.0):
                assert (distance > 2 * sigma) == ((2 * sigma / 10.3128) ** 2 < 0.3)
    kept = m.remap(key, "partial", fraction=0.0)
    np.testing.assert_array_equal(kept.centres, m.centres)
    rate = m.remap(key, "rate", gain_sd=0.5)
    np.testing.assert_array_equal(rate.mask, m.mask)
    active = np.asarray(m.mask.any(axis=1))
    ratio = np.asarray(rate.gain)[active] / np.asarray(m.gain)[active]
    assert ratio.mean() == pytest.approx(1, abs=4 * 0.53 / np.sqrt(active.sum()))
    assert np.log(ratio).std() == pytest.approx(0.5, rel=0.04)


def test_contexts_of_the_same_propensity():
    m = sample_place_map(KEY, 50, ensemble()).remap(KEY, preserve_propensity=True)
    again = m.remap(jax.random.key(2), preserve_propensity=True)
    np.testing.assert_array_equal(again.propensity, m.propensity)


def test_a_draw_beyond_the_most_fields_is_an_error():
    crowded = PlaceMapEnsemble(Environment(8.0), TRACK, 1.0, max_fields=2)
    with pytest.raises(RuntimeError, match="max_fields=2"):
        crowded.draw_counts(KEY, 100).block_until_ready()


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_refused():
    room = Environment(1.0)
    m = sample_place_map(KEY, 3, ensemble())
    loose = PlaceMap(m.centres, m.mask, m.widths, m.gain)
    for make, message in (
        (lambda: Environment(0.0), "size must be"),
        (lambda: Environment(1.0, 4), "dim must be"),
        (lambda: room.grid(1), "n_bins must be"),
        (lambda: FieldStatistics(-1.0, 4.0), "alpha must be"),
        (lambda: FieldStatistics(1.0, 4.0, 3), "dim must be"),
        (lambda: FieldStatistics.preset("none"), "name must be"),
        (lambda: TRACK.pmf([0.5], room), "counts must be"),
        (lambda: TRACK.beta(Environment(1.0, 2)), "got an environment of 2"),
        (lambda: TRACK.max_fields(room, tail=1.0), "tail must be"),
        (lambda: ensemble(bias=0.0), "bias must be"),
        (lambda: ensemble(peak=0.1), "0 <= baseline < peak"),
        (lambda: ensemble(width_spread=-1.0), "width_spread must"),
        (lambda: ensemble(normalization="none"), "normalization must"),
        (lambda: draw_map(KEY, 0, ensemble()), "n_cells must"),
        (lambda: m([[1.2]]), "must lie in the environment"),
        (lambda: m([[np.nan]]), "must lie in the environment"),
        (lambda: m([[0.1, 0.2]]), "positions must be"),
        (lambda: m.remap(KEY, UNKNOWN), "kind must be"),
        (lambda: m.remap(KEY, "partial", fraction=2.0), "fraction must be"),
        (lambda: m.remap(KEY, "rate", gain_sd=-1.0), "gain_sd must"),
        (lambda: loose.remap(KEY), "drawn from an ensemble"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
