"""Decoding against Bayes' rule by hand, pynapple, enumeration of paths and the Cramer-Rao bound."""

import itertools

import numpy as np
import pytest
from scipy.stats import poisson

from neurosim.analysis.context_decoding import decode_context
from neurosim.analysis.decoding_error import decoding_confusion, decoding_error
from neurosim.analysis.io import bin_spikes
from neurosim.analysis.position_decoding import decode_position
from neurosim.analysis.random_foraging import poisson_spikes, random_foraging
from neurosim.analysis.rate_maps import rate_maps

RNG = np.random.default_rng(0)
MAPS = RNG.uniform(0.5, 20, (6, 8))
COUNTS = RNG.poisson(2, (30, 6))


def by_hand(counts, maps, dt, prior):
    p = prior * np.prod(poisson.pmf(counts[:, :, None], dt * maps[None]), axis=1)
    return p / p.sum(axis=1, keepdims=True)


def test_bayes_rule():
    prior = RNG.random(8)
    for given in (None, prior):
        decoded = decode_position(COUNTS, MAPS, 0.3, prior=given)
        expected = by_hand(COUNTS, MAPS, 0.3, np.ones(8) if given is None else prior)
        np.testing.assert_allclose(decoded.posterior, expected, rtol=1e-9)
        assert np.array_equal(decoded.map_bin[:, 0], expected.argmax(axis=1))
        np.testing.assert_allclose(decoded.map, decoded.map_bin)
        np.testing.assert_allclose(decoded.mean[:, 0], expected @ np.arange(8))
        bits = -np.sum(expected * np.log2(expected), axis=1)
        np.testing.assert_allclose(decoded.entropy, bits, atol=1e-9)
    weighted = decode_position(COUNTS, MAPS, 0.3, prior="occupancy", occupancy=5 * prior)
    np.testing.assert_allclose(weighted.posterior, decoded.posterior, rtol=1e-9)
    # Edges give positions; a square is as good as a line.
    edges = (np.array([0.0, 1, 3]), np.arange(5) / 4)
    square = decode_position(COUNTS, MAPS.reshape(6, 2, 4), 0.3, edges=edges)
    np.testing.assert_allclose(
        square.posterior.reshape(30, 8), by_hand(COUNTS, MAPS, 0.3, np.ones(8))
    )
    assert set(square.map[:, 0]) <= {0.5, 2.0}
    assert "2 x 4 bins" in repr(square)


def test_chunks_do_not_show():
    n = RNG.poisson(2, (3000, 6))
    many = np.tile(MAPS, 100)[:, :700]
    posterior = decode_position(n, many, 0.3).posterior
    np.testing.assert_allclose(posterior[2500:], decode_position(n[2500:], many, 0.3).posterior)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)


def test_unvisited_bins_are_never_decoded():
    holed = MAPS.copy()
    holed[3, 2] = holed[:, 5] = np.nan
    visited = np.delete(np.arange(8), [2, 5])
    for options in ({}, {"memory": 1.0}, {"memory": 1.0, "smoother": True}):
        decoded = decode_position(COUNTS, holed, 0.3, **options)
        assert (decoded.posterior[:, [2, 5]] == 0).all()
        assert not np.isin(decoded.map_bin, [2, 5]).any()
        np.testing.assert_allclose(decoded.posterior.sum(axis=1), 1)
        assert np.isfinite(decoded.entropy).all()
    alone = decode_position(COUNTS, MAPS[:, visited], 0.3).posterior
    np.testing.assert_allclose(decode_position(COUNTS, holed, 0.3).posterior[:, visited], alone)
    # No spike at all: the prior, less where silence is unlikely; still no unvisited bin.
    silent = decode_position(np.zeros((1, 6)), holed, 0.3)
    assert silent.posterior[0, [2, 5]].sum() == 0


def test_a_spike_outside_of_a_field_does_not_rule_out_a_bin():
    maps = np.array([[0.0, 10], [10, 0]])
    decoded = decode_position([[1, 5]], maps, 1.0, floor=1e-3)
    odds = 1 * np.log(1e-3 / 10) + 5 * np.log(10 / 1e-3)
    assert np.diff(np.log(decoded.posterior[0]))[0] == pytest.approx(-odds)


def test_memory_is_the_sum_over_all_paths():
    n = COUNTS[:4]
    maps = MAPS[:, :5].copy()
    maps[0, 3] = np.nan
    moves = np.exp(-0.5 * ((np.arange(5) - np.arange(5)[:, None]) / 0.8) ** 2)
    moves[:, 3] = 0
    moves /= moves.sum(axis=1, keepdims=True)
    likelihood = np.prod(poisson.pmf(n[:, :, None], 0.3 * np.nan_to_num(maps)[None]), axis=1)
    likelihood[:, 3] = 0
    filtered, smoothed = np.zeros((2, 4, 5))
    for length, into in (
        (None, smoothed),
        (1, filtered),
        (2, filtered),
        (3, filtered),
        (4, filtered),
    ):
        steps = length or 4
        for path in itertools.product(range(5), repeat=steps):
            p = np.prod([likelihood[k, x] for k, x in enumerate(path)])
            p *= np.prod([moves[a, b] for a, b in itertools.pairwise(path)])
            for k, x in enumerate(path):
                if length is None or k == steps - 1:
                    into[k, x] += p
    for later, expected in ((False, filtered), (True, smoothed)):
        expected = expected / expected.sum(axis=1, keepdims=True)
        for memory in (0.8, np.where(np.arange(5)[:, None] == 3, 0, moves)):
            found = decode_position(n, maps, 0.3, memory=memory, smoother=later)
            np.testing.assert_allclose(found.posterior, expected, atol=1e-12)


def test_memory_in_two_dimensions_and_round_a_circle():
    square = MAPS.reshape(6, 2, 4)
    edges = (np.arange(3.0), np.arange(5.0))
    x, y = (g.ravel() for g in np.meshgrid([0.5, 1.5], [0.5, 1.5, 2.5, 3.5], indexing="ij"))
    for wrap in ((False, False), (False, True)):
        dy = np.abs(y - y[:, None])
        # Windings beyond the second have no weight.
        turns = np.arange(-2, 3) * 4 if wrap[1] else np.zeros(1)
        along = np.exp(-0.5 * ((dy[..., None] + turns) / 0.9) ** 2).sum(axis=-1)
        moves = along * np.exp(-0.5 * ((x - x[:, None]) / 0.9) ** 2)
        by_axes = decode_position(
            COUNTS, square, 0.1, edges=edges, wrap=wrap, memory=0.9, smoother=True
        )
        by_matrix = decode_position(COUNTS, MAPS, 0.1, memory=moves, smoother=True)
        np.testing.assert_allclose(by_axes.posterior.reshape(30, 8), by_matrix.posterior, atol=1e-7)
    # A walk that goes anywhere is no memory, but for the prior.
    far = decode_position(COUNTS, MAPS, 0.1, memory=1e6)
    np.testing.assert_allclose(far.posterior, decode_position(COUNTS, MAPS, 0.1).posterior)


def test_an_impossible_jump_is_survived():
    maps = np.full((2, 200), 1e-3)
    maps[0, :100], maps[1, 100:] = 50, 50
    counts = np.array([[90, 0]] * 3 + [[0, 90]] * 3)
    found = decode_position(counts, maps, 1.0, memory=0.5, smoother=True)
    assert np.isfinite(found.posterior).all()
    assert (found.map_bin[:, 0] >= 100).tolist() == [False] * 3 + [True] * 3


def test_mean_round_a_circle():
    maps = np.array([[50.0, 0.1, 0.1, 50.0]])
    found = decode_position([[40]], maps, 1.0, edges=np.arange(0, 361, 90), wrap=True)
    assert decoding_error(found.mean, [0.0], period=360) == pytest.approx(0, abs=1e-6)
    flat = decode_position([[0]], np.ones((1, 4)), 1.0, edges=np.arange(0, 361, 90), wrap=True)
    assert np.isnan(flat.mean).all()
    assert flat.entropy == pytest.approx(2)


def test_the_error_of_many_cells_is_that_of_the_fisher_information():
    centres, w = np.linspace(-0.5, 1.5, 200), 0.2
    edges = np.linspace(0.25, 0.75, 401)
    x = (edges[1:] + edges[:-1]) / 2
    f = 0.1 + 29.9 * np.exp(-2 * (x - centres[:, None]) ** 2 / w**2)
    here = np.argmin(np.abs(x - 0.5))
    slope = -4 * (x[here] - centres) / w**2 * (f[:, here] - 0.1)
    n = np.random.default_rng(5).poisson(0.5 * f[:, here], (2000, 200))
    error = decode_position(n, f, 0.5, edges=edges).mean[:, 0] - x[here]
    bound = 1 / (0.5 * np.sum(slope**2 / f[:, here]))
    # Of 2000 windows the mean square has a standard error of 3 %.
    assert np.mean(error**2) / bound == pytest.approx(1.02, abs=0.1)


def test_equals_pynapple():
    nap = pytest.importorskip("pynapple")
    xarray = pytest.importorskip("xarray")
    curves = xarray.DataArray(
        MAPS, dims=("unit", "x"), coords={"unit": np.arange(6), "x": np.arange(8.0)}
    )
    counts = nap.TsdFrame(t=0.15 + 0.3 * np.arange(30), d=COUNTS.astype(float))
    _, p = nap.decode_bayes(curves, counts, epochs=counts.time_support, bin_size=0.3)
    np.testing.assert_allclose(p.values, decode_position(COUNTS, MAPS, 0.3).posterior, atol=1e-12)


def test_recovers_the_position_of_a_simulated_session():
    centres = np.linspace(0, 1, 30)
    path = random_foraging(1200, 0.05, box=(0, 1), speed=0.15, random_state=4)
    spikes = poisson_spikes(
        lambda x: 0.2 + 15 * np.exp(-((x - centres) ** 2) / (2 * 0.07**2)),
        path.times, path.positions, random_state=5,
    )  # fmt: skip
    maps = rate_maps(
        spikes, path.times, path.positions, bin_size=0.025, extent=(0, 1), sigma=0.025,
        epochs=[0, 800],
    )  # fmt: skip
    binned = bin_spikes(spikes, bin=0.1, epochs=[800, 1200])
    true = np.interp(800 + binned.times, path.times, path.positions[:, 0])
    error = [
        np.median(decoding_error(decode_position(binned.counts[0], maps, 0.1, **options).map, true))
        for options in ({}, {"memory": 0.02}, {"memory": 0.02, "smoother": True})
    ]
    assert error[0] < 0.05
    assert error[2] < error[1] < error[0]
    confusion = decoding_confusion(decode_position(binned.counts[0], maps, 0.1), true)
    np.testing.assert_allclose(confusion.sum(axis=1), 1)
    assert np.median(np.abs(confusion.argmax(axis=1) - np.arange(40))) <= 1


def test_errors():
    assert decoding_error(359, 1, period=360) == pytest.approx(2)
    assert decoding_error([3.0, np.nan], [1.0, 2])[0] == 2
    assert np.isnan(decoding_error([3.0, np.nan], [1.0, 2])[1])
    np.testing.assert_allclose(decoding_error([[0, 0], [1, 1]], [[3, 4], [1, 1]]), [5, 0])
    np.testing.assert_allclose(decoding_error([[9.0, 0]], [[1, 1]], period=(10, None)), [5**0.5])
    p = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0, 1, 0]])
    confusion = decoding_confusion(p, [0.5, 0.6, np.nan], edges=np.arange(4))
    np.testing.assert_allclose(confusion[0], [0.75, 0.25, 0])
    assert np.isnan(confusion[1:]).all()
    # Three turns on, and a rounding of single precision beyond a wall, are where they were.
    there = decoding_confusion(p, [0.5, 0.6, np.float32(3 + 2e-7)], edges=np.arange(4))
    np.testing.assert_allclose(there[2], [0, 1, 0])
    wrap = np.array([True])
    circle = decode_position(COUNTS, MAPS, 0.3, edges=np.arange(9), wrap=wrap)
    assert circle.wrap == (True,)
    true = RNG.uniform(0, 8, 30)
    here, turned = (decoding_confusion(circle, x) for x in (true, true - 24))
    np.testing.assert_allclose(here, turned)


def test_contexts():
    for n in (0, 1, 4):
        found = decode_context([[n]], [np.array([[7.0]]), np.array([[2.0]])], 0.5)
        odds = n * np.log(7 / 2) - 0.5 * (7 - 2)
        assert found.log_evidence[0, 0] - found.log_evidence[0, 1] == pytest.approx(odds)
        assert np.log(found.posterior[0, 0] / found.posterior[0, 1]) == pytest.approx(odds)
    # Maps of different shapes, one with a hole, and a prior.
    a, b = MAPS[:, :5].copy(), MAPS[:, 2:].reshape(6, 2, 3)
    a[2, 1] = np.nan
    found = decode_context(COUNTS, {"a": a, "b": b}, 0.3, prior=[3, 1])
    p = [
        0.75 / 4 * np.prod(poisson.pmf(COUNTS[:, :, None], 0.3 * a[None]), axis=1),
        0.25 / 6 * np.prod(poisson.pmf(COUNTS[:, :, None, None], 0.3 * b[None]), axis=1),
    ]
    p[0][:, 1] = 0
    total = p[0].sum(axis=1) + p[1].sum(axis=(1, 2))
    np.testing.assert_allclose(found.joint[0], p[0] / total[:, None])
    np.testing.assert_allclose(found.joint[1], p[1] / total[:, None, None])
    np.testing.assert_allclose(found.posterior[:, 0], p[0].sum(axis=1) / total)
    assert found.contexts == ("a", "b")
    assert (found.best == (found.posterior[:, 1] > 0.5)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": COUNTS[:, :4]}, r"counts must be \(window, 6 cells\)"),
        ({"counts": COUNTS[0]}, r"counts must be \(window, 6 cells\)"),
        ({"counts": -COUNTS}, "not negative; window 0"),
        ({"counts": COUNTS + 0.5}, "whole numbers"),
        ({"counts": COUNTS * np.nan}, "finite whole numbers"),
        ({"maps": MAPS[0]}, r"pass one map as map\[None\]"),
        ({"maps": -MAPS}, "not negative"),
        ({"maps": np.where(np.arange(6)[:, None] == 0, np.nan, MAPS)}, "no bin is visited"),
        ({"dt": 0}, "dt must be"),
        ({"floor": 0}, "floor must be positive"),
        ({"prior": "flat"}, "prior must be None"),
        ({"prior": "occupancy"}, "needs occupancy"),
        ({"prior": np.zeros(8)}, "prior is 0 in every visited bin"),
        ({"prior": np.ones(7)}, r"prior must be \(8,\)"),
        ({"edges": np.arange(4)}, r"edges are of \(3,\) bins"),
        ({"memory": -1}, "memory must be the s.d."),
        ({"memory": np.ones((3, 3))}, r"or \(8, 8\) probabilities"),
        ({"memory": 1 - np.ones((8, 8))}, "no move from bin 0"),
        ({"smoother": True}, "smoother needs memory"),
    ],
)
def test_bad_input(change, message):
    given = {"counts": COUNTS, "maps": MAPS, "dt": 0.3} | change
    with pytest.raises(ValueError, match=message):
        decode_position(given.pop("counts"), given.pop("maps"), given.pop("dt"), **given)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: decoding_error([1.0, 2], [1.0]), r"both be \(window,\)"),
        (lambda: decoding_error([], []), "not empty"),
        (lambda: decoding_error([np.inf], [1.0]), "finite, or NaN"),
        (lambda: decoding_error([1.0], [1.0], period=0), "period must be positive"),
        (lambda: decoding_error([1.0], [1.0], period=(1, 2)), "one for each of 1"),
        (lambda: decoding_confusion(MAPS, np.zeros(6)), "edges are needed"),
        (lambda: decoding_confusion(MAPS, np.zeros(5), edges=np.arange(9)), "do not fit"),
        (lambda: decoding_confusion(MAPS, np.full(6, 9.0), edges=np.arange(9)), "of window 0 lies"),
        (lambda: decoding_confusion(-MAPS, np.zeros(6), edges=np.arange(9)), "probabilities"),
        (lambda: decode_context(COUNTS, [MAPS], 0.3), "two contexts at least"),
        (lambda: decode_context(COUNTS, [MAPS, MAPS[:4]], 0.3), r"with \[4, 6\] cells"),
        (lambda: decode_context(COUNTS, [MAPS, MAPS], 0.3, prior=[0, 0]), r"prior must be \(2,\)"),
        (lambda: decode_context(COUNTS, MAPS, 0.3), "maps must be a list"),
    ],
)
def test_bad_input_of_what_follows(run, message):
    with pytest.raises(ValueError, match=message):
        run()
