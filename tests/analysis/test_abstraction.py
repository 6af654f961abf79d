"""Geometries whose abstraction is known: squares, their diagonals, and random points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.svm import LinearSVC

from neurosim.analysis.abstraction import ccgp, parallelism_score
from neurosim.analysis.shattering_dimension import shattering_dimension


def trials(means, n, sd, seed=0):
    """Trials about the means of conditions, and the condition of each."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(len(means)), n)
    return np.asarray(means)[index] + sd * rng.normal(size=(len(index), np.shape(means)[1])), index


def cube(n_units=12, n_variables=2, seed=0):
    """Corners of a cube, one variable along each of some orthogonal directions, shifted."""
    rng = np.random.default_rng(seed)
    corners = np.array(list(np.ndindex(*(2,) * n_variables)), float)
    return corners @ np.linalg.qr(rng.normal(size=(n_units,) * 2))[0][:n_variables] + 3


def square_labels(index):
    return {"context": index // 2, "choice": index % 2}


@pytest.mark.parametrize("sd", [0.0, 0.02])
def test_a_square_is_abstract(sd):
    X, index = trials(cube(), 8, sd)
    labels = square_labels(index)
    for variable in labels:
        found = ccgp(X, labels, variable)
        assert found.score == 1
        np.testing.assert_array_equal(found.splits, [1, 1])
        assert (found.null.shape, found.p_value) == ((0,), None)
        assert parallelism_score(X, labels, variable).score == pytest.approx(1, abs=5 * sd)
    assert ccgp(X, labels, "choice").held_out == ((0, 1), (2, 3))
    assert ccgp(X, labels, "context").held_out == ((0, 2), (1, 3))
    # A diagonal is at chance for the other: half of the pairs leave one to fit.
    pairs = ccgp(X, labels, "choice", hold_out="pair")
    assert pairs.held_out == ((0, 1), (0, 3), (2, 1), (2, 3))
    np.testing.assert_allclose(pairs.splits, [1, 0.5, 0.5, 1], atol=0 if sd == 0 else 0.5)
    # "Exclusive or" is the opposite in one context of what it is in the other.
    xor = {"context": index // 2, "xor": (index // 2) ^ (index % 2)}
    assert ccgp(X, xor, "xor").score == 0
    assert parallelism_score(X, xor, "xor").score == pytest.approx(-1, abs=5 * sd)


def test_shattering_dimension_of_known_geometries():
    # Two sides of the square, and "exclusive or" at chance, whatever rounding leaves of it.
    for seed in range(8):
        X, index = trials(cube(seed=seed), 8, 0.0)
        found = shattering_dimension(X, index)
        assert found.score == pytest.approx(5 / 6)
    np.testing.assert_allclose(sorted(found.accuracies), [0.5, 1, 1])
    halves = found.dichotomies.astype(int).tolist()
    assert sorted(halves) == [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]
    assert found.conditions["label"].tolist() == [0, 1, 2, 3]
    # Points in general position are told apart in all ways: 35 for eight.
    spread, index = trials(np.random.default_rng(0).normal(size=(8, 30)), 6, 0.05)
    every = shattering_dimension(spread, index, n_folds=3)
    assert (every.score, len(every.accuracies)) == (1, 35)
    some = shattering_dimension(spread, index, n_folds=3, n_dichotomies=5, random_state=3)
    assert len(np.unique(some.dichotomies, axis=0)) == 5
    assert (some.dichotomies.sum(axis=1) == 4).all()
    assert not some.dichotomies[:, 0].any()
    # Points on a line: of three dichotomies one is of its halves.
    line, index = trials(np.arange(4.0)[:, None] * np.ones(3), 8, 0.01)
    assert sorted(shattering_dimension(line, index).accuracies)[-1] == 1
    assert shattering_dimension(line, index).score < 0.8


def test_noise_is_not_decoded():
    """Decoders are judged on trials they were not fitted to."""
    scores = [shattering_dimension(*trials(np.zeros((4, 20)), 5, 1.0, s)).score for s in range(10)]
    assert np.mean(scores) == pytest.approx(0.5, abs=0.05)


def test_random_points_are_decoded_but_not_abstract():
    scores, cosines = [], []
    for seed in range(60):
        X, index = trials(np.random.default_rng(seed).normal(size=(4, 100)), 20, 0.1, seed)
        labels = square_labels(index)
        scores.append(ccgp(X, labels, "context").score)
        cosines.append(parallelism_score(X, labels, "context").score)
    assert np.mean(scores) == pytest.approx(0.5, abs=0.1)
    # More than 80 coin tosses do: conditions are on one side as a whole.
    assert np.std(scores) > 2 * (0.25 / 80) ** 0.5
    # The better of two pairings is a little above 0.
    assert np.mean(cosines) == pytest.approx(0, abs=0.06)
    assert shattering_dimension(X, index).score == 1


def test_chance_is_a_geometry_without_structure_that_is_as_decodable():
    X, index = trials(cube(40, 3), 10, 0.1)
    labels = {"a": index // 4, "b": index // 2 % 2, "c": index % 2}
    found = ccgp(X, labels, "a", n_shuffles=60)
    assert found.score > 0.95
    assert found.p_value == 1 / 61
    assert found.null.mean() == pytest.approx(0.5, abs=0.08)
    parallel = parallelism_score(X, labels, "a", n_shuffles=60)
    assert parallel.p_value == 1 / 61
    assert parallel.score > 0.8 > parallel.null.max()
    again = ccgp(X, labels, "a", n_shuffles=60, random_state=np.random.default_rng(0))
    np.testing.assert_array_equal(again.null, found.null)
    # Random points are what chance is made of.
    X, index = trials(np.random.default_rng(5).normal(size=(4, 60)), 10, 0.1)
    assert parallelism_score(X, square_labels(index), "context", n_shuffles=60).p_value > 0.05


def test_best_pairing_of_conditions():
    """Three contexts whose order differs between the values: pairs find one another."""
    rng = np.random.default_rng(0)
    first, step = rng.normal(size=(3, 10)), rng.normal(size=10)
    means = np.concatenate([first, first[[2, 0, 1]] + step])
    X, index = trials(means, 2, 0.0)
    found = parallelism_score(X, {"value": index // 3, "context": index % 3}, "value")
    assert found.score == pytest.approx(1)
    np.testing.assert_array_equal(found.pairs, [[0, 4], [1, 5], [2, 3]])


def test_what_scores_are_unchanged_by():
    X, index = trials(np.random.default_rng(0).normal(size=(4, 6)), 9, 0.8)
    labels = square_labels(index)
    rng = np.random.default_rng(1)
    order, Q = rng.permutation(36), np.linalg.qr(rng.normal(size=(6, 6)))[0]
    moved = {name: values[order] for name, values in labels.items()}
    for function in (ccgp, parallelism_score):
        score = function(X, labels, "context").score
        assert function(X[order], moved, "context").score == pytest.approx(score)
        assert function(5 * X @ Q + 100, labels, "context").score == pytest.approx(score)
        timed = np.stack([X - 1, X + 1], axis=1)
        assert function(timed, labels, "context").score == pytest.approx(score)
        assert function(jnp.asarray(X, jnp.float32), labels, "context").score == pytest.approx(
            score, abs=0.03
        )
    # A condition counts the same, however many of its trials there are.
    twice = np.concatenate([np.arange(36), np.flatnonzero(index == 2)])
    more = {name: values[twice] for name, values in labels.items()}
    assert ccgp(X[twice], more, "context").score == pytest.approx(ccgp(X, labels, "context").score)


def test_other_decoders():
    X, index = trials(cube(), 10, 0.1)
    found = ccgp(X, square_labels(index), "context", decoder=LinearSVC())
    assert found.score == 1
    svc = LinearSVC()
    table = shattering_dimension(X, index, decoder=svc)
    assert sorted(table.accuracies)[1:] == [1, 1]
    # A copy is fitted, not the decoder itself.
    assert not hasattr(svc, "coef_")


def test_bad_input_is_refused():
    X, index = trials(cube(), 4, 0.1)
    labels = square_labels(index)
    for function in (ccgp, parallelism_score):
        with pytest.raises(ValueError, match="variable must be one of the labels"):
            function(X, labels, "colour")
        with pytest.raises(ValueError, match="'label' must have two values, it has 4"):
            function(X, index, "label")
        with pytest.raises(ValueError, match="choice = 0 is in one condition only"):
            function(X, {"choice": index % 2}, "choice")
        with pytest.raises(ValueError, match="one label for each of the 16"):
            function(X, labels | {"choice": index[:-1]}, "choice")
        with pytest.raises(ValueError, match="n_shuffles must be a whole number"):
            function(X, labels, "choice", n_shuffles=-1)
        with pytest.raises(TypeError, match="is computed in NumPy"):
            jax.jit(lambda X, f=function: f(X, labels, "choice").score)(jnp.asarray(X))
        with pytest.raises(ValueError, match="trial 3, time 0, unit 1"):
            function(np.where(X[3, 1] == X, np.nan, X), labels, "choice")
    with pytest.raises(ValueError, match="hold_out must be 'context' or 'pair'"):
        ccgp(X, labels, "choice", hold_out="trial")
    with pytest.raises(ValueError, match="one value only in the context of context = 0"):
        ccgp(X, {"context": index, "choice": index % 2}, "choice")
    for shrinkage in (0.0, 1.5):
        with pytest.raises(ValueError, match="shrinkage must be above 0"):
            ccgp(X, labels, "choice", shrinkage=shrinkage)
        with pytest.raises(ValueError, match="shrinkage must be above 0"):
            shattering_dimension(X, index, shrinkage=shrinkage)
    uneven = {"choice": np.minimum(index, 1), "condition": index}
    with pytest.raises(ValueError, match="in one condition only"):
        parallelism_score(X, uneven, "choice")
    five, places = trials(np.random.default_rng(0).normal(size=(5, 3)), 2, 0.1)
    with pytest.raises(ValueError, match="in 2 and 3 conditions: pairs need equal numbers"):
        parallelism_score(five, {"choice": places > 1, "condition": places}, "choice")
    with pytest.raises(ValueError, match="same mean pattern"):
        parallelism_score(0 * X, labels, "choice")
    with pytest.raises(ValueError, match="even in number to be halved, got 5"):
        shattering_dimension(five, places)
    with pytest.raises(ValueError, match="too few for 5 folds"):
        shattering_dimension(X, index)
    many = np.arange(36) // 2
    with pytest.raises(ValueError, match="18 conditions have 24310 balanced dichotomies"):
        shattering_dimension(np.random.default_rng(0).normal(size=(36, 3)), many, n_folds=2)
