"""Reaches against a step-by-step reading of the task, and the geometry of what is within reach."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from neurosim.tasks.reaching import Reaching
from neurosim.tasks.reaching_targets import draw_target, share_within_reach

CENTRE = np.array([0.0, 0.6 * np.sin(np.deg2rad(20))])


def replay(targets, idle, go, n_steps):
    """Inputs, wanted places and weights of one trial, step by step, times in steps of 2 ms."""
    rows = []
    for k in range(n_steps):
        hold = [float(k < one) for one in go]
        if k < idle:
            shown = np.tile(CENTRE, len(go))
        else:
            shown = targets.ravel() if k < go[0] else np.zeros(2 * len(go))
        # What is wanted after the step, at time k + 1; a window (0.6 s, 0.7 s] is 301 to 350.
        wanted, weight = CENTRE, 1.0
        if k >= go[0]:
            wanted, weight = targets[0], 0.0
            if 300 < k + 1 - go[0] <= (350 if len(go) == 2 else n_steps):
                weight = 4.0
        if len(go) == 2 and k >= go[1]:
            wanted, weight = targets[1], 4.0 * (k + 1 - go[1] > 300)
        rows.append(([*hold, *shown], [*wanted, 0, 0], weight))
    return (np.array(column) for column in zip(*rows))


@pytest.mark.parametrize(
    ("make", "n_steps", "longest"), [(Reaching, 1000, 0.8), (Reaching.double, 1250, 0.6)]
)
def test_equals_a_step_by_step_reading(double_precision, make, n_steps, longest):
    task = make()
    assert (task.n_inputs, task.n_outputs, task.n_steps) == (3 * task.n_reaches, 4, n_steps)
    trials = task.sample(jax.random.key(0), 3)
    info = {name: np.asarray(value) for name, value in trials.info.items()}
    assert not np.allclose(info["targets"][0], info["targets"][1])
    for i in range(3):
        idle, go = round(float(info["target_time"][i]) / 0.002), info["go_step"][i]
        assert 50 <= idle <= 250
        assert 100 <= go[0] - idle <= 500 * longest
        np.testing.assert_array_equal(np.diff(go), [350] * (task.n_reaches - 1))
        inputs, wanted, weight = replay(info["targets"][i], idle, go, n_steps)
        np.testing.assert_allclose(trials.inputs[i], inputs, rtol=0, atol=1e-15)
        np.testing.assert_allclose(trials.targets[i], wanted, rtol=0, atol=1e-15)
        np.testing.assert_allclose(trials.mask[i], np.tile(weight[:, None] * 10 / n_steps, 4))
        assert trials.mask[i].max() == 40 / n_steps
    np.testing.assert_allclose(info["go_time"], 0.002 * info["go_step"])
    directions = np.stack([np.cos(info["angle"]), np.sin(info["angle"])], axis=-1)
    places = CENTRE + info["radius"][..., None] * directions
    np.testing.assert_allclose(info["targets"], places, rtol=0, atol=1e-15)


def test_one_draw_in_eight_lies_beyond_the_arm_and_is_drawn_again():
    # Of a million pairs drawn without looking, by hand: 13.1 % are farther than 0.6 m.
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(-36, 216, 10**6), rng.uniform(0.2, 0.5, 10**6)
    x, y = radius * np.cos(np.deg2rad(angle)), radius * np.sin(np.deg2rad(angle))
    within = np.hypot(x, y + CENTRE[1]) <= 0.6
    assert 1 - within.mean() == pytest.approx(0.131, abs=0.001)
    assert share_within_reach((-36.0, 216.0), (0.2, 0.5)) == pytest.approx(within.mean(), abs=2e-3)
    keys = jax.random.split(jax.random.key(1), 60_000)
    draw = jax.vmap(lambda key: draw_target(key, angles=(-36.0, 216.0), radii=(0.2, 0.5)))
    drawn_angle, drawn_radius = (np.asarray(a) for a in jax.jit(draw)(keys))
    height = drawn_radius * np.sin(drawn_angle) + CENTRE[1]
    assert np.hypot(drawn_radius * np.cos(drawn_angle), height).max() <= 0.6 + 1e-6
    # What is left is distributed as the hand-drawn pairs that are within reach.
    for drawn, kept in ((np.rad2deg(drawn_angle), angle[within]), (drawn_radius, radius[within])):
        assert kstest(drawn, kept).pvalue > 1e-3
        assert kstest(drawn, kept * 1.02).pvalue < 1e-6


def test_times_are_uniform_with_both_ends():
    task = Reaching(idle=(0.1, 0.104), preparation=(0.2, 0.206))
    info = task.sample(jax.random.key(0), 2000).info
    idle = np.rint(np.asarray(info["target_time"]) / 0.002).astype(int)
    preparation = np.asarray(info["go_step"][:, 0]) - idle
    for steps, lowest, n in ((idle, 50, 3), (preparation, 100, 4)):
        counts = np.bincount(steps - lowest, minlength=n)
        assert len(counts) == n
        np.testing.assert_allclose(counts / 2000, 1 / n, atol=4 * (1 / n / 2000) ** 0.5)


def test_noise_channels_hold_the_published_noise_minus_one():
    clean, noisy = (Reaching(noise_channels=n).sample(jax.random.key(0), 4).inputs for n in (0, 8))
    np.testing.assert_array_equal(noisy[..., :3], clean)
    xi = 1 + np.asarray(noisy[..., 3:])
    sigma = 0.2 * np.sqrt(0.02 / 0.002)
    assert sigma == pytest.approx(0.632, abs=1e-3)
    assert xi.min() == pytest.approx(1 - sigma, abs=1e-3)
    assert xi.max() == pytest.approx(1 + sigma, abs=1e-3)
    # Uniform on +-sigma, new at every step, for every unit and trial.
    assert xi.std() == pytest.approx(sigma / 3**0.5, rel=0.02)
    for axis in (0, 1, 2):
        one, other = (np.take(xi, index, axis).ravel() for index in ([0], [1]))
        assert abs(np.corrcoef(one, other)[0, 1]) < 4.5 / one.size**0.5
    strong = Reaching(noise_channels=8, noise=2.0).sample(jax.random.key(0), 4).inputs[..., 3:]
    # max(0, 1 + 2 (2 u - 1)) is 0 for u < 1/4.
    assert float(jnp.min(strong)) == -1
    assert float(jnp.mean(strong == -1)) == pytest.approx(0.25, abs=0.01)
    assert np.all(
        Reaching(noise_channels=8, noise=0).sample(jax.random.key(0), 2).inputs[..., 3:] == 0
    )


def test_centre_out_grid():
    task = Reaching(noise_channels=2)
    trials = task.centre_out()
    assert trials.inputs.shape == (24, 1000, 5)
    info = trials.info
    np.testing.assert_allclose(
        np.rad2deg(info["angle"][:, 0]), np.linspace(-36, 216, 24), rtol=1e-5
    )
    np.testing.assert_allclose(info["go_time"], 0.8, rtol=1e-6)
    from_centre = np.linalg.norm(np.asarray(info["targets"][:, 0]) - CENTRE, axis=-1)
    np.testing.assert_allclose(from_centre, 0.3, rtol=1e-5)
    assert np.all(trials.inputs[..., 3:] == 0)
    assert np.any(task.centre_out([90.0], key=jax.random.key(0)).inputs[..., 3:] != 0)
    two = Reaching.double().centre_out([[0.0, 90.0]], radius=0.25).info["targets"]
    np.testing.assert_allclose(
        two[0], [CENTRE + offset for offset in np.array([[0.25, 0], [0, 0.25]])], atol=1e-6
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 0.5}, r"radius 0.5 puts \d+ targets out of reach"),
        ({"radius": float("nan")}, "out of reach"),
        ({"angles": []}, "angles must be"),
        ({"angles": [[0.0, 1.0]]}, "angles must be"),
        ({"preparation": 1.4}, "leave no time"),
        ({"idle": 0.3001}, "nearest on the grid"),
    ],
)
def test_grids_out_of_reach_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Reaching().centre_out(**options)


@pytest.mark.parametrize("task", [Reaching(noise_channels=2), Reaching.double()])
def test_a_trial_does_not_change_when_the_batch_grows(task):
    few, many = (task.sample(jax.random.key(3), n) for n in (2, 7))
    for name in ("inputs", "targets", "mask"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name)[:2])
        assert np.all(np.isfinite(getattr(many, name)))
    assert len(np.unique(np.asarray(many.info["targets"]), axis=0)) == 7


def test_sample_can_be_jitted_and_vmapped_over_keys():
    task, keys = Reaching(), jax.random.split(jax.random.key(0), 3)
    both = jax.jit(jax.vmap(lambda key: task.sample(key, 2)))(keys)
    np.testing.assert_array_equal(both.inputs[2], task.sample(keys[2], 2).inputs)
    assert both.inputs.dtype == jnp.float32


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dt": 0}, "dt must be"),
        ({"dt": 0.003}, "nearest on the grid"),
        ({"n_reaches": 3}, "n_reaches must be 1 or 2"),
        ({"n_reaches": 1.0}, "n_reaches must be a whole number"),
        ({"noise_channels": -1}, "noise_channels must not be negative"),
        ({"noise": float("nan")}, "noise must be finite"),
        ({"scale": -1.0}, "scale must be finite"),
        ({"idle": (0.5, 0.1)}, "idle must go from low to high"),
        ({"idle": 0.5}, "idle must be two numbers"),
        ({"radii": (-0.1, 0.5)}, "radii must not be negative"),
        ({"radii": (0.9, 1.0)}, r"0 % of the targets within reach"),
        ({"angles": (float("nan"), 0)}, "angles must go from low to high"),
        ({"duration": 1.9}, "duration 1.9 is too short.*until 1.9"),
        ({"n_reaches": 2, "duration": 3.0, "between": 0.6}, "between must be longer"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        Reaching(**fields)
