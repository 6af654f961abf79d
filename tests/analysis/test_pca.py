import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scikit_learn_checks import assert_passes_the_checks_of_scikit_learn, unchecked_signatures
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neurosim.analysis import PCA, explained_variance, principal_axes

ANGLE = np.pi / 6
AXES = np.array([[np.cos(ANGLE), np.sin(ANGLE)], [-np.sin(ANGLE), np.cos(ANGLE)]])
MEAN = np.array([5.0, -2.0])
# Four points at +-3 and +-1 on rotated axes: variances 2 * 9 / 3 and 2 * 1 / 3.
CROSS = MEAN + np.array([[3.0, 0], [-3, 0], [0, 1], [0, -1]]) @ AXES


def test_axes_of_a_cross():
    pca = PCA().fit(CROSS)
    # The second axis is (-.5, .866): its largest loading is positive as it stands.
    np.testing.assert_allclose(pca.components_, AXES, atol=1e-12)
    np.testing.assert_allclose(pca.explained_variance_, [6, 2 / 3], rtol=1e-12)
    np.testing.assert_allclose(pca.explained_variance_ratio_, [0.9, 0.1], rtol=1e-12)
    np.testing.assert_allclose(pca.mean_, MEAN, rtol=1e-12)
    np.testing.assert_allclose(pca.transform(CROSS)[:, 0], [3, -3, 0, 0], atol=1e-12)


def test_agrees_with_the_eigenvectors_of_the_covariance():
    X = np.random.default_rng(0).normal(size=(50, 6)) @ np.random.default_rng(1).normal(size=(6, 6))
    values, vectors = np.linalg.eigh(np.cov(X.T))
    pca = PCA(n_components=3).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, values[::-1][:3], rtol=1e-10)
    np.testing.assert_allclose(np.abs(pca.components_ @ vectors[:, ::-1]), np.eye(3, 6), atol=1e-8)
    np.testing.assert_allclose(
        pca.explained_variance_ratio_, values[::-1][:3] / values.sum(), rtol=1e-10
    )


def test_largest_loading_is_positive_and_ties_go_to_the_first():
    X = np.random.default_rng(0).normal(size=(30, 5))
    components = PCA().fit(X).components_
    assert (components[np.arange(5), np.abs(components).argmax(axis=1)] > 0).all()
    # Loadings (.7071, -.7071): equal in magnitude, so the first is the positive one.
    t = np.linspace(-1, 1, 11)
    for sign in (1, -1):
        tied = sign * np.stack([t, -t * (1 + 1e-12)], axis=1)
        np.testing.assert_allclose(PCA(1).fit(tied).components_, [[0.5**0.5, -(0.5**0.5)]])


def test_layouts_are_kept_and_agree():
    trials = np.random.default_rng(0).normal(size=(4, 7, 5))
    flat = trials.reshape(28, 5)
    pca = PCA(2).fit(trials)
    expected = PCA(2).fit_transform(flat)
    assert pca.transform(trials).shape == (4, 7, 2)
    assert pca.inverse_transform(pca.transform(trials)).shape == (4, 7, 5)
    np.testing.assert_allclose(pca.transform(trials).reshape(28, 2), expected)

    unequal = [flat[:3], flat[3:20], flat[20:]]
    projected = PCA(2).fit_transform(unequal)
    assert [p.shape for p in projected] == [(3, 2), (17, 2), (8, 2)]
    np.testing.assert_allclose(np.concatenate(projected), expected)
    restored = pca.inverse_transform(projected)
    assert [r.shape for r in restored] == [(3, 5), (17, 5), (8, 5)]


def test_all_components_reconstruct_exactly():
    X = np.random.default_rng(0).normal(size=(3, 8, 5)) + 10
    pca = PCA()
    np.testing.assert_allclose(pca.inverse_transform(pca.fit_transform(X)), X, rtol=1e-12)
    assert pca.score(X) == pytest.approx(1)
    assert PCA(2).fit(X).score(X) == pytest.approx(pca.explained_variance_ratio_[:2].sum())


def _signal_and_noise():
    """Signal on neuron 0 in every trial; a larger disturbance on neuron 1, opposite in pairs."""
    signal = np.sin(np.linspace(0, 2 * np.pi, 20, endpoint=False))
    disturbance = 5 * np.cos(np.linspace(0, 3, 20))
    X = np.zeros((6, 20, 3))
    X[:, :, 0] = signal
    X[:, :, 1] = disturbance * np.array([1, -1, 1, -1, 1, -1])[:, None]
    return X, signal


def test_trial_averages_leave_the_noise_out_and_single_trials_are_projected():
    X, signal = _signal_and_noise()
    single, averaged = PCA(1).fit(X), PCA(1, average="trials").fit(X)
    np.testing.assert_allclose(single.components_, [[0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(averaged.components_, [[1, 0, 0]], atol=1e-12)
    # A sine over its period has mean square 1/2; 20 samples.
    np.testing.assert_allclose(averaged.explained_variance_, [0.5 * 20 / 19], rtol=1e-12)
    projected = averaged.transform(X)
    assert projected.shape == (6, 20, 1)
    np.testing.assert_allclose(projected[:, :, 0], np.tile(signal, (6, 1)), atol=1e-12)


def test_condition_averages_count_each_condition_once():
    # Condition a at (0, 0), b at (2, 0), constant but for a disturbance that averages out.
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "a", "a", "b", "a"])
    X = np.zeros((6, 10, 2))
    X[labels == "b", :, 0] = 2
    noise = rng.normal(size=(10,))
    X[[0, 2], :, 1] += np.stack([noise, -noise])
    X[[3, 5], :, 1] += np.stack([-noise, noise])
    X[[1, 4], :, 1] += np.stack([noise, -noise])
    pca = PCA(1, average="trials").fit(X, labels)
    np.testing.assert_allclose(pca.components_, [[1, 0]], atol=1e-12)
    # Not .667, the mean over trials, of which a has twice as many.
    np.testing.assert_allclose(pca.mean_, [1, 0], atol=1e-12)
    assert pca.n_samples_ == 20


def test_conditions_of_unequal_length_are_averaged_separately():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in (5, 8, 5, 8)]
    pca = PCA(average="trials").fit(X, [0, 1, 0, 1])
    means = np.concatenate([(X[0] + X[2]) / 2, (X[1] + X[3]) / 2])
    np.testing.assert_allclose(pca.components_, PCA().fit(means).components_, atol=1e-10)
    with pytest.raises(ValueError, match=r"one length, got \[5, 8\]"):
        PCA(average="trials").fit(X, [0, 0, 1, 1])


def test_numpy_in_numpy_out_jax_in_jax_out():
    X = np.random.default_rng(0).normal(size=(20, 4))
    pca = PCA(2).fit(X.astype(np.float32))
    assert isinstance(pca.components_, np.ndarray)
    assert pca.components_.dtype == np.float64
    assert isinstance(pca.transform(jnp.asarray(X)), jax.Array)
    on_jax = PCA(2).fit(jnp.asarray(X))
    assert isinstance(on_jax.components_, jax.Array)
    assert isinstance(on_jax.transform(X), np.ndarray)
    np.testing.assert_allclose(on_jax.components_, pca.components_, atol=1e-5)
    assert isinstance(on_jax.transform([jnp.asarray(X), jnp.asarray(X)])[0], jax.Array)


def test_leading_variance_has_the_derivative_of_an_eigenvalue():
    with jax.enable_x64(True):
        X = jnp.asarray(np.random.default_rng(0).normal(size=(12, 4)))
        V = jnp.asarray(np.random.default_rng(1).normal(size=(12, 4)))

        def leading(X):
            return principal_axes(X, n_components=1).explained_variance[0]

        # d lambda = 2 u^T dX^T (X - mean) u / (n - 1)
        axis = principal_axes(X, n_components=1).components[0]
        centred = X - X.mean(axis=0)
        expected = 2 * (V @ axis) @ (centred @ axis) / 11
        np.testing.assert_allclose(jnp.sum(jax.grad(leading)(X) * V), expected, rtol=1e-8)
        np.testing.assert_allclose(jax.jit(leading)(X), leading(X), rtol=1e-12)


def test_explained_variance_is_by_reconstruction():
    # Neurons by time. The decoder (1, 1) reads the sum, the encoder (1, 0) writes it to neuron 0.
    X = np.array([[1.0, -1, 1, -1], [2, -2, 0, 0]])
    latent = np.array([1.0, 1]) @ X
    reconstruction = np.outer([1.0, 0], latent)
    # 1 - 16 / 12; the variance of the latent itself would be 20 / 12 of what there is.
    assert explained_variance(X.T, reconstruction.T) == pytest.approx(-1 / 3)
    assert explained_variance(X.T, X.T) == 1
    assert explained_variance(X.T + 3, np.full((4, 2), 3.0)) == pytest.approx(0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert explained_variance(X.T, rng.normal(size=(4, 2)) * 3) <= 1
    in_jax = explained_variance(jnp.asarray(X.T), jnp.asarray(reconstruction.T))
    assert isinstance(in_jax, jax.Array)
    assert float(in_jax) == pytest.approx(-1 / 3, rel=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused_with_their_place(bad):
    X = np.zeros((3, 5, 4))
    X[1, 2, 3] = X[2, 0, 0] = bad
    with pytest.raises(ValueError, match=r"2 value\(s\).*trial 1, time 2, neuron 3"):
        PCA().fit(X)
    with pytest.raises(ValueError, match=r"trial 1, time 2, neuron 3"):
        PCA().fit(list(X))
    with pytest.raises(ValueError, match=r"at time 2, neuron 3"):
        PCA().fit(jnp.asarray(X[1]))
    pca = PCA().fit(np.random.default_rng(0).normal(size=(20, 4)))
    with pytest.raises(ValueError, match=r"trial 1, time 2, neuron 3"):
        pca.transform(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(5), "shape"),
        (np.zeros((0, 5)), "empty"),
        ([], "empty list"),
        (np.full((10, 2), 0.1), "does not vary"),
        (np.ones((1, 3)), "one sample"),
        ([np.zeros((3, 2)), np.zeros((3, 4))], r"trial 1 \(3, 4\)"),
        (np.zeros((3, 2), complex), "real"),
    ],
)
def test_bad_activity_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        PCA().fit(X)


def test_bad_arguments_are_refused():
    X = np.random.default_rng(0).normal(size=(3, 5, 4))
    for n in (0, 5):
        with pytest.raises(ValueError, match="between 1 and"):
            PCA(n).fit(X)
    with pytest.raises(ValueError, match="'none' or 'trials'"):
        PCA(average="time").fit(X)
    with pytest.raises(ValueError, match="needs trials"):
        PCA(average="trials").fit(X[0])
    with pytest.raises(ValueError, match="one label for each of the 3 trials"):
        PCA(average="trials").fit(X, [0, 1])
    with pytest.raises(ValueError, match="not fitted"):
        PCA().transform(X)
    with pytest.raises(ValueError, match=r"X has 3 features, but PCA is expecting 4 .*neurons"):
        PCA().fit(X).transform(X[:, :, :3])
    with pytest.raises(ValueError, match="X has 4 components, but the fit has 2"):
        PCA(2).fit(X).inverse_transform(X)
    with pytest.raises(ValueError, match="one shape"):
        explained_variance(X, X[0])
    with pytest.raises(ValueError, match=r"second argument is the activity.*not its components"):
        explained_variance(X, PCA(2).fit(X).components_)


@pytest.mark.parametrize("n", [2.0, 1.0, 0.0, -0.5, np.nan, "mle"])
def test_numbers_of_components_are_whole(n):
    X = np.random.default_rng(0).normal(size=(20, 4))
    for fit in (lambda: PCA(n).fit(X), lambda: principal_axes(X, n_components=n)):
        message = f"n_components must be a whole number, a fraction.*{n!r}"
        with unchecked_signatures(), pytest.raises(ValueError, match=message):
            fit()
    assert PCA(np.int64(2)).fit(X).components_.shape == (2, 4)


def test_a_fraction_keeps_the_fewest_components_that_reach_it():
    # Ratios .9 and .1.
    for fraction, kept in ((0.5, 1), (0.9, 1), (0.91, 2), (np.float32(0.95), 2)):
        assert PCA(fraction).fit(CROSS).n_components_ == kept
        assert len(principal_axes(CROSS, n_components=fraction).components) == kept
    X = np.random.default_rng(0).normal(size=(40, 6)) * [5, 4, 3, 2, 1, 0.5]
    everything = np.cumsum(PCA().fit(X).explained_variance_ratio_)
    for fraction in (0.3, 0.7, 0.99):
        for given in (X, jnp.asarray(X), X.reshape(4, 10, 6)):
            pca = PCA(fraction).fit(given)
            assert pca.n_components_ == 1 + (everything < fraction).sum()
            np.testing.assert_allclose(
                pca.explained_variance_ratio_.sum(), everything[pca.n_components_ - 1], rtol=1e-5
            )


def test_a_fraction_needs_values():
    X = jnp.asarray(np.random.default_rng(0).normal(size=(12, 4)))
    with pytest.raises(ValueError, match=r"n_components=0.9.*under jit"):
        jax.jit(lambda X: principal_axes(X, n_components=0.9).components)(X)
    np.testing.assert_allclose(
        jax.jit(lambda X: principal_axes(X, n_components=2).components)(X),
        principal_axes(X, n_components=2).components,
        atol=1e-5,
    )


def test_is_an_estimator_to_scikit_learn():
    assert repr(PCA(2)) == "PCA(n_components=2, average='none')"
    pca = PCA(2, average="trials")
    assert pca.get_params() == {"n_components": 2, "average": "trials"}
    assert pca.set_params(n_components=3).n_components == 3
    with pytest.raises(ValueError, match="no parameter 'whiten'; it has n_components and average"):
        pca.set_params(whiten=True)


@pytest.mark.parametrize("pca", [PCA(), PCA(2), PCA(0.9)])
def test_passes_the_checks_of_scikit_learn(pca):
    assert_passes_the_checks_of_scikit_learn(pca)


def test_searches_over_trials():
    """Three strong components; scores on held-out trials rise up to the third."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(8, 3)))[0].T
    X = rng.normal(size=(12, 10, 3)) @ basis
    search = GridSearchCV(PCA(), {"n_components": [1, 2, 3]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 3}
    assert search.best_score_ == pytest.approx(1)
    labels = np.arange(12) % 2
    averaged = GridSearchCV(PCA(average="trials"), {"n_components": [1, 2]}, cv=3).fit(X, labels)
    assert averaged.best_params_ == {"n_components": 2}


def test_stands_in_a_pipeline():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    X = rng.normal(size=(60, 5)) * 0.1
    X[:, 0] += 4 * y
    pipeline = make_pipeline(StandardScaler(with_std=False), PCA(1), LogisticRegression())
    assert cross_val_score(pipeline, X, y, cv=3).mean() == 1
    search = GridSearchCV(pipeline, {"pca__n_components": [1, 0.5]}, cv=3).fit(X, y)
    assert search.best_score_ == 1
