import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from neurosim.analysis import PCA
from neurosim.analysis.cvpca import CrossValidatedPCA, cross_validated_spectrum


def test_two_stimuli_axes_by_hand():
    # Both repeats vary along neuron 0 alone: (-1, 1, 0) and (-2, 2, 0); noise on neuron 1 of one.
    first = np.array([[-1.0, 0], [1, 0], [0, 0]])
    second = np.array([[-2.0, 1], [2, 1], [0, -2]])
    found = cross_validated_spectrum(np.stack([first, second]), n_components=1)
    # Axis e_0 from the first repeat (held out last), from the second too.
    np.testing.assert_allclose(found.splits[:, 0], [(2 + 2) / 3] * 2, atol=1e-12)
    np.testing.assert_allclose(found.variance, [4 / 3], atol=1e-12)
    assert found.null is None
    assert found.p_value is None


def _population(rng, n_repeats=2):
    """400 stimuli, 200 units, 50 signal dimensions of variances 1 / k, noise of s.d. .5."""
    axes = np.linalg.qr(rng.normal(size=(200, 50)))[0]
    signal = rng.normal(size=(400, 50)) / np.sqrt(np.arange(1, 51)) @ axes.T
    return signal + 0.5 * rng.normal(size=(n_repeats, 400, 200))


def test_noise_drops_out_where_plain_pca_counts_it():
    X = _population(np.random.default_rng(0))
    variance = cross_validated_spectrum(X).variance
    # 1 / k is .0252 on average over k = 31 ... 50; over draws .022 with s.d. .004.
    assert variance[30:50].mean() == pytest.approx(0.0252, abs=0.012)
    plain = PCA().fit(X[0]).explained_variance_
    assert plain[30:50].mean() == pytest.approx(0.447, rel=0.03)
    assert variance[0] == pytest.approx(1, abs=0.15)
    # All components together have the variance of the signal, whatever the axes.
    assert variance.sum() == pytest.approx((1 / np.arange(1, 51)).sum(), rel=0.05)
    assert (variance < 0).any()


def test_without_noise_it_is_the_spectrum_of_pca():
    X = np.random.default_rng(0).normal(size=(30, 5))
    found = cross_validated_spectrum(np.stack([X, X, X])).variance
    np.testing.assert_allclose(found, PCA().fit(X).explained_variance_ * 29 / 30, rtol=1e-10)


def test_is_near_zero_for_noise_alone():
    rng = np.random.default_rng(0)
    draws = [cross_validated_spectrum(rng.normal(size=(2, 50, 20))).variance for _ in range(50)]
    error = np.std(draws, axis=0) / 50**0.5
    assert (np.abs(np.mean(draws, axis=0)) < 4 * error).all()


def test_does_not_depend_on_the_order_of_stimuli_units_or_repeats_but_on_their_pairing():
    rng = np.random.default_rng(0)
    X = _population(rng, 3)[:, :60, :30]
    variance = cross_validated_spectrum(X).variance
    for same in (X[:, rng.permutation(60)], X[:, :, rng.permutation(30)], X[::-1]):
        np.testing.assert_allclose(cross_validated_spectrum(same).variance, variance, atol=1e-10)
    mixed = np.stack([X[0], X[1, rng.permutation(60)], X[2, rng.permutation(60)]])
    assert cross_validated_spectrum(mixed).variance[0] < 0.2 * variance[0]


def test_shuffles_tell_signal_from_chance():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(40, 3)) * [3, 2, 1] @ np.linalg.qr(rng.normal(size=(15, 3)))[0].T
    X = signal + 0.3 * rng.normal(size=(2, 40, 15))
    found = cross_validated_spectrum(X, n_shuffles=99, random_state=1)
    assert found.null.shape == (99, 14 + 1)
    np.testing.assert_allclose(found.p_value[:3], 0.01)
    assert (found.p_value[3:] > 0.01).any()
    again = cross_validated_spectrum(X, n_shuffles=99, random_state=1)
    np.testing.assert_array_equal(found.null, again.null)
    in_jax = cross_validated_spectrum(jnp.asarray(X))
    assert isinstance(in_jax.variance, np.ndarray)
    np.testing.assert_allclose(in_jax.variance, found.variance, atol=1e-5)


def _trials(n_each=(6, 5, 8, 7, 6, 5), n_time=4, noise=0.5):
    """Two signal dimensions over six stimuli and four times, in ten neurons."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(10, 2)))[0]
    means = rng.normal(size=(len(n_each), n_time, 2)) * [3, 1.5] @ axes.T + 4
    y = np.repeat(np.arange(len(n_each)), n_each)
    return means[y] + noise * rng.normal(size=(len(y), n_time, 10)), y, axes


def test_estimator_finds_the_signal_dimensions_of_single_trials():
    X, y, axes = _trials()
    pca = CrossValidatedPCA("significant", n_splits=5, n_shuffles=99).fit(X, y)
    assert pca.n_components_ == pca.n_significant_ == 2
    assert pca.p_values_ == pytest.approx(0.01)
    assert np.linalg.svd(pca.components_ @ axes, compute_uv=False).min() > 0.98
    averages = PCA(2, average="trials").fit(X, y)
    np.testing.assert_allclose(pca.components_, averages.components_, atol=1e-10)
    np.testing.assert_allclose(pca.explained_variance_, averages.explained_variance_)
    assert pca.transform(X).shape == (37, 4, 2)
    np.testing.assert_allclose(pca.transform(X), averages.transform(X), atol=1e-10)
    full = CrossValidatedPCA(n_splits=5).fit(X, y)
    assert full.n_components_ == 10
    assert full.n_significant_ is None
    # Noise of .25 / 6 trials is in the variance of the averages, and not in that of the signal.
    assert full.explained_variance_[3:].mean() > 0.02
    assert abs(full.signal_variance_[3:].mean()) < 0.01


def test_estimator_takes_other_layouts():
    X, y, _ = _trials()
    expected = CrossValidatedPCA().fit(X, y)
    as_list = CrossValidatedPCA().fit(list(X), y)
    np.testing.assert_array_equal(as_list.signal_variance_, expected.signal_variance_)
    assert [z.shape for z in as_list.transform(list(X))[:2]] == [(4, 10), (4, 10)]
    flat = CrossValidatedPCA(2).fit(X[:, 0], y)
    assert flat.transform(X[:, 0]).shape == (37, 2)
    assert isinstance(flat.transform(jnp.asarray(X[:, 0])), jax.Array)
    moved = np.random.default_rng(0).permutation(len(y))
    shuffled = CrossValidatedPCA().fit(X[moved], y[moved])
    np.testing.assert_allclose(shuffled.signal_variance_, expected.signal_variance_, atol=0.3)
    np.testing.assert_allclose(shuffled.components_, expected.components_, atol=1e-9)


def test_estimator_follows_scikit_learn():
    X, y, _ = _trials()
    copy = clone(CrossValidatedPCA(2, n_splits=3, random_state=5))
    assert copy.get_params() == {
        "n_components": 2, "n_splits": 3, "n_shuffles": 0, "alpha": 0.05, "random_state": 5,
    }  # fmt: skip
    pipeline = make_pipeline(CrossValidatedPCA(2), LogisticRegression())
    assert cross_val_score(pipeline, X[:, 0], y, cv=2).mean() > 0.5


def test_bad_input_is_refused():
    X, y, _ = _trials()
    for given, message in (
        (X[0], r"\(repeat, stimulus, neuron\)"),
        ([X[0], X[1, :3]], r"same stimuli; got \(4, 3\)"),
        (X[:1], "one repeat"),
        (X[:2, :2], "2 stimuli: at least three"),
        (np.ones((2, 4, 3)), "does not vary"),
    ):
        with pytest.raises(ValueError, match=message):
            cross_validated_spectrum(given)
    with pytest.raises(ValueError, match="n_shuffles must not be negative"):
        cross_validated_spectrum(X, n_shuffles=-1)
    with pytest.raises(TypeError, match="under jit"):
        jax.jit(lambda X: cross_validated_spectrum(X).variance)(jnp.asarray(X))
    with pytest.raises(ValueError, match="y is needed"):
        CrossValidatedPCA().fit(X)
    with pytest.raises(ValueError, match="one label for each of the 37 trials"):
        CrossValidatedPCA().fit(X, y[:-1])
    once = np.where(np.arange(len(y)) == 0, 9, y)
    with pytest.raises(ValueError, match="label 9 has one trial"):
        CrossValidatedPCA().fit(X, once)
    with pytest.raises(ValueError, match="label 0 differ in length"):
        CrossValidatedPCA().fit([X[0, :2], *X[1:]], y)
    with pytest.raises(ValueError, match="trials of all labels must have one length"):
        CrossValidatedPCA().fit([*X[:6, :2], *X[6:]], y)
    for bad in ("significant", "most"):
        with pytest.raises(ValueError, match="'significant', which needs n_shuffles"):
            CrossValidatedPCA(bad).fit(X, y)
    for bad in ({"n_splits": 0}, {"alpha": 1.0}):
        with pytest.raises(ValueError, match="n_splits must be at least 1 and alpha"):
            CrossValidatedPCA(**bad).fit(X, y)
    with pytest.raises(ValueError, match="not fitted"):
        CrossValidatedPCA().transform(X)
    with pytest.raises(ValueError, match="X has 9 features"):
        CrossValidatedPCA(2).fit(X, y).transform(X[:, :, :9])


def test_noise_is_as_often_significant_as_it_should_be_with_many_repeats():
    rng = np.random.default_rng(0)
    p_values = np.concatenate(
        [
            cross_validated_spectrum(
                rng.normal(size=(12, 20, 6)), n_components=3, n_shuffles=39, random_state=i
            ).p_value
            for i in range(40)
        ]
    )
    # 120 components of noise, not quite independent: .05 are expected below .05.
    assert np.mean(p_values < 0.0501) < 0.13
    assert 0.4 < p_values.mean() < 0.6
