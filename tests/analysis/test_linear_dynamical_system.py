import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scikit_learn_checks import ORDER_OF_TIME, assert_passes_the_checks_of_scikit_learn
from sklearn.base import clone

from neurosim.analysis.kalman import kalman_filter
from neurosim.analysis.linear_dynamical_system import LinearDynamicalSystem
from neurosim.analysis.subspace_angles import principal_angles

ANGLE = 0.3
TURN = 0.95 * np.array([[np.cos(ANGLE), -np.sin(ANGLE)], [np.sin(ANGLE), np.cos(ANGLE)]])
PAIR = 0.95 * np.exp([-1j * ANGLE, 1j * ANGLE])


def draw(rng, n_trials, n_steps, C, noise=0.3):
    z = rng.normal(size=(n_trials, 2))
    steps = []
    for _ in range(n_steps):
        steps.append(z)
        z = z @ TURN.T + 0.3 * rng.normal(size=z.shape)
    latents = np.stack(steps, axis=1)
    return latents @ C.T + 2 + noise * rng.normal(size=(n_trials, n_steps, len(C)))


C = np.random.default_rng(5).normal(size=(6, 2))
X = draw(np.random.default_rng(0), 30, 40, C)
FITTED = LinearDynamicalSystem(2).fit(X)


def test_recovers_eigenvalues_and_subspace():
    assert FITTED.converged_
    np.testing.assert_allclose(FITTED.eigenvalues_, PAIR, atol=0.02)
    assert np.max(principal_angles(FITTED.system_.observation, C)) < 0.05
    np.testing.assert_allclose(np.diag(FITTED.system_.observation_noise), 0.09, atol=0.02)
    np.testing.assert_allclose(FITTED.system_.offset, 2, atol=0.3)


def test_likelihood_never_decreases_and_is_the_filters():
    gains = np.diff(FITTED.log_likelihoods_)
    assert (gains >= -1e-8).all()
    assert FITTED.n_iter_ == len(gains)
    # Turning the latents changes nothing that can be seen.
    logs = kalman_filter(X, FITTED.system_).log_likelihoods
    assert logs.sum() == pytest.approx(FITTED.log_likelihoods_[-1], rel=1e-10)
    assert FITTED.score(X) == pytest.approx(logs.sum() / X.size)


def test_fit_is_a_maximum_in_every_parameter():
    system = LinearDynamicalSystem(1, tolerance=0, max_iterations=100).fit(X[:, :, :2]).system_

    def likelihood(**changed):
        return kalman_filter(X[:, :, :2], system._replace(**changed)).log_likelihoods.sum()

    best = likelihood()
    for name in ("transition", "transition_noise", "observation", "offset", "observation_noise"):
        for factor in (0.98, 1.02):
            assert likelihood(**{name: factor * getattr(system, name)}) < best


def test_order_and_signs_of_latents():
    U = FITTED.system_.observation
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-10)
    assert (U[np.abs(U).argmax(axis=0), [0, 1]] > 0).all()
    latents = FITTED.transform(X)
    assert latents.shape == (30, 40, 2)
    assert latents[..., 0].var() > latents[..., 1].var()
    # They follow the noiseless activity better than the data do.
    rng = np.random.default_rng(3)
    clean = draw(rng, 5, 40, C, noise=0.0)
    noisy = clean + 0.3 * rng.normal(size=clean.shape)
    back = FITTED.transform(noisy) @ U.T + FITTED.system_.offset
    assert np.mean((back - clean) ** 2) < 0.4 * 0.09


def test_held_out_likelihood_prefers_the_true_number_of_latents():
    test = draw(np.random.default_rng(1), 30, 40, C)
    scores = [LinearDynamicalSystem(l, max_iterations=30).fit(X).score(test) for l in (1, 2)]
    assert scores[1] > scores[0] + 0.1


def test_missing_values_and_trials_of_unequal_length():
    rng = np.random.default_rng(2)
    seen = rng.random(X.shape) > 0.3
    seen[0, 10:15] = False
    # Whatever stands where nothing was observed.
    masked = LinearDynamicalSystem(2).fit(np.where(seen, X, np.nan), mask=seen)
    assert (np.diff(masked.log_likelihoods_) >= -1e-8).all()
    np.testing.assert_allclose(masked.eigenvalues_, PAIR, atol=0.03)
    assert masked.transform(np.where(seen, X, 1e9), mask=seen).shape == (30, 40, 2)

    lengths = rng.integers(5, 41, size=30)
    unequal = LinearDynamicalSystem(2).fit([x[:n] for x, n in zip(X, lengths)])
    assert (np.diff(unequal.log_likelihoods_) >= -1e-8).all()
    np.testing.assert_allclose(unequal.eigenvalues_, PAIR, atol=0.05)
    # A trial that is not seen to its end is as good as one that ends, at the maximum.
    padded = np.arange(40) < lengths[:, None]
    same = LinearDynamicalSystem(2, tolerance=1e-8).fit(X, mask=padded)
    np.testing.assert_allclose(same.eigenvalues_, unequal.eigenvalues_, atol=0.01)


def test_trial_and_unit_order_do_not_matter():
    first = LinearDynamicalSystem(2, max_iterations=5).fit(X)
    other = LinearDynamicalSystem(2, max_iterations=5).fit(X[::-1][:, :, ::-1])
    np.testing.assert_allclose(first.log_likelihoods_, other.log_likelihoods_, rtol=1e-9)
    np.testing.assert_allclose(first.eigenvalues_, other.eigenvalues_, atol=1e-8)
    assert not first.converged_


@pytest.mark.parametrize("scale", [1e-9, 1e6])
def test_units_of_activity_do_not_matter(scale):
    model = LinearDynamicalSystem(2, max_iterations=5)
    given, scaled = model.fit(X).log_likelihoods_, clone(model).fit(scale * X)
    # Densities are per unit of activity.
    shifted = given - X.size * np.log(scale)
    np.testing.assert_allclose(scaled.log_likelihoods_, shifted, rtol=1e-9)
    np.testing.assert_allclose(scaled.eigenvalues_, model.eigenvalues_, atol=1e-8)


def test_more_latents_than_units():
    # One unit shows an oscillation, which one latent cannot have.
    one = X[:, :, :1]
    fitted = LinearDynamicalSystem(2, max_iterations=60).fit(one)
    assert (np.diff(fitted.log_likelihoods_) >= -1e-8).all()
    assert (
        fitted.score(one) > LinearDynamicalSystem(1, max_iterations=20).fit(one).score(one) + 0.02
    )
    np.testing.assert_allclose(np.abs(np.angle(fitted.eigenvalues_)), ANGLE, atol=0.1)


@pytest.mark.parametrize("double", [False, True])
def test_jax_input_and_single_precision(double):
    model = LinearDynamicalSystem(2, max_iterations=3)
    with jax.enable_x64(double):
        found = clone(model).fit(jnp.asarray(X)).log_likelihoods_
    np.testing.assert_allclose(found, model.fit(X).log_likelihoods_, rtol=1e-5)
    assert model.fit(X.astype(np.float32)).system_.transition.dtype == np.float64


def test_passes_the_checks_of_scikit_learn_but_for_the_order_of_time():
    assert_passes_the_checks_of_scikit_learn(
        LinearDynamicalSystem(max_iterations=3), but_for=ORDER_OF_TIME
    )


def test_refusals():
    model = LinearDynamicalSystem(2)
    with pytest.raises(ValueError, match="n_latents"):
        LinearDynamicalSystem(0).fit(X)
    with pytest.raises(ValueError, match="tolerance"):
        LinearDynamicalSystem(tolerance=-1).fit(X)
    with pytest.raises(ValueError, match="no step to fit"):
        model.fit(X[:, :1])
    with pytest.raises(ValueError, match="unit 3 is constant"):
        model.fit(np.where(np.arange(6) == 3, 1.0, X))
    with pytest.raises(ValueError, match=r"unit 1 is constant .*0 value"):
        model.fit(X, mask=np.broadcast_to(np.arange(6) != 1, X.shape))
    with pytest.raises(ValueError, match="not finite"):
        model.fit(np.where(X > 4, np.nan, X))
    with pytest.raises(ValueError, match="not fitted"):
        model.transform(X)
    with pytest.raises(ValueError, match="expecting 6"):
        FITTED.score(X[:, :, :2])
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda x: model.fit(x).system_.transition)(jnp.asarray(X))
