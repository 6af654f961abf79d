"""How two populations with the same samples are read, centred, and shuffled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.activity import read_activity
from neurosim.analysis.paired_samples import (
    centred_samples,
    read_numpy_pair,
    sample_groups,
    shuffled_samples,
)

X = np.arange(12.0).reshape(6, 2)


def test_a_vector_is_one_column_however_it_is_given():
    given = [np.arange(6), list(range(6)), jnp.arange(6), np.array(list(range(6)), object)]
    for y in given:
        pair = read_numpy_pair(X, y, what="a test")
        np.testing.assert_array_equal(pair.Y, np.arange(6.0)[:, None])
        assert pair.Y.dtype == np.float64
        assert pair.y_is_vector
    for y in (X[:, :1], [[0], [1], [2], [3], [4], [5]]):
        assert not read_numpy_pair(X, y, what="a test").y_is_vector
    trials = read_numpy_pair([X[:2], X[2:]], [X[:2, :1], X[2:, :1]], what="a test")
    assert trials.groups.tolist() == [0, 0, 1, 1, 1, 1]
    assert read_numpy_pair(X, X, what="a test").groups.tolist() == list(range(6))


def test_centred_samples_are_precise_and_in_range():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(50, 3))
    expected = samples - samples.mean(axis=0)
    for offset, unit in ((0, 1.0), (1e6, 1.0), (0, 1e300), (0, 1e-300)):
        given = (samples + offset) * unit
        centred, scale = centred_samples(read_activity(given))
        assert 1 <= np.abs(centred).max() < 2
        np.testing.assert_allclose(centred * (scale / unit), expected, atol=1e-9)
        np.testing.assert_allclose(centred.mean(axis=0), 0, atol=1e-15)
        # What was given is left as it was.
        np.testing.assert_array_equal(given, (samples + offset) * unit)
    constant, scale = centred_samples(read_activity(np.full((5, 2), 0.1)))
    np.testing.assert_array_equal(constant, 0)
    assert scale == 1


def test_shuffles_keep_groups_together():
    rng = np.random.default_rng(0)
    groups = sample_groups((3, 3, 3, 3), "trials")
    orders = np.array([shuffled_samples(groups, rng) for _ in range(400)])
    assert (np.sort(orders, axis=1) == np.arange(12)).all()
    blocks = orders.reshape(400, 4, 3)
    assert (np.diff(blocks, axis=2) == 1).all()
    # Each trial is as often in each place.
    np.testing.assert_allclose((blocks[:, 0, 0] == 3).mean(), 0.25, atol=0.07)
    assert shuffled_samples(np.arange(5), rng).shape == (5,)


def test_what_is_traced_is_refused():
    with pytest.raises(TypeError, match="a test is computed in NumPy"):
        jax.jit(lambda X: read_numpy_pair(X, X, what="a test").X)(jnp.asarray(X))
