"""Linear Gaussian systems under inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from neurosim.analysis.kalman import LinearGaussianSystem, kalman_filter, kalman_smoother
from neurosim.analysis.linear_dynamical_system import LinearDynamicalSystem

RNG = np.random.default_rng(0)
A = 0.9 * np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
B, C, D = RNG.normal(size=(2, 2)), RNG.normal(size=(5, 2)), RNG.normal(size=(5, 2))
SYSTEM = LinearGaussianSystem(
    transition=A,
    transition_noise=np.array([[0.3, 0.1], [0.1, 0.2]]),
    observation=C,
    offset=RNG.normal(size=5),
    observation_noise=np.linspace(0.1, 0.5, 5),
    initial_mean=np.array([1.0, -1]),
    initial_covariance=np.eye(2),
    input_matrix=B,
    feedthrough=D,
)
SILENT = SYSTEM._replace(input_matrix=None, feedthrough=None)


def response(u):
    """What inputs alone add to latents and to activity, without noise."""
    z, latents = np.zeros((len(u), 2)), []
    for t in range(u.shape[1]):
        latents.append(z)
        z = z @ A.T + u[:, t] @ B.T
    latents = np.stack(latents, axis=1)
    return latents, latents @ C.T + u @ D.T


def draw(rng, n_trials, n_steps, u):
    z = SYSTEM.initial_mean + rng.normal(size=(n_trials, 2))
    root = np.linalg.cholesky(SYSTEM.transition_noise)
    steps = []
    for _ in range(n_steps):
        steps.append(z)
        z = z @ A.T + rng.normal(size=z.shape) @ root.T
    noise = np.sqrt(SYSTEM.observation_noise) * rng.normal(size=(n_trials, n_steps, 5))
    return np.stack(steps, axis=1) @ C.T + SYSTEM.offset + noise + response(u)[1]


def transfer(system, x):
    away = x * np.eye(len(system.transition)) - system.transition
    return system.observation @ np.linalg.solve(away, system.input_matrix) + system.feedthrough


U = RNG.normal(size=(60, 50, 2))
X = draw(RNG, 60, 50, U)
FITTED = LinearDynamicalSystem(2).fit(X, inputs=U)


@pytest.mark.parametrize("double", [False, True])
def test_likelihood_against_the_dense_gaussian(double):
    rng = np.random.default_rng(1)
    u, y = rng.normal(size=(6, 2)), rng.normal(size=(6, 5))
    seen = rng.random((6, 5)) > 0.3
    # Latents and activity are linear in the first latents and all noise: y = mean + M e.
    mean, roots = [], []
    z, carried = SYSTEM.initial_mean, [np.eye(2)]
    root = np.linalg.cholesky(SYSTEM.transition_noise)
    for t in range(6):
        mean.append(C @ z + SYSTEM.offset + D @ u[t])
        row = np.zeros((5, 2 * 6 + 5 * 6))
        row[:, : 2 * len(carried)] = C @ np.concatenate(carried, axis=1)
        row[:, 12 + 5 * t : 17 + 5 * t] = np.diag(np.sqrt(SYSTEM.observation_noise))
        roots.append(row)
        z = A @ z + B @ u[t]
        carried = [A @ part for part in carried] + [root]
    M, keep = np.concatenate(roots), seen.ravel()
    dense = multivariate_normal(np.concatenate(mean)[keep], (M @ M.T)[np.ix_(keep, keep)])
    with jax.enable_x64(double):
        found = kalman_filter(np.where(seen, y, np.nan), SYSTEM, mask=seen, inputs=u)
    np.testing.assert_allclose(found.log_likelihoods, [dense.logpdf(y.ravel()[keep])], rtol=1e-12)


def test_inputs_shift_means_and_nothing_else():
    rng = np.random.default_rng(2)
    u, y = rng.normal(size=(3, 8, 2)), rng.normal(size=(3, 8, 5))
    latents, activity = response(u)
    for run in (kalman_filter, kalman_smoother):
        without, shifted = run(y, SILENT), run(y + activity, SYSTEM, inputs=u)
        np.testing.assert_allclose(shifted.means, without.means + latents, atol=1e-12)
        np.testing.assert_allclose(shifted.covariances, without.covariances, atol=1e-14)
        np.testing.assert_allclose(shifted.log_likelihoods, without.log_likelihoods, rtol=1e-12)
    # Zeros are no input, to the last bit.
    silent = kalman_filter(y, SYSTEM, inputs=np.zeros((3, 8, 2)))
    np.testing.assert_array_equal(silent.means, kalman_filter(y, SILENT).means)
    # The last input reaches no latents that are seen; with D it still moves the activity.
    late = u.copy()
    late[:, -1] += 1
    only_latents = SYSTEM._replace(feedthrough=None)
    same = [kalman_filter(y, only_latents, inputs=v).log_likelihoods for v in (u, late)]
    np.testing.assert_array_equal(*same)
    assert not np.allclose(*(kalman_filter(y, SYSTEM, inputs=v).log_likelihoods for v in (u, late)))


def test_layouts_of_inputs():
    u, y = U[:3], X[:3]
    whole = kalman_smoother(y, SYSTEM, inputs=u)
    one = kalman_smoother(y[1], SYSTEM, inputs=u[1])
    np.testing.assert_allclose(one.means, whole.means[1], atol=1e-12)
    lengths = (50, 20, 35)
    several = kalman_smoother(
        [x[:n] for x, n in zip(y, lengths)],
        SYSTEM,
        inputs=[jnp.asarray(v[:n]) for v, n in zip(u, lengths)],
    )
    short = kalman_smoother(y[1, :20], SYSTEM, inputs=u[1, :20])
    np.testing.assert_allclose(several.means[1], short.means, atol=1e-6)
    assert len(several.means[2]) == 35


def test_fit_recovers_the_transfer_function():
    assert FITTED.converged_
    assert (np.diff(FITTED.log_likelihoods_) >= -1e-8).all()
    assert FITTED.n_inputs_ == 2
    np.testing.assert_allclose(np.abs(FITTED.eigenvalues_), 0.9, atol=0.02)
    np.testing.assert_allclose(FITTED.system_.feedthrough, D, atol=0.06)
    # Near resonance, at 0.4, the response is less well known.
    for angle, share in ((0.0, 0.05), (0.4, 0.1), (1.5, 0.05), (np.pi, 0.05)):
        x = np.exp(1j * angle)
        true = transfer(SYSTEM, x)
        assert np.linalg.norm(transfer(FITTED.system_, x) - true) < share * np.linalg.norm(true)
    # Better than the system that drew the data, on them.
    true = kalman_filter(X, SYSTEM, inputs=U).log_likelihoods.sum()
    assert FITTED.log_likelihoods_[-1] > true
    assert FITTED.score(X, inputs=U) == pytest.approx(FITTED.log_likelihoods_[-1] / X.size)
    np.testing.assert_allclose(
        FITTED.transform(X, inputs=U), kalman_smoother(X, FITTED.system_, inputs=U).means
    )


def test_fit_is_a_maximum_in_what_inputs_do():
    system = LinearDynamicalSystem(2, tolerance=1e-9, max_iterations=400).fit(X, inputs=U).system_
    best = kalman_filter(X, system, inputs=U).log_likelihoods.sum()
    for name in ("input_matrix", "feedthrough"):
        for change in (-0.02, 0.02):
            moved = system._replace(**{name: getattr(system, name) + change})
            assert kalman_filter(X, moved, inputs=U).log_likelihoods.sum() < best


def test_held_out_likelihood_prefers_inputs_only_where_there_are_any():
    rng = np.random.default_rng(3)
    u = rng.normal(size=(40, 50, 2))
    test = draw(rng, 40, 50, u)
    without = LinearDynamicalSystem(2).fit(X)
    assert FITTED.score(test, inputs=u) > without.score(test) + 0.3
    assert without.system_.input_matrix is None
    assert without.n_inputs_ == 0


def test_fit_with_missing_values_and_unequal_trials():
    seen = np.random.default_rng(4).random(X.shape) > 0.2
    masked = LinearDynamicalSystem(2, max_iterations=40).fit(
        np.where(seen, X, np.nan), mask=seen, inputs=U
    )
    assert (np.diff(masked.log_likelihoods_) >= -1e-8).all()
    np.testing.assert_allclose(masked.system_.feedthrough, D, atol=0.1)
    lengths = 20 + np.arange(60) % 31
    unequal = LinearDynamicalSystem(2, max_iterations=40).fit(
        [x[:n] for x, n in zip(X, lengths)], inputs=[u[:n] for u, n in zip(U, lengths)]
    )
    assert (np.diff(unequal.log_likelihoods_) >= -1e-8).all()
    np.testing.assert_allclose(unequal.system_.feedthrough, D, atol=0.1)


def test_inputs_that_say_nothing_change_nothing():
    """A constant channel is an offset; the likelihood still rises, without a bad step."""
    model = LinearDynamicalSystem(2, max_iterations=5)
    found = model.fit(X, inputs=np.ones((60, 50, 1))).log_likelihoods_
    assert (np.diff(found) >= -1e-8).all()
    assert np.isfinite(model.system_.input_matrix).all()
    # More latents than units, too.
    more = LinearDynamicalSystem(2, max_iterations=5).fit(X[:, :, :1], inputs=U)
    assert (np.diff(more.log_likelihoods_) >= -1e-8).all()


def test_refusals():
    def refused(match, system=SYSTEM, **options):
        with pytest.raises(ValueError, match=match):
            kalman_filter(X[:2], system, **options)

    refused(r"takes 2 input\(s\).* inputs have 0 channel")
    refused(r"takes 0 input\(s\).* inputs have 2 channel", system=SILENT, inputs=U[:2])
    refused("inputs have 1 channel", inputs=U[:2, :, :1])
    refused(r"X is \(trial, time, ...\) of 2 trial\(s\)", inputs=U[:3])
    refused("inputs are a list of trials", inputs=[*U[:2]])
    refused("finite", inputs=np.where(U[:2] > 1, np.nan, U[:2]))
    refused(
        r"feedthrough must be \(5, 2\)", system=SYSTEM._replace(feedthrough=D[:3]), inputs=U[:2]
    )
    refused("input_matrix holds values", system=SYSTEM._replace(input_matrix=B * np.nan))
    with pytest.raises(ValueError, match="inputs have 0 channel"):
        FITTED.transform(X)
    with pytest.raises(ValueError, match="masked"):
        FITTED.score(X, inputs=np.ma.array(U, mask=U > 1))
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda u: kalman_filter(X[:2], SYSTEM, inputs=u).means)(jnp.asarray(U[:2]))
