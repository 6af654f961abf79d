import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler

from neurosim.analysis.cross_temporal_decoding import cross_temporal_decode
from neurosim.analysis.grouped_folds import grouped_folds

ANGLES = (0, 30, 60, 90, 180)


def _population(n_trials=60, n_classes=2, n_times=4, n_units=7, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_trials) % n_classes)
    patterns = rng.normal(size=(n_classes, n_times, n_units))
    return 3 + patterns[y] + 2 * rng.normal(size=(n_trials, n_times, n_units)), y


def _double_loop(X, y, make, folds, mask=None):
    """Accuracy one pair of times after the other, every class with the same weight."""
    there = np.ones(X.shape[:2], bool) if mask is None else mask
    accuracy = np.zeros((len(folds), X.shape[1], X.shape[1]))
    for f, (train, test) in enumerate(folds):
        for s in range(X.shape[1]):
            a = train[there[train, s]]
            weight = len(a) / len(np.unique(y)) / np.bincount(y[a])[y[a]]
            scaler = StandardScaler().fit(X[a, s], sample_weight=weight)
            model = make().fit(scaler.transform(X[a, s]), y[a])
            for t in range(X.shape[1]):
                b = test[there[test, t]]
                predicted = model.predict(scaler.transform(X[b, t]))
                accuracy[f, s, t] = balanced_accuracy_score(y[b], predicted)
    return accuracy


def _peer(decoder, penalty, n_classes):
    if decoder == "ridge":
        return lambda: RidgeClassifier(alpha=penalty, class_weight="balanced")
    priors = np.full(n_classes, 1 / n_classes)
    return lambda: LinearDiscriminantAnalysis("lsqr", shrinkage=penalty, priors=priors)


@pytest.mark.parametrize("decoder", ["ridge", "lda"])
def test_classes_along_directions_at_known_angles(decoder):
    rng = np.random.default_rng(0)
    y = np.arange(20_000) % 2
    angle = np.deg2rad(ANGLES)
    u = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = 1.5 * (2 * y[:, None, None] - 1) * u + rng.normal(size=(len(y), len(angle), 2))
    found = cross_temporal_decode(X, y, decoder=decoder, n_folds=2)
    # Phi(1.5 cos angle); standard errors .0035 at most.
    np.testing.assert_allclose(found.accuracy[0], [0.9332, 0.9030, 0.7734, 0.5, 0.0668], atol=0.012)
    np.testing.assert_allclose(np.diag(found.accuracy), 0.9332, atol=0.012)
    assert found.chance == 0.5
    assert found.folds.shape == (2, 5, 5)


@pytest.mark.parametrize(
    ("decoder", "penalty", "n_classes", "n_units"),
    [("ridge", 1.0, 2, 7), ("ridge", 3.0, 3, 60), ("lda", 0.1, 2, 7), ("lda", 0.0, 3, 7)],
)
def test_equals_scikit_learn_one_pair_of_times_after_the_other(
    decoder, penalty, n_classes, n_units
):
    X, y = _population(n_classes=n_classes, n_units=n_units)
    # Classes of unequal size, and a unit that does not vary at one time.
    X, y = X[(y > 0) | (np.arange(60) % 3 > 0)], y[(y > 0) | (np.arange(60) % 3 > 0)]
    X[:, 1, 2] = 0
    folds = grouped_folds(len(y), n_folds=4, random_state=3, labels=y)
    found = cross_temporal_decode(X, y, n_folds=4, decoder=decoder, penalty=penalty, random_state=3)
    expected = _double_loop(X, y, _peer(decoder, penalty, n_classes), folds)
    np.testing.assert_allclose(found.folds, expected, atol=1e-12)
    np.testing.assert_allclose(found.accuracy, expected.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("decoder", ["ridge", "lda"])
def test_trials_of_unequal_length(decoder):
    X, y = _population(n_times=5)
    lengths = np.where(np.arange(60) < 52, 4, 5) - (np.arange(60) % 9 == 0)
    found = cross_temporal_decode(
        [x[:n] for x, n in zip(X, lengths)], y, decoder=decoder, penalty=0.5
    )
    mask = np.arange(5) < lengths[:, None]
    folds = grouped_folds(60, n_folds=5, random_state=0, labels=y)
    expected = _double_loop(X[:, :4], y, _peer(decoder, 0.5, 2), folds, mask)
    np.testing.assert_allclose(found.folds[:, :4, :4], expected, atol=1e-12)
    # At the last time are 7 trials, too few to test in each fold.
    assert found.n_test[4] == 0
    assert np.isnan(found.accuracy[:, 4]).all()
    assert np.isfinite(found.accuracy[:4, :4]).all()
    spoilt = np.where(mask[..., None], X, np.nan)
    masked = cross_temporal_decode(spoilt, y, mask=mask, decoder=decoder, penalty=0.5)
    np.testing.assert_array_equal(masked.folds, found.folds)
    few = cross_temporal_decode(spoilt, y, mask=mask, min_trials=int(found.n_train[3]) + 1)
    assert np.isnan(few.accuracy[3]).all()
    assert np.isfinite(few.accuracy[0, 3])


def test_does_not_depend_on_units_or_scales_but_on_the_order_of_times():
    X, y = _population()
    X[:, 1, 2] = 0.1
    accuracy = cross_temporal_decode(X, y).accuracy
    rng = np.random.default_rng(1)
    scaled = X[..., rng.permutation(7)] * rng.uniform(0.1, 9, 7) + rng.normal(size=7)
    np.testing.assert_allclose(cross_temporal_decode(scaled, y).accuracy, accuracy)
    order = [2, 0, 3, 1]
    turned = cross_temporal_decode(X[:, order], y).accuracy
    np.testing.assert_allclose(turned, accuracy[np.ix_(order, order)])
    assert not np.allclose(turned, accuracy)
    named = cross_temporal_decode(jnp.asarray(X), np.array(["go", "stop"])[y])
    assert isinstance(named.accuracy, np.ndarray)
    assert named.classes.tolist() == ["go", "stop"]
    np.testing.assert_allclose(named.accuracy, accuracy, atol=0.04)


def test_shuffles_tell_a_code_from_chance():
    X, y = _population(n_times=3)
    X[:, 2] = np.random.default_rng(2).normal(size=(60, 7))
    found = cross_temporal_decode(X, y, n_shuffles=60, random_state=5)
    assert found.null.shape == (60, 3, 3)
    assert found.p_value[0, 0] == pytest.approx(1 / 61)
    assert found.p_value[2, 2] > 0.03
    assert found.null.mean() == pytest.approx(0.5, abs=0.03)
    again = cross_temporal_decode(X, y, n_shuffles=60, random_state=5)
    np.testing.assert_array_equal(again.null, found.null)
    assert cross_temporal_decode(X, y).null is None
    inverted = np.stack([X[:, 0], 6 - X[:, 0]], axis=1)
    less = cross_temporal_decode(inverted, y, n_shuffles=60, alternative="less")
    assert less.accuracy[0, 1] < 0.3
    assert less.p_value[0, 1] == pytest.approx(1 / 61)


def test_groups_are_not_parted():
    rng = np.random.default_rng(0)
    block = np.arange(60) // 5
    y = block % 2
    # Every block has a pattern of its own, which says nothing about the others of its class.
    X = rng.normal(size=(12, 1, 30))[block] + 0.1 * rng.normal(size=(60, 1, 30))
    assert cross_temporal_decode(X, y, n_folds=3).accuracy[0, 0] > 0.95
    apart = cross_temporal_decode(X, y, n_folds=3, groups=block, n_shuffles=30)
    assert apart.accuracy[0, 0] < 0.8
    assert apart.p_value[0, 0] > 0.05
    mixed = cross_temporal_decode(X, np.arange(60) % 2, n_folds=3, groups=block, n_shuffles=5)
    assert mixed.null.shape == (5, 1, 1)


def test_bad_input_is_refused():
    X, y = _population()
    for message, change in (
        ("decoder must be", {"decoder": "svm"}),
        ("penalty must be finite and above 0", {"penalty": 0}),
        ("penalty must be between 0 and 1", {"penalty": 2, "decoder": "lda"}),
        ("y has one class", {"y": np.zeros(60)}),
        ("one label for each of the 60", {"y": y[1:]}),
        ("too few for 5 folds", {"y": np.arange(60) < 3}),
        ("alternative must be", {"alternative": "more"}),
        ("min_trials must be at least 1", {"min_trials": 0}),
        ("no time has 99 trials", {"min_trials": 99}),
        ("mask must be \\(trial, time\\)", {"mask": np.ones(X.shape, bool)}),
        ("X must have trials", {"X": X[0]}),
        ("trial 3, time 1, unit 2", {"X": _with_nan(X)}),
        ("rank 6 for 7 units at time 0", {"X": _doubled(X), "decoder": "lda", "penalty": 0}),
    ):
        with pytest.raises(ValueError, match=message):
            cross_temporal_decode(**({"X": X, "y": y} | change))
    with pytest.raises(TypeError, match="under jit"):
        jax.jit(lambda x: cross_temporal_decode(x, y).accuracy)(X)


def _with_nan(X):
    X = X.copy()
    X[3, 1, 2] = np.nan
    return X


def _doubled(X):
    X = X.copy()
    X[..., 6] = 2 * X[..., 0]
    return X
