"""Distances of many populations, out of sample, of repeats of one; and their mean shape."""

import numpy as np
import pytest

from neurosim.analysis.procrustes import procrustes_distance
from neurosim.analysis.shape_distances import (
    cross_validated_shape_distance,
    mean_shape,
    shape_distance_floor,
    shape_distances,
)


def rotated(shape, rng, n_units=6, noise=0.0):
    """The shape in a random basis of more units, shifted, with noise."""
    Q = np.linalg.qr(rng.normal(size=(n_units, n_units)))[0][: shape.shape[1]]
    return shape @ Q + rng.normal(size=n_units) + noise * rng.normal(size=(len(shape), n_units))


def test_distances_of_pairs():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 20, 3))
    shapes = [A, rotated(A, rng), B]
    found = shape_distances(shapes)
    expected = procrustes_distance(A, B)
    np.testing.assert_allclose(
        found, [[0, 0, expected], [0, 0, expected], [expected, expected, 0]], atol=1e-7
    )
    rms = shape_distances([A, B], kind="rms", centre=False)[0, 1]
    assert rms == pytest.approx(procrustes_distance(A, B, kind="rms", centre=False))
    held_out = shape_distances([A, B], n_folds=4, random_state=2)[0, 1]
    alone = cross_validated_shape_distance(A, B, n_folds=4, random_state=2)
    assert held_out == alone.distance == pytest.approx(alone.folds.mean())
    assert alone.standard_error == pytest.approx(alone.folds.std(ddof=1) / 2)


def test_alignment_fits_noise_and_held_out_samples_do_not():
    """Unrelated populations look alike in sample, and are at a right angle out of it."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 60, 20))
    assert procrustes_distance(X, Y) < 1.1
    found = cross_validated_shape_distance(X, Y)
    assert found.distance == pytest.approx(np.pi / 2, abs=0.1)
    # Without noise the same population is at distance 0 there, too.
    same = cross_validated_shape_distance(X, rotated(X, rng, 20))
    assert same.distance == pytest.approx(0, abs=0.35)
    assert same.distance < found.distance / 3
    exact = cross_validated_shape_distance(X, 2 * X @ np.eye(20)[::-1], centre=False)
    assert exact.distance == pytest.approx(0, abs=1e-7)


def test_floor_is_the_distance_of_halves_of_the_repeats():
    """Averages of half of 2 r repeats differ by noise of variance 2 / r for each entry."""
    rng = np.random.default_rng(0)
    m, n, repeats, sd = 200, 4, 8, 0.1
    shape = 5 * rng.normal(size=(m, n))
    X = shape + sd * rng.normal(size=(repeats, m, n))
    found = shape_distance_floor(X, kind="rms")
    assert found.splits.shape == (20,)
    assert found.distance == pytest.approx(sd * (n * 2 / (repeats / 2)) ** 0.5, rel=0.05)
    np.testing.assert_array_equal(shape_distance_floor(X, kind="rms").splits, found.splits)
    # Without noise there is no floor; of three repeats one is left out.
    assert shape_distance_floor(np.tile(shape, (3, 1, 1)), n_splits=2).distance < 1e-7


def test_mean_shape_of_rotated_copies_is_the_shape():
    rng = np.random.default_rng(0)
    shape = rng.normal(size=(15, 3))
    found = mean_shape([shape, *(rotated(shape, rng) for _ in range(3))])
    np.testing.assert_allclose(found.distances, 0, atol=1e-10)
    assert procrustes_distance(found.mean, shape) < 1e-7
    # Trials are samples, and centred units of the first population lead.
    np.testing.assert_allclose(found.mean[:, :3], shape - shape.mean(axis=0), atol=1e-10)


def test_mean_shape_is_nearer_to_all_than_any_of_them():
    rng = np.random.default_rng(0)
    shape = rng.normal(size=(15, 3))
    noisy = [rotated(shape, rng, noise=0.05) for _ in range(6)]
    found = mean_shape(noisy)
    kind = "euclidean"
    np.testing.assert_allclose(
        found.distances, [procrustes_distance(x, found.mean, kind=kind) for x in noisy], rtol=1e-5
    )
    spread = np.sum(found.distances**2)
    for x in (*noisy, shape):
        assert spread < sum(procrustes_distance(x, y, kind=kind) ** 2 for y in noisy)
    backwards = mean_shape(noisy[::-1])
    assert procrustes_distance(backwards.mean, found.mean) < 1e-3
    with pytest.raises(ValueError, match="after max_iterations = 2"):
        mean_shape(noisy, max_iterations=2)


def test_bad_input_is_refused():
    X = np.random.default_rng(0).normal(size=(4, 10, 3))
    for function in (shape_distances, mean_shape):
        with pytest.raises(ValueError, match="at least two populations"):
            function([X[0]])
        with pytest.raises(ValueError, match="same samples"):
            function([X[0], X[1][1:]])
    with pytest.raises(ValueError, match=r"\(repeat, sample, unit\) with two repeats"):
        shape_distance_floor(X[0])
    with pytest.raises(ValueError, match=r"\(repeat, sample, unit\) with two repeats"):
        shape_distance_floor(X[:1])
    with pytest.raises(ValueError, match="n_splits must be at least 1"):
        shape_distance_floor(X, n_splits=0)
    with pytest.raises(ValueError, match="cannot make 11 folds"):
        cross_validated_shape_distance(X[0], X[1], n_folds=11)
    with pytest.raises(ValueError, match="alpha must lie"):
        shape_distances(list(X), alpha=2.0)
