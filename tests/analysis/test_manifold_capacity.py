import jax
import numpy as np
import pytest

from neurosim.analysis.manifold_capacity import ball_capacity, manifold_capacity, point_capacity


def test_orthogonal_points():
    points = 3 * np.linalg.qr(np.random.default_rng(0).normal(size=(25, 20)))[0].T
    found = manifold_capacity(points, np.arange(20), origin=np.zeros(25), n_draws=2000)
    # Half of the weights are positive: exactly 2 in expectation.
    assert found.capacity == pytest.approx(2, abs=4 * found.standard_error)
    # Of 20 coordinates each counts its square, mean 1/2 and variance 5/4.
    assert found.standard_error == pytest.approx(2 * (25 / 2000) ** 0.5 / 10, rel=0.1)
    assert found.critical_dimension == pytest.approx(20 / found.capacity)
    assert (found.n_manifolds, found.n_points, found.n_units) == (20, 20, 25)
    assert found.null is None


def _balls(radius, dimension, n_balls=8, n_points=40, seed=0):
    rng = np.random.default_rng(seed)
    n = n_balls * (1 + dimension)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    shell = rng.normal(size=(n_balls, n_points, dimension))
    shell *= radius / np.linalg.norm(shell, axis=-1, keepdims=True)
    axes = Q[n_balls:].reshape(n_balls, dimension, n)
    points = Q[:n_balls, None] + shell @ axes
    return points.reshape(-1, n), np.repeat(np.arange(n_balls), n_points)


@pytest.mark.parametrize(("radius", "dimension"), [(1.0, 2), (0.5, 2)])
def test_points_on_balls(radius, dimension):
    points, labels = _balls(radius, dimension)
    found = manifold_capacity(points, labels, origin=np.zeros(24), n_draws=150)
    # Points are fewer than the ball: a little above it.
    expected = ball_capacity(radius, dimension)
    assert found.capacity == pytest.approx(expected, abs=3 * found.standard_error + 0.02)
    assert found.standard_error < 0.06


def test_ball_capacity_in_closed_form():
    for dimension in (1, 2, 5, 40):
        assert ball_capacity(1, dimension) == pytest.approx(2 / (1 + dimension), rel=1e-9)
    assert ball_capacity(0, 3) == 2
    assert ball_capacity(1e-6, 3) == pytest.approx(2, rel=1e-4)
    # Monte Carlo values, to their four digits' error.
    assert ball_capacity(0.5, 2) == pytest.approx(0.9485, abs=0.002)
    assert ball_capacity(0.5, 10) == pytest.approx(0.3595, abs=0.001)
    # A ball that is too large to be on one side takes all its dimensions.
    assert ball_capacity(1e6, 4) == pytest.approx(1 / 4.5, rel=1e-4)


def test_point_capacity():
    assert point_capacity(0) == pytest.approx(2)
    assert point_capacity(1) == pytest.approx(0.519572, abs=1e-6)
    assert point_capacity(np.sqrt(2 / 2)) / ball_capacity(1, 2) == pytest.approx(0.78, abs=0.01)


def test_few_random_points_and_their_mean():
    points = np.random.default_rng(0).normal(size=(20, 400)) + 7
    about_mean = manifold_capacity(points, np.arange(20), n_draws=600)
    # Points about their mean are the corners of a simplex: one dimension less for the same points.
    assert about_mean.capacity == pytest.approx(2, abs=0.25)
    assert about_mean.n_units == 400
    far = manifold_capacity(points, np.arange(20), origin=np.zeros(400), n_draws=600)
    # Signs at random on centres that have most in common.
    assert far.capacity == pytest.approx(2, abs=0.25)


def test_does_not_depend_on_scale_or_rotation_or_order():
    points, labels = _balls(0.5, 2, n_balls=4, n_points=6)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    mean = manifold_capacity(points, labels, n_draws=300)
    for same, named in (
        (9 * points @ turn + 4, labels),
        (points[::-1], np.array(list("abcd"))[labels[::-1]]),
    ):
        found = manifold_capacity(same, named, n_draws=300, random_state=1)
        spread = (found.standard_error**2 + mean.standard_error**2) ** 0.5
        assert found.capacity == pytest.approx(mean.capacity, abs=4 * spread)
    again = manifold_capacity(points, labels, n_draws=300)
    assert again.capacity == mean.capacity
    trials = manifold_capacity(points.reshape(4, 6, 12), np.arange(4), n_draws=300)
    assert trials.capacity == pytest.approx(mean.capacity, rel=1e-9)
    assert trials.n_points == 24


def test_shuffles():
    points, labels = _balls(0.2, 2, n_balls=5, n_points=6)
    found = manifold_capacity(points, labels, n_draws=60, n_shuffles=19)
    assert found.null.shape == (19,)
    assert found.p_value == pytest.approx(1 / 20)


def test_bad_input_is_refused():
    X, labels = np.random.default_rng(0).normal(size=(6, 3)), np.arange(6) % 3
    for message, change in (
        ("two manifolds or more", {"labels": np.zeros(6)}),
        ("two manifolds or more", {"labels": None}),
        ("one label for each of the 6", {"labels": labels[1:]}),
        ("n_draws must be at least 2", {"n_draws": 1}),
        ("origin must be 3 finite numbers", {"origin": np.zeros(2)}),
        ("all points are at the origin", {"X": np.ones((6, 3))}),
        ("time 2, unit 1", {"X": np.where(np.arange(18).reshape(6, 3) == 7, np.nan, X)}),
    ):
        with pytest.raises(ValueError, match=message):
            manifold_capacity(**({"X": X, "labels": labels} | change))
    with pytest.raises(ValueError, match="margin must be finite"):
        point_capacity(-1.0)
    with pytest.raises(ValueError, match="radius must be finite"):
        ball_capacity(-1.0, 2)
    with pytest.raises(ValueError, match="dimension must be at least 1"):
        ball_capacity(1.0, 0)
    with pytest.raises(TypeError, match="under jit"):
        jax.jit(lambda x: manifold_capacity(x, labels).capacity)(X)
