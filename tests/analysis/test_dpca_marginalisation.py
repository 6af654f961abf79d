import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.dpca_marginalisation import contrasts, joined_terms, marginalise

FACTORS = ("stimulus", "decision", "time")
JOINS = [
    "time",
    "none",
    {"stimulus": ["stimulus", "stimulus:time"]},
    {"task": ["time:decision", "decision", "stimulus"], "rest": ["time"]},
]


def _averages(shape=(4, 3, 5, 7)):
    return np.random.default_rng(0).normal(size=shape) + 3


@pytest.mark.parametrize("join", JOINS)
def test_parts_are_orthogonal_and_sum_to_the_whole(join):
    X = _averages()
    parts = marginalise(X, FACTORS, join=join)
    centred = X - X.mean(axis=(0, 1, 2))
    np.testing.assert_allclose(sum(parts.values()), centred, atol=1e-12)
    squares = sum(np.sum(part**2) for part in parts.values())
    assert squares == pytest.approx(np.sum(centred**2), rel=1e-12)
    for a, b in itertools.combinations(parts.values(), 2):
        np.testing.assert_allclose(np.einsum("abci,abcj->ij", a, b), 0, atol=1e-11)


def test_parts_of_two_factors_by_hand():
    # Cells 1, 2 / 3, 8: mean 3.5; rows 1.5, 5.5; columns 2, 5.
    X = np.array([[1.0, 2], [3, 8]])[..., None]
    parts = marginalise(X, ("stimulus", "time"), join="none")
    np.testing.assert_allclose(parts["stimulus"][..., 0], [[-2, -2], [2, 2]])
    np.testing.assert_allclose(parts["time"][..., 0], [[-1.5, 1.5], [-1.5, 1.5]])
    np.testing.assert_allclose(parts["stimulus:time"][..., 0], [[1, -1], [-1, 1]])
    joined = marginalise(X, ("stimulus", "time"))
    assert list(joined) == ["stimulus", "time"]
    np.testing.assert_allclose(joined["stimulus"][..., 0], [[-1, -3], [1, 3]])


def test_each_signal_lands_in_its_own_part():
    s, d, t = np.array([-1.0, 0, 1]), np.array([-1.0, 1]), np.linspace(-1, 1, 6)
    signals = {
        "stimulus": s[:, None, None] * (1 + t) * np.ones((1, 2, 1)),
        "decision": d[None, :, None] * t**2 * np.ones((3, 1, 1)),
        "stimulus:decision": s[:, None, None] * d[None, :, None] * np.ones(6),
        "time": np.cos(3 * t) * np.ones((3, 2, 1)),
    }
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 4)))[0].T
    X = sum(signal[..., None] * axis for signal, axis in zip(signals.values(), axes))
    for (name, signal), axis in zip(signals.items(), axes):
        expected = (signal - signal.mean())[..., None] * axis
        np.testing.assert_allclose(marginalise(X, FACTORS)[name], expected, atol=1e-12)


def test_an_average_over_one_factor_leaves_the_others_as_they_are():
    X = _averages()
    parts = marginalise(X, FACTORS, join="none")
    over = marginalise(X.mean(axis=1), ("stimulus", "time"), join="none")
    for name, part in over.items():
        np.testing.assert_allclose(parts[name].mean(axis=1), part, atol=1e-12)


@pytest.mark.parametrize("join", JOINS)
def test_contrasts_have_the_covariances_of_the_parts(join):
    X = _averages()
    parts = marginalise(X, FACTORS, join=join)
    rows = contrasts(X, joined_terms(FACTORS, join))
    assert rows.keys() == parts.keys()
    for name, part in parts.items():
        flat = part.reshape(-1, 7)
        np.testing.assert_allclose(rows[name].T @ rows[name], flat.T @ flat, atol=1e-11)
    # As many as there are cells, but for the mean, and one that is 0 for time itself.
    n = sum(len(row) for row in rows.values())
    assert n == (60 if join == "time" else 59)


@pytest.mark.parametrize("factors", [("time",), ("stimulus",), ("stimulus", "decision")])
def test_contrasts_of_few_factors(factors):
    X = _averages()[(slice(None),) * len(factors) + (0,) * (3 - len(factors))]
    parts = marginalise(X, factors)
    for name, row in contrasts(X, joined_terms(factors, "time")).items():
        flat = parts[name].reshape(-1, 7)
        np.testing.assert_allclose(row.T @ row, flat.T @ flat, atol=1e-11)


def test_names_of_joined_parts():
    assert list(joined_terms(FACTORS, "time")) == [
        "stimulus", "decision", "stimulus:decision", "time",
    ]  # fmt: skip
    assert list(joined_terms(FACTORS, "none")) == [
        "stimulus", "decision", "time", "stimulus:decision", "stimulus:time", "decision:time",
        "stimulus:decision:time",
    ]  # fmt: skip
    terms = joined_terms(("a", "b"), {"both": ["b:a", "a"]})
    assert terms == {"both": [(0, 1), (0,)], "b": [(1,)]}


def test_takes_jax_arrays_and_gives_numpy():
    X = jnp.asarray(_averages(), jnp.float32)
    part = marginalise(X, FACTORS)["time"]
    assert isinstance(part, np.ndarray)
    assert part.dtype == np.float64
    with pytest.raises(TypeError, match="under jit"):
        jax.jit(lambda X: marginalise(X, FACTORS)["time"])(X)


@pytest.mark.parametrize(
    ("factors", "join", "message"),
    [
        (("stimulus", "time"), "time", "an axis for each of"),
        (("stimulus", "time", "decision"), "time", "'time' must be the last"),
        (("a", "a", "time"), "time", "different names"),
        (("a:b", "c", "time"), "time", "without a colon"),
        ("abc", "time", "sequence of names"),
        (FACTORS, "all", "join must be 'time', 'none'"),
        (FACTORS, {"x": ["stimulus:place"]}, "'stimulus:place' is no term"),
        (FACTORS, {"x": "stimulus"}, "must be a list of terms"),
        (FACTORS, {"x": ["stimulus"], "y": ["stimulus"]}, "in both 'x' and 'y'"),
        (FACTORS, {"time": ["stimulus"]}, "name of its own"),
        (FACTORS, {"x": []}, "name of its own and a term"),
    ],
)
def test_bad_names_are_refused(factors, join, message):
    with pytest.raises(ValueError, match=message):
        marginalise(_averages(), factors, join=join)


def test_bad_averages_are_refused():
    X = _averages()
    with pytest.raises(ValueError, match="factor 'decision' has 1 level"):
        marginalise(X[:, :1], FACTORS)
    with pytest.raises(ValueError, match="not finite"):
        marginalise(np.where(X > 4, np.nan, X), FACTORS)
