"""Kinds of remapping of model populations, from maps with the noise of spikes."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from neurosim.analysis.remapping import remapping_report

N, BINS, SECONDS = 120, 40, 10.0


def place_maps(rng):
    """Gamma-Poisson fields of width 0.5 m on a 4 m track, peaks of 30 Hz over a baseline of 0.1."""
    x = (np.arange(BINS) + 0.5) / BINS * 4
    n = rng.poisson(rng.gamma(1.5, 1.0, size=N))
    fields = np.zeros((N, BINS))
    for k in range(n.max()):
        bump = np.exp(-8 * (x - rng.uniform(0, 4, size=(N, 1))) ** 2)
        fields += np.where((n > k)[:, None], bump, 0)
    return 0.1 + 29.9 * fields / np.maximum(fields.max(axis=1, keepdims=True), 1e-9)


def recorded(maps, rng):
    """Two halves of a session."""
    counts = rng.poisson(maps * SECONDS, size=(2, *maps.shape))
    return list(gaussian_filter1d(counts / SECONDS, 1.0, axis=2))


def report(kind, seed, **settings):
    """The report, and the share of cells that have moved, of all and of those active in both."""
    rng = np.random.default_rng(seed)
    a, other = place_maps(rng), place_maps(rng)
    moved = rng.random(N) < {"none": 0, "rate": 0, "partial": 0.4, "global": 1}[kind]
    b = np.where(moved[:, None], other, a)
    if kind == "rate":
        b = 0.1 + (a - 0.1) * rng.lognormal(-0.32, 0.8, size=(N, 1))
    halves = recorded(a, rng), recorded(b, rng)
    found = remapping_report(
        np.mean(halves[0], axis=0), np.mean(halves[1], axis=0), bin_size=0.1,
        halves_a=halves[0], halves_b=halves[1], n_shuffles=200, n_resamples=200, **settings,
    )  # fmt: skip
    active = (a.max(axis=1) > 1) & (b.max(axis=1) > 1)
    return found, moved.mean(), moved[active].mean()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", ["none", "rate", "partial", "global"])
def test_kinds_are_told_apart(kind, seed):
    found, moved, moved_active = report(kind, seed)
    assert found.kind == kind
    # Maps that have moved are alike, or unlike, by chance: a spread of 0.3 over some 50 cells.
    assert found.moved_fraction == pytest.approx(moved_active, abs=0.12)
    low, high = found.moved_interval
    assert low <= found.moved_fraction <= high
    if kind != "rate":
        assert found.remapping_index == pytest.approx(moved, abs=0.15)
        assert found.rate_change < 0.1 or kind in ("partial", "global")
    vectors = found.measures["population vector correlation"]
    expected = 1 - vectors.between_halves / vectors.within
    assert found.remapping_index == pytest.approx(expected, abs=1e-12)
    assert vectors.within > 0.95
    assert f"remapping: {kind}" in found.summary()


def test_measures_have_their_chance_levels():
    found, _, _ = report("global", 2)
    assert len(found.measures) == 5
    for name, measure in found.measures.items():
        assert measure.between.null.shape == (200,), name
        assert measure.between.p_value > 0.01, name
    same, _, _ = report("none", 2)
    for name, measure in same.measures.items():
        assert measure.between.p_value == 1 / 201, name
        assert measure.between_halves == pytest.approx(measure.within, rel=0.2), name


def test_exact_maps_need_no_halves():
    rng = np.random.default_rng(4)
    a, other = place_maps(rng), place_maps(rng)
    settings = {"bin_size": 0.1, "n_shuffles": 100, "n_resamples": 100}
    assert remapping_report(a, a, **settings).kind == "none"
    moved = rng.random(N) < 0.3
    found = remapping_report(a, np.where(moved[:, None], other, a), **settings)
    assert found.kind == "partial"
    assert found.remapping_index == pytest.approx(moved.mean(), abs=0.12)
    assert found.measures["centroid shift"].within == 0
    found = remapping_report(a, 0.5 * a, min_rate=1.0, **settings)
    assert found.kind == "rate"
    assert found.rate_change == pytest.approx(0.5, abs=1e-9)


def test_noise_alone_is_unstable():
    rng = np.random.default_rng(5)
    halves = [[rng.gamma(2.0, size=(30, BINS)) for _ in range(2)] for _ in range(2)]
    found = remapping_report(
        halves[0][0], halves[1][0], bin_size=0.1, halves_a=halves[0], halves_b=halves[1],
        n_shuffles=100, n_resamples=100,
    )  # fmt: skip
    assert found.kind == "unstable"


def test_same_seed_same_report():
    first, again = (report("partial", 3, random_state=7)[0] for _ in range(2))
    assert first.moved_interval == again.moved_interval
    for a, b in zip(first.measures.values(), again.measures.values()):
        np.testing.assert_array_equal(a.between.null, b.between.null)


A = place_maps(np.random.default_rng(6))
SILENT = np.where(np.arange(N)[:, None] < 1, A, 0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: remapping_report(A, A[:3], bin_size=1), "the same cells and bins"),
        (lambda: remapping_report(A, -A, bin_size=1), "maps_b must be finite and not negative"),
        (lambda: remapping_report(A, A, bin_size=1, halves_a=(A, A)), "halves of both contexts"),
        (
            lambda: remapping_report(A, A, bin_size=1, halves_a=(A,), halves_b=(A, A)),
            "halves_a must be two sets",
        ),
        (lambda: remapping_report(A, A, bin_size=1, alpha=0), "alpha must be between 0 and 1"),
        (
            lambda: remapping_report(A, A, bin_size=1, least_change=2),
            "least_change must be between",
        ),
        (lambda: remapping_report(A, A, bin_size=1, n_shuffles=0), "n_shuffles must be at least 1"),
        (lambda: remapping_report(SILENT, A, bin_size=1, n_shuffles=2), "active in both contexts"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
