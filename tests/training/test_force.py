"""FORCE against the least squares that it solves recursively, and on the flip-flop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_circuits import assert_same_run

from neurosim import simulate
from neurosim.models.feedback_reservoir import FeedbackReservoir
from neurosim.tasks import FlipFlop, Trials
from neurosim.training import TrainingDiverged, load_checkpoint, mean_squared_error
from neurosim.training.force import fit_force, force_start, force_trial_batch, force_update

KEY = jax.random.key(0)


def reservoir(n_units=12, *, gain=1.5, feedback=True, n_bits=1, **options):
    model = FeedbackReservoir.init(n_units, n_bits, n_bits, gain=gain, key=KEY, **options)
    if not feedback:
        model = eqx.tree_at(lambda m: m.W_fb, model, jnp.zeros_like(model.W_fb))
    return model


def test_inverse_of_p_grows_by_the_mean_outer_product(double_precision):
    rng = np.random.default_rng(0)
    W, P, alpha = jnp.zeros((2, 10)), force_start(reservoir(10), 0.7), 0.7
    assert np.array_equal(np.asarray(P), np.eye(10) / 0.7)
    expected, update = alpha * np.eye(10), jax.jit(force_update)
    for _ in range(5):
        r, e = rng.normal(size=(6, 10)), rng.normal(size=(6, 2))
        expected += r.T @ r / 6
        W, P = update(W, P, jnp.asarray(r), jnp.asarray(e))
    inverse = np.linalg.inv(P)
    assert np.abs(inverse - expected).max() / np.abs(expected).max() < 1e-14
    np.testing.assert_array_equal(P, P.T)


def test_one_trial_at_a_time_is_the_rule_of_sussillo_and_abbott(double_precision):
    rng = np.random.default_rng(1)
    W, P = rng.normal(size=(2, 8)), np.eye(8) / 2
    new_W, new_P = jnp.asarray(W), jnp.asarray(P)
    for _ in range(4):
        r, e = rng.normal(size=8), rng.normal(size=2)
        k = P @ r
        c = 1 / (1 + r @ k)
        P, W = P - c * np.outer(k, k), W - c * np.outer(e, k)
        new_W, new_P = force_update(new_W, new_P, jnp.asarray(r[None]), jnp.asarray(e[None]))
    np.testing.assert_allclose(new_P, P, rtol=0, atol=1e-14)
    np.testing.assert_allclose(new_W, W, rtol=0, atol=1e-14)


def test_without_feedback_it_is_ridge_regression(double_precision):
    """Rates do not depend on the readout then, so the last readout is the ridge solution of all."""
    model, alpha = reservoir(feedback=False, n_bits=2), 0.5
    task = FlipFlop(n_bits=2, duration=300, pulse_prob=0.1)
    trained, P = model, force_start(model, alpha)
    gram, moment, error_at_first = alpha * np.eye(12), np.zeros((12, 2)), None
    for i in range(3):
        trials = task.sample(jax.random.key(i), 4)
        # Steps that nobody asks for, with targets that are not numbers, and one that counts twice.
        mask = trials.mask.at[1, 5:9].set(0).at[2, 7].set(2)
        targets = trials.targets.at[1, 5:9].set(jnp.nan)
        trained, P, errors = force_trial_batch(
            trained, P, eqx.tree_at(lambda t: (t.targets, t.mask), trials, (targets, mask)), dt=10
        )
        r = np.tanh(simulate(model, trials.inputs, dt=10.0).states).reshape(-1, 12)
        weight = np.asarray(mask[..., :1]).reshape(-1, 1)
        gram += r.T @ (weight * r) / 4
        moment += r.T @ (weight * np.nan_to_num(np.asarray(trials.targets)).reshape(-1, 2)) / 4
        assert np.all(errors[1, 5:9] == 0)
        if i == 0:
            error_at_first = np.asarray(errors[:, 0] + targets[:, 0])
    # The readout is 0 at first.
    np.testing.assert_array_equal(error_at_first, 0)
    assert np.abs(np.linalg.inv(P) - gram).max() / np.abs(gram).max() < 1e-13
    np.testing.assert_allclose(trained.W, np.linalg.solve(gram, moment).T, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(trained.J, model.J)


def test_follows_the_dynamics_with_feedback_step_by_step(double_precision):
    model = reservoir(6)
    trials = FlipFlop(n_bits=1, duration=120, pulse_prob=0.2).sample(KEY, 3)
    start = jnp.asarray(np.random.default_rng(2).normal(size=(3, 6)))
    info = {**trials.info, "initial_state": start}
    trials = Trials(trials.inputs, trials.targets, trials.mask, info)
    trained, P, errors = force_trial_batch(model, force_start(model, 0.8), trials, dt=10.0)
    J, B, W_fb, W = (np.asarray(a) for a in (model.J, model.B, model.W_fb, model.W))
    z, inverse, expected = np.asarray(start), 0.8 * np.eye(6), []
    for k in range(12):
        r = np.tanh(z)
        drive = r @ J.T + r @ W.T @ W_fb.T + np.asarray(trials.inputs[:, k]) @ B.T
        z = z + 0.1 * (-z + drive)
        r = np.tanh(z)
        error = r @ W.T - np.asarray(trials.targets[:, k])
        inverse = inverse + r.T @ r / 3
        W = W - error.T @ r @ np.linalg.inv(inverse) / 3
        expected.append(error)
    np.testing.assert_allclose(errors, np.stack(expected, axis=1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(trained.W, W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.inv(P), inverse, rtol=0, atol=1e-12)


def test_learns_the_flip_flop_from_chaos():
    task = FlipFlop(n_bits=1, pulse_prob=0.05, refractory=50)
    model = reservoir(150)
    options = {"steps": 40, "batch_size": 8, "key": KEY, "validation": task, "progress": False}
    result = fit_force(model, task, **options)
    assert result.losses.dtype == np.float32
    trials = task.sample(jax.random.key(9), 32)
    before, after = (
        float(mean_squared_error(simulate(m, trials.inputs, dt=10.0), trials))
        for m in (model, result.model)
    )
    # At first the output is 0, and the error the share of time after the first pulse.
    assert before == pytest.approx(float(jnp.mean(trials.targets**2)), rel=1e-6)
    assert after < 0.3 * before
    assert result.history[-1]["validation_loss"] < 0.4 * before
    np.testing.assert_array_equal(result.model.J, model.J)
    assert not np.any(model.W)


def short_run(run_dir, *, steps, resume=False, **options):
    return fit_force(
        reservoir(), FlipFlop(n_bits=1, duration=200), steps=steps, batch_size=3, key=KEY,
        log_every=4, checkpoint_every=2, run_dir=run_dir, resume=resume, progress=False, **options,
    )  # fmt: skip


def test_a_run_in_parts_is_the_same_run(tmp_path):
    whole = short_run(tmp_path / "whole", steps=8)
    short_run(tmp_path / "parts", steps=6)
    parts = short_run(tmp_path / "parts", steps=8, resume=True)
    assert_same_run(parts, whole)
    assert whole.steps_done == 8
    task = FlipFlop(n_bits=1, duration=200)
    more = fit_force(whole.model, task, steps=1, batch_size=3, key=KEY, progress=False)
    moved = np.linalg.norm(np.asarray(more.model.W) - np.asarray(whole.model.W))
    assert 0 < moved < 0.9 * np.linalg.norm(np.asarray(more.model.W) + np.asarray(whole.model.W))
    assert more.history[0]["readout_change"] == pytest.approx(moved, rel=1e-5)
    stored = load_checkpoint(tmp_path / "whole" / "checkpoints" / "best", {
        "model": reservoir(), "loss": np.zeros(()), "step": np.zeros((), np.int64),
    })  # fmt: skip
    np.testing.assert_array_equal(stored.tree["model"].W, whole.best_model.W)
    with pytest.raises(ValueError, match=r"force_alpha was 1\.0 and is now 2\.0"):
        short_run(tmp_path / "parts", steps=9, resume=True, alpha=2.0)


def test_given_trials_and_double_precision(double_precision):
    trials = FlipFlop(n_bits=1, duration=100).sample(KEY, 5)
    model = reservoir(feedback=False)
    result = fit_force(model, trials, steps=2, dt=10, key=KEY, alpha=1e-3, progress=False)
    assert result.model.W.dtype == jnp.float64
    # All trials at every step: the same least squares twice over, with half the ridge.
    r = np.tanh(simulate(model, trials.inputs, dt=10.0).states).reshape(-1, 12)
    gram = 1e-3 * np.eye(12) + 2 * r.T @ r / 5
    W = np.linalg.solve(gram, 2 * r.T @ np.asarray(trials.targets).reshape(-1, 1) / 5).T
    np.testing.assert_allclose(result.model.W, W, rtol=0, atol=1e-9)


def test_bad_input_is_refused():
    task, model = FlipFlop(n_bits=1, duration=100), reservoir(5)
    options = {"steps": 1, "batch_size": 2, "key": KEY, "progress": False}
    for alpha in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="alpha must be positive"):
            fit_force(model, task, alpha=alpha, **options)
    with pytest.raises(ValueError, match="The task has 3 input channels"):
        fit_force(model, FlipFlop(duration=100), **options)
    trials = FlipFlop(n_bits=2, duration=100).sample(KEY, 2)
    three_outputs = FeedbackReservoir.init(5, 2, 3, key=KEY)
    with pytest.raises(ValueError, match="2 target channels, and the model 2 inputs and 3 outputs"):
        fit_force(three_outputs, trials, dt=10, **options)
    wrong = eqx.tree_at(lambda t: t.mask, trials, trials.mask.at[0, 0, 1].set(0))
    two = reservoir(5, n_bits=2)
    with pytest.raises(ValueError, match="the same for all outputs"):
        fit_force(two, wrong, dt=10, **options)
    negative = eqx.tree_at(lambda t: t.mask, trials, -trials.mask)
    with pytest.raises(ValueError, match="without negative weights"):
        force_trial_batch(two, force_start(two), negative, dt=10)
    with pytest.raises(ValueError, match=r"P must have the shape \(5, 5\), got \(4, 4\)"):
        force_trial_batch(two, jnp.eye(4), trials, dt=10)
    with pytest.raises(ValueError, match="dt must be"):
        force_trial_batch(two, force_start(two), trials, dt=0)
    huge = eqx.tree_at(lambda t: t.targets, trials, trials.targets + 1e38)
    with pytest.raises(TrainingDiverged):
        fit_force(two, huge, dt=10, **{**options, "steps": 3})
