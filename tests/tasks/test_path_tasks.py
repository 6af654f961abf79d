"""Rodent-like and Ornstein-Uhlenbeck paths, and the place cells along them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.tasks.ou_trajectory import OUTrajectory, ou_trajectories
from neurosim.tasks.place_cell_code import PlaceCellCode
from neurosim.tasks.rodent_trajectory import RodentTrajectory, rodent_trajectories

KEY = jax.random.key(0)
CELLS = np.random.default_rng(0).uniform(0, 1, (30, 2))


def test_velocity_has_its_stationary_variance_and_memory():
    # In a box so large that few paths meet a wall.
    x = np.asarray(ou_trajectories(KEY, 20000, 20, dt=0.1, box=1e3, speed=0.5), float)
    far = np.all((x > 10) & (x < 990), axis=(1, 2))
    v = np.diff(x[far], axis=1) / 0.1
    variance = 0.25 / (1 - 0.1 / 2)
    # Four standard errors; the variance of the continuous process is 5 % less.
    for start, lag in ((0, 0), (12, 0), (0, 5), (2, 15)):
        found = np.mean(v[:, start] * v[:, start + lag])
        assert found == pytest.approx(variance * 0.9**lag, abs=4 * variance / np.sqrt(20000))


def test_walls_turn_velocity_round():
    x = np.asarray(ou_trajectories(KEY, 20000, 20, box=0.5, coherence_time=2.0))
    assert np.all((x >= 0) & (x <= 0.5))
    # Uniform over the box, at the end as at the start.
    assert np.mean(x[:, -1]) == pytest.approx(0.25, abs=4 * 0.5 / np.sqrt(12 * 40000))
    assert np.var(x[:, -1]) == pytest.approx(0.25 / 12, rel=0.02)


def test_paths_do_not_depend_on_their_number():
    many = ou_trajectories(KEY, 20000, 20, box=0.5, coherence_time=2.0)
    one = ou_trajectories(KEY, 1, 20, box=0.5, coherence_time=2.0)
    np.testing.assert_allclose(one[0], many[0], rtol=0, atol=1e-6)


def test_rodents_keep_to_the_box_and_to_their_law_of_speed():
    x = np.asarray(rodent_trajectories(KEY, 400, 50, box=2.2))
    assert np.all((x >= 0) & (x <= 2.2))
    inside = np.all((x[:, :-1] > 0.2) & (x[:, :-1] < 2.0), axis=-1)
    step = np.diff(x, axis=1)
    speed = (np.linalg.norm(step, axis=-1) / 0.02)[inside]
    scale = 0.13 * 2 * np.pi
    # A Rayleigh distribution: mean sqrt(pi / 2) and mean square 2, of the scale.
    assert np.mean(speed) == pytest.approx(np.sqrt(np.pi / 2) * scale, rel=0.02)
    assert np.mean(speed**2) == pytest.approx(2 * scale**2, rel=0.03)
    heading = np.arctan2(step[..., 1], step[..., 0])
    turn = np.diff(heading, axis=1)[inside[:, :-1] & inside[:, 1:]]
    turn = np.mod(turn + np.pi, 2 * np.pi) - np.pi
    assert np.std(turn) == pytest.approx(5.76 * 2 * 0.02, rel=0.03)


def test_near_a_wall_that_is_headed_for_rodents_slow_down_and_run_along_it():
    x = np.asarray(rodent_trajectories(KEY, 400, 50, box=0.3, turn=0.0, wall_width=0.1), float)
    step, place = np.diff(x, axis=1), x[:, :-1]
    # Nearest wall to the west, well within its reach and headed for.
    distances = np.concatenate([0.3 - place, place], axis=-1)
    west = (np.argmin(distances, axis=-1) == 2) & (place[..., 0] < 0.099)
    west &= (step[..., 0] < -1e-4) & (place[..., 0] + step[..., 0] > 1e-4)
    trial, time = np.nonzero(west[:, :-1])
    assert len(trial) > 100
    after = step[trial, time + 1]
    # Without turns of its own the animal then moves along the wall.
    moving = np.linalg.norm(after, axis=-1) > 1e-5
    assert np.max(np.abs(after[moving, 0]) / np.linalg.norm(after[moving], axis=-1)) < 1e-2
    speed = np.linalg.norm(step[trial, time], axis=-1) / 0.02
    assert np.mean(speed) < 0.35 * np.sqrt(np.pi / 2) * 0.13 * 2 * np.pi


def test_animals_may_pass_the_wall_as_published():
    x = np.asarray(rodent_trajectories(KEY, 400, 50, box=0.5, at_wall="pass"))
    assert np.min(x) < 0
    assert np.max(x) > 0.5


@pytest.mark.parametrize("kind", ["gaussian", "dog"])
@pytest.mark.usefixtures("double_precision")
def test_place_cells_sum_to_one_and_say_where_they_are(kind):
    cells = PlaceCellCode(CELLS, 0.1, kind)
    x = np.random.default_rng(1).uniform(0, 1, (8, 2))
    p = np.asarray(cells(jnp.asarray(x)))
    squared = np.sum((x[:, None] - CELLS) ** 2, axis=-1)
    expected = np.exp(-squared / 0.02)
    expected /= expected.sum(axis=1, keepdims=True)
    if kind == "dog":
        surround = np.exp(-squared / 0.04)
        expected = expected - surround / surround.sum(axis=1, keepdims=True)
        expected += np.abs(expected.min(axis=1, keepdims=True))
        expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p, expected, rtol=1e-10, atol=1e-15)
    best = np.argsort(p, axis=1)[:, -3:]
    np.testing.assert_allclose(cells.decode(p), CELLS[best].mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize("kind", [OUTrajectory, RodentTrajectory])
def test_trials_are_paths_with_a_cue_of_their_start(kind):
    cells = PlaceCellCode(CELLS, 0.1)
    task = kind(place_cells=cells, cue="place_cells")
    trials = task.sample(KEY, 3)
    x = np.asarray(trials.info["positions"], float)
    assert trials.inputs.shape == (3, task.n_steps, 32) == (3, 20, task.n_inputs)
    moved = x[:, :1] + np.cumsum(np.asarray(trials.inputs[..., :2]), axis=1) * task.dt
    np.testing.assert_allclose(moved, x[:, 1:], atol=1e-5)
    np.testing.assert_allclose(trials.inputs[:, 0, 2:], cells(trials.info["start"]), rtol=1e-5)
    assert np.all(trials.inputs[:, 1:, 2:] == 0)
    np.testing.assert_allclose(trials.targets, cells(jnp.asarray(x[:, 1:])), atol=1e-6)
    assert task.n_outputs == 30
    plain = kind()
    assert (plain.n_inputs, plain.n_outputs) == (2, 2)


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_named():
    cells = PlaceCellCode(CELLS)
    for bad, match in (
        (lambda: OUTrajectory(coherence_time=0.05), "coherence_time must be"),
        (lambda: OUTrajectory(box=-1.0), "box must be positive"),
        (lambda: OUTrajectory(duration=0.0), "duration must be"),
        (lambda: OUTrajectory(cue="place_cells"), "needs place_cells"),
        (lambda: OUTrajectory(cue="start"), "cue must be"),
        (lambda: RodentTrajectory(speed=np.nan), "speed must be positive"),
        (lambda: RodentTrajectory(turn=-1.0), "turn must be"),
        (lambda: RodentTrajectory(wall_width=2.0), "wall_width must lie"),
        (lambda: RodentTrajectory(at_wall="bounce"), "at_wall must be"),
        (lambda: RodentTrajectory(duration=0.0), "duration must be"),
        (lambda: rodent_trajectories(KEY, 2, 0), "n_steps must be"),
        (lambda: ou_trajectories(KEY, 0, 2), "n_paths must be"),
        (lambda: PlaceCellCode(CELLS[:, :1]), "centres must be"),
        (lambda: PlaceCellCode(CELLS, 0.0), "width must be above 0"),
        (lambda: PlaceCellCode(CELLS, surround=1.0), "surround must be above 1"),
        (lambda: PlaceCellCode(CELLS, kind="mexican"), "kind must be"),
        (lambda: PlaceCellCode.scattered(KEY, 0), "n_cells must be"),
        (lambda: PlaceCellCode.scattered(KEY, box=0.0), "box must be"),
        (lambda: cells.decode(jnp.zeros(30), n_best=31), "n_best must not exceed"),
    ):
        with pytest.raises(ValueError, match=match):
            bad()
