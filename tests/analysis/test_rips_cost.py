"""The cost of persistent homology against what ripser took when it was measured."""

import numpy as np
import pytest

from neurosim.analysis.rips_cost import rips_cost

RNG = np.random.default_rng(0)


def torus(n):
    angles = RNG.uniform(0, 2 * np.pi, (n, 2))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def sphere(n):
    points = RNG.normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("points", "options", "gigabytes"),
    [
        (torus(300), {"threshold": 1.95}, 0.047),
        (torus(500), {"threshold": 1.95}, 0.210),
        (torus(800), {"threshold": 1.95}, 0.809),
        (torus(300), {}, 0.364),
        (torus(300), {"threshold": None}, 0.364),
        (sphere(300), {}, 0.616),
        (RNG.normal(size=(500, 6)), {}, 1.181),
        (torus(300), {"max_dim": 1}, 0.057),
        (torus(600), {"max_dim": 1}, 0.194),
    ],
)
def test_memory_is_known_within_a_factor_of_two(points, options, gigabytes):
    cost = rips_cost(points, **options)
    assert 0.5 < cost.memory / gigabytes < 2
    assert 0 < cost.seconds < 60


def test_edges_and_triangles_are_counted():
    # A square with its diagonals too long: four edges and no triangle; then all.
    square = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    assert rips_cost(square, threshold=1.2)[:2] == (4, 0)
    assert rips_cost(square)[:2] == (6, 4)


def test_many_points_are_estimated_from_some():
    cost = rips_cost(torus(3000), threshold=1.95)
    few = rips_cost(torus(500), threshold=1.95)
    assert cost.n_triangles == pytest.approx(few.n_triangles * 6**3, rel=0.15)
    assert cost.n_edges == pytest.approx(few.n_edges * 6**2, rel=0.1)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="max_dim"):
        rips_cost(torus(5), max_dim=3)
    with pytest.raises(ValueError, match="threshold must be positive"):
        rips_cost(torus(5), threshold=np.nan)
