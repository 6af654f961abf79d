"""What a run returns, and how it says that a trial left the finite numbers."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from diffrax import PIDController
from small_models import BlowUp, floats

from neurosim import DivergenceError, Trajectory, simulate
from neurosim.models import Dynamics


class Populations(Dynamics):
    """`calm` stays; `later` and the second of `wild` are infinite at 5/3 and at 1."""

    def initial_state(self):
        return {"calm": floats(0.5), "later": floats(0.6), "wild": floats(0.0, 1.0)}

    def vector_field(self, t, state, input):
        calm = jnp.zeros_like(state["calm"])
        return {"calm": calm, "later": state["later"] ** 2, "wild": state["wild"] ** 2}

    def readout(self, state):
        return state["calm"]


STARTS = [[1.0], [-1.0]]
RUNS = {
    "fixed": {"solver": diffrax.Tsit5()},
    "adaptive": {"stepsize_controller": PIDController(rtol=1e-7, atol=1e-9), "max_steps": 64},
}


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("how", list(RUNS))
def test_one_bad_trial_is_named_and_leaves_the_others_alone(how, double):
    with jax.enable_x64(double):
        options = {"dt": 0.01, "t1": 2.0, **RUNS[how]}
        alone = simulate(BlowUp(), initial_state=floats(-1.0), **options).outputs
        np.testing.assert_allclose(alone[-1], -1 / 3, rtol=1e-5)
        with pytest.raises(
            DivergenceError,
            match=r"trial 0 (diverged at|took more than .* before) t = 1.*state\[0\]",
        ) as info:
            simulate(BlowUp(), initial_state=floats(*STARTS), **options)
        error = info.value
        np.testing.assert_array_equal(error.trials, [0])
        # 1 / (1 - t) is infinite at t = 1.
        assert error.times.shape == (1,)
        assert 0.99 < error.times[0] < 1.1
        np.testing.assert_allclose(error.trajectory.outputs[1], alone, rtol=1e-6)
        assert np.all(np.isfinite(error.trajectory.outputs[0, :98]))
        flagged = np.asarray(error.trajectory.diverged_at)
        np.testing.assert_allclose(flagged, [error.times[0], np.inf], rtol=1e-6)


@pytest.mark.parametrize("save", ["states", "outputs", "final"])
def test_the_time_is_named_whatever_is_saved(save):
    with pytest.raises(DivergenceError, match=r"trial 1 diverged at t = 1\.1.*1 more") as info:
        simulate(BlowUp(), dt=0.01, t1=2.0, initial_state=floats([-1.0], [1.0], [2.0]), save=save)
    np.testing.assert_array_equal(info.value.trials, [1, 2])
    assert info.value.times[1] < info.value.times[0]
    trajectory = info.value.trajectory
    kept = trajectory.states if save == "states" else trajectory.outputs
    assert np.all(np.isfinite(kept[0]))


def test_the_state_is_named_and_divergence_of_what_is_not_read_out_is_seen():
    message = r"the trial diverged at t = 1.*state\['wild'\]\[1\] is not finite; the largest"
    for save in ("both", "outputs", "final"):
        with pytest.raises(DivergenceError, match=message):
            simulate(Populations(), dt=0.05, t1=3.0, save=save)
    kept = simulate(Populations(), dt=0.05, t1=3.0, throw=False)
    assert np.all(np.asarray(kept.outputs) == 0.5)
    assert 1 < float(kept.diverged_at) < 2


def test_without_throw_and_under_transformations_nothing_is_raised():
    def run(y0):
        return simulate(BlowUp(), dt=0.01, t1=2.0, initial_state=y0)

    starts = floats(*STARTS)
    quiet = simulate(BlowUp(), dt=0.01, t1=2.0, initial_state=starts, throw=False)
    assert isinstance(quiet, Trajectory)
    assert np.isinf(quiet.diverged_at[1])
    assert 1 < quiet.diverged_at[0] < 1.2
    jitted = jax.jit(lambda y: (run(y).outputs, run(y).diverged_at))(starts)
    np.testing.assert_array_equal(jitted[1], quiet.diverged_at)
    assert not np.all(np.isfinite(jitted[0][0]))
    mapped = jax.vmap(lambda y: run(y).outputs)(starts)
    np.testing.assert_array_equal(mapped, jitted[0])


def test_a_sound_run_has_no_time_of_divergence():
    sound = simulate(BlowUp(), dt=0.1, t1=0.5)
    assert sound.diverged_at.shape == ()
    assert np.isinf(sound.diverged_at)
    sound = simulate(BlowUp(), dt=0.1, t1=0.5, batch_size=2, save="final")
    np.testing.assert_array_equal(sound.diverged_at, [np.inf, np.inf])
    np.testing.assert_array_equal(sound.ts, [0.5])
