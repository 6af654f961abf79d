import importlib.util
import sys
import types
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.dynamax_parameters import (
    from_dynamax,
    from_dynamax_inputs,
    to_dynamax,
    to_dynamax_inputs,
)
from neurosim.analysis.kalman import LinearGaussianSystem, kalman_filter

RNG = np.random.default_rng(0)
SYSTEM = LinearGaussianSystem(
    transition=np.array([[0.8, -0.3], [0.2, 0.9]]),
    transition_noise=np.array([[0.3, 0.1], [0.1, 0.2]]),
    observation=RNG.normal(size=(3, 2)),
    offset=RNG.normal(size=3),
    observation_noise=np.array([0.1, 0.2, 0.3]),
    initial_mean=np.array([1.0, -1]),
    initial_covariance=np.eye(2),
)
DRIVEN = SYSTEM._replace(input_matrix=RNG.normal(size=(2, 2)), feedthrough=RNG.normal(size=(3, 2)))
X, U = RNG.normal(size=(4, 9, 3)), RNG.normal(size=(4, 9, 2))
REAL = importlib.util.find_spec("dynamax") is not None


class Initial(NamedTuple):
    mean: Any
    cov: Any


class Weighted(NamedTuple):
    weights: Any
    bias: Any
    input_weights: Any
    cov: Any


class Params(NamedTuple):
    initial: Any
    dynamics: Any
    emissions: Any


@pytest.fixture
def library(monkeypatch):
    """dynamax, or what has its fields where it is not installed."""
    if not REAL:
        part = types.ModuleType("dynamax.linear_gaussian_ssm")
        fields = {
            "ParamsLGSSM": Params,
            "ParamsLGSSMInitial": Initial,
            "ParamsLGSSMDynamics": Weighted,
            "ParamsLGSSMEmissions": Weighted,
        }
        for name, value in fields.items():
            setattr(part, name, value)
        monkeypatch.setitem(sys.modules, "dynamax", types.ModuleType("dynamax"))
        monkeypatch.setitem(sys.modules, "dynamax.linear_gaussian_ssm", part)
    with jax.enable_x64(True):
        yield


def log_density(params, y, u):
    """Of activity under their equations, z_t = A z_{t-1} + B u_t + b, written out densely."""
    A, b, B, Q = (np.asarray(x) for x in params.dynamics)
    C, d, D, R = (np.asarray(x) for x in params.emissions)
    R = np.diag(R) if R.ndim == 1 else R
    n_steps, l = len(y), len(A)
    means, covs = [np.asarray(params.initial.mean)], np.zeros((n_steps, n_steps, l, l))
    covs[0, 0] = params.initial.cov
    for t in range(1, n_steps):
        means.append(A @ means[-1] + B @ u[t] + b)
        for s in range(t):
            covs[t, s] = A @ covs[t - 1, s]
            covs[s, t] = covs[t, s].T
        covs[t, t] = A @ covs[t - 1, t - 1] @ A.T + Q
    big = np.kron(np.eye(n_steps), C)
    cov = big @ covs.transpose(0, 2, 1, 3).reshape(n_steps * l, -1) @ big.T
    cov += np.kron(np.eye(n_steps), R)
    away = (y - np.stack(means) @ C.T - u @ D.T - d).ravel()
    return -0.5 * (
        away @ np.linalg.solve(cov, away)
        + np.linalg.slogdet(cov)[1]
        + len(away) * np.log(2 * np.pi)
    )


def test_a_system_keeps_its_likelihood(library):
    params, driven = to_dynamax(SYSTEM), to_dynamax(DRIVEN)
    assert params.emissions.cov.shape == (3,)
    given = to_dynamax_inputs(U)
    without = [log_density(params, y, np.zeros((9, 0))) for y in X]
    np.testing.assert_allclose(kalman_filter(X, SYSTEM).log_likelihoods, without, rtol=1e-12)
    expected = [log_density(driven, y, u) for y, u in zip(X, given)]
    found = kalman_filter(X, DRIVEN, inputs=U).log_likelihoods
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # Their input of the first sample acts on no latents, as ours of the last.
    given[:, 0, :2] = 1e3
    assert log_density(driven, X[0], given[0]) == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize("noise", [np.array([0.1, 0.2, 0.3]), np.eye(3) + 0.2])
def test_parameters_keep_their_likelihood(library, noise):
    params = Params(
        Initial(np.array([1.0, -1]), np.eye(2)),
        Weighted(SYSTEM.transition, np.array([0.5, -2]), RNG.normal(size=(2, 2)), 0.3 * np.eye(2)),
        Weighted(SYSTEM.observation, SYSTEM.offset, RNG.normal(size=(3, 2)), noise),
    )
    system = from_dynamax(params)
    assert system.observation_noise.shape == noise.shape
    expected = [log_density(params, y, u) for y, u in zip(X, U)]
    found = kalman_filter(X, system, inputs=from_dynamax_inputs(U)).log_likelihoods
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    single = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), params)
    near = kalman_filter(X, from_dynamax(single), inputs=from_dynamax_inputs(U)).log_likelihoods
    np.testing.assert_allclose(near, expected, rtol=1e-5)


def test_there_and_back(library):
    back = from_dynamax(to_dynamax(SYSTEM))
    for name, value in SYSTEM._asdict().items():
        if value is None:
            assert getattr(back, name) is None
        else:
            np.testing.assert_allclose(getattr(back, name), value, rtol=1e-15)
    # Inputs are doubled each way, to the same end.
    twice = from_dynamax_inputs(to_dynamax_inputs(U))
    assert twice.shape == (4, 9, 8)
    found = kalman_filter(X, from_dynamax(to_dynamax(DRIVEN)), inputs=twice).log_likelihoods
    np.testing.assert_allclose(found, kalman_filter(X, DRIVEN, inputs=U).log_likelihoods)


def test_what_is_left_out_is_none():
    params = Params(
        Initial(np.zeros(2), np.eye(2)),
        Weighted(SYSTEM.transition, None, None, np.eye(2)),
        Weighted(SYSTEM.observation, None, None, np.eye(3)),
    )
    system = from_dynamax(params)
    assert system.input_matrix is None
    np.testing.assert_array_equal(system.offset, 0)
    # A shift of latents along which nothing decays is none where the bias does not drive it.
    still = params._replace(
        dynamics=Weighted(np.diag([1.0, 0.5]), np.array([0, 1.0]), None, np.eye(2))
    )
    assert from_dynamax(still).initial_mean.tolist() == [0, -2]


#: What `lgssm_filter` of dynamax 1.0.3 says, in float64, of `to_dynamax(SYSTEM)`; of
#: `to_dynamax(DRIVEN)` under `to_dynamax_inputs(U)`, with its last filtered means; and of `BIASED`
#: under the first input. It adds 1e-9 to variances before it solves. Where it is installed it is
#: asked again.
LOG_LIKELIHOODS = {
    "SYSTEM": [-101.0860747966226, -109.5277352767953, -122.40201859548104, -111.47692943418924],
    "DRIVEN": [-194.8183984933349, -216.88091873143222, -249.42876740208817, -195.03211419473737],
    "BIASED": [-126.14927542562287, -108.61766101748488, -138.342235477778, -119.87782014742135],
}
LAST_MEANS = [
    [-1.6812501678287872, 2.4509585024303977],
    [-0.7613811722350625, 1.7325145721961794],
    [-2.1314577085031754, 4.573603860424773],
    [-2.6429352785436655, 3.6980809431950554],
]
BIASED = Params(
    Initial(np.array([1.0, -1]), np.eye(2)),
    Weighted(
        SYSTEM.transition, np.array([0.5, -0.2]), np.array([[0.3], [-0.1]]), SYSTEM.transition_noise
    ),
    Weighted(
        SYSTEM.observation, SYSTEM.offset, np.array([[0.2], [0], [0.4]]),
        np.diag(SYSTEM.observation_noise),
    ),
)  # fmt: skip


def test_against_numbers_of_dynamax():
    found = kalman_filter(X, SYSTEM)
    np.testing.assert_allclose(found.log_likelihoods, LOG_LIKELIHOODS["SYSTEM"], rtol=1e-9)
    driven = kalman_filter(X, DRIVEN, inputs=U)
    np.testing.assert_allclose(driven.log_likelihoods, LOG_LIKELIHOODS["DRIVEN"], rtol=1e-9)
    np.testing.assert_allclose(driven.means[:, -1], LAST_MEANS, rtol=1e-8)
    biased = kalman_filter(X, from_dynamax(BIASED), inputs=from_dynamax_inputs(U[..., :1]))
    np.testing.assert_allclose(biased.log_likelihoods, LOG_LIKELIHOODS["BIASED"], rtol=1e-9)


def test_the_parameters_that_dynamax_said_so_of(library):
    """What the bridge hands over has, by the equations of dynamax, the numbers of dynamax."""
    for name, system, given in (
        ("SYSTEM", SYSTEM, np.zeros((4, 9, 0))),
        ("DRIVEN", DRIVEN, to_dynamax_inputs(U)),
    ):
        params = to_dynamax(system)
        dense = [log_density(params, y, u) for y, u in zip(X, given)]
        np.testing.assert_allclose(dense, LOG_LIKELIHOODS[name], rtol=1e-9)
        if REAL:
            from dynamax.linear_gaussian_ssm import lgssm_filter

            theirs = [
                lgssm_filter(params, jnp.asarray(y), jnp.asarray(u)).marginal_loglik
                for y, u in zip(X, given)
            ]
            np.testing.assert_allclose(theirs, LOG_LIKELIHOODS[name], rtol=1e-9)


def test_covariances_that_are_symmetric_but_for_rounding_become_so():
    rounded = np.array([[1.0, 0.3], [0.3 + 1e-7, 2.0]])
    params = BIASED._replace(initial=Initial(np.zeros(2), rounded))
    # The latents are moved to where nothing drives them, and their spread stays.
    found = from_dynamax(params).initial_covariance
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, [[1, 0.3 + 5e-8], [0.3 + 5e-8, 2]], rtol=1e-12)
    with pytest.raises(ValueError, match="must be a covariance"):
        from_dynamax(BIASED._replace(initial=Initial(np.zeros(2), rounded + [[0, 0], [0.01, 0]])))


def test_refusals(monkeypatch):
    good = Params(
        Initial(np.zeros(2), np.eye(2)),
        Weighted(SYSTEM.transition, np.zeros(2), None, np.eye(2)),
        Weighted(SYSTEM.observation, np.zeros(3), None, np.ones(3)),
    )

    def refused(match, **changed):
        with pytest.raises(ValueError, match=match):
            from_dynamax(good._replace(**changed))

    refused("must have emissions.weights", emissions=None)
    refused("must have initial.mean", initial=Initial(None, np.eye(2)))
    moving = np.stack([np.eye(2)] * 9)
    refused("dynamics.weights must be constant", dynamics=good.dynamics._replace(weights=moving))
    refused("got a function", dynamics=good.dynamics._replace(weights=lambda t: np.eye(2)))
    refused("dynamics.bias must be", dynamics=good.dynamics._replace(bias=np.zeros(3)))
    refused(
        "drift without bound",
        dynamics=Weighted(np.diag([1.0, 0.5]), np.array([1.0, 0]), None, np.eye(2)),
    )
    refused("must be a covariance", initial=Initial(np.zeros(2), -np.eye(2)))
    refused("observation must be", emissions=good.emissions._replace(weights=np.zeros((3, 4))))
    with pytest.raises(ValueError, match="not finite"):
        to_dynamax_inputs(np.array([[np.nan]]))
    with pytest.raises(ValueError, match=r"\(..., time, channel\)"):
        from_dynamax_inputs(np.zeros(3))
    with pytest.raises(TypeError, match="jit"):
        jax.jit(to_dynamax_inputs)(jnp.ones((3, 1)))
    monkeypatch.setitem(sys.modules, "dynamax", None)
    monkeypatch.delitem(sys.modules, "dynamax.linear_gaussian_ssm", raising=False)
    with pytest.raises(ValueError, match="pip install dynamax"):
        to_dynamax(SYSTEM)
    with pytest.raises(ValueError, match="transition must be"):
        to_dynamax(SYSTEM._replace(transition=np.eye(3)))
