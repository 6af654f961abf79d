"""The network that moves an arm against its recursion, published sizes and a still hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.reaching_network import ReachingNetwork
from neurosim.tasks.reaching import Reaching
from neurosim.training import parameter_count


def loud(n_units=5, **options):
    """A network whose every array matters, far from its nearly silent start."""
    model = ReachingNetwork.init(n_units, key=jax.random.key(0), **options)
    rng = np.random.default_rng(0)

    def other(x):
        return jnp.asarray(0.5 * rng.normal(size=x.shape), x.dtype)

    names = ("W", "b", "B", "F", "C", "z0")
    where = [lambda m, name=name: getattr(m, name) for name in names]
    return eqx.tree_at(lambda m: [w(m) for w in where], model, [other(w(model)) for w in where])


def replay(model, u, *, xi, dt=0.002):
    """The published loop in plain NumPy: hand and velocity after each step."""
    W, b, B, F, C, z = (np.asarray(getattr(model, n)) for n in ("W", "b", "B", "F", "C", "z0"))
    theta, omega = np.deg2rad([20.0, 140.0]), np.zeros(2)
    friction, rows = np.array([[0.05, 0.025], [0.025, 0.05]]), []
    for k in range(len(u)):
        r = np.maximum(z, 0) * xi[k]
        dz = (-z + W @ r + b + B @ u[k] + F @ np.concatenate([theta, omega])) / 0.02
        c, s = np.cos(theta[1]), np.sin(theta[1])
        M = np.array([[0.16 + 0.096 * c, 0.045 + 0.048 * c], [0.045 + 0.048 * c, 0.045]])
        turn = 0.048 * s * np.array([-omega[1] * (2 * omega[0] + omega[1]), omega[0] ** 2])
        push = np.linalg.solve(M, C.T @ r - turn - friction @ omega)
        z, theta, omega = z + dt * dz, theta + dt * omega, omega + dt * push
        shoulder, both = theta[0], theta.sum()
        hand = 0.3 * np.array([np.cos(shoulder) + np.cos(both), np.sin(shoulder) + np.sin(both)])
        upper = np.array([-np.sin(shoulder), np.cos(shoulder)]) * omega[0]
        lower = np.array([-np.sin(both), np.cos(both)]) * omega.sum()
        rows.append([*hand, *(0.3 * (upper + lower))])
    return np.array(rows)


@pytest.mark.parametrize("noisy", [False, True])
def test_published_recursion(double_precision, noisy):
    model = loud(noisy=noisy)
    rng = np.random.default_rng(1)
    u, xi = rng.normal(size=(60, 3)), np.ones((60, 5))
    inputs = u
    if noisy:
        xi = np.maximum(0, 1 + 0.632 * rng.uniform(-1, 1, (60, 5)))
        inputs = np.concatenate([u, xi - 1], axis=-1)
    found = simulate(model, inputs, dt=0.002).outputs
    expected = replay(model, u, xi=xi)
    assert np.ptp(expected[:, 0]) > 1e-3
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_silent_noise_channels_are_no_noise(double_precision):
    u = np.random.default_rng(1).normal(size=(30, 3))
    clean = simulate(loud(), u, dt=0.002).outputs
    silent = np.concatenate([u, np.zeros((30, 5))], axis=-1)
    noisy = simulate(loud(noisy=True), silent, dt=0.002).outputs
    np.testing.assert_array_equal(noisy, clean)


@pytest.mark.parametrize(("n_in", "expected"), [(3, 4800), (6, 4992)])
def test_published_numbers_of_parameters(n_in, expected):
    assert parameter_count(ReachingNetwork.init(n_in=n_in, key=jax.random.key(0))) == expected


def test_initialisation_has_the_published_deviations():
    n = 400
    model = ReachingNetwork.init(n, 6, key=jax.random.key(1))
    recurrent = 0.5 / (n * (n + 1)) ** 0.5
    deviations = {"W": recurrent, "b": recurrent, "B": 0.1 / 6**0.5, "F": 0.1, "C": 0.1 / n}
    for name, sd in deviations.items():
        values = np.asarray(getattr(model, name))
        assert np.sqrt(np.mean(values**2)) == pytest.approx(sd, rel=4 / (2 * values.size) ** 0.5)
    state = model.initial_state()
    assert np.all(state.z == 0)
    assert np.all(state.theta_dot == 0)
    np.testing.assert_allclose(np.rad2deg(state.theta), [20, 140], rtol=1e-6)


def test_an_arm_without_torque_stays_where_the_task_wants_it_first(double_precision):
    model = ReachingNetwork.init(4, key=jax.random.key(0))
    model = eqx.tree_at(lambda m: m.C, model, jnp.zeros((4, 2)))
    trials = Reaching().sample(jax.random.key(0), 2)
    outputs = np.asarray(simulate(model, trials.inputs, dt=0.002).outputs)
    np.testing.assert_allclose(outputs[:, :, :2], outputs[:1, :1, :2].repeat(2, 0).repeat(1000, 1))
    holding = np.asarray(trials.inputs[..., 0]) == 1
    np.testing.assert_allclose(outputs[holding], np.asarray(trials.targets)[holding], atol=1e-15)


def test_forward_mode_against_finite_differences(double_precision):
    model = loud(noisy=True)
    u = np.random.default_rng(1).normal(size=(2, 40, 8)) * 0.3
    params, fixed = eqx.partition(model, eqx.is_array)

    @jax.jit
    def outputs(params):
        return simulate(eqx.combine(params, fixed), u, dt=0.002).outputs

    rng = np.random.default_rng(2)
    tangents = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=(2, *x.shape))), params)
    found = jax.jit(jax.vmap(lambda v: jax.jvp(outputs, (params,), (v,))[1]))(tangents)
    v = jax.tree.map(lambda x: x[1], tangents)
    up, down = (
        outputs(jax.tree.map(lambda p, d, s=sign: p + s * 1e-7 * d, params, v)) for sign in (1, -1)
    )
    scale = np.abs(found[1]).max()
    np.testing.assert_allclose(found[1], (up - down) / 2e-7, rtol=0, atol=1e-6 * scale)
    gradient = jax.jit(jax.grad(lambda p: jnp.sum(outputs(p) ** 2)))(params)
    inner = sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(v)))
    assert float(inner) == pytest.approx(float(jnp.sum(2 * outputs(params) * found[1])), rel=1e-8)


def test_single_precision():
    trajectory = simulate(loud(), np.ones((2, 4, 3)), dt=0.002)
    assert trajectory.outputs.dtype == jnp.float32
    assert trajectory.states.theta.dtype == jnp.float32
    assert trajectory.outputs.shape == (2, 4, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_units": 0}, "n_units must be"),
        ({"n_in": -1}, "n_in must be"),
        ({"tau": 0.0}, "tau must be positive"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ReachingNetwork.init(**options, key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"not below 2 tau"):
        simulate(loud(), np.zeros((3, 3)), dt=0.05)
