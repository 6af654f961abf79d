import jax
import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

from neurosim.analysis.cross_temporal_regression import cross_temporal_regress
from neurosim.analysis.grouped_folds import grouped_folds


def _population(n_trials=50, n_times=3, n_units=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_trials)
    course = rng.normal(size=(n_times, n_units))
    return 2 + y[:, None, None] * course + rng.normal(size=(n_trials, n_times, n_units)), y


@pytest.mark.parametrize("n_units", [6, 60])
def test_equals_scikit_learn_one_pair_of_times_after_the_other(n_units):
    X, y = _population(n_units=n_units)
    mask = np.arange(3) < 3 - (np.arange(50)[:, None] % 10 == 0)
    found = cross_temporal_regress(X, y, mask=mask, penalty=2.0, random_state=1)
    for f, (train, test) in enumerate(grouped_folds(50, n_folds=5, random_state=1)):
        for s in range(3):
            a = train[mask[train, s]]
            scaler = StandardScaler().fit(X[a, s])
            model = Ridge(alpha=2.0).fit(scaler.transform(X[a, s]), y[a])
            for t in range(3):
                b = test[mask[test, t]]
                predicted = model.predict(scaler.transform(X[b, t]))
                r = np.corrcoef(predicted, y[b])[0, 1]
                assert found.r2_folds[f, s, t] == pytest.approx(r2_score(y[b], predicted))
                assert found.correlation_folds[f, s, t] == pytest.approx(r)
    np.testing.assert_allclose(found.r2, found.r2_folds.mean(axis=0))
    np.testing.assert_allclose(found.correlation, found.correlation_folds.mean(axis=0))


def test_directions_at_known_angles():
    rng = np.random.default_rng(0)
    y = rng.normal(size=20_000)
    angle = np.deg2rad([0, 60, 90, 180])
    u = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = 2 * y[:, None, None] * u + rng.normal(size=(len(y), 4, 2))
    found = cross_temporal_regress(X, y, n_folds=2)
    # The fit is y = 2/5 x0. At angle th, x0 = 2 c y + noise: r = 2 c / sqrt(4 c^2 + 1), and
    # the mean squared error is (1 - .8 c)^2 + .16.
    c = np.cos(angle)
    np.testing.assert_allclose(found.correlation[0], 2 * c / np.sqrt(4 * c**2 + 1), atol=0.02)
    np.testing.assert_allclose(found.r2[0], 1 - (1 - 0.8 * c) ** 2 - 0.16, atol=0.04)
    assert found.r2[0, 3] < -2


def test_shuffles_and_times_that_are_not_there():
    X, y = _population()
    trials = [x[: 3 - (i > 2)] for i, x in enumerate(X)]
    found = cross_temporal_regress(trials, y, n_shuffles=40)
    assert found.p_value[0, 0] == pytest.approx(1 / 41)
    assert np.isnan(found.r2[2]).all()
    assert np.isnan(found.r2[:, 2]).all()
    assert np.isnan(found.p_value[:, 2]).all()
    assert found.null.shape == (40, 3, 3)
    still = X.copy()
    still[:, 0] = 1.0
    np.testing.assert_array_equal(cross_temporal_regress(still, y).correlation[0], 0)


def test_bad_input_is_refused():
    X, y = _population()
    for message, change in (
        ("penalty must be finite and above 0", {"penalty": 0.0}),
        ("one finite number for each of the 50 trials", {"y": y[1:]}),
        ("one finite number for each of the 50 trials", {"y": np.where(y > 0, y, np.nan)}),
        ("y is 1.0 throughout", {"y": np.ones(50)}),
        ("no time has 60 trials", {"min_trials": 60}),
    ):
        with pytest.raises(ValueError, match=message):
            cross_temporal_regress(**({"X": X, "y": y} | change))
    with pytest.raises(TypeError, match="under jit"):
        jax.jit(lambda x: cross_temporal_regress(x, y).r2)(X)
