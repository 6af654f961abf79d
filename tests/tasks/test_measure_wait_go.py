"""Measure-Wait-Go against the published grid's own numbers."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks import MeasureWaitGo


def as_numpy(trials):
    return (np.asarray(a) for a in (trials.inputs, trials.targets, trials.mask))


def cue_steps(inputs):
    """The first step of every cue, (trials, 3), of inputs whose cues are all shown."""
    return np.argmax(inputs[..., :3] > 0, axis=1)


@pytest.mark.parametrize("x64", [False, True])
def test_published_grid(x64):
    with jax.enable_x64(x64):
        inputs, targets, mask = as_numpy(MeasureWaitGo().grid())
        assert inputs.dtype == targets.dtype == (np.float64 if x64 else np.float32)
    assert inputs.shape == (40, 110, 3)
    assert inputs.sum() == 1200
    y = targets.astype(float)
    assert y.sum() == pytest.approx(100, abs=1e-4)
    assert np.mean(y**2) == pytest.approx(0.227376, abs=5e-7)
    assert np.var(y) == pytest.approx(0.226860, abs=5e-7)
    # The best prediction from time alone: what any model has to beat.
    assert np.mean((y - y.mean(axis=0)) ** 2) == pytest.approx(9.457e-3, abs=5e-7)
    assert np.all(mask == 1)
    assert mask.shape == targets.shape == (40, 110, 1)


def test_grid_is_interval_major_with_cues_where_info_says():
    trials = MeasureWaitGo().grid()
    inputs, targets, _ = as_numpy(trials)
    measure, interval = np.tile(np.arange(10, 20), 4), np.repeat([12, 14, 16, 18], 10)
    wait = measure + interval
    np.testing.assert_array_equal(cue_steps(inputs), np.stack([measure, wait, wait + 15], axis=1))
    np.testing.assert_array_equal(trials.info["go_step"], wait + 15)
    np.testing.assert_array_equal(trials.info["go_time"], 10.0 * (wait + 15))
    np.testing.assert_array_equal(trials.info["interval"], 10.0 * interval)
    assert not np.any(trials.info["catch"])
    for i in (0, 17, 39):
        go, length = wait[i] + 15, interval[i]
        y = targets[i, :, 0]
        assert np.all(y[: go + 1] == -0.5)
        assert np.all(y[go + length :] == 0.5)
        assert y[go + length - 1] < 0.5
        np.testing.assert_allclose(y[go + length // 2], 0, atol=1e-7)


def test_target_is_the_formula():
    with jax.enable_x64(True):
        trials = MeasureWaitGo().grid()
        t = np.arange(110)
        go, interval = (np.asarray(trials.info[k])[:, None] for k in ("go_step", "interval_steps"))
        expected = -0.5 + np.clip((t - go) / interval, 0, 1)
        np.testing.assert_allclose(trials.targets[..., 0], expected, atol=1e-15)


def test_generalisation_set():
    trials = MeasureWaitGo().generalisation()
    np.testing.assert_array_equal(trials.info["interval_steps"], np.arange(4, 27, 2))
    assert np.all(trials.info["measure_step"] == 15)
    assert np.all(trials.targets[:, -1] == 0.5)
    with pytest.raises(ValueError, match=r"at least 1310 \(131 steps\)"):
        MeasureWaitGo().generalisation([500])
    with pytest.raises(ValueError, match="intervals must hold"):
        MeasureWaitGo().generalisation([])


def test_trial_exactly_long_enough():
    task = MeasureWaitGo(intervals=[120], onsets=[100], duration=500)
    assert task.grid().targets[0, -1, 0] == 0.5
    with pytest.raises(ValueError, match=r"duration 490 is too short.*500 \(50 steps\)"):
        dataclasses.replace(task, duration=490)


def test_a_single_time_counts_as_a_row():
    task = MeasureWaitGo(intervals=120.0, onsets=np.int64(100))
    assert task == MeasureWaitGo(intervals=[120], onsets=[100])
    assert task.grid().inputs.shape == (1, 110, 3)
    assert MeasureWaitGo(intervals=np.array(120)) == MeasureWaitGo(intervals=[120])


def test_contexts_are_crossed_with_all_their_intervals():
    task = MeasureWaitGo(intervals=[[120, 140], [160, 180]], context=(0, 0.1))
    trials = task.grid()
    interval = np.asarray(trials.info["interval_steps"])
    np.testing.assert_array_equal(interval, np.repeat([12, 14, 16, 18], 10))
    tonic = np.asarray(trials.inputs[..., 3])
    np.testing.assert_allclose(tonic, np.where(interval > 15, 0.1, 0)[:, None] + np.zeros(110))
    # Rows may overlap: the same interval in two contexts is two kinds of trial.
    overlap = MeasureWaitGo(intervals=[[120, 140], [140, 160, 180]], context=(0, 1)).grid()
    cells = set(zip(*(np.asarray(overlap.info[k]).tolist() for k in ("interval", "context"))))
    assert cells == {(120, 0), (140, 0), (140, 1), (160, 1), (180, 1)}


def test_tonic_context_is_linear_in_the_interval():
    task = MeasureWaitGo(context=(1, 4))
    assert (task.n_inputs, MeasureWaitGo().n_inputs) == (4, 3)
    grid = task.grid()
    np.testing.assert_allclose(grid.info["context"], np.repeat([1, 2, 3, 4], 10), rtol=1e-6)
    np.testing.assert_allclose(grid.inputs[:, 0, 3], grid.info["context"])
    beyond = task.generalisation([60, 240])
    np.testing.assert_allclose(beyond.info["context"], [-2, 7], rtol=1e-6)
    np.testing.assert_allclose(task.generalisation([60], context=3).inputs[0, :, 3], 3)
    with pytest.raises(ValueError, match="context must be given"):
        MeasureWaitGo(intervals=[[120], [140]], context=(0, 1)).generalisation([120])
    with pytest.raises(ValueError, match="without a context"):
        MeasureWaitGo().generalisation([120], context=1)


def test_samples_cover_the_grid_evenly_and_equal_its_trials():
    task = MeasureWaitGo()
    trials = jax.jit(task.sample, static_argnums=1)(jax.random.key(0), 800)
    onset, interval = (np.asarray(trials.info[k]) for k in ("measure_step", "interval_steps"))
    which = (interval - 12) // 2 * 10 + (onset - 10)
    counts = np.bincount(which, minlength=40)
    assert len(counts) == 40
    # 20 expected in each of 40 cells; 72.05 is the 99.9 % point of chi-square with 39.
    assert np.sum((counts - 20) ** 2 / 20) < 72.05
    grid = task.grid()
    np.testing.assert_array_equal(trials.inputs, grid.inputs[which])
    np.testing.assert_array_equal(trials.targets, grid.targets[which])


def test_a_trial_does_not_change_when_the_batch_grows():
    task = MeasureWaitGo(onset_jitter=50, delay=(50, 200), catch_prob=0.3, noise_std=0.1)
    few, many = (task.sample(jax.random.key(3), n) for n in (3, 7))
    for a, b in zip(jax.tree.leaves(few), jax.tree.leaves(many)):
        np.testing.assert_array_equal(a, b[:3])
    other = task.sample(jax.random.key(4), 7)
    assert not np.array_equal(other.inputs, many.inputs)


def test_sample_can_be_vmapped_over_keys():
    task = MeasureWaitGo.beiran(intervals=(300, 400), duration=5000, noise_std=0.1)
    keys = jax.random.split(jax.random.key(0), 2)
    both = jax.vmap(lambda key: task.sample(key, 2))(keys)
    alone = task.sample(keys[1], 2)
    np.testing.assert_allclose(both.inputs[1], alone.inputs, atol=1e-6)
    np.testing.assert_array_equal(both.info["go_step"][1], alone.info["go_step"])


def test_original_form():
    task = MeasureWaitGo.beiran()
    assert task.n_steps == 1000
    trials = jax.jit(task.sample, static_argnums=1)(jax.random.key(1), 600)
    info = {name: np.asarray(value) for name, value in trials.info.items()}
    inputs, targets, mask = as_numpy(trials)
    catch, blank = info["catch"], info["blank"]
    np.testing.assert_array_equal(np.unique(info["interval_steps"]), [80, 105, 130, 155])
    for name, low, high in (("measure_step", 40, 160), ("delay", 200, 2500)):
        assert low <= info[name].min() <= low + 0.05 * (high - low)
        assert high - 0.05 * (high - low) <= info[name].max() <= high
    # Binomial: 600 draws at 0.1, and at 0.19 for either reason, four standard deviations.
    assert abs(blank.mean() - 0.1) < 0.049
    assert abs(catch.mean() - 0.19) < 0.065
    pulses = (inputs > 0).sum(axis=1)
    np.testing.assert_array_equal(pulses[blank], 0)
    np.testing.assert_array_equal(pulses[catch & ~blank], [[1, 1, 0]] * (catch & ~blank).sum())
    np.testing.assert_array_equal(pulses[~catch], 1)
    assert np.all(targets[catch] == -0.5)
    assert np.all(mask[catch] == 1)
    assert np.all(targets[~catch][:, -1] == 0.5)
    # From 30 steps before the go cue to 30 after the longest ramp, up to the end of the trial.
    t, go = np.arange(1000), info["go_step"][~catch][:, None]
    np.testing.assert_array_equal(mask[~catch][..., 0], (t >= go - 30) & (t < go + 155 + 30))


def test_mask_pad_on_the_published_grid():
    trials = MeasureWaitGo(mask_pad=100).grid()
    go = np.asarray(trials.info["go_step"])
    mask = np.asarray(trials.mask[..., 0])
    np.testing.assert_array_equal(mask.sum(axis=1), 10 + 18 + 10)
    np.testing.assert_array_equal(np.argmax(mask, axis=1), go - 10)


def test_pulse_width_amplitude_and_noise():
    wide = MeasureWaitGo(pulse_width=30, amplitude=-2).grid()
    assert wide.inputs.sum() == 40 * 3 * 3 * -2
    noisy = MeasureWaitGo(noise_std=0.5).sample(jax.random.key(0), 20)
    clean = MeasureWaitGo().sample(jax.random.key(0), 20)
    noise = np.asarray(noisy.inputs - clean.inputs)
    # 6600 draws: mean within 4 and variance within 4 standard errors.
    assert abs(noise.mean()) < 4 * 0.5 / 6600**0.5
    assert abs(noise.var() / 0.25 - 1) < 4 * (2 / 6600) ** 0.5
    np.testing.assert_array_equal(noisy.targets, clean.targets)


def test_times_off_the_grid_are_refused_or_rounded_on_request():
    with pytest.raises(ValueError, match=r"intervals 100.*nearest on the grid are 90 and 120"):
        MeasureWaitGo(dt=30, intervals=[100], onsets=[90], delay=150, duration=900)
    task = MeasureWaitGo(
        dt=30, intervals=[100], onsets=[100], delay=100, duration=1000, rounding="nearest"
    )
    info = task.grid().info
    assert float(info["interval"][0]) == float(info["delay"][0]) == 90
    assert float(info["measure_time"][0]) == 90
    assert int(info["go_step"][0]) == 9
    assert task.n_steps == 33
    with pytest.raises(ValueError, match="at least one step"):
        dataclasses.replace(task, intervals=[10])


def test_step_lengths_that_are_not_binary_fractions():
    # In seconds at 0.1: 0.3 / 0.1 is 2.9999999999999996 in floating point.
    task = MeasureWaitGo(dt=0.1, intervals=[0.3], onsets=[0.7], delay=0.6, duration=2.1)
    info = task.grid().info
    assert [int(info[f"{cue}_step"][0]) for cue in ("measure", "wait", "go")] == [7, 10, 16]
    assert task.n_steps == 21


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dt": 0}, "dt must be"),
        ({"intervals": []}, "intervals must hold"),
        ({"intervals": [[120], []]}, "intervals must hold"),
        ({"intervals": [120, 0]}, "intervals must be positive"),
        ({"intervals": [-120]}, "intervals must be positive"),
        ({"intervals": [float("nan")]}, "intervals must be positive"),
        ({"onsets": []}, "onsets must hold"),
        ({"onsets": [-10]}, "onsets must not be negative"),
        ({"onset_jitter": 110}, "onset_jitter 110"),
        ({"delay": -10}, "delay must not be negative"),
        ({"delay": (200, 100)}, "delay must go from low to high"),
        ({"delay": (100, 1000)}, "duration 1100 is too short"),
        ({"catch_prob": 1.1}, "catch_prob must be in"),
        ({"blank_prob": -0.1}, "blank_prob must be in"),
        ({"noise_std": -1}, "noise_std must not be negative"),
        ({"amplitude": float("inf")}, "amplitude must be finite"),
        ({"pulse_width": 0}, "pulse_width must be at least one step"),
        ({"mask_pad": -10}, "mask_pad must not be negative"),
        ({"context": (0, float("nan"))}, "context must be finite"),
        ({"context": 0.1}, "context must be two numbers"),
        ({"ramp": 0.5}, "ramp must be two numbers"),
        ({"delay": (1, 2, 3)}, "delay must be one number or two"),
        ({"intervals": [120, [140, 160]]}, "intervals must be a row of numbers, or several rows"),
        ({"intervals": [[[120]]]}, "intervals must be a row of numbers, or several rows"),
        ({"onsets": [[100, 110]]}, "onsets must be a row of numbers"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        MeasureWaitGo(**fields)


def test_a_task_is_all_constants():
    task = MeasureWaitGo()
    assert jax.tree.leaves(task) == []
    assert hash(task) == hash(MeasureWaitGo(intervals=np.array([120, 140, 160, 180])))
    trials = eqx.filter_jit(lambda task, key: task.sample(key, 2))(task, jax.random.key(0))
    assert bool(jnp.all(jnp.isfinite(trials.inputs)))
