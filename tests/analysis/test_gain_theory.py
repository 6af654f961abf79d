"""Closed forms of the gain-modulated linear network, and the network made to follow them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from diffrax import PIDController

from neurosim import simulate
from neurosim.analysis.gain_theory import (
    gain_is_feasible,
    mean_field_overlap,
    minimum_ramp_overlap,
    mode_decay,
    mode_decay_discrete,
    required_gain,
    required_gain_discrete,
)
from neurosim.models import GainModulatedRNN


pytestmark = pytest.mark.usefixtures("double_precision")


def identity(x):
    return x


def rank_one(seed=0, n_units=12, d=-1.0, overlap=4.0, start=None):
    """A random linear rank-1 network with l r = `overlap`, and its vectors."""
    rng = np.random.default_rng(seed)
    left, right, readout = rng.normal(size=(3, n_units)) / np.sqrt(n_units)
    left /= np.linalg.norm(left)
    right += (overlap - left @ right) * left
    x0 = rng.normal(size=n_units) if start is None else start * left
    model = GainModulatedRNN(
        L=jnp.asarray(left)[:, None],
        R=jnp.asarray(right)[:, None],
        B=jnp.zeros((n_units, 0)),
        C=jnp.asarray(readout)[None],
        d=jnp.array([d]),
        x0=jnp.asarray(x0),
        tau=10.0,
        phi=identity,
    )
    return model, left, right, readout, x0


def ramp(t, interval, start=-0.5):
    """A unit ramp and its slope."""
    return start + np.clip(t / interval, 0, 1), np.where(t < interval, 1 / interval, 0.0)


def test_mode_decay_has_the_values_known_for_a_sinusoidal_and_a_constant_gain():
    ts = np.linspace(0, 50, 50_001)
    decay = mode_decay(0.5 + 0.4 * np.sin(2 * np.pi * ts / 50), ts, tau=10.0)
    assert decay[0] == 1
    np.testing.assert_allclose(decay[20_000], 0.6543113264828132, rtol=1e-9)
    np.testing.assert_allclose(decay[-1], 0.0820849986238988, rtol=1e-9)
    both = mode_decay(np.tile([0.2, 1.0], (3, 1)), np.array([0, 5, 20.0]), tau=10.0)
    np.testing.assert_allclose(both[-1], [0.2018965180, 1.0], rtol=1e-9)


def test_mode_decay_stays_in_jax_and_can_be_differentiated():
    ts = jnp.array([0.0, 1.0, 3.0])
    slope = jax.grad(lambda s: mode_decay(s * jnp.ones(3), ts, tau=2.0)[-1])(0.4)
    np.testing.assert_allclose(slope, 3 / 2 * np.exp(-0.6 * 3 / 2), rtol=1e-12)


def test_a_simulated_mode_decays_as_the_gain_says_and_the_complement_by_the_leak():
    rng = np.random.default_rng(1)
    frame, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    L = jnp.asarray(frame[:, :2])
    x0 = jnp.asarray(rng.normal(size=6))
    model = GainModulatedRNN(
        L, L, jnp.zeros((6, 0)), jnp.ones((1, 6)), None, x0=x0, tau=10.0, phi=identity
    )

    def gain(t):
        return jnp.stack([0.5 + 0.4 * jnp.sin(2 * jnp.pi * t / 50), jnp.full_like(t, 0.2)])

    controller = PIDController(rtol=1e-10, atol=1e-12)
    x = simulate(model, gain, dt=10.0, t1=50.0, stepsize_controller=controller).states
    ratio = np.asarray(x @ L) / np.asarray(x0 @ L)
    np.testing.assert_allclose(ratio[1], [0.6543113264828132, 0.2018965180], rtol=1e-8)
    np.testing.assert_allclose(ratio[4, 0], 0.0820849986238988, rtol=1e-8)
    rest = np.asarray(x) @ frame[:, 2:]
    np.testing.assert_allclose(rest[4], np.exp(-5) * (x0 @ frame[:, 2:]), rtol=1e-8)

    # The same network in published steps, one of them as long as tau: the gain is a forget gate.
    s = rng.uniform(size=(12, 2))
    for dt in (1.0, 10.0):
        x = simulate(model, s, dt=dt).states
        expected = np.asarray(x0 @ L) * mode_decay_discrete(s, tau=10.0, dt=dt)
        np.testing.assert_allclose(x @ L, expected, rtol=1e-12)
    np.testing.assert_allclose(mode_decay_discrete(s, tau=1.0), np.cumprod(s, axis=0), rtol=1e-12)


def test_ramp_gains_have_their_closed_form_values_and_feasibility():
    known = {12: (2 / 3, 7 / 18, 1 / 4), 18: (0.527778, 0.342593, 1 / 4)}
    known |= {26: (0.442308, 0.314103, 1 / 4)}
    for interval, expected in known.items():
        f, df = np.array([-0.5, 0.5, 0.5]), np.array([1 / interval, 1 / interval, 0])
        s = required_gain(f, df, tau=10.0, overlap=4.0, offset=-1.0)
        np.testing.assert_allclose(s, expected, atol=5e-7)
        assert gain_is_feasible(s)
    s = required_gain([-0.5], [1 / 4], tau=10.0, overlap=4.0, offset=-1.0)
    np.testing.assert_allclose(s, [1.5], rtol=1e-14)
    assert not gain_is_feasible(s)
    bound = minimum_ramp_overlap([4, 12, 18, 26], tau=10.0, start=-0.5, offset=-1.0)
    np.testing.assert_allclose(bound, [6, 8 / 3, 19 / 9, 23 / 13], rtol=1e-14)
    for slack, feasible in ((1.001, True), (0.999, False)):
        ts = np.linspace(0, 12, 50, endpoint=False)
        f, df = ramp(ts, 12)
        s = required_gain(f, df, tau=10.0, overlap=slack * 8 / 3, offset=-1.0)
        assert gain_is_feasible(s) == feasible
    assert not gain_is_feasible(np.array([0.5, np.nan]))


def test_the_required_gain_makes_the_network_produce_the_output():
    """Continuous time, with a part of the state outside the mode."""
    model, left, right, readout, x0 = rank_one(seed=9)  # whose gains stay between 0 and 1
    perp = x0 - (left @ x0) * left
    f0 = float(readout @ x0 - 1)
    terms = {
        "readout_perp": readout @ perp,
        "right_perp": right @ perp,
        "readout_left": readout @ left,
    }

    def wanted(t):  # from the network's own first output, so that the state fits it
        return f0 + 0.3 * jnp.sin(t / 8), 0.3 / 8 * jnp.cos(t / 8)

    def gain(t):
        f, df = wanted(t)
        s = required_gain(f, df, tau=10.0, overlap=4.0, offset=-1.0, ts=t, **terms)
        return s[None]

    controller = PIDController(rtol=1e-11, atol=1e-12)
    trajectory = simulate(model, gain, dt=1.0, t1=15.0, stepsize_controller=controller)
    np.testing.assert_allclose(
        trajectory.outputs[:, 0], wanted(jnp.asarray(trajectory.ts))[0], atol=1e-9
    )


def test_the_discrete_gain_is_exact_and_consistent_with_itself():
    model, left, right, readout, x0 = rank_one(seed=5)
    perp = x0 - (left @ x0) * left
    terms = {
        "tau": 10.0,
        "overlap": left @ right,
        "offset": -1.0,
        "readout_perp": readout @ perp,
        "right_perp": right @ perp,
        "readout_left": readout @ left,
    }
    # Any network's own outputs give back its own gains.
    s = np.random.default_rng(0).uniform(size=(40, 1))
    y = np.asarray(simulate(model, s, dt=1.0).outputs)[:, 0]
    f0 = readout @ x0 - 1
    np.testing.assert_allclose(
        required_gain_discrete(np.append(f0, y), **terms), s[:, 0], rtol=0, atol=1e-12
    )
    # And the gains of a wanted output produce it.
    wanted = f0 + 0.3 * np.sin(np.arange(41) / 8)
    gains = required_gain_discrete(wanted, **terms)
    y = simulate(model, gains[:, None], dt=1.0).outputs
    np.testing.assert_allclose(y[:, 0], wanted[1:], rtol=0, atol=1e-12)


def test_the_discrete_gain_tends_to_the_continuous_one():
    errors = []
    for dt in (0.1, 0.05):
        t = np.arange(0, 5 + dt / 2, dt)
        f, df = np.exp(t / 20), np.exp(t / 20) / 20
        terms = {"tau": 10.0, "overlap": 2.0, "offset": 0.2, "readout_perp": 0.1}
        terms |= {"right_perp": 0.3, "readout_left": 0.7}
        exact = required_gain(f, df, ts=t, **terms)
        errors.append(np.max(np.abs(required_gain_discrete(f, dt=dt, **terms) - exact[:-1])))
    assert 1.9 < errors[0] / errors[1] < 2.1


def test_gains_that_the_output_does_not_determine_are_nan():
    f = np.array([-1.0, -0.5])  # at f = d the mode is silent: no gain matters
    s = required_gain(f, np.zeros(2), tau=10.0, overlap=4.0, offset=-1.0)
    assert np.isnan(s[0])
    assert s[1] == 0.25
    s = required_gain_discrete(np.array([0.3 - 1, 0.5]), tau=10.0, overlap=4.0, offset=0.3 - 1)
    assert np.isnan(s).all()
    slope = jax.grad(
        lambda a: jnp.nansum(required_gain(a * f, 0 * f, tau=10.0, overlap=4.0, offset=-1.0))
    )(1.0)
    assert np.isfinite(slope)
    with jax.enable_x64(False):
        s = required_gain(jnp.array([-0.5, -1 + 1e-6]), jnp.zeros(2), tau=10.0, overlap=4.0,
                          offset=-1.0)  # fmt: skip
        assert s.dtype == jnp.float32
        np.testing.assert_allclose(s, [0.25, np.nan], rtol=1e-6)


def test_mean_field_has_its_known_solutions_and_pitchfork():
    known = [0.2289694314, 0.8434173990, 1.3371088959, 2.2223140699]
    np.testing.assert_allclose(mean_field_overlap([1.05, 1.5, 2.0, 3.0]), known, atol=1e-10)
    assert mean_field_overlap(1.0) == mean_field_overlap(-2.0) == 0.0
    # Just above the pitchfork k^2 = (1 - 1/sp), from E[sech^2(kz)] = 1 - k^2 + 2 k^4; far above,
    # the rates are signs and k = sp sqrt(2 / pi).
    np.testing.assert_allclose(mean_field_overlap(1.0001), np.sqrt(1e-4), rtol=1e-3)
    np.testing.assert_allclose(mean_field_overlap(200.0), 200 * np.sqrt(2 / np.pi), rtol=1e-4)


def test_a_large_network_settles_where_the_mean_field_says():
    n_units, rho = 4000, 2.007
    rng = np.random.default_rng(0)
    left = rng.normal(size=n_units)
    left /= np.sqrt(np.mean(left**2))
    noise = rng.normal(size=n_units)
    noise -= (noise @ left) / n_units * left
    model = GainModulatedRNN(
        L=jnp.asarray(left)[:, None],
        R=jnp.asarray(rho * left + noise)[:, None],
        B=jnp.zeros((n_units, 0)),
        C=jnp.asarray(left / n_units)[None],
        d=None,
        x0=jnp.asarray(0.5 * left),
        tau=1.0,
        rec_scale="1/N",
    )
    gains = np.tile(np.array([0.4, 0.75, 1.0])[:, None, None], (1, 120, 1))
    k = simulate(model, gains, dt=0.5, save="final").outputs[:, 0, 0]
    np.testing.assert_allclose(k, [0, 0.857, 1.356], atol=0.04)
    np.testing.assert_allclose(k, mean_field_overlap(rho * gains[:, 0, 0]), atol=0.04)


def test_bad_values_are_refused():
    ones = np.ones(3)
    for call in (
        lambda: mode_decay(ones, np.arange(2.0), tau=1.0),
        lambda: mode_decay(ones, np.array([0, 1, 1.0]), tau=1.0),
        lambda: mode_decay(ones, np.array([0, np.nan, 1.0]), tau=1.0),
        lambda: mode_decay(ones, np.arange(3.0), tau=0.0),
        lambda: mode_decay_discrete(ones, tau=1.0, dt=-1.0),
        lambda: required_gain([np.inf], [0.0], tau=1.0, overlap=1.0),
        lambda: required_gain([1.0], [0.0], tau=-1.0, overlap=1.0),
        lambda: required_gain_discrete([1.0], tau=1.0, overlap=1.0),
        lambda: minimum_ramp_overlap(0.0, tau=1.0, start=1.0, offset=0.0),
        lambda: minimum_ramp_overlap(1.0, tau=1.0, start=0.0, offset=0.0),
        lambda: mean_field_overlap(np.nan),
    ):
        with pytest.raises(ValueError, match=r"needed|ascend|finite|positive|least two|above"):
            call()
