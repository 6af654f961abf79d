"""Data sets whose covariances are known exactly, and the chance level of random subspaces."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.shared_subspace import alignment_index, shared_subspace

RNG = np.random.default_rng(0)


def with_covariance(*variances, mean=0.0, basis=None):
    """Samples at plus and minus a multiple of each axis; the covariance is diagonal in them."""
    axes = np.diag(np.sqrt(variances)) @ (np.eye(len(variances)) if basis is None else basis.T)
    return np.concatenate([axes, -axes]) + mean


FALLING, RISING = with_covariance(4, 3, 2, 1, mean=5), with_covariance(1, 2, 3, 4, mean=-3)


def test_alignment_of_known_covariances():
    # The axes of the first capture 1 + 2 of the second's variance, its own 4 + 3.
    assert alignment_index(FALLING, RISING, 2) == pytest.approx(3 / 7)
    assert alignment_index(RISING, FALLING, 2) == pytest.approx(3 / 7)
    assert alignment_index(FALLING, RISING, 1) == pytest.approx(1 / 4)
    assert alignment_index(FALLING, FALLING * 3 + 1, 2) == pytest.approx(1)
    assert alignment_index(FALLING, with_covariance(1, 1, 1, 1), 3) == pytest.approx(1)
    assert alignment_index(FALLING, with_covariance(0, 0, 0, 9), 3) == pytest.approx(0, abs=1e-12)
    # Not symmetric: all of the line lies in the plane, but not the other way round.
    plane, line = with_covariance(2, 1, 0), with_covariance(0, 1, 0)
    assert alignment_index(plane, line, 2) == pytest.approx(1)
    assert alignment_index(with_covariance(0, 1, 0.1), plane, 1) == pytest.approx(1 / 2)
    # Trials and lists of them are samples.
    by_trial = FALLING.reshape(2, 4, 4)
    assert alignment_index(by_trial, [RISING[:3], RISING[3:]], 2) == pytest.approx(3 / 7)
    assert alignment_index(FALLING * 1e-170, RISING * 1e170, 2) == pytest.approx(3 / 7)


def test_alignment_in_jax_with_a_derivative():
    with jax.enable_x64(True):
        reference, other = jnp.asarray(FALLING), jnp.asarray(RISING)
        index = jax.jit(alignment_index, static_argnums=2)(reference, other, 2)
        assert isinstance(index, jax.Array)
        np.testing.assert_allclose(index, 3 / 7, rtol=1e-12)

        def of_scaled(s, reference, other):
            return alignment_index(reference, other * jnp.array([s, 1, 1, 1]), 2)

        # (s^2 + 2) / 7
        slope = jax.jit(jax.grad(of_scaled))(1.0, reference, other)
        np.testing.assert_allclose(slope, 2 / 7, rtol=1e-10)
    np.testing.assert_allclose(
        alignment_index(jnp.asarray(FALLING, jnp.float32), RISING, 2), 3 / 7, rtol=1e-5
    )


def test_the_same_directions_are_shared_and_other_ones_are_not():
    basis = np.linalg.qr(RNG.normal(size=(8, 8)))[0]
    X = with_covariance(9, 4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, basis=basis)
    same = shared_subspace(X, X[::-1] * 1e-3 + 4, 2, n_random=199)
    assert same.similarity == pytest.approx(1)
    np.testing.assert_allclose(same.angles, 0, atol=1e-7)
    assert same.p_value == 1 / 200
    Y = with_covariance(0.1, 0.1, 9, 4, 0.1, 0.1, 0.1, 0.1, basis=basis)
    apart = shared_subspace(X, Y, 2, n_random=199, alternative="less")
    assert apart.similarity == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(apart.angles, np.pi / 2)
    assert apart.p_value <= 2 / 200
    assert shared_subspace(X, Y, 2, n_random=199).p_value == 1
    # One direction in common, at a right angle the other; and the scale of either is of no matter.
    Z = with_covariance(0.1, 8, 3, 0.1, 0.1, 0.1, 0.1, 0.1, basis=basis)
    half = shared_subspace(1e170 * X, jnp.asarray(Z), 2, n_random=50)
    assert half.similarity == pytest.approx(0.5, abs=1e-6)
    np.testing.assert_allclose(half.angles, [0, np.pi / 2], atol=1e-3)
    assert isinstance(half.angles, np.ndarray)


def test_chance_is_that_of_subspaces_of_the_pooled_covariance():
    # All ten directions alike: a random subspace of three captures 3 / 10 of another.
    X = with_covariance(*np.linspace(1, 1.001, 10))
    null = shared_subspace(X, X, 3, n_random=2000).null
    assert null.mean() == pytest.approx(0.3, abs=4 * null.std() / 2000**0.5)
    # Five of them empty: 3 / 5.
    X = with_covariance(*np.linspace(1, 1.001, 5), *[0] * 5)
    null = shared_subspace(X, X, 3, n_random=2000).null
    assert null.mean() == pytest.approx(0.6, abs=4 * null.std() / 2000**0.5)
    # Deviations 3 and 1: one direction at angle f has E cos 2f = (3 - 1) / (3 + 1), and two of them
    # a squared cosine of (1 + (E cos 2f)^2) / 2.
    flat = with_covariance(9, 1)
    null = shared_subspace(flat, flat, 1, n_random=2000).null
    assert null.mean() == pytest.approx(0.625, abs=4 * null.std() / 2000**0.5)
    # Two sets in directions of their own make five and five, each counted the same.
    Y = 100 * np.roll(X, 5, axis=1)
    null = shared_subspace(X, Y, 3, n_random=2000).null
    assert null.mean() == pytest.approx(0.3, abs=4 * null.std() / 2000**0.5)


def test_p_values_of_random_subspaces_are_spread_evenly():
    p = []
    for seed in range(40):
        sets = RNG.normal(size=(2, 30, 6))
        p.append(shared_subspace(*sets, 2, n_random=99, seed=seed).p_value)
    # Forty values between 0 and 1: mean .5 to a deviation of .29 / sqrt(40).
    assert np.mean(p) == pytest.approx(0.5, abs=4 * 0.046)
    first, again, other = (
        shared_subspace(*sets, 2, n_random=9, seed=seed).null for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


@pytest.mark.parametrize("measure", [alignment_index, shared_subspace])
@pytest.mark.parametrize(
    ("X", "Y", "n", "message"),
    [
        (FALLING, RISING[:, :3], 2, "same neurons, got 4 and 3"),
        (FALLING, RISING, 5, "n_components must lie between 1 and"),
        (FALLING, RISING, 0, "n_components must be at least 1"),
        (FALLING, np.full((8, 4), 0.1), 2, "not vary"),
        (np.full((8, 4), 0.1), RISING, 2, "not vary"),
        (FALLING[:, 0], RISING, 2, r"must be \(time, neurons\)"),
        (np.where(FALLING > 6, np.nan, 0), RISING, 2, "not finite"),
        (FALLING, np.ma.masked_less(RISING, -3), 2, "is a masked array"),
    ],
)
def test_bad_data_are_refused(measure, X, Y, n, message):
    with pytest.raises(ValueError, match=message):
        measure(X, Y, n)


def test_bad_options_are_refused():
    flat = with_covariance(3, 1, 0, 0)
    with pytest.raises(ValueError, match="Y varies in fewer than n_components = 3 directions"):
        shared_subspace(FALLING, flat, 3)
    with pytest.raises(ValueError, match="alternative must be"):
        shared_subspace(FALLING, RISING, 2, alternative="two-sided")
    with pytest.raises(ValueError, match="n_random must be at least 1"):
        shared_subspace(FALLING, RISING, 2, n_random=0)
    for options, message in (
        ({"n_random": 1.5}, "n_random must be a whole number, got 1.5"),
        ({"seed": 0.5}, "seed must be a whole number, got 0.5"),
        ({"seed": -1}, "seed must not be negative, got -1"),
        ({"seed": jax.random.key(0)}, "seed must be a whole number"),
    ):
        with pytest.raises(ValueError, match=message):
            shared_subspace(FALLING, RISING, 2, **options)
    for measure in (alignment_index, shared_subspace):
        with pytest.raises(ValueError, match=r"n_components must be a whole number, got 0.5\.$"):
            measure(FALLING, RISING, 0.5)
    assert shared_subspace(FALLING, RISING, np.int64(2), n_random=np.int64(3)).null.shape == (3,)


def test_values_that_are_not_known_yet_are_refused():
    with pytest.raises(TypeError, match=r"shared_subspace is computed in NumPy.*outside"):
        jax.jit(lambda X: shared_subspace(X, RISING, 2).similarity)(jnp.asarray(FALLING))
