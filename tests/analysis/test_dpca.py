import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from neurosim.analysis import PCA
from neurosim.analysis.condition_layouts import read_condition_trials
from neurosim.analysis.dpca import DPCA
from neurosim.analysis.dpca_decomposition import DemixedRegression
from neurosim.analysis.dpca_marginalisation import contrasts, joined_terms, marginalise
from neurosim.analysis.dpca_ridge import RIDGES

FACTORS = ("stimulus", "decision", "time")
S, D, T, N = 4, 2, 8, 12


def _signals():
    """Components of each part, `(stimulus, decision, time)`, centred."""
    s, d, t = np.linspace(-1, 1, S), np.array([-1.0, 1]), np.linspace(0, 1, T)
    ones = np.ones((S, D, T))
    signals = {
        "stimulus": 2 * s[:, None, None] * np.sin(2 * t) * ones,
        "decision": 1.5 * d[None, :, None] * t * ones,
        "stimulus:decision": (s**2 - np.mean(s**2))[:, None, None] * d[None, :, None] * ones,
        "time": 3 * np.cos(3 * t) * ones,
    }
    return {name: signal - signal.mean() for name, signal in signals.items()}


def _averages(angle=0.6):
    """Each part along an axis of its own, neighbours at an angle; `(*levels, neuron)`."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(N, 4)))[0].T
    axes[1:] = np.cos(angle) * axes[:-1] + np.sin(angle) * axes[1:]
    X = sum(signal[..., None] * axis for signal, axis in zip(_signals().values(), axes))
    return X + rng.normal(size=N), axes


COUNTS = np.array([[5, 4], [3, 6], [4, 4], [6, 3]])


def _trials(noise=0.5, counts=COUNTS):
    """`(trial, *levels, neuron)`, NaN where a condition has fewer trials than another."""
    X = _averages()[0]
    trials = X + noise * np.random.default_rng(1).normal(size=(counts.max(), *X.shape))
    trials[np.arange(counts.max())[:, None, None] >= counts] = np.nan
    return trials


def _labelled(trials):
    at = np.argwhere(~np.isnan(trials[..., 0, 0]))
    return trials[tuple(at.T)], {"stimulus": at[:, 1], "decision": at[:, 2]}


@pytest.fixture(scope="module")
def demixed():
    return DPCA(FACTORS, ridge=0.0).fit(_averages()[0])


def test_demixes_what_pca_mixes(demixed):
    X, axes = _averages()
    assert demixed.marginalisations_ == ("stimulus", "decision", "stimulus:decision", "time")
    assert set(demixed.n_components_.values()) == {1}
    for axis, (name, signal) in zip(axes, _signals().items()):
        encoder = demixed.encoders_[name][0]
        assert abs(encoder @ axis) == pytest.approx(1)
        assert encoder[np.abs(encoder).argmax()] > 0
        component = demixed.transform(X, name)[..., 0]
        np.testing.assert_allclose(component, signal * np.sign(encoder @ axis), atol=1e-10)
    mixed = marginalise(PCA(4).fit_transform(X.reshape(-1, N)).reshape(S, D, T, 4), FACTORS)
    shares = [np.sum(mixed[name] ** 2, axis=(0, 1, 2)) for name in mixed]
    assert (np.max(shares, axis=0) / np.sum(shares, axis=0)).min() < 0.9


def test_variance_is_told_by_part(demixed):
    X, _ = _averages()
    total = np.sum((X - X.mean(axis=(0, 1, 2))) ** 2)
    for i, (name, part) in enumerate(marginalise(X, FACTORS).items()):
        share = np.sum(part**2) / total
        assert demixed.marginal_variance_ratio_[name] == pytest.approx(share)
        np.testing.assert_allclose(demixed.explained_variance_ratio_[name], [share])
        # All of it in its own part.
        np.testing.assert_allclose(
            demixed.component_variance_ratio_[name], [share * np.eye(4)[i]], atol=1e-12
        )
    assert demixed.total_explained_variance_ratio_ == pytest.approx(1)
    assert demixed.noise_variance_ratio_ is None
    np.testing.assert_allclose(demixed.inverse_transform(demixed.transform(X)), X, atol=1e-10)
    assert demixed.score(X.reshape(-1, N)) == pytest.approx(1)


def test_reconstruction_explains_more_than_the_component_varies():
    """Where components are not perfectly demixed, the two definitions differ."""
    X = np.random.default_rng(0).normal(size=(S, D, T, N))
    dpca = DPCA(FACTORS, ridge=0.0, n_components=2).fit(X)
    centred = (X - dpca.mean_).reshape(-1, N)
    total = np.sum(centred**2)
    for name, encoders in dpca.encoders_.items():
        read = centred @ dpca.decoders_[name].T
        for k in range(2):
            left = np.sum((centred - np.outer(read[:, k], encoders[k])) ** 2)
            found = dpca.explained_variance_ratio_[name][k]
            assert found == pytest.approx(1 - left / total)
            assert np.sum(read[:, k] ** 2) / total < found <= 1


def test_trials_that_are_missing_are_as_if_never_asked_for():
    trials = _trials()
    settings = {"ridge": [0.01, 0.1, 0.5], "n_components": 2, "noise": "full"}
    expected = DPCA(FACTORS, **settings).fit(trials)
    more = np.concatenate([trials, np.full((3, *trials.shape[1:]), np.nan)])
    padded = DPCA(FACTORS, **settings).fit(more)
    assert padded.ridge_ == expected.ridge_
    averages = np.nanmean(trials, axis=0)
    plain = DPCA(FACTORS, ridge=0.1).fit(averages)
    of_trials = DPCA(FACTORS, ridge=0.1).fit(more)
    for name in expected.marginalisations_:
        np.testing.assert_array_equal(padded.encoders_[name], expected.encoders_[name])
        np.testing.assert_array_equal(padded.decoders_[name], expected.decoders_[name])
        np.testing.assert_allclose(of_trials.encoders_[name], plain.encoders_[name], atol=1e-9)
        np.testing.assert_allclose(of_trials.decoders_[name], plain.decoders_[name], atol=1e-9)


def test_labelled_trials_are_the_same_as_a_tensor():
    trials = _trials()
    expected = DPCA(FACTORS, ridge=0.1, noise="full").fit(trials)
    values, labels = _labelled(trials)
    found = DPCA(ridge=0.1, noise="full").fit(list(values), labels)
    assert found.factors_ == FACTORS
    for name, encoders in expected.encoders_.items():
        np.testing.assert_allclose(found.encoders_[name], encoders, atol=1e-9)
    assert found.noise_variance_ratio_ == pytest.approx(expected.noise_variance_ratio_)
    # Noise of .25 over the trials of each cell, beside the variance of the averages.
    averages = np.nanmean(trials, axis=0)
    total = np.sum((averages - averages.mean(axis=(0, 1, 2))) ** 2)
    assert found.noise_variance_ratio_ == pytest.approx(
        0.25 * N * T * np.sum(1 / COUNTS) / total, rel=0.1
    )


def test_conditions_with_more_trials_do_not_weigh_more():
    trials = _trials()
    twice = np.concatenate([trials, np.full_like(trials, np.nan)])
    twice[len(trials) :, 0, 0] = trials[:, 0, 0]
    a, b = (DPCA(FACTORS, ridge=0.1).fit(x) for x in (trials, twice))
    for name in a.marginalisations_:
        np.testing.assert_allclose(a.decoders_[name], b.decoders_[name], atol=1e-10)


def test_penalty_is_chosen_on_held_out_trials():
    trials = _trials(noise=1.5)
    dpca = DPCA(FACTORS, n_components=2, n_splits=4, random_state=3).fit(trials)
    losses = dpca.ridge_losses_
    assert losses.shape == (4, len(RIDGES))
    assert dpca.ridge_ == RIDGES[losses.mean(axis=0).argmin()]
    assert 0.005 < dpca.ridge_ < RIDGES[-1]
    assert losses.mean(axis=0).min() < 0.7 * losses[:, 0].mean()
    again = DPCA(FACTORS, n_components=2, n_splits=4, random_state=3).fit(trials)
    np.testing.assert_array_equal(again.ridge_losses_, losses)
    # With less noise a smaller one will do.
    assert DPCA(FACTORS, n_splits=4).fit(_trials(noise=0.3)).ridge_ < dpca.ridge_


@pytest.mark.parametrize("noise", ["none", "full"])
def test_loss_is_that_of_the_definition(noise):
    trials = _trials()
    ridges = (0.0, 0.1, 3.0)
    dpca = DPCA(FACTORS, n_components=2, ridge=ridges, n_splits=1, random_state=7, noise=noise).fit(
        trials
    )
    read = read_condition_trials(trials, None, FACTORS)
    train, test = read.held_out(np.random.default_rng(7))
    held_out = (test - test.mean(axis=(0, 1, 2))).reshape(-1, N).T
    parts = marginalise(train, FACTORS)
    size = sum(np.sum(part**2) for part in parts.values())
    added = None if noise == "none" else read.noise("full") * S * D * T
    regression = DemixedRegression(contrasts(train, joined_terms(FACTORS, "time")), noise=added)
    for ridge, found in zip(ridges, dpca.ridge_losses_[0]):
        loss = 0.0
        for name, part in parts.items():
            encoders, decoders = regression.solve(name, 2, ridge)
            predicted = encoders.T @ decoders @ held_out
            loss += np.sum((part.reshape(-1, N).T - predicted) ** 2)
        assert found == pytest.approx(loss / size)


def test_noise_alone_is_reported():
    noise = np.random.default_rng(0).normal(size=(4, S, D, T, N))
    with pytest.warns(UserWarning, match=r"largest penalty tried, 0.882"):
        DPCA(FACTORS).fit(noise)


def test_noise_covariance_makes_for_better_reading_of_single_trials():
    """Noise shared by neurons, along the stimulus axis: read around it."""
    X, axes = _averages(angle=1.2)
    rng = np.random.default_rng(2)
    shape = (10, S, D, T)
    shared = 3 * rng.normal(size=(*shape, 1)) * (axes[0] + np.eye(N)[0])
    trials = X + shared + 0.1 * rng.normal(size=(*shape, N))
    errors = {}
    for noise in ("none", "full", "diagonal"):
        dpca = DPCA(FACTORS, ridge=0.0, noise=noise, n_components=1).fit(trials)
        read = dpca.transform(trials, "stimulus")[..., 0]
        signal = _signals()["stimulus"] * np.sign(dpca.encoders_["stimulus"][0] @ axes[0])
        errors[noise] = np.mean((read - signal) ** 2)
    assert errors["full"] < 0.5 * errors["none"]


def test_layouts_of_what_is_transformed(demixed):
    X, _ = _averages()
    trials = _trials()
    expected = (trials - demixed.mean_) @ np.concatenate(list(demixed.decoders_.values())).T
    found = demixed.transform(trials)
    assert found.shape == (*trials.shape[:-1], 4)
    # Padding stays padding.
    np.testing.assert_allclose(found, expected)
    assert np.isnan(found).any()
    as_list = demixed.transform([X[0, 0], X[0, 1, :3]], "time")
    assert [z.shape for z in as_list] == [(T, 1), (3, 1)]
    restored = demixed.inverse_transform(demixed.transform(X, "time"), "time")
    np.testing.assert_allclose(
        restored - demixed.mean_, marginalise(X, FACTORS)["time"], atol=1e-10
    )
    in_jax = jax.jit(lambda x: demixed.transform(x, "time"))(jnp.asarray(X))
    assert isinstance(in_jax, jax.Array)
    np.testing.assert_allclose(in_jax, demixed.transform(X, "time"), atol=1e-5)


def test_does_not_depend_on_the_order_of_neurons_or_trials_or_on_scale():
    trials = _trials()
    values, labels = _labelled(trials)
    expected = DPCA(ridge=0.05).fit(values, labels)
    rng = np.random.default_rng(0)
    order, neurons = rng.permutation(len(values)), rng.permutation(N)
    turned = np.linalg.qr(rng.normal(size=(N, N)))[0]
    moved = DPCA(ridge=0.05).fit(
        values[order][..., neurons], {k: v[order] for k, v in labels.items()}
    )
    rotated = DPCA(ridge=0.05).fit(values @ turned, labels)
    for scale in (1e-190, 1e180):
        scaled = DPCA(ridge=0.05).fit(values * scale, labels)
        np.testing.assert_allclose(scaled.mean_, expected.mean_ * scale, rtol=1e-10)
        assert scaled.score(values * scale, labels) == pytest.approx(expected.score(values, labels))
    for name, encoders in expected.encoders_.items():
        np.testing.assert_allclose(moved.encoders_[name], encoders[:, neurons], atol=1e-8)
        np.testing.assert_allclose(scaled.encoders_[name], encoders, atol=1e-8)
        cosines = np.abs(np.sum(rotated.encoders_[name] @ turned.T * encoders, axis=1))
        np.testing.assert_allclose(cosines, 1, atol=1e-8)
        np.testing.assert_allclose(
            rotated.explained_variance_ratio_[name], expected.explained_variance_ratio_[name]
        )


def test_parts_can_be_joined_and_components_numbered():
    X, _ = _averages()
    join = {"task": ["stimulus", "stimulus:time", "decision", "decision:time"]}
    numbers = {"task": 2, "time": 1, "stimulus:decision": 0, "stimulus:decision:time": 0}
    dpca = DPCA(FACTORS, join=join, n_components=numbers, ridge=0.0).fit(X)
    assert dpca.marginalisations_[0] == "task"
    assert dpca.n_components_ == numbers
    assert dpca.transform(X).shape == (S, D, T, 3)
    assert dpca.transform(X, "stimulus:decision").shape == (S, D, T, 0)


def test_score_is_on_averages_of_held_out_trials():
    trials = _trials(noise=1.0, counts=np.full((S, D), 6))
    values, labels = _labelled(trials)
    half = np.argwhere(~np.isnan(trials[..., 0, 0]))[:, 0] < 3
    dpca = DPCA(ridge=0.05, n_components=2)
    dpca.fit(values[half], {k: v[half] for k, v in labels.items()})
    train = dpca.score(values[half], {k: v[half] for k, v in labels.items()})
    test = dpca.score(values[~half], {k: v[~half] for k, v in labels.items()})
    assert 0.5 < test < train < 1


def test_follows_scikit_learn():
    values, labels = _labelled(_trials(counts=COUNTS + 5))
    table = np.stack([labels["stimulus"], labels["decision"]], axis=1)
    dpca = DPCA(FACTORS, ridge=0.1, n_components=1)
    assert clone(dpca).get_params() == dpca.get_params()
    search = GridSearchCV(dpca, {"ridge": [1e-3, 0.1, 3.0]}, cv=2)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(values))
    search.fit(values[order], table[order])
    assert search.best_params_["ridge"] < 3
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), dpca)
    assert pipeline.fit_transform(np.abs(values), labels).shape == (len(values), T, 4)
    assert repr(DPCA(ridge=0.1)).startswith(
        "DPCA(factors=None, join='time', n_components=10, ridge"
    )


def test_bad_input_is_refused(demixed):
    X, _ = _averages()
    trials = _trials()
    for settings, message in (
        ({"ridge": -1.0}, "ridge must be 'auto'"),
        ({"ridge": "most"}, "ridge must be 'auto'"),
        ({"ridge": [0.1, np.nan]}, "ridge must be 'auto'"),
        ({"noise": "all"}, "noise must be 'none', 'full' or 'diagonal'"),
        ({"n_components": -1}, "whole numbers, not negative"),
        ({"n_components": 0}, "above 0 for some part"),
        ({"n_components": {"time": 1}}, "a number for each of"),
        ({"n_splits": 0}, "n_splits must be at least 1"),
        ({"random_state": -1}, "random_state must be"),
        ({"join": "all"}, "join must be"),
    ):
        with pytest.raises(ValueError, match=message):
            DPCA(FACTORS, **settings).fit(trials)
    with pytest.raises(ValueError, match=r"has 1 trial\(s\), and 2 are needed"):
        DPCA(FACTORS).fit(X)
    with pytest.raises(ValueError, match="no cell with two trials"):
        DPCA(FACTORS, ridge=0.1, noise="full").fit(X)
    with pytest.raises(ValueError, match="same in all cells"):
        DPCA(FACTORS, ridge=0.1).fit(np.full((3, 2, 4, 5), 0.1))
    with pytest.raises(ValueError, match="not fitted"):
        DPCA().transform(X)
    with pytest.raises(ValueError, match="X has 5 features, but DPCA is expecting 12"):
        demixed.transform(X[..., :5])
    with pytest.raises(ValueError, match="X has 12 components, but the fit has 4"):
        demixed.inverse_transform(X)
    with pytest.raises(ValueError, match="must be one of"):
        demixed.transform(X, "place")
    with pytest.raises(ValueError, match=r"not finite at \[0, 0, 0, 3\]"):
        demixed.transform(np.where(np.arange(N) == 3, np.nan, X))
    with pytest.raises(ValueError, match=r"must be \(..., neuron\)"):
        demixed.transform(X[0, 0, 0])
    with pytest.raises(TypeError, match="under jit"):
        jax.jit(lambda X: DPCA(FACTORS, ridge=0.1).fit(X).mean_)(jnp.asarray(X))
