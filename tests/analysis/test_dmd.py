import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scikit_learn_checks import ORDER_OF_TIME, assert_passes_the_checks_of_scikit_learn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from neurosim.analysis.dmd import DMD

ANGLE = 0.2
TURN = 0.98 * np.array([[np.cos(ANGLE), -np.sin(ANGLE)], [np.sin(ANGLE), np.cos(ANGLE)]])
PAIR = [0.960465 - 0.194696j, 0.960465 + 0.194696j]


def run(A, x, n):
    states = [np.asarray(x, float)]
    for _ in range(n - 1):
        states.append(A @ states[-1])
    return np.array(states)


SPIRAL = run(TURN, [1, 0], 120)


def test_eigenvalues_of_a_damped_rotation():
    np.testing.assert_allclose(DMD().fit(SPIRAL).eigenvalues_, PAIR, atol=1e-6)
    # One coordinate shows both dimensions through its delays.
    for interval in (1, 3):
        one = DMD(n_delays=5, rank=2, delay_interval=interval).fit(SPIRAL[:, :1])
        np.testing.assert_allclose(one.eigenvalues_, PAIR, atol=1e-6)
    assert one.components_.shape == (2, 5)


def test_pairs_never_cross_trials():
    # Trials start anew: a pair across them would spoil the map.
    trials = [run(TURN, x, n) for x, n in [([1, 0], 30), ([0, 3], 12), ([-2, 1], 50)]]
    fitted = DMD(n_delays=2, rank=2).fit(trials)
    np.testing.assert_allclose(fitted.eigenvalues_, PAIR, atol=1e-6)
    assert fitted.n_pairs_ == 92 - 2 * 3
    joined = DMD(n_delays=2, rank=2).fit(np.concatenate(trials))
    assert np.abs(joined.eigenvalues_ - PAIR).max() > 1e-3
    again = DMD(n_delays=2, rank=2).fit(trials[::-1])
    np.testing.assert_allclose(again.eigenvalues_, fitted.eigenvalues_, atol=1e-10)


def test_prediction_one_ahead():
    trials = np.stack([run(TURN, x, 40) for x in ([1, 0], [0, 2])])
    fitted = DMD(n_delays=3, delay_interval=2, rank=2).fit(trials)
    predicted = fitted.predict(trials)
    assert predicted.shape == (2, 35, 2)
    np.testing.assert_allclose(predicted, trials[:, 5:], atol=1e-6)
    assert fitted.score(trials) == pytest.approx(1, abs=1e-9)
    assert [len(p) for p in fitted.predict([SPIRAL[:20], SPIRAL[:9]])] == [15, 4]
    assert fitted.predict(SPIRAL).shape == (115, 2)


def test_score_picks_rank_and_delays_on_held_out_trials():
    rng = np.random.default_rng(0)
    C = rng.normal(size=(2, 6))
    starts = rng.normal(size=(12, 2))
    trials = np.stack([run(TURN, x, 60) @ C for x in starts])
    noisy = trials + 0.02 * rng.normal(size=trials.shape)
    search = GridSearchCV(DMD(), {"rank": [1, 2, 3]}, cv=3).fit(noisy)
    assert search.best_params_["rank"] > 1
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] > scores[0] + 0.1
    # Observation noise draws eigenvalues in.
    louder = trials + 0.5 * rng.normal(size=trials.shape)
    assert np.abs(DMD(rank=2).fit(louder).eigenvalues_).max() < 0.97


def test_modes_are_where_the_activity_moves():
    # Two decays, each along a direction of its own.
    directions = np.array([[0.6, 0.8, 0], [0, 0.6, -0.8]])
    x = run(np.diag([0.9, 0.5]), [1, 1], 20) @ directions
    fitted = DMD(rank=2, ridge=0).fit(x)
    np.testing.assert_allclose(fitted.eigenvalues_, [0.9, 0.5], atol=1e-10)
    np.testing.assert_allclose(fitted.modes_, [[0.6, 0.8, 0], [0, -0.6, 0.8]], atol=1e-9)
    components = fitted.components_
    assert (components[np.arange(2), np.abs(components).argmax(axis=1)] > 0).all()


def test_ridge_shrinks_the_map():
    strong = DMD(ridge=1.0).fit(SPIRAL)
    assert np.abs(strong.eigenvalues_).max() < 0.6


@pytest.mark.parametrize("double", [False, True])
def test_jax_and_single_precision_input(double):
    with jax.enable_x64(double):
        from_jax = DMD().fit(jnp.asarray(SPIRAL))
    np.testing.assert_allclose(from_jax.eigenvalues_, PAIR, atol=1e-5)
    assert from_jax.A_.dtype == np.float64
    assert DMD().fit(SPIRAL.astype(np.float32)).A_.dtype == np.float64
    assert clone(DMD(n_delays=4)).n_delays == 4


def test_passes_the_checks_of_scikit_learn_but_for_the_order_of_time():
    assert_passes_the_checks_of_scikit_learn(DMD(), but_for=ORDER_OF_TIME)


def test_refusals():
    with pytest.raises(ValueError, match="numerical rank 2"):
        DMD(n_delays=3, rank=3).fit(SPIRAL)
    with pytest.raises(ValueError, match="trial 1 has 4 sample"):
        DMD(n_delays=4).fit([SPIRAL, SPIRAL[:4]])
    with pytest.raises(ValueError, match="n_delays"):
        DMD(n_delays=0).fit(SPIRAL)
    with pytest.raises(ValueError, match="ridge"):
        DMD(ridge=-1).fit(SPIRAL)
    with pytest.raises(ValueError, match="zero throughout"):
        DMD().fit(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="not finite"):
        DMD().fit(np.where(SPIRAL > 0.9, np.nan, SPIRAL))
    with pytest.raises(ValueError, match="not fitted"):
        DMD().predict(SPIRAL)
    with pytest.raises(ValueError, match="expecting 2"):
        DMD().fit(SPIRAL).score(SPIRAL[:, :1])
    with pytest.raises(ValueError, match="does not vary"):
        DMD().fit(SPIRAL).score(np.ones((5, 2)))
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda x: DMD().fit(x).A_)(jnp.asarray(SPIRAL))
