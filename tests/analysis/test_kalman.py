import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from neurosim.analysis.kalman import LinearGaussianSystem, kalman_filter, kalman_smoother

SCALAR = LinearGaussianSystem([[0.9]], [[1.0]], [[1.0]], [0.0], [1.0], [0.0], [[1.0]])
Y = np.array([0.3, -0.2, 1.1, 0.7, -0.5])[:, None]
RNG = np.random.default_rng(0)


def covariance(n):
    root = RNG.normal(size=(n, n))
    return root @ root.T + 0.3 * np.eye(n)


# Two latents, three units, noise shared by units.
SYSTEM = LinearGaussianSystem(
    transition=np.array([[0.8, -0.3], [0.2, 0.9]]),
    transition_noise=covariance(2),
    observation=RNG.normal(size=(3, 2)),
    offset=RNG.normal(size=3),
    observation_noise=covariance(3),
    initial_mean=RNG.normal(size=2),
    initial_covariance=covariance(2),
)


def dense(system, n_steps):
    """Mean and covariance of all latents, and of all observations, and between the two."""
    A, Q, C, d, R, m, P = (np.asarray(x, float) for x in system[:7])
    R = np.diag(R) if R.ndim == 1 else R
    l = len(A)
    mean, cov = [m], np.zeros((n_steps, n_steps, l, l))
    cov[0, 0] = P
    for t in range(1, n_steps):
        mean.append(A @ mean[-1])
        for s in range(t):
            cov[t, s] = A @ cov[t - 1, s]
            cov[s, t] = cov[t, s].T
        cov[t, t] = A @ cov[t - 1, t - 1] @ A.T + Q
    states = cov.transpose(0, 2, 1, 3).reshape(n_steps * l, -1)
    big = np.kron(np.eye(n_steps), C)
    mean = np.concatenate(mean)
    seen = big @ mean + np.tile(d, n_steps)
    return mean, states, seen, big @ states @ big.T + np.kron(np.eye(n_steps), R), states @ big.T


def test_steady_state_of_a_scalar():
    found = kalman_filter(np.zeros((60, 1)), SCALAR)
    assert found.predicted_covariances[-1, 0, 0] == pytest.approx(1.48389990, abs=5e-9)
    assert found.covariances[-1, 0, 0] == pytest.approx(0.59740729, abs=5e-9)
    # The gain has that value too where both noises are 1.
    shifted = kalman_filter(np.r_[np.zeros(59), 1.0][:, None], SCALAR)
    assert shifted.means[-1, 0] == pytest.approx(0.59740729, abs=5e-9)


@pytest.mark.parametrize(
    ("a", "q", "r"), [(0.9, 1.0, 1.0), (0.5, 0.3, 2.0), (-0.7, 2.0, 0.1), (1.3, 0.2, 1.0)]
)
def test_steady_state_in_closed_form(a, q, r):
    """The root of P = a^2 P r / (P + r) + q, also where the latent grows."""
    system = SCALAR._replace(
        transition=[[a]], transition_noise=[[q]], observation_noise=[r], initial_covariance=[[5.0]]
    )
    found = kalman_filter(np.zeros((200, 1)), system)
    half = a**2 * r + q - r
    P = (half + np.sqrt(half**2 + 4 * q * r)) / 2
    assert found.predicted_covariances[-1, 0, 0] == pytest.approx(P, rel=1e-12)
    assert found.covariances[-1, 0, 0] == pytest.approx(P * r / (P + r), rel=1e-12)


def test_log_likelihood_of_a_scalar():
    assert kalman_filter(Y, SCALAR).log_likelihoods == pytest.approx([-7.2971089186], abs=1e-10)
    _, _, mean, cov, _ = dense(SCALAR, 5)
    assert multivariate_normal(mean, cov).logpdf(Y[:, 0]) == pytest.approx(-7.2971089186, abs=1e-10)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_against_the_dense_gaussian(double, missing):
    rng = np.random.default_rng(1)
    y = rng.normal(size=(6, 3))
    seen = np.ones((6, 3), bool)
    if missing:
        seen[rng.random((6, 3)) < 0.3] = False
        seen[2] = False
    keep = seen.ravel()
    mean, states, expected, cov, between = dense(SYSTEM, 6)
    inside = cov[np.ix_(keep, keep)]
    gain = np.linalg.solve(inside, between[:, keep].T).T
    log_likelihood = multivariate_normal(expected[keep], inside).logpdf(y.ravel()[keep])
    posterior = mean + gain @ (y.ravel()[keep] - expected[keep])
    spread = states - gain @ between[:, keep].T

    with jax.enable_x64(double):
        # What a mask leaves out is not looked at.
        found = kalman_smoother(np.where(seen, y, np.nan), SYSTEM, mask=seen)
        filtered = kalman_filter(np.where(seen, y, np.nan), SYSTEM, mask=seen)
    np.testing.assert_allclose(found.log_likelihoods, [log_likelihood], rtol=1e-12)
    np.testing.assert_allclose(found.means, posterior.reshape(6, 2), atol=1e-12)
    blocks = spread.reshape(6, 2, 6, 2)
    np.testing.assert_allclose(found.covariances, [blocks[t, :, t] for t in range(6)], atol=1e-12)
    np.testing.assert_allclose(filtered.means[-1], found.means[-1], atol=1e-12)
    if missing:
        np.testing.assert_allclose(filtered.means[2], filtered.predicted_means[2])


def test_trials_of_unequal_length():
    rng = np.random.default_rng(2)
    trials = [rng.normal(size=(n, 3)) for n in (5, 2, 7)]
    together = kalman_smoother(trials, SYSTEM)
    assert [len(m) for m in together.means] == [5, 2, 7]
    for i in (1, 2):
        alone = kalman_smoother(trials[i], SYSTEM)
        np.testing.assert_allclose(together.log_likelihoods[i], alone.log_likelihoods[0])
        np.testing.assert_allclose(together.means[i], alone.means, atol=1e-12)
        np.testing.assert_allclose(together.covariances[i], alone.covariances, atol=1e-12)
    equal = kalman_filter(np.stack([trials[0], trials[2][:5]]), SYSTEM)
    assert equal.covariances.shape == (2, 5, 2, 2)


def test_latent_without_noise():
    # A constant drawn once: the posterior is that of a mean of five values.
    still = SCALAR._replace(transition=[[1.0]], transition_noise=[[0.0]])
    found = kalman_smoother(Y, still)
    np.testing.assert_allclose(found.means, Y.sum() / 6, rtol=1e-12)
    np.testing.assert_allclose(found.covariances, 1 / 6, rtol=1e-12)


def test_covariances_stay_positive_for_precise_observations():
    sharp = SYSTEM._replace(observation_noise=np.full(3, 1e-8), transition_noise=1e3 * np.eye(2))
    found = kalman_filter(np.zeros((50, 3)), sharp)
    np.testing.assert_allclose(found.covariances, np.swapaxes(found.covariances, 1, 2), atol=1e-12)
    assert np.linalg.eigvalsh(found.covariances).min() > 0


def test_refusals():
    def refused(match, X=Y, system=SCALAR, **options):
        with pytest.raises(ValueError, match=match):
            kalman_filter(X, system, **options)

    refused("not finite", X=np.where(Y > 1, np.nan, Y))
    refused("observation must be \\(2, 1\\)", X=np.zeros((4, 2)))
    refused("must be a covariance", system=SCALAR._replace(transition_noise=[[-1.0]]))
    refused(
        "must be a covariance",
        X=np.zeros((4, 3)),
        system=SYSTEM._replace(observation_noise=np.triu(np.ones((3, 3)))),
    )
    refused("offset holds values that are not finite", system=SCALAR._replace(offset=[np.nan]))
    refused("mask must be booleans", mask=np.ones(3, bool))
    refused("no sample that counts", mask=np.zeros(5, bool))
    refused(
        "leaves the finite numbers",
        system=SCALAR._replace(observation_noise=[0.0], initial_covariance=[[0.0]]),
    )
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda y: kalman_filter(y, SCALAR).means)(jnp.asarray(Y))
