"""Multitask: trials replayed step by step from their labels, sizes, keys, and refusals."""

from math import pi, tau

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks.multitask import Multitask
from neurosim.tasks.multitask_rules import ALIASES, RULES

KEY = jax.random.key(5)


def coded(angle, ring):
    if not ring:
        return np.array([np.sin(angle), np.cos(angle)])
    distance = np.abs(angle - tau * np.arange(ring) / ring)
    distance = np.minimum(distance, tau - distance)
    return 0.8 * np.exp(-((8 * distance / pi) ** 2) / 2)


def replay(task, info, ring=0):
    """One trial in plain Python, from what `info` says of it."""
    n, modalities = ring or 2, task.n_modalities
    name = task.tasks[info["task"]]
    skip, grace = round(task.mask_skip / task.dt), round(task.mask_grace / task.dt)
    inputs = np.zeros((task.n_steps, 1 + modalities * n + len(task.contexts)))
    targets, mask = np.zeros((2, task.n_steps, 1 + n))
    for t in range(info["end_step"]):
        if t < info["go_step"] or name.startswith(("react", "dms", "dmc")):
            inputs[t, 0] = 1
        inputs[t, 1 + modalities * n + task.contexts.index(name)] = 1
        for stimulus in (1, 2):
            if info[f"stim{stimulus}_on_step"] <= t < info[f"stim{stimulus}_off_step"]:
                for m in range(modalities):
                    strength = info[f"strength{stimulus}_mod{m + 1}"]
                    code = strength * coded(info[f"theta{stimulus}"], ring)
                    inputs[t, 1 + m * n : 1 + (m + 1) * n] += code
        targets[t] = 0.05 if ring else 0.0
        if t < info["go_step"] or not info["respond"]:
            targets[t, 0] = task.fixation_target
        else:
            targets[t, 1:] += coded(info["response_angle"], ring)
        if skip <= t < info["go_step"]:
            mask[t] = 1
        elif t >= info["go_step"] + grace:
            mask[t] = task.mask_response
        mask[t, 0] *= task.mask_fixation
    return inputs, targets, mask


def assert_replayed(task, trials, *, ring=0, atol=2e-6):
    for i in range(len(trials.inputs)):
        info = {name: np.asarray(value)[i].item() for name, value in trials.info.items()}
        arrays = zip((trials.inputs, trials.targets, trials.mask), replay(task, info, ring))
        for array, expected in arrays:
            np.testing.assert_allclose(array[i], expected, atol=atol)


# Tasks and a number of trials that are compiled once for all tests here.
FOUR = Multitask(
    tasks=("delay_pro", "delay_anti", "memory_pro", "dm2"),
    contexts=("memory_anti", "dm2", "memory_pro", "delay_anti", "delay_pro"),
    probabilities=(0, 2, 1, 1), noise_std=0, fixation_target=0.85,
    mask_skip=50, mask_grace=20, mask_response=3, mask_fixation=0.5,
)  # fmt: skip
YANG = Multitask.yang(n_ring=8, noise_std=0)
DRISCOLL = Multitask.driscoll(noise_std=0)
SIZE = 80


@pytest.mark.parametrize(
    ("task", "ring"), [(FOUR, 0), (YANG, 8), (DRISCOLL, 0)], ids=["four", "yang", "driscoll"]
)
def test_equals_a_step_by_step_trial(task, ring):
    trials = task.sample(KEY, SIZE)
    assert len(np.unique(trials.info["task"])) > 0.7 * len(task.tasks)
    assert_replayed(task, trials, ring=ring)
    names = np.array(task.contexts)[np.asarray(trials.info["context"])]
    assert np.array_equal(names, np.array(task.tasks)[np.asarray(trials.info["task"])])


def test_every_step_counts_by_default():
    weights = ("mask_skip", "mask_grace", "mask_response", "mask_fixation")
    assert [getattr(Multitask(), name) for name in weights] == [0, 0, 1, 1]
    assert [getattr(YANG, name) for name in weights] == [100, 100, 5, 2]
    assert [getattr(DRISCOLL, name) for name in weights] == [100, 100, 5, 2]


def test_delay_and_memory_and_react_at_the_go_cue():
    trials = FOUR.sample(KEY, SIZE)
    names = np.array(FOUR.tasks)[np.asarray(trials.info["task"])]
    row, go = np.arange(SIZE), np.asarray(trials.info["go_step"])
    at_go, anti = np.asarray(trials.inputs)[row, go], names == "delay_anti"
    assert np.all(at_go[:, 0] == 0)
    np.testing.assert_allclose(np.hypot(*at_go[:, 1:3].T), anti, atol=1e-6)
    last = np.asarray(trials.inputs)[:, -1]
    np.testing.assert_array_equal(last[anti], at_go[anti])
    target = np.asarray(trials.targets)[row, go]
    theta = np.asarray(trials.info["theta1"]) + np.where(anti, pi, 0)
    expected = np.stack([np.zeros(SIZE), np.sin(theta), np.cos(theta)], axis=-1)
    lone = names != "dm2"
    np.testing.assert_allclose(target[lone], expected[lone], atol=1e-5)
    before = np.asarray(trials.targets)[row, go - 1]
    np.testing.assert_allclose(before, np.tile([0.85, 0, 0], (SIZE, 1)), atol=1e-6)

    trials = DRISCOLL.sample(KEY, SIZE)
    names = np.array(DRISCOLL.tasks)[np.asarray(trials.info["task"])]
    react = np.char.startswith(names, "react")
    shown = np.arange(DRISCOLL.n_steps) < np.asarray(trials.info["end_step"])[:, None]
    np.testing.assert_array_equal(trials.inputs[..., 0][react], shown[react])


def test_published_sizes():
    yang, driscoll, four = Multitask.yang(), Multitask.driscoll(), Multitask.costacurta()
    assert (yang.n_inputs, yang.n_outputs, yang.n_sensory, len(yang.tasks)) == (85, 33, 65, 20)
    assert (driscoll.n_inputs, driscoll.n_outputs, len(driscoll.tasks)) == (20, 3, 15)
    assert (four.n_inputs, four.n_outputs, four.n_steps) == (6, 3, 100)
    assert four.fixation_target == 0.8
    assert four.tasks == four.contexts == ("delay_pro", "delay_anti", "memory_pro")
    # sigma_x sqrt(2 / alpha), with sigma_x 0.01 and alpha 20 / 100.
    assert yang.input_noise == driscoll.input_noise == pytest.approx(0.01 * 10**0.5)
    assert four.input_noise == 0.01
    assert Multitask.costacurta(("dm1", "delay_pro"), dt=5, duration=250).n_steps == 50
    assert Multitask.costacurta("memory_anti", contexts=["memory_anti", "dm2"]).n_sensory == 5


def test_noise_is_on_every_channel_until_the_end_and_changes_nothing_else():
    loud = Multitask.driscoll(noise_std=0.1)
    one, other = DRISCOLL.sample(KEY, SIZE), loud.sample(KEY, SIZE)
    np.testing.assert_array_equal(one.targets, other.targets)
    noise = np.asarray(other.inputs - one.inputs)
    shown = np.arange(loud.n_steps) < np.asarray(one.info["end_step"])[:, None]
    assert np.all(noise[~shown] == 0)
    # sigma_x sqrt(2 / alpha) = 0.1 sqrt(10).
    np.testing.assert_allclose(noise[shown].std(axis=0), 0.1**0.5, rtol=0.02)
    np.testing.assert_allclose(np.corrcoef(noise[shown].T), np.eye(20), atol=0.05)


def test_probabilities():
    drawn = np.bincount(FOUR.sample(KEY, 4000).info["task"], minlength=4) / 4000
    assert drawn[0] == 0
    for share, expected in zip(drawn[1:], (0.5, 0.25, 0.25)):
        assert abs(share - expected) < 4.5 * (expected * (1 - expected) / 4000) ** 0.5
    even = np.bincount(YANG.sample(KEY, 4000).info["task"], minlength=20) / 4000
    assert np.all(np.abs(even - 0.05) < 4.5 * (0.05 * 0.95 / 4000) ** 0.5)


def test_trials_of_given_tasks_and_angles():
    asked = ["memory_pro", "DelayAnti", "delay_pro", "fdgo"]
    angles = np.array([0.5, -0.5, tau + 1, 3.0])
    trials = FOUR.sample_task(KEY, 4, asked, angles=angles)
    np.testing.assert_array_equal(trials.info["task"], [2, 1, 0, 0])
    np.testing.assert_allclose(trials.info["theta1"], [0.5, tau - 0.5, 1, 3], atol=1e-5)
    expected = [0.5, pi - 0.5, 1, 3]
    np.testing.assert_allclose(trials.info["response_angle"], expected, atol=1e-5)
    assert np.all(FOUR.sample_task(KEY, 4, "memory_pro", angles=1).info["theta1"] == 1)
    # All else is as in the trials of the same key.
    free = FOUR.sample(KEY, 4)
    same = [FOUR.tasks[n] for n in free.info["task"]]
    np.testing.assert_allclose(FOUR.sample_task(KEY, 4, same).inputs, free.inputs, atol=1e-6)
    given = FOUR.sample_task(KEY, 4, same, angles=angles)
    for name in ("go_time", "stim1_on_time", "strength1"):
        np.testing.assert_allclose(given.info[name], free.info[name], rtol=1e-6)


def test_a_trial_does_not_change_when_the_batch_grows():
    task = Multitask(noise_std=0.1)
    few, many, again = task.sample(KEY, 3), task.sample(KEY, 8), task.sample(KEY, 3)
    for one, other, same in zip(*(jax.tree.leaves(trials) for trials in (few, many, again))):
        np.testing.assert_allclose(one, other[:3], rtol=1e-6)
        np.testing.assert_array_equal(one, same)
    np.testing.assert_array_equal(few.inputs, many.inputs[:3])
    assert len(np.unique(many.info["theta1"])) == 8


def test_sample_can_be_jitted_and_vmapped_over_keys():
    keys = jax.random.split(KEY, 3)
    both = jax.vmap(lambda key: FOUR.sample(key, 4))(keys)
    np.testing.assert_allclose(both.inputs[2], FOUR.sample(keys[2], 4).inputs, atol=1e-6)
    jitted = jax.jit(FOUR.sample, static_argnums=1)(keys[0], 4)
    np.testing.assert_allclose(both.inputs[0], jitted.inputs, atol=1e-6)


@pytest.mark.usefixtures("double_precision")
def test_double_precision():
    task = Multitask.yang(("delay_anti", "multi_dm", "dms_nogo"), n_ring=6, noise_std=0)
    trials = task.sample(KEY, 12)
    for name in ("inputs", "targets", "mask"):
        assert getattr(trials, name).dtype == jnp.float64
    assert trials.info["go_time"].dtype == jnp.float64
    assert_replayed(task, trials, ring=6, atol=1e-12)


def test_published_names():
    yang = "fdgo reactgo delaygo fdanti reactanti delayanti dm1 dm2 contextdm1 contextdm2 multidm"
    yang += " delaydm1 delaydm2 contextdelaydm1 contextdelaydm2 multidelaydm"
    yang += " dmsgo dmsnogo dmcgo dmcnogo"
    assert Multitask.yang(yang.split()).tasks == Multitask.yang().tasks == tuple(RULES)
    # The trap: one name, two tasks, told apart by its case.
    assert Multitask(tasks=["delaygo", "delayanti"]).tasks == ("memory_pro", "memory_anti")
    assert Multitask(tasks=["DelayPro", "DelayAnti"]).tasks == ("delay_pro", "delay_anti")
    assert set(ALIASES.values()) == set(RULES)
    assert not set(ALIASES) & set(RULES)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tasks": ("delay_pro", "delay")}, "unknown task 'delay': the known ones are delay_pro, "),
        ({"tasks": (1,)}, "unknown task 1"),
        ({"contexts": ("delay_por",)}, "unknown task 'delay_por'"),
        ({"tasks": ()}, "tasks must name at least one task"),
        ({"contexts": ()}, "contexts must name at least one task"),
        ({"tasks": ("delay_pro", "fdgo")}, "tasks must name each task once, got delay_pro again"),
        ({"contexts": ("dm1", "dm1")}, "contexts must name each task once"),
        ({"contexts": ("delay_pro",)}, "contexts .* lack delay_anti, memory_pro"),
        ({"tasks": "react_pro"}, "tasks not available in timing 'costacurta': react_pro; avail"),
        ({"tasks": "dm1", "timing": "driscoll", "dt": 20}, "not available in timing 'driscoll'"),
        ({"contexts": tuple(RULES)}, "contexts not available in timing 'costacurta': react_pro"),
        ({"probabilities": (1, 1)}, "probabilities must be one for each of 3 tasks, got 2"),
        ({"probabilities": (1, -1, 1)}, "probabilities must be finite, not negative"),
        ({"probabilities": (1, float("nan"), 1)}, "probabilities must be finite"),
        ({"probabilities": (0, 0, 0)}, "probabilities must be .* not all zero"),
        ({"dt": 0}, "dt must be"),
        ({"dt": float("nan")}, "dt must be"),
        ({"duration": 1005}, r"duration 1005.* the nearest on the grid are 1000 and 1010"),
        ({"duration": 50}, "duration 50 is too short"),
        ({"noise_std": -0.1}, "noise_std must be finite and not negative"),
        ({"noise_std": float("inf")}, "noise_std must be finite"),
        ({"noise_tau": 0}, "noise_tau must be positive"),
        ({"fixation_target": float("nan")}, "fixation_target must be finite"),
        ({"encoding": "ring", "n_ring": 1}, "n_ring must be at least 2, got 1"),
        ({"n_ring": 8.5}, "n_ring must be a whole number"),
        ({"mask_response": -1}, "mask_response must be finite and not negative"),
        ({"mask_skip": 1000}, "mask_skip 1000 is as long as a trial"),
        ({"duration": 1e12}, "at most 1,000,000 are possible"),
        ({"mask_fixation": float("nan")}, "mask_fixation must be finite"),
        # The shortest response is 100 x 0.3 / (0.7 + 1.6 + 1.6 + 0.3) = 7.1 steps.
        ({"mask_grace": 70}, "mask_grace 70 would leave no step of the response of memory_pro"),
        # The earliest go cue comes after 100 x 0.5 / (0.5 + 0.7) = 41.7 steps.
        ({"mask_response": 0, "mask_skip": 420}, "mask_skip 420 would leave no step of delay_pro"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        Multitask(**fields)


@pytest.mark.usefixtures("unchecked_signatures")
@pytest.mark.parametrize("field", ["timing", "encoding", "rounding"])
def test_unknown_options_are_refused(field):
    with pytest.raises(ValueError, match=f"{field} must be one of '.*, got 'other'"):
        Multitask(**{field: "other"})


def test_the_latest_mask_that_leaves_a_step():
    assert Multitask(mask_grace=60).n_steps == 100
    assert Multitask(mask_response=0, mask_skip=410).n_steps == 100


@pytest.mark.parametrize(
    ("size", "task", "angles", "message"),
    [
        (2, "memory_anti", None, "task must be among tasks .*, got memory_anti"),
        (2, "memory", None, "unknown task 'memory'"),
        (3, ["delay_pro"] * 2, None, "task must be one name or 3, one a trial, got 2"),
        (2, "delay_pro", [1.0, 2.0, 3.0], r"angles must be one number or 2, .*\(3,\)"),
        (2, "delay_pro", [1.0, float("nan")], "angles must be finite"),
        (0, "delay_pro", None, "empty batch"),
    ],
)
def test_bad_requests_are_refused(size, task, angles, message):
    if angles is not None:
        angles = np.array(angles)
    with pytest.raises(ValueError, match=message):
        Multitask().sample_task(KEY, size, task, angles=angles)


def test_masked_angles_are_refused():
    angles = np.ma.array([1.0, 2.0], mask=[True, False])
    with pytest.raises(ValueError, match="angles is a masked array"):
        Multitask().sample_task(jax.random.key(0), 2, "delay_pro", angles=angles)
