import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.condition_layouts import read_condition_trials

COUNTS = np.array([[3, 2], [4, 5]])


def _tensor(counts=COUNTS, n_times=6, n_neurons=3):
    """(trial, stimulus, decision, time, neuron), NaN where a cell has fewer trials."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(counts.max(), *counts.shape, n_times, n_neurons))
    X[np.arange(counts.max())[:, None, None] >= counts] = np.nan
    return X


def _labelled(tensor):
    """The same as single trials with labels, in random order."""
    at = np.argwhere(~np.isnan(tensor[..., 0, 0]))
    at = at[np.random.default_rng(1).permutation(len(at))]
    return tensor[tuple(at.T)], {"stimulus": at[:, 1], "decision": at[:, 2]}


FACTORS = ("stimulus", "decision", "time")


def test_layouts_agree_on_averages_and_counts():
    X = _tensor()
    expected = np.nanmean(X, axis=0)
    tensor = read_condition_trials(X, None, FACTORS)
    labelled = read_condition_trials(*_labelled(X))
    as_list = read_condition_trials(list(_labelled(X)[0]), _labelled(X)[1])
    values, labels = _labelled(X)
    table = np.stack([labels["decision"], labels["stimulus"]], axis=1)
    columns = read_condition_trials(jnp.asarray(values), table, ("decision", "stimulus", "time"))
    for trials in (tensor, labelled, as_list):
        assert trials.factors == FACTORS
        assert trials.shape == (2, 2, 6, 3)
        np.testing.assert_allclose(trials.averages(), expected * (1 / trials.unit), rtol=1e-12)
        np.testing.assert_array_equal(trials.counts.ravel(), COUNTS.ravel())
    np.testing.assert_allclose(columns.averages(), np.swapaxes(expected, 0, 1), atol=1e-6)
    averages = read_condition_trials(expected, None, FACTORS)
    np.testing.assert_array_equal(averages.averages(), expected)
    subset = read_condition_trials(values, labels, ("stimulus", "time"))
    assert subset.shape == (2, 6, 3)


def test_levels_are_those_of_the_labels():
    values, labels = _labelled(_tensor())
    names = np.array(["left", "right"])[labels["decision"]]
    trials = read_condition_trials(
        values, {"decision": names, "contrast": labels["stimulus"] * 0.5}
    )
    assert list(trials.levels) == ["decision", "contrast", "time"]
    assert trials.levels["decision"].tolist() == ["left", "right"]
    assert trials.levels["contrast"].tolist() == [0, 0.5]
    assert trials.describe(1) == "decision = left, contrast = 0.5"
    without = read_condition_trials(values[:, 0], labels)
    assert without.factors == ("stimulus", "decision")
    assert without.shape == (2, 2, 3)


def test_samples_that_are_missing_are_left_out_of_averages():
    X = _tensor(np.full((2, 2), 4))
    X[0, 0, 0, 4:] = np.nan  # a trial that ends early
    X[1, 1, 0, :, 2] = np.nan  # a neuron that was not recorded
    trials = read_condition_trials(X, None, FACTORS)
    np.testing.assert_allclose(trials.averages() * trials.unit, np.nanmean(X, axis=0), rtol=1e-12)
    seen = (~np.isnan(X)).sum(axis=0).reshape(4, 6, 3)
    np.testing.assert_array_equal(trials.counts, seen)


def test_held_out_trials_and_the_averages_of_the_others():
    X = _tensor()
    trials = read_condition_trials(X, None, FACTORS)
    rng = np.random.default_rng(0)
    picked = set()
    for _ in range(40):
        train, test = (x * trials.unit for x in trials.held_out(rng))
        total = train * (COUNTS - 1)[..., None, None] + test
        np.testing.assert_allclose(total, np.nansum(X, axis=0), atol=1e-12)
        which = [np.flatnonzero(np.isclose(X[:, s, d, 0, 0], test[s, d, 0, 0])) for s, d in CELLS]
        for (s, d), trial in zip(CELLS, which):
            np.testing.assert_allclose(test[s, d], X[trial[0], s, d])
            picked.add((s, d, int(trial[0])))
    # Each trial of each cell has its turn.
    assert len(picked) == COUNTS.sum()


CELLS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_held_out_trials_go_on_with_another_where_they_end():
    X = _tensor(np.full((2, 2), 3))
    X[0, :, :, 4:] = np.nan
    trials = read_condition_trials(X, None, FACTORS)
    for _ in range(10):
        train, test = (x * trials.unit for x in trials.held_out(np.random.default_rng(0)))
        assert np.isclose(X, test).any(axis=0).all()
        n = (~np.isnan(X)).sum(axis=0)
        np.testing.assert_allclose(train * (n - 1) + test, np.nansum(X, axis=0), atol=1e-12)


def test_each_neuron_has_its_own_trials_where_they_were_not_recorded_together():
    X = _tensor(np.full((2, 2), 6))
    X[:3, ..., 0] = np.nan
    X[3:, ..., 1] = np.nan
    trials = read_condition_trials(X, None, FACTORS)
    rng = np.random.default_rng(0)
    for _ in range(10):
        train, test = (x * trials.unit for x in trials.held_out(rng))
        assert np.isclose(X, test).any(axis=0).all()
        n = (~np.isnan(X)).sum(axis=0)
        np.testing.assert_allclose(train * (n - 1) + test, np.nansum(X, axis=0), atol=1e-12)
    shuffled = trials.shuffled(rng)
    np.testing.assert_array_equal(shuffled.counts, trials.counts)
    for neuron in range(3):
        values = (trials.values[..., neuron], shuffled.values[..., neuron])
        np.testing.assert_allclose(*(np.sort(v, axis=0) for v in values))
    assert not np.allclose(shuffled.averages(), trials.averages())


def test_shuffles_keep_whole_trials_and_their_numbers():
    trials = read_condition_trials(_tensor(), None, FACTORS)
    shuffled = trials.shuffled(np.random.default_rng(0))
    np.testing.assert_array_equal(shuffled.values, trials.values)
    np.testing.assert_array_equal(np.bincount(shuffled.cell), np.bincount(trials.cell))
    assert (shuffled.cell != trials.cell).any()


def test_shuffles_deal_out_the_trials_that_are_left_at_each_time():
    X = _tensor(np.full((2, 2), 3))
    X[0, :, :, 4:] = np.nan
    X[1, 0, 0, 2:] = np.nan
    trials = read_condition_trials(X, None, FACTORS)
    shuffled = trials.shuffled(np.random.default_rng(0))
    np.testing.assert_array_equal(shuffled.counts, trials.counts)
    np.testing.assert_array_equal(np.sort(shuffled.values, axis=0), np.sort(trials.values, axis=0))
    # Until the first one ends, whole trials are exchanged.
    first, later = (
        [
            int(np.flatnonzero((trials.values[:, t] == v[t]).all(axis=-1))[0])
            for v in shuffled.values
        ]
        for t in (0, 1)
    )
    assert first == later != list(range(12))


def test_noise_counts_every_cell_the_same():
    X = _tensor(n_times=2)
    cells = [X[: COUNTS[s, d], s, d, t] for s, d in CELLS for t in range(2)]
    expected = np.mean([np.cov(cell.T) for cell in cells], axis=0)
    trials = read_condition_trials(X, None, FACTORS)
    np.testing.assert_allclose(trials.noise("full") * trials.unit**2, expected, rtol=1e-10)
    diagonal = trials.noise("diagonal") * trials.unit**2
    np.testing.assert_allclose(diagonal, np.diag(np.diag(expected)), rtol=1e-10)
    of_averages = sum(np.trace(np.cov(cell.T)) / len(cell) for cell in cells)
    assert trials.noise_of_averages() * trials.unit**2 == pytest.approx(of_averages, rel=1e-10)


def test_noise_of_neurons_recorded_apart():
    X = _tensor(np.full((2, 2), 6), n_times=1)
    X[:3, ..., 0] = np.nan
    X[3:, ..., 1] = np.nan
    trials = read_condition_trials(X[..., 0, :], None, FACTORS[:2])
    noise = trials.noise("full") * trials.unit**2
    for neuron in range(3):
        expected = np.nanmean(np.nanvar(X[..., neuron], axis=0, ddof=1))
        assert noise[neuron, neuron] == pytest.approx(expected, rel=1e-10)
    assert noise[0, 1] == 0
    assert np.linalg.eigvalsh(noise).min() > -1e-12


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_extreme_scales_stay_in_range(scale):
    trials = read_condition_trials(_tensor() * scale, None, FACTORS)
    expected = np.nanmean(_tensor(), axis=0) * scale
    np.testing.assert_allclose(trials.averages() * trials.unit, expected, rtol=1e-12)
    assert np.isfinite(np.vdot(trials.averages(), trials.averages()))


def test_cells_with_too_few_trials_are_named():
    counts = COUNTS.copy()
    counts[1, 0] = 0
    trials = read_condition_trials(_tensor(counts), None, FACTORS)
    with pytest.raises(ValueError, match=r"stimulus = 1, decision = 0 has 0 trial\(s\), and 1 are"):
        trials.averages()
    X = _tensor()
    X[:, 0, 1, :, 2] = np.nan
    trials = read_condition_trials(X, None, FACTORS)
    with pytest.raises(
        ValueError, match=r"decision = 1 has 0 trial\(s\) .*neurons with too few: 2\)"
    ):
        trials.averages()
    with pytest.raises(ValueError, match=r"stimulus = 0, decision = 1 has 1 trial\(s\), and 2 are"):
        read_condition_trials(_tensor(COUNTS - 1), None, FACTORS).check_counts(2)
    short = _tensor()
    short[:, 1, 1, 5:] = np.nan
    with pytest.raises(ValueError, match=r"stimulus = 1, decision = 1 has 0 trial\(s\) at time 5"):
        read_condition_trials(short, None, FACTORS).averages()
    with pytest.raises(ValueError, match="neuron 0 has no cell with two trials"):
        read_condition_trials(np.nanmean(X[..., :2], axis=0), None, FACTORS).noise("full")


def test_bad_input_is_refused():
    X = _tensor()
    values, labels = _labelled(X)
    for args, message in (
        ((X,), "factors must name the axes"),
        ((X[0, 0], None, FACTORS), r"averages or \(trial, stimulus"),
        ((X[:, :1], None, FACTORS), "factor 'stimulus' has 1 level"),
        ((np.where(np.isnan(X), np.inf, X), None, FACTORS), r"infinite values, the first at"),
        ((X * np.nan, None, FACTORS), "NaN throughout"),
        ((X, labels), r"must be \(trial, time, neuron\)"),
        (([], labels), "empty list"),
        (([values[0], values[1, :, :2]], labels), "same neurons; trial 1"),
        ((values, labels, ("stimulus",)), "must end in 'time' where X has a time axis"),
        ((values[:, 0], labels, ("stimulus", "time")), "must end in 'time'"),
        ((values, labels, ("place", "time")), r"no labels for \['place'\]"),
        ((values, {"time": labels["stimulus"]}), "call a label of trials something else"),
        ((values, labels["stimulus"]), "labels without names go in the order of factors"),
        ((values, np.zeros((14, 2)), ("stimulus", "time")), "one column for each"),
        ((values, {"stimulus": labels["stimulus"][:-1]}), "one label for each of the 14 trials"),
    ):
        with pytest.raises(ValueError, match=message):
            read_condition_trials(*args)
