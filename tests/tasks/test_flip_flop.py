"""Flip-flop: a slow state machine in plain Python, and renewal statistics."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks import FlipFlop


def replay(onsets, *, width, delay):
    """Inputs and targets of one channel, step by step, from the signs of its pulse onsets."""
    inputs, held, left, sign = [], [], 0, 0.0
    for onset in onsets:
        if onset != 0:
            left, sign = width, onset
        inputs.append(sign if left > 0 else 0.0)
        held.append(sign)
        left -= 1
    return inputs, ([0.0] * delay + held)[: len(held)]


@pytest.mark.parametrize(
    ("fields", "width", "delay"),
    [
        ({}, 3, 1),
        ({"pulse_prob": 0.3, "refractory": 0, "pulse_width": 10, "target_delay": 0}, 1, 0),
        ({"initial": "pulse", "pulse_width": 50, "refractory": 20, "target_delay": 30}, 5, 3),
    ],
)
def test_equals_a_step_by_step_machine(fields, width, delay):
    trials = FlipFlop(duration=600, n_bits=2, **fields).sample(jax.random.key(2), 4)
    onsets, inputs, targets = (
        np.asarray(a) for a in (trials.info["onsets"], trials.inputs, trials.targets)
    )
    assert np.any(onsets != 0)
    for trial in range(4):
        for bit in range(2):
            u, y = replay(onsets[trial, :, bit], width=width, delay=delay)
            np.testing.assert_array_equal(inputs[trial, :, bit], u)
            np.testing.assert_array_equal(targets[trial, :, bit], y)
    assert np.all(trials.mask == 1)


def test_renewal_statistics_of_the_default():
    task = FlipFlop()
    assert (task.n_inputs, task.n_outputs, task.n_steps) == (3, 3, 200)
    trials = jax.jit(task.sample, static_argnums=1)(jax.random.key(0), 1000)
    onsets = np.asarray(trials.info["onsets"])
    trial, bit, step = np.nonzero(np.swapaxes(onsets, 1, 2))
    same = (np.diff(trial) == 0) & (np.diff(bit) == 0)
    gaps = np.diff(step)[same]
    # 3 steps on and 11 of rest: the next pulse can start 14 steps later, not sooner.
    assert gaps.min() == 14
    # The wait for the first pulse is geometric: P(at step 0) = p, P(none by step k) = (1 - p)^k.
    started = np.cumsum(onsets != 0, axis=1) > 0
    for k in (1, 20, 50):
        p = 1 - 0.98**k
        assert abs(started[:, k - 1].mean() - p) < 4 * (p * (1 - p) / 3000) ** 0.5
    signs = onsets[onsets != 0]
    assert abs(signs.mean()) < 4 / len(signs) ** 0.5
    assert np.corrcoef(signs[:-1], signs[1:])[0, 1] == pytest.approx(0, abs=4 / len(signs) ** 0.5)


@pytest.mark.parametrize(("probability", "expected"), [(0.0, 0), (1.0, 5)])
def test_certain_and_impossible_pulses(probability, expected):
    task = FlipFlop(pulse_prob=probability, duration=200, pulse_width=20, refractory=20)
    onsets = task.sample(jax.random.key(0), 3).info["onsets"]
    np.testing.assert_array_equal(np.abs(onsets).sum(axis=1), expected)


def test_initial_state():
    zero = FlipFlop(duration=100, pulse_prob=0).sample(jax.random.key(0), 5)
    assert np.all(zero.targets == 0)
    shown = FlipFlop(duration=100, pulse_prob=0, initial="pulse").sample(jax.random.key(0), 20)
    assert np.all(np.abs(shown.inputs[:, :3]) == 1)
    assert np.all(np.abs(shown.targets[:, 1:]) == 1)
    assert np.all(shown.targets[:, 1] == shown.inputs[:, 0])
    assert {-1.0, 1.0} == set(np.asarray(shown.inputs[:, 0]).ravel().tolist())


def test_amplitude_and_noise():
    loud = FlipFlop(duration=300, pulse_prob=0.2, amplitude=2).sample(jax.random.key(1), 3)
    assert set(np.unique(loud.inputs)) == {-2, 0, 2}
    assert set(np.unique(loud.targets)) == {-1, 0, 1}
    noisy = FlipFlop(duration=300, pulse_prob=0.2, amplitude=2, noise_std=0.1).sample(
        jax.random.key(1), 3
    )
    noise = np.asarray(noisy.inputs - loud.inputs)
    assert noise.std() == pytest.approx(0.1, rel=4 * (1 / (2 * noise.size)) ** 0.5)
    np.testing.assert_array_equal(noisy.targets, loud.targets)


def test_a_trial_does_not_change_when_the_batch_grows():
    task = FlipFlop(duration=300, pulse_prob=0.2, noise_std=0.1)
    few, many = (task.sample(jax.random.key(3), n) for n in (2, 5))
    np.testing.assert_array_equal(few.inputs, many.inputs[:2])
    assert len(np.unique(np.asarray(many.targets).reshape(5, -1), axis=0)) == 5


def test_sample_can_be_vmapped_over_keys():
    task, keys = FlipFlop(duration=300), jax.random.split(jax.random.key(0), 3)
    both = jax.vmap(lambda key: task.sample(key, 2))(keys)
    np.testing.assert_array_equal(both.inputs[2], task.sample(keys[2], 2).inputs)


def test_double_precision():
    with jax.enable_x64(True):
        trials = FlipFlop(duration=200, noise_std=0.1).sample(jax.random.key(0), 2)
        assert trials.inputs.dtype == trials.targets.dtype == jnp.float64


def test_times_off_the_grid_are_refused_or_rounded_on_request():
    with pytest.raises(ValueError, match=r"pulse_width 100.*nearest on the grid are 90 and 120"):
        FlipFlop(dt=30, duration=900, pulse_width=100, refractory=120, target_delay=30)
    task = FlipFlop(dt=30, duration=900, pulse_width=100, refractory=110, rounding="nearest")
    info = task.sample(jax.random.key(0), 2).info
    np.testing.assert_array_equal(info["pulse_width"], [90, 90])
    np.testing.assert_array_equal(info["refractory"], [120, 120])
    np.testing.assert_array_equal(info["target_delay"], [0, 0])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dt": 0}, "dt must be"),
        ({"n_bits": 0}, "n_bits must be"),
        ({"n_bits": 3.0}, "n_bits must be a whole number"),
        ({"n_bits": 0.5}, "n_bits must be a whole number"),
        ({"n_bits": [3]}, "n_bits must be a whole number"),
        ({"pulse_prob": 1.5}, "pulse_prob must be in"),
        ({"pulse_prob": float("nan")}, "pulse_prob must be in"),
        ({"amplitude": float("nan")}, "amplitude must be finite"),
        ({"noise_std": -0.1}, "noise_std must be"),
        ({"duration": 0}, "duration must be at least one step"),
        ({"pulse_width": 0}, "pulse_width must be at least one step"),
        ({"refractory": -10}, "refractory must not be negative"),
        ({"target_delay": 2000}, "must exceed target_delay"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        FlipFlop(**fields)
