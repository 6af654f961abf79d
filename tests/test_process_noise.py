"""Process noise: its variance, its independence, its keys, and who may make it."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden_network import golden, golden_inputs
from small_models import Diffusing, OwnNoise

from neurosim import simulate
from neurosim.models import NMRNNState


def wiener(n_steps, *, dt=0.1, n=1, seed=0, t0=0.0, **options):
    """Increments of pure noise of unit strength, `(batch, time)`."""
    x = simulate(
        Diffusing(), dt=dt, t0=t0, t1=t0 + n_steps * dt, batch_size=n, noise=1.0,
        key=jax.random.key(seed), **options,
    ).outputs[..., 0]  # fmt: skip
    return np.diff(np.asarray(x, np.float64), axis=1, prepend=0)


@pytest.mark.parametrize("double", [True, False])
def test_late_and_short_intervals_have_increments_of_their_own(double):
    with jax.enable_x64(double):
        x = simulate(
            Diffusing(), dt=1e-4, t0=4096.0, t1=4096.0004, noise=1.0, key=jax.random.key(0)
        ).outputs  # fmt: skip
        assert x.dtype == (jnp.float64 if double else jnp.float32)
        steps = np.diff(np.asarray(x)[:, 0], prepend=0)
        assert len(np.unique(np.abs(steps))) == 4
        assert np.all(steps != 0)
        assert np.all(np.abs(steps) < 5 * np.sqrt(1e-4))


@pytest.mark.parametrize("double", [True, False])
def test_trials_are_independent_repeatable_and_blind_to_the_batch(double):
    with jax.enable_x64(double):
        options = {"dt": 0.01, "t1": 1.0, "noise": 1.0, "key": jax.random.key(3)}
        x = simulate(Diffusing(rate=1.0), batch_size=2000, **options).outputs[..., 0]
        # Of the exact process; Euler at this dt is 0.5 % above.
        assert np.var(x[:, -1]) == pytest.approx((1 - np.exp(-2)) / 2, rel=0.05)
        again = simulate(Diffusing(rate=1.0), batch_size=2000, **options).outputs[..., 0]
        np.testing.assert_array_equal(x, again)
        few = simulate(Diffusing(rate=1.0), batch_size=7, **options).outputs[..., 0]
        np.testing.assert_array_equal(x[:7], few)
        other = simulate(
            Diffusing(rate=1.0), batch_size=7, **{**options, "key": jax.random.key(4)}
        ).outputs[..., 0]  # fmt: skip
        assert not np.any(np.asarray(few) == np.asarray(other))


def test_increments_are_uncorrelated_between_trials_and_between_steps():
    increments = wiener(2000, n=20)
    assert np.var(increments) == pytest.approx(0.1, rel=4 * np.sqrt(2 / increments.size))
    # 190 pairs of trials: five standard errors each.
    between = np.corrcoef(increments)[np.triu_indices(20, 1)]
    assert np.max(np.abs(between)) < 5 / np.sqrt(2000)
    along = np.mean(increments[:, 1:] * increments[:, :-1]) / 0.1
    assert abs(along) < 5 / np.sqrt(increments.size)


def test_stationary_variance_is_that_of_euler_maruyama_at_each_dt():
    for dt, variance in ((0.1, 0.526316), (0.5, 0.666667)):
        x = simulate(
            Diffusing(rate=1.0), dt=dt, t1=20.0, batch_size=4000, noise=1.0,
            key=jax.random.key(0), save="final",
        ).outputs  # fmt: skip
        # Four standard errors of a variance from 4000 samples.
        assert np.var(x) == pytest.approx(variance, rel=4 * np.sqrt(2 / 4000))


def test_substeps_and_breakpoints_keep_the_variance():
    increments = wiener(1000, n=4, substeps=4)
    assert np.var(increments) == pytest.approx(0.1, rel=4 * np.sqrt(2 / increments.size))
    x = simulate(
        Diffusing(), lambda t: jnp.zeros(1), breakpoints=[0.33, 0.71], dt=1.0, t1=1.0,
        batch_size=4000, noise=1.0, key=jax.random.key(0),
    ).outputs  # fmt: skip
    assert np.var(x) == pytest.approx(1.0, rel=4 * np.sqrt(2 / 4000))


def test_additive_noise_takes_any_solver_that_needs_no_areas():
    """With no drift every solver adds up the same increments."""
    np.testing.assert_allclose(wiener(20, solver=diffrax.Heun()), wiener(20), atol=1e-6)
    # One step of Heun on dx = -x dt + dW is (1 - h + h^2/2) x + (1 - h/2) dW.
    with jax.enable_x64(True):
        dw = wiener(20)[0]
        x, expected = 0.0, []
        for kick in dw:
            x = (1 - 0.1 + 0.005) * x + (1 - 0.05) * kick
            expected.append(x)
        options = {"dt": 0.1, "t1": 2.0, "noise": 1.0, "key": jax.random.key(0)}
        y = simulate(Diffusing(rate=1.0), solver=diffrax.Heun(), batch_size=1, **options).outputs
        np.testing.assert_allclose(y[0, :, 0], expected, rtol=0, atol=1e-14)


def test_noise_goes_only_where_its_amplitude_says():
    with jax.enable_x64(True):
        u, model = golden_inputs(), golden()
        quiet = simulate(model, u, dt=1.0).states
        noisy = simulate(
            model, u, dt=1.0, noise=NMRNNState(0.1, 0.0), key=jax.random.key(0)
        ).states  # fmt: skip
        np.testing.assert_array_equal(quiet.z, noisy.z)
        assert np.min(np.abs(quiet.x - noisy.x)) > 0
        # Per unit, too; and the published step adds it at its end.
        amplitude = jnp.array([0.0, 1, 0, 0, 2, 0])
        one = simulate(
            model, u[:1], dt=1.0, noise=NMRNNState(amplitude, 0.0), key=jax.random.key(0)
        ).states  # fmt: skip
        moved = np.asarray(one.x[0] - quiet.x[0])
        np.testing.assert_array_equal(moved != 0, np.asarray(amplitude) > 0)


def test_a_model_may_say_its_own_noise():
    model = OwnNoise(jnp.array(0.5))
    options = {"dt": 0.25, "t1": 1.0, "batch_size": 4000}
    states = simulate(model, key=jax.random.key(0), **options).states
    assert np.var(states["noisy"][:, -1]) == pytest.approx(0.25, rel=4 * np.sqrt(2 / 8000))
    assert not np.any(states["silent"])
    with pytest.raises(ValueError, match="needs a key"):
        simulate(model, **options)
    silent = simulate(model, noise=0, **options).states
    assert not np.any(silent["noisy"])
    with pytest.raises(ValueError, match="fixed grid"):
        simulate(
            model, dt=0.25, t1=1.0, key=jax.random.key(0),
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-3),
        )  # fmt: skip


def test_no_noise_is_the_run_without_it():
    with jax.enable_x64(True):
        u = golden_inputs()[:20]
        quiet = simulate(golden(), u, dt=1.0).outputs
        for noise, key in ((0, None), (0.0, jax.random.key(0)), (None, jax.random.key(0))):
            same = simulate(golden(), u, dt=1.0, noise=noise, key=key).outputs
            np.testing.assert_array_equal(same, quiet)


def test_noisy_runs_can_be_differentiated():
    """x(T) = sigma W(T): its slope in sigma is W(T), in both modes."""

    def end(sigma):
        options = {"dt": 0.1, "t1": 1.0, "key": jax.random.key(0), "save": "final"}
        return simulate(Diffusing(), noise=sigma, **options).outputs[0, 0]

    w = float(end(1.0))
    assert float(jax.grad(end)(0.7)) == pytest.approx(w, rel=1e-5)
    assert float(jax.jvp(end, (0.7,), (1.0,))[1]) == pytest.approx(w, rel=1e-5)
