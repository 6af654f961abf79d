"""Clouds of activity whose axes and neighbours are known."""

import numpy as np
import pytest

from neurosim.analysis.manifold_cloud import manifold_cloud, nearest_neighbour_mean

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 8)) * np.arange(1, 9)


def test_the_cloud_is_on_principal_components():
    cloud = manifold_cloud(X, n_components=3, n_neighbours=1)
    variance = np.linalg.eigvalsh(np.cov(X.T))[::-1][:3]
    np.testing.assert_allclose(np.cov(cloud.T), np.diag(variance), atol=1e-9)
    whole = manifold_cloud(X, n_components=None, n_neighbours=1)
    np.testing.assert_array_equal(whole, X)


def test_a_z_score_makes_units_alike():
    cloud = manifold_cloud(
        3 + X * 10.0 ** np.arange(8), n_components=None, n_neighbours=1, z_score=True
    )
    np.testing.assert_allclose(cloud.std(axis=0), 1)
    np.testing.assert_allclose(cloud.mean(axis=0), 0, atol=1e-12)


def test_layouts_are_samples_one_below_the_other():
    trials = X.reshape(10, 20, 8)
    np.testing.assert_array_equal(manifold_cloud(trials), manifold_cloud(X))
    np.testing.assert_array_equal(manifold_cloud(list(trials)), manifold_cloud(X))


def test_the_mean_is_over_the_nearest_points_and_the_point_itself():
    line = np.array([[0.0], [1.0], [2.5], [10.0]])
    expected = [[0.5], [0.5], [1.75], [6.25]]
    np.testing.assert_allclose(nearest_neighbour_mean(line, n_neighbours=2), expected)
    np.testing.assert_array_equal(nearest_neighbour_mean(line, n_neighbours=1), line)
    everything = nearest_neighbour_mean(line, n_neighbours=4)
    np.testing.assert_allclose(everything, np.full((4, 1), 3.375))


def test_noise_about_a_ring_is_averaged_out():
    angle = RNG.uniform(0, 2 * np.pi, 2000)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.1 * RNG.normal(size=(2000, 2))
    radius = [np.linalg.norm(c, axis=1).std() for c in (ring, nearest_neighbour_mean(ring))]
    assert radius[1] < 0.85 * radius[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: manifold_cloud(X[:, :4]), "n_components must lie between 1 and"),
        (lambda: manifold_cloud(X, n_neighbours=201), "n_neighbours is 201, but there are 200"),
        (lambda: manifold_cloud(np.ones((20, 8))), "X does not vary"),
        (lambda: manifold_cloud(X * (np.arange(8) > 0), z_score=True), "unit 0 is constant"),
        (lambda: manifold_cloud(np.where(X > 5, np.nan, X)), "not finite"),
        (lambda: nearest_neighbour_mean(X[0]), r"points must be \(point, dimension\)"),
        (lambda: nearest_neighbour_mean(X, n_neighbours=0), "n_neighbours must be at least 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
