import numpy as np
import pytest

from neurosim.analysis.dpca import DPCA
from neurosim.analysis.dpca_significance import _runs, dpca_significance

FACTORS = ("stimulus", "decision", "time")
S, D, T, N = 3, 2, 8, 10
AFTER = np.arange(T) >= 4


def _trials(n_trials=8, noise=0.5, seed=0):
    """The stimulus shows in the second half of the trial; the decision nowhere."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(N, 2)))[0].T
    levels = 3 * np.linspace(-1, 1, S)
    X = (levels[:, None] * AFTER)[:, None, :, None] * axes[0] + np.sin(np.arange(T))[
        :, None
    ] * axes[1]
    return X + noise * rng.normal(size=(n_trials, S, D, T, N))


SETTINGS = {"n_splits": 10, "n_shuffles": 19, "alpha": 0.05, "n_components": 1}


@pytest.fixture(scope="module")
def tested():
    trials = _trials()
    dpca = DPCA(FACTORS, ridge=0.05).fit(trials)
    return dpca, dpca_significance(dpca, trials, **SETTINGS)


def test_finds_when_a_component_tells_conditions_apart(tested):
    _, found = tested
    assert set(found.accuracy) == {"stimulus", "decision", "stimulus:decision"}
    assert found.chance == {"stimulus": 1 / 3, "decision": 1 / 2, "stimulus:decision": 1 / 6}
    accuracy = found.accuracy["stimulus"][0]
    assert accuracy.shape == (T,)
    # Noise of s.d. .5 along the axis, means 3 apart: the nearest one is right 99.7 % of the time.
    assert (accuracy[AFTER] > 0.95).all()
    np.testing.assert_array_equal(found.significant["stimulus"][0], AFTER)
    np.testing.assert_allclose(found.p_value["stimulus"][0][AFTER], 1 / 20)
    for name, p in found.p_value.items():
        np.testing.assert_array_equal(found.significant[name], p <= 0.05)
    # 1 of 20 by chance, and seldom two in a row.
    for name in ("decision", "stimulus:decision"):
        assert found.significant[name].mean() <= 0.25
    assert not any(_runs(found.significant[k], 3).any() for k in ("decision", "stimulus:decision"))


def test_shuffles_are_at_chance(tested):
    _, found = tested
    for name, null in found.null.items():
        assert null.shape == (19, 1, T)
        # Below it, as always where the class of what is held out is missing from the others.
        assert null.mean() == pytest.approx(found.chance[name], abs=0.07)


def test_accuracy_is_that_of_the_nearest_mean():
    """One component at s.d. 1 and means +-1: Phi(1) = .841, .83 with means of 29 trials."""
    rng = np.random.default_rng(0)
    X = np.array([-1.0, 1])[:, None] + rng.normal(size=(30, 2, 1))
    trials = np.concatenate([X, np.zeros((30, 2, 1))], axis=-1)
    dpca = DPCA(("stimulus",), ridge=0.0).fit(trials)
    found = dpca_significance(dpca, trials, n_splits=200, n_shuffles=1)
    # Each trial is held out as often as any other: its own class must be nearer.
    right = []
    for level, sign in ((0, -1), (1, 1)):
        right.append(np.mean(sign * X[:, level] > 0))
    assert found.accuracy["stimulus"].shape == (1, 1)
    assert found.accuracy["stimulus"][0, 0] == pytest.approx(np.mean(right), abs=0.05)


def test_is_the_same_for_padded_and_labelled_trials(tested):
    dpca, expected = tested
    trials = _trials()
    padded = np.concatenate([trials, np.full_like(trials[:2], np.nan)])
    again = dpca_significance(dpca, padded, **SETTINGS)
    at = np.argwhere(np.ones(trials.shape[:3]))
    labels = {"stimulus": at[:, 1], "decision": at[:, 2]}
    labelled = dpca_significance(dpca, trials[tuple(at.T)], labels, **SETTINGS)
    for found in (again, labelled):
        for name in expected.accuracy:
            np.testing.assert_array_equal(found.accuracy[name], expected.accuracy[name])
            np.testing.assert_array_equal(found.null[name], expected.null[name])


def test_takes_trials_that_are_unequal_and_neurons_recorded_apart():
    trials = _trials(n_trials=9)
    trials[-1, 0, 0] = np.nan
    trials[:2, ..., 5:, :] = np.nan  # two that end early
    trials[:4, ..., 3] = np.nan
    trials[4:, ..., 7] = np.nan
    dpca = DPCA(FACTORS, ridge=0.05, noise="diagonal").fit(trials)
    found = dpca_significance(dpca, trials, **SETTINGS)
    assert found.significant["stimulus"][0, AFTER].all()
    assert found.significant["stimulus"][0, ~AFTER].sum() <= 1


def test_what_counts_as_significant_can_be_set(tested):
    dpca, _ = tested
    found = dpca_significance(dpca, _trials(), **(SETTINGS | {"alpha": 0.5, "n_consecutive": 2}))
    for name, p in found.p_value.items():
        assert (p > 0.5).any() or name == "stimulus"
        np.testing.assert_array_equal(found.significant[name], _runs(p <= 0.5, 2))


def test_only_runs_of_some_length_count():
    marked = np.array([[1, 0, 1, 1, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0]], bool)
    np.testing.assert_array_equal(_runs(marked, 1), marked)
    np.testing.assert_array_equal(_runs(marked, 2)[0], [0, 0, 1, 1, 0, 1, 1, 1])
    np.testing.assert_array_equal(_runs(marked, 3)[0], [0, 0, 0, 0, 0, 1, 1, 1])
    assert not _runs(marked, 4).any()


def test_bad_input_is_refused(tested):
    dpca, _ = tested
    trials = _trials()
    for settings, message in (
        ({"n_splits": 0}, "n_splits must be at least 1"),
        ({"n_shuffles": 0}, "n_shuffles must be at least 1"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_consecutive": 0}, "n_consecutive must be at least 1"),
        ({"alpha": 1.0}, "alpha must be between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=message):
            dpca_significance(dpca, trials, **settings)
    with pytest.raises(ValueError, match="not fitted"):
        dpca_significance(DPCA(FACTORS), trials)
    with pytest.raises(ValueError, match="X has 4 features"):
        dpca_significance(dpca, trials[..., :4])
    with pytest.raises(ValueError, match=r"trials have \(3, 2, 7\) levels"):
        dpca_significance(dpca, trials[..., :7, :])
    with pytest.raises(ValueError, match=r"has 1 trial\(s\), and 2 are needed"):
        dpca_significance(dpca, trials.mean(axis=0))
    averages = trials.mean(axis=(0, 1, 2))
    alone = DPCA(("time",), ridge=0.1).fit(averages)
    with pytest.raises(ValueError, match="only factor is time"):
        dpca_significance(alone, trials[:, 0, 0])
