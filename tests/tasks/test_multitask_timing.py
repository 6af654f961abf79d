"""When events come, against the published tables written out here in milliseconds."""

import jax
import numpy as np
import pytest

from neurosim.tasks.multitask import Multitask

#: Ranges are pairs (low, high), half-open; lists are choices.
FROM_200_TO_1600 = (200, 1600)
SHORT, LONG = [200, 400, 600], [200, 400, 800, 1600]
MATCH = {"stim1_on": SHORT, "stim1_off": SHORT, "stim2_on": LONG, "end": [500]}
DECISION = {"stim1_on": (100, 400), "stim1_off": [400, 800, 1600], "end": [500]}
DELAYED = {
    "stim1_on": SHORT,
    "stim1_off": SHORT,
    "stim2_on": LONG,
    "stim2_off": SHORT,
    "go": (100, 300),
    "end": [500],
}
YANG = {
    "delay": {"stim1_on": (300, 700), "go": (500, 1500), "end": [500]},
    "memory": {"stim1_on": [300, 500, 700], "stim1_off": SHORT, "go": LONG, "end": [500]},
    "react": {"stim1_on": (500, 2500), "end": [500]},
    "dm": DECISION,
    "delay_dm": DELAYED,
    "dms": MATCH,
    "dmc": MATCH | {"end": SHORT},
}
RESPONSE = (300, 700)
WIDE_MATCH = {
    "stim1_on": (200, 600),
    "stim1_off": FROM_200_TO_1600,
    "stim2_on": FROM_200_TO_1600,
    "end": RESPONSE,
}
DRISCOLL = {
    "delay": {"stim1_on": (300, 700), "go": (200, 1500), "end": RESPONSE},
    "memory": {
        "stim1_on": (300, 700),
        "stim1_off": FROM_200_TO_1600,
        "go": FROM_200_TO_1600,
        "end": RESPONSE,
    },
    "react": {"stim1_on": (500, 2500), "end": (300, 1700)},
    "delay_dm": {
        "stim1_on": (200, 600),
        "stim1_off": FROM_200_TO_1600,
        "stim2_on": FROM_200_TO_1600,
        "stim2_off": FROM_200_TO_1600,
        "go": (100, 300),
        "end": RESPONSE,
    },
    "dms": WIDE_MATCH,
    "dmc": WIDE_MATCH,
}


def row_of(name):
    if "delay_dm" in name:
        return "delay_dm"
    for row in ("delay", "memory", "react", "dms", "dmc"):
        if name.startswith(row):
            return row
    return "dm"


def events_of(trials, which):
    names = ("stim1_on", "stim1_off", "stim2_on", "stim2_off", "go", "end")
    return {name: np.asarray(trials.info[f"{name}_step"])[which] for name in names}


def assert_drawn(steps, durations, dt=20):
    """Durations in steps are those of a table, all of them, and nothing else."""
    if isinstance(durations, list):
        assert set(steps) == {duration // dt for duration in durations}
        return
    low, high = durations[0] // dt, durations[1] // dt
    assert low <= steps.min() <= low + 1
    assert high - 2 <= steps.max() <= high - 1
    # Whole steps from low to high - 1, each as likely: mean and variance of that.
    n, mean, variance = high - low, (low + high - 1) / 2, ((high - low) ** 2 - 1) / 12
    assert n > 5
    assert abs(steps.mean() - mean) < 4.5 * (variance / len(steps)) ** 0.5


@pytest.mark.parametrize(("paper", "table"), [("yang", YANG), ("driscoll", DRISCOLL)])
def test_every_row_of_the_published_tables(paper, table):
    task = getattr(Multitask, paper)(encoding="sincos", noise_std=0)
    trials = task.sample(jax.random.key(1), 8000)
    assert {row_of(name) for name in task.tasks} == set(table)
    rows = np.array([row_of(name) for name in task.tasks])[np.asarray(trials.info["task"])]
    for row, durations in table.items():
        events, last = events_of(trials, rows == row), 0
        for event, drawn in durations.items():
            assert_drawn(events[event] - last, drawn)
            last = events[event]
        never = task.n_steps
        if row in ("delay", "react"):
            assert np.all(events["stim1_off"] == never)
        if row in ("delay", "react", "memory"):
            assert np.all(events["stim2_on"] == never)
            assert np.all(events["stim2_off"] == never)
        if row == "react":
            assert np.array_equal(events["go"], events["stim1_on"])
        if row == "dm":
            assert np.array_equal(events["stim1_on"], events["stim2_on"])
            assert np.array_equal(events["stim1_off"], events["stim2_off"])
            assert np.array_equal(events["go"], events["stim1_off"])
        if row in ("dms", "dmc"):
            assert np.array_equal(events["go"], events["stim2_on"])
            assert np.all(events["stim2_off"] == never)
    np.testing.assert_array_equal(trials.info["go_time"], 20 * trials.info["go_step"])


def test_the_grid_is_as_long_as_the_longest_trial():
    # Yang: 600 + 600 + 1600 + 600 + (280, below 300) + 500; Driscoll: 580 + 3 x 1580 + 280 + 680.
    assert Multitask.yang().n_steps == 4180 // 20
    assert Multitask.driscoll().n_steps == 6280 // 20
    assert Multitask.yang("fdgo").n_steps == (680 + 1480 + 500) // 20
    assert Multitask.yang("fdgo", duration=5000).n_steps == 250


def test_rescaled_trials_fill_the_grid_and_keep_their_proportions():
    names = ("delay_pro", "memory_anti", "dm1")
    task = Multitask(tasks=names, noise_std=0)
    trials = task.sample(jax.random.key(0), 6000)
    info = {name: np.asarray(value) for name, value in trials.info.items()}
    assert np.all(info["end_step"] == 100)
    assert np.all(info["end_time"] == 1000)
    for event in ("stim1_on", "go", "stim1_off"):
        np.testing.assert_array_equal(
            info[f"{event}_step"], np.ceil(info[f"{event}_time"].astype(np.float64) / 10 - 1e-5)
        )
    delay, memory, decision = (info["task"] == n for n in range(3))
    on, off, go = info["stim1_on_time"], info["stim1_off_time"], info["go_time"]
    assert np.all(info["stim1_off_step"][delay] == 100)
    assert np.all((on < off)[memory] & (off < go)[memory])
    assert np.all(info["stim2_on_step"][~decision] == 100)
    assert np.array_equal(info["stim2_on_time"][decision], off[decision])
    assert np.array_equal(info["stim2_off_time"][decision], go[decision])
    # The extremes of a ratio of phases do not change when a trial is stretched.
    for which, ratio, low, high in (
        (delay, (go - on) / on, 0.2 / 0.7, 1.5 / 0.3),
        (delay, (1000 - go) / on, 0.3 / 0.7, 0.7 / 0.3),
        (memory, (off - on) / on, 0.2 / 0.7, 1.6 / 0.3),
        (memory, (go - off) / on, 0.2 / 0.7, 1.6 / 0.3),
        (memory, (1000 - go) / on, 0.3 / 0.7, 0.7 / 0.3),
        (decision, (go - off) / on, 0.2 / 0.7, 1.6 / 0.3),
    ):
        assert low - 1e-4 < ratio[which].min() < 1.3 * low
        assert 0.85 * high < ratio[which].max() < high + 1e-4


def test_steps_that_do_not_divide_the_published_times():
    with pytest.raises(ValueError, match=r"'response' of delay_pro 500.* not a multiple of dt"):
        Multitask.yang("fdgo", dt=30, mask_skip=90, mask_grace=90)
    task = Multitask.yang("fdgo", dt=30, rounding="nearest", noise_std=0)
    info = task.sample(jax.random.key(0), 500).info
    # 500 ms are 16.7 steps; the ranges, 10 to 23.3 and 16.7 to 50 steps, are cut down.
    assert set(np.asarray(info["end_step"] - info["go_step"])) == {17}
    before = np.asarray(info["stim1_on_step"])
    assert before.min() == 10
    assert before.max() == 23
    wait = np.asarray(info["go_step"] - info["stim1_on_step"])
    assert wait.min() == 16
    assert wait.max() == 49
    assert task.n_steps == 23 + 49 + 17
    with pytest.raises(ValueError, match="dt 200 is too long: 'before' of dm1 can be shorter"):
        Multitask.yang("dm1", dt=200, rounding="nearest")


@pytest.mark.parametrize(
    ("make", "needed"),
    [
        # The shortest phase over the longest rest: 0.2 / (0.2 + 0.7 + 1.6 + 0.7).
        (lambda duration: Multitask(tasks="memory_pro", duration=duration), 160),
        (lambda duration: Multitask(tasks="delay_pro", duration=duration), 90),
        (lambda duration: Multitask.yang("reactgo", duration=duration), 2980),
        (lambda duration: Multitask.yang(duration=duration), 4180),
    ],
)
def test_the_duration_needed_is_named(make, needed):
    task = make(needed)
    with pytest.raises(ValueError, match=f"too short for these tasks: at least {needed} "):
        make(needed - task.dt)
