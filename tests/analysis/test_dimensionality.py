import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis import (
    PCA,
    effective_rank,
    participation_ratio,
    participation_ratio_of_spectrum,
)
from neurosim.analysis.dimensionality import diff_erank


def _with_spectrum(eigenvalues, n_samples=40):
    """Samples whose covariance has exactly these eigenvalues, in a random basis."""
    rng = np.random.default_rng(0)
    n = len(eigenvalues)
    samples = rng.normal(size=(n_samples, n))
    white, _ = np.linalg.qr(samples - samples.mean(axis=0))
    basis, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return white * np.sqrt(np.multiply(eigenvalues, n_samples - 1)) @ basis + 7


@pytest.mark.parametrize(
    ("eigenvalues", "expected"),
    [([1, 0.5, 0.25], 7 / 3), ([0.5, 0.25, 0.25], 8 / 3), ([2.0] * 5, 5), ([3, 0, 0], 1)],
)
def test_participation_ratio_of_known_spectra(eigenvalues, expected):
    X = _with_spectrum(eigenvalues)
    assert participation_ratio(X) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio(X.reshape(4, 10, -1)) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio([X[:3], X[3:]]) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio(1e-3 * X) == pytest.approx(expected, rel=1e-10)
    assert participation_ratio_of_spectrum(np.array(eigenvalues, float)) == pytest.approx(expected)
    assert participation_ratio_of_spectrum(PCA().fit(X).explained_variance_) == pytest.approx(
        expected
    )
    in_jax = participation_ratio(jnp.asarray(X, jnp.float32))
    assert isinstance(in_jax, jax.Array)
    assert float(in_jax) == pytest.approx(expected, rel=1e-4)


def test_more_neurons_than_samples_gives_the_same_as_the_full_covariance():
    X = np.random.default_rng(0).normal(size=(6, 15))
    C = np.cov(X.T)
    with pytest.warns(UserWarning, match=r"15 neurons but only 6 samples.*last axis of X is neur"):
        found = participation_ratio(X)
    assert found == pytest.approx(np.trace(C) ** 2 / np.trace(C @ C), rel=1e-10)
    with pytest.warns(UserWarning, match="15 neurons but only 6 samples"):
        effective_rank(X, kind="covariance")
    effective_rank(X, kind="singular")


def test_bias_is_as_documented():
    N, T = 50, 50
    rng = np.random.default_rng(0)
    found = np.mean([participation_ratio(rng.normal(size=(T, N))) for _ in range(20)])
    assert found == pytest.approx(N * (T - 1) / (T - 1 + N + 1), rel=0.02)


def test_participation_ratio_is_differentiable_where_eigenvalues_are_equal():
    with jax.enable_x64(True):
        X = jnp.asarray(_with_spectrum([1.0, 1.0, 1.0]))
        # The maximum over all spectra of three, so stationary there.
        np.testing.assert_allclose(jax.grad(participation_ratio)(X), 0, atol=1e-10)
        assert float(jax.jit(participation_ratio)(X)) == pytest.approx(3)


def test_effective_rank_of_known_spectra():
    # exp(H) of (4/7, 2/7, 1/7).
    X = _with_spectrum([1, 0.5, 0.25])
    assert effective_rank(X, kind="covariance") == pytest.approx(2.600490, abs=1e-6)
    # exp(H) of (1/2, 1/4, 1/4) is 2 sqrt 2; singular values of the data, which is not centred.
    left = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 3)))[0]
    data = left * np.array([0.5, 0.25, 0.25])
    assert effective_rank(data, kind="singular") == pytest.approx(2 * 2**0.5, rel=1e-10)
    published = np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1], [3, 1, 0]])
    assert effective_rank(published, kind="singular") == pytest.approx(2.680045, abs=1e-6)
    assert effective_rank(_with_spectrum([2.0] * 4), kind="covariance") == pytest.approx(4)
    rank_one = np.outer(np.arange(1.0, 6), [1.0, 2])
    assert effective_rank(rank_one, kind="singular") == pytest.approx(1, abs=1e-10)


def test_effective_rank_lies_between_participation_ratio_and_rank():
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.normal(size=(20, 6)) * rng.uniform(0.1, 3, size=6)
        assert participation_ratio(X) <= effective_rank(X, kind="covariance") <= 6


@pytest.mark.filterwarnings(r"ignore:\d+ neurons but only")
@pytest.mark.parametrize(("n_samples", "n_neurons"), [(5, 8), (6, 40), (40, 3)])
def test_rows_of_one_length_have_no_higher_rank(n_samples, n_neurons):
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(n_samples, n_neurons))
        found = effective_rank(X, kind="covariance", normalize_rows=True)
        # Samples about their mean span one dimension less than there are of them.
        assert 1 <= found <= min(n_neurons, n_samples - 1)
    # Corners of a simplex, and corners of a cross: as high as can be.
    simplex = np.eye(n_samples, n_samples + 2)
    highest = effective_rank(simplex, kind="covariance", normalize_rows=True)
    assert highest == pytest.approx(n_samples - 1)
    cross = np.concatenate([np.eye(n_neurons), -np.eye(n_neurons)])
    assert effective_rank(cross, kind="covariance", normalize_rows=True) == pytest.approx(n_neurons)


def test_effective_rank_has_a_finite_gradient():
    X = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3)), jnp.float32)
    assert jnp.isfinite(jax.grad(lambda X: effective_rank(X, kind="covariance"))(X)).all()


@pytest.mark.parametrize(
    ("N", "T", "naive", "scatter"),
    [(50, 50, 24.56, 2.0), (50, 200, 39.80, 0.5), (100, 100, 49.5, 2.2)],
)
def test_correction_takes_the_bias_away(N, T, naive, scatter):
    rng = np.random.default_rng(0)
    draws = [rng.normal(size=(T, N)) for _ in range(40)]
    assert np.mean([participation_ratio(X) for X in draws]) == pytest.approx(naive, rel=0.01)
    corrected = [participation_ratio(X, bias_corrected=True) for X in draws]
    # Twice the standard error of the mean; the ratio of two unbiased traces is .1 to .3 high.
    assert np.mean(corrected) == pytest.approx(N, abs=2 * scatter / 40**0.5 + 0.3)
    assert np.std(corrected) == pytest.approx(scatter, rel=0.5)


def test_correction_of_a_spectrum_that_falls_off():
    # exp(-k / 5) for 50 units has 10.03 dimensions; 40 samples.
    scales = np.exp(-np.arange(50) / 10)
    rng = np.random.default_rng(0)
    draws = [rng.normal(size=(40, 50)) * scales for _ in range(200)]
    assert participation_ratio_of_spectrum(scales**2) == pytest.approx(10.03, abs=0.005)
    with pytest.warns(UserWarning, match="50 neurons but only 40 samples"):
        naive = np.mean([participation_ratio(X) for X in draws])
    assert naive == pytest.approx(7.97, abs=0.1)
    corrected = np.mean([participation_ratio(X, bias_corrected=True) for X in draws])
    assert corrected == pytest.approx(10.23, abs=0.15)


def test_correction_is_the_ratio_of_unbiased_traces():
    X = np.random.default_rng(0).normal(size=(9, 4))
    S, n = np.cov(X.T), 8
    trace, square = np.trace(S), np.trace(S @ S)
    trace_of_square = n**2 / ((n - 1) * (n + 2)) * (square - trace**2 / n)
    squared_trace = n / ((n - 1) * (n + 2)) * ((n + 1) * trace**2 - 2 * square)
    expected = squared_trace / trace_of_square
    assert participation_ratio(X, bias_corrected=True) == pytest.approx(expected, rel=1e-12)
    in_jax = jax.jit(lambda X: participation_ratio(X, bias_corrected=True))(jnp.asarray(X))
    assert float(in_jax) == pytest.approx(expected, rel=1e-4)


def test_repeated_samples_count_once_where_said():
    X = np.random.default_rng(0).normal(size=(30, 5))
    once = participation_ratio(X, bias_corrected=True)
    twice = np.concatenate([X, X])
    assert participation_ratio(twice, bias_corrected=True, n_effective=30) == pytest.approx(once)
    assert participation_ratio(twice, bias_corrected=True) < once


def test_effective_rank_of_rows_of_one_length():
    published = np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1], [3, 1, 0]])
    found = effective_rank(published, kind="covariance", normalize_rows=True)
    assert found == pytest.approx(2.110434, abs=1e-6)
    assert effective_rank(published, kind="covariance") != pytest.approx(found, rel=1e-2)
    # A sample at the mean, to rounding, has no direction.
    shifted = np.vstack([published, published.mean(axis=0)]) + 0.1
    for given, tolerance in ((shifted, 1e-9), (jnp.asarray(shifted, jnp.float32), 1e-5)):
        with pytest.warns(UserWarning, match=r"1 sample\(s\), the first 5.*left out"):
            again = effective_rank(given, kind="covariance", normalize_rows=True)
        assert float(again) == pytest.approx(found, rel=tolerance)
    with pytest.warns(UserWarning, match=r"the first 2"):
        rank = effective_rank(
            np.array([[1.0, 0], [0, 2], [0, 0]]), kind="singular", normalize_rows=True
        )
    assert rank == pytest.approx(2)
    gradient = jax.jit(
        jax.grad(lambda X: effective_rank(X, kind="covariance", normalize_rows=True))
    )
    assert jnp.isfinite(gradient(jnp.asarray(shifted))).all()


def test_diff_erank_is_untrained_less_trained():
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(40, 6)), rng.normal(size=(40, 6)) * [5, 1, 0.2, 0.2, 0.2, 0.2]
    ranks = [effective_rank(X, kind="covariance", normalize_rows=True) for X in (before, after)]
    assert diff_erank(before, after) == pytest.approx(ranks[0] - ranks[1])
    assert diff_erank(before, after) > 1
    assert diff_erank(before, before) == 0
    plain = [effective_rank(X, kind="covariance") for X in (before, after)]
    assert diff_erank(before, after, normalize_rows=False) == pytest.approx(plain[0] - plain[1])
    in_jax = diff_erank(jnp.asarray(before), jnp.asarray(after))
    assert isinstance(in_jax, jax.Array)
    assert float(in_jax) == pytest.approx(ranks[0] - ranks[1], rel=1e-4)


def test_diff_erank_averages_entropies_over_trials():
    # Spectra of (1/2, 1/2) and (1, 0): entropies log 2 and 0, so the rank is sqrt 2, not 3/2.
    square = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    line = np.array([[1.0, 0], [-1, 0], [2, 0], [-2, 0]])
    cube = np.eye(4)[:, :2] - np.eye(4)[:, 2:]
    for pair in (np.stack([square, line]), [square, line]):
        assert diff_erank([cube, cube], pair) == pytest.approx(2 - 2**0.5)
    unequal = [square, line[:2]]
    assert diff_erank([cube, cube[:2]], unequal) == pytest.approx(2**0.5 - 2**0.5, abs=1e-12)


def test_bad_input_is_refused():
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.raises(ValueError, match="'singular' or 'covariance'"):
        effective_rank(X, kind="entropy")
    with pytest.raises(ValueError, match="does not vary"):
        participation_ratio(np.full((10, 3), 0.1))
    with pytest.raises(ValueError, match="one sample"):
        participation_ratio(X[:1])
    with pytest.raises(ValueError, match="zero everywhere"):
        effective_rank(np.zeros((4, 2)), kind="singular")
    with pytest.raises(ValueError, match="pass bias_corrected=True"):
        participation_ratio(X, n_effective=5)
    for n_effective in (2, 11, np.nan):
        with pytest.raises(ValueError, match=r"more than 2 independent samples.*the 10 there are"):
            participation_ratio(X, bias_corrected=True, n_effective=n_effective)
    # Orthogonal samples of one length look like fewer dimensions than chance would give.
    with pytest.raises(ValueError, match="5 samples are too few for 40 neurons"):
        participation_ratio(np.eye(5, 40), bias_corrected=True)
    with pytest.raises(ValueError, match=r"same samples.*\(10,\) and \(9,\)"):
        diff_erank(X, X[:9])
    with pytest.raises(ValueError, match="does not vary"):
        diff_erank([X, X], [X, np.ones_like(X)])
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="time 4, neuron 1"):
        participation_ratio(X)
    for eigenvalues in ([1.0, -1.0], [0.0, 0.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="eigenvalues must be"):
            participation_ratio_of_spectrum(np.array(eigenvalues))
