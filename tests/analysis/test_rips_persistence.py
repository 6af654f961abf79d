"""Births and deaths of components, loops and voids of clouds where they are known."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from neurosim.analysis.rips_persistence import rips_persistence
from neurosim.kernels import grid_lattice_vectors, grid_wave_vectors, ideal_grid_module

RNG = np.random.default_rng(0)
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def polygon(n):
    angle = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def lattice_of_positions(m):
    """One unit cell of a grid of spacing 0.3, evenly covered."""
    steps = np.stack(np.meshgrid(*[np.arange(m) / m] * 2, indexing="ij"), axis=-1)
    return steps.reshape(-1, 2) @ grid_lattice_vectors(spacing=0.3)


@pytest.mark.parametrize(
    ("n", "birth", "death"),
    [(60, 0.104672, 1.732051), (61, 0.102958, 1.765358), (100, 0.062822, 1.752613)],
)
def test_a_regular_polygon_is_one_loop(n, birth, death):
    result = rips_persistence(polygon(n), max_dim=1)
    np.testing.assert_allclose(result.diagrams[1], [[birth, death]], atol=1e-6)
    exact = 2 * np.sin(np.pi / n), 2 * np.sin(np.pi * np.ceil(n / 3) / n)
    # To double precision, though ripser rounds to single.
    np.testing.assert_allclose(result.diagrams[1], [exact], rtol=1e-12)
    assert result.diagrams[1].dtype == np.float64
    assert result.size == pytest.approx(1)
    assert result.covering_radius == 0


@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e160])
def test_the_octahedron_is_a_void_without_a_loop(scale):
    result = rips_persistence(scale * np.concatenate([np.eye(3), -np.eye(3)]))
    components, loops, voids = (bars / scale for bars in result.diagrams)
    assert np.isinf(components[0, 1])
    np.testing.assert_allclose(components[1:], [[0, 2**0.5]] * 5)
    assert loops.shape == (0, 2)
    np.testing.assert_allclose(voids, [[2**0.5, 2]])
    # Every point has all others within 2.
    assert result.threshold / scale == pytest.approx(2)


def test_the_corners_of_a_square_are_a_loop():
    np.testing.assert_allclose(rips_persistence(SQUARE).diagrams[1], [[1, 2**0.5]])


def test_a_noisy_circle_is_one_long_loop():
    angle = RNG.uniform(0, 2 * np.pi, 300)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.01 * RNG.normal(size=(300, 2))
    bars = rips_persistence(points, max_dim=1, n_landmarks=None).diagrams[1]
    assert bars[0] == pytest.approx([0.16, 1.73], abs=0.07)
    assert len(bars) == 1 or bars[1, 1] - bars[1, 0] < 0.1


def test_a_sphere_is_a_void():
    i = np.arange(200) + 0.5
    height, turn = 1 - 2 * i / 200, np.pi * (1 + 5**0.5) * i
    width = np.sqrt(1 - height**2)
    points = np.stack([np.cos(turn) * width, np.sin(turn) * width, height], axis=1)
    result = rips_persistence(points, threshold=1.66)
    _, loops, voids = result.diagrams
    assert voids[0] == pytest.approx([0.369, 1.649], abs=6e-4)
    assert (loops[:, 1] - loops[:, 0]).max() == pytest.approx(0.118, abs=6e-4)


def test_a_flat_torus_is_two_loops_and_a_void():
    angles = RNG.uniform(0, 2 * np.pi, (800, 2))
    points = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    result = rips_persistence(jnp.asarray(points), threshold=1.95)
    assert len(result.landmarks) == 200
    _, loops, voids = result.diagrams
    np.testing.assert_allclose(loops[:2], [[0.43, 1.75], [0.47, 1.75]], atol=0.05)
    np.testing.assert_allclose(voids[0], [0.86, 1.84], atol=0.1)
    assert loops[2, 1] - loops[2, 0] < 0.6
    assert result.size == pytest.approx(2**0.5, rel=0.02)


@pytest.mark.parametrize(
    ("m", "threshold", "loop", "void"),
    [
        (9, "enclosing", (1.2161, 3.0792), None),
        (12, 3.33, (0.9203, 3.0792), (0.9203, 3.326)),
        (16, 3.17, (0.694, 3.163), (0.694, 3.163)),
    ],
)
def test_a_module_of_grid_cells_on_a_lattice_of_positions(m, threshold, loop, void):
    """N = 64: births are 4/9 sqrt(N) sin(pi/m), deaths of loops sqrt(2) R where 3 divides m."""
    points = ideal_grid_module(lattice_of_positions(m), n_per_side=8, spacing=0.3).T
    result = rips_persistence(points, n_landmarks=None, threshold=threshold)
    _, loops, voids = result.diagrams
    np.testing.assert_allclose(loops, [loop, loop], atol=6e-4)
    birth = 4 / 9 * 8 * np.sin(np.pi / m)
    np.testing.assert_allclose(loops[:, 0], birth, rtol=1e-12)
    assert result.size == pytest.approx((2 * 64 / 27) ** 0.5)
    if m % 3 == 0:
        np.testing.assert_allclose(loops[:, 1], 2**0.5 * result.size, rtol=1e-12)
    first = voids[np.isfinite(voids[:, 1])][0]
    assert first[0] == pytest.approx(birth, rel=1e-12)
    if void is not None:
        np.testing.assert_allclose(first, void, atol=6e-4)


def test_a_module_smoothed_along_a_lattice_line_is_a_ring():
    """One of the three waves is left: a circle of radius 2/9 sqrt(N/2), without a void."""
    phases = lattice_of_positions(8)
    wave = grid_wave_vectors(spacing=0.3)[0]
    # Along one vector of the lattice: positions on a line across the wave are the same point.
    angle = (lattice_of_positions(12)[::12, None] - phases) @ wave
    points = 2 / 9 * np.cos(angle)
    result = rips_persistence(points, n_landmarks=None)
    _, loops, voids = result.diagrams
    assert result.size == pytest.approx(2 / 9 * 32**0.5)
    assert len(loops) == 1
    assert loops[0, 1] == pytest.approx(2.177324, abs=1e-6)
    assert len(voids) == 0 or voids[:, 0].min() >= loops[0, 1]


def test_distances_do_as_well_as_points():
    points = RNG.normal(size=(30, 4))
    given = rips_persistence(points, n_landmarks=None)
    result = rips_persistence(cdist(points, points), metric="precomputed", n_landmarks=None)
    for ours, theirs in zip(given.diagrams, result.diagrams, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert result.size == pytest.approx(given.size)
    cosine = rips_persistence(3 * polygon(12) * RNG.uniform(1, 2, (12, 1)), metric="cosine")
    np.testing.assert_allclose(cosine.diagrams[1], [[1 - np.cos(np.pi / 6), 1.5]], rtol=1e-9)


def test_infinite_distances_keep_parts_apart():
    distance = np.full((40, 40), np.inf)
    for part in (slice(0, 20), slice(20, 40)):
        distance[part, part] = cdist(polygon(20), polygon(20))
    result = rips_persistence(distance, metric="precomputed", n_landmarks=None)
    assert np.isinf(result.diagrams[0][:, 1]).sum() == 2
    np.testing.assert_allclose(result.diagrams[1][:, 0], 2 * np.sin(np.pi / 20))
    assert len(result.diagrams[1]) == 2
    assert result.threshold == pytest.approx(2)
    few = rips_persistence(distance, metric="precomputed", n_landmarks=20, max_dim=0)
    # Landmarks are taken of both parts.
    assert 0 < np.sum(few.landmarks < 20) < 20


def test_the_enclosing_radius_is_the_least_within_which_a_point_has_all_others():
    line = np.array([[0.0], [1.0], [2.0], [10.0]])
    assert rips_persistence(line).threshold == pytest.approx(8)
    assert rips_persistence(line, threshold=None).threshold == pytest.approx(10)


def test_a_threshold_cuts_bars_that_go_on():
    result = rips_persistence(polygon(30), max_dim=1, threshold=1.0)
    np.testing.assert_allclose(result.diagrams[1], [[2 * np.sin(np.pi / 30), np.inf]])
    nothing = rips_persistence(polygon(5), threshold=1.0)
    assert np.isinf(nothing.diagrams[0][:, 1]).sum() == 5
    for threshold in (None, 5.0):
        full = rips_persistence(polygon(30), max_dim=1, threshold=threshold)
        assert full.diagrams[1][0, 1] == pytest.approx(3**0.5)
        assert full.threshold == pytest.approx(2)


def test_points_that_coincide_are_joined_at_once():
    result = rips_persistence(np.repeat(polygon(30), 2, axis=0), max_dim=1, n_landmarks=None)
    np.testing.assert_allclose(result.diagrams[1], [[2 * np.sin(np.pi / 30), 3**0.5]])
    few = rips_persistence(np.repeat(polygon(30), 20, axis=0), max_dim=1, n_landmarks=100)
    assert len(few.landmarks) == 30
    np.testing.assert_allclose(few.diagrams[1], result.diagrams[1])


def test_fewer_points_than_landmarks_are_all_taken():
    np.testing.assert_array_equal(rips_persistence(SQUARE).landmarks, np.arange(4))


def test_too_many_points_for_memory_are_refused_before_the_run():
    angle = RNG.uniform(0, 2 * np.pi, 15_000)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    with pytest.raises(ValueError, match=r"15,000 points may need .* GB .*n_landmarks"):
        rips_persistence(points, n_landmarks=None)
    with pytest.raises(ValueError, match=r"200 points may need 0\.\d+ GB .*max_memory=0.01 GB"):
        rips_persistence(points, max_memory=0.01)
    result = rips_persistence(points, n_landmarks=60, max_dim=1)
    assert abs(result.diagrams[1][0, 1] - 3**0.5) <= 2 * result.covering_radius + 0.01


def test_a_long_run_is_announced(monkeypatch):
    monkeypatch.setattr(sys.modules[rips_persistence.__module__], "_LONG_SECONDS", 0)
    with pytest.warns(UserWarning, match="dimension 2 of 4 points may take"):
        rips_persistence(SQUARE)


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (np.zeros(5), {}, r"points must be \(point, dimension\), got shape \(5,\)"),
        (SQUARE[:1], {}, "at least two points"),
        (np.ones((9, 2)), {}, "all points are equal"),
        (np.where(SQUARE > 0, np.nan, 0), {}, "not finite"),
        (SQUARE, {"max_dim": -1}, "max_dim must not be negative"),
        (SQUARE, {"max_dim": 3}, "max_dim must be 0, 1"),
        (SQUARE, {"coefficient": 4}, "coefficient must be a prime"),
        (SQUARE, {"coefficient": 1}, "coefficient must be at least 2"),
        (SQUARE, {"n_landmarks": 1}, "n_landmarks must be at least 2"),
        (SQUARE, {"threshold": "all"}, "threshold must be 'enclosing'"),
        (SQUARE, {"threshold": -1.0}, "threshold must be positive"),
        (SQUARE, {"metric": "taxi"}, "metric must be one of euclidean, cosine, precomputed"),
        (SQUARE, {"max_memory": 0}, "max_memory must be positive"),
        (SQUARE, {"metric": "cosine"}, "point 0 has length 0"),
        (SQUARE, {"metric": "precomputed"}, r"distances must be \(point, point\)"),
        (np.ones((3, 3)), {"metric": "precomputed"}, "on the diagonal, must be 0"),
        (np.triu(np.ones((3, 3)), 1), {"metric": "precomputed"}, "symmetric"),
        (np.eye(3) - np.ones((3, 3)), {"metric": "precomputed"}, "must not be negative"),
        (np.full((3, 3), np.nan), {"metric": "precomputed"}, "distances are NaN"),
        (np.where(np.eye(3), 0, np.inf), {"metric": "precomputed"}, "at a finite distance"),
    ],
)
def test_bad_input_is_refused(points, options, message):
    with pytest.raises(ValueError, match=message):
        rips_persistence(points, **options)


def test_a_missing_ripser_is_told_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ripser", None)
    with pytest.raises(ValueError, match=r"needs the package ripser.*neurosim-toolkit\[topology\]"):
        rips_persistence(SQUARE)


def test_values_that_are_not_known_yet_are_refused():
    with pytest.raises(TypeError, match="rips_persistence is computed in NumPy"):
        jax.jit(lambda x: rips_persistence(x).size)(jnp.ones((5, 2)))
