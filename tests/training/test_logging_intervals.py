"""Logging intervals are a matter of `log_every` alone, wherever a run is cut or saved."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiny_circuits import (
    OPTIMIZER,
    Accumulate,
    Constant,
    TinyRNN,
    assert_same_run,
    constant_trials,
)

from neurosim.tasks import Trials
from neurosim.training import fit, fit_ensemble, load_model, read_checkpoint_header
from neurosim.training.run_files import RunFiles
from neurosim.training.training_loop import _Loop

KEY = jax.random.key(7)
MODEL = TinyRNN.init(jax.random.key(3))
SETTINGS = {
    "optimizer": OPTIMIZER, "batch_size": 2, "key": KEY, "log_every": 10, "progress": False,
}  # fmt: skip


def train(steps, **kwargs):
    return fit(MODEL, Accumulate(), steps=steps, **{**SETTINGS, **kwargs})


@pytest.fixture(scope="module")
def whole():
    return train(40)


class Killed(BaseException):
    pass


@pytest.fixture
def killed_at(monkeypatch):
    """Start a run that is killed behind its checkpoint of a step."""

    def start(step, *args, **kwargs):
        save = RunFiles.save

        def save_and_die(self, which, tree, **notes):
            save(self, which, tree, **notes)
            if which == self.last and notes["step"] == step:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(RunFiles, "save", save_and_die)
            with pytest.raises(Killed):
                train(*args, **kwargs)

    return start


def test_the_best_is_the_best_logging_interval(whole):
    means = whole.losses.astype(np.float64).reshape(4, 10).mean(axis=1)
    assert [record["step"] for record in whole.history] == [10, 20, 30, 40]
    np.testing.assert_allclose([record["loss"] for record in whole.history], means, rtol=1e-12)
    assert whole.best_step == 10 * (1 + int(np.argmin(means)))
    assert whole.best_loss == pytest.approx(means.min(), rel=1e-12)


@pytest.mark.parametrize("every", [3, 40])
def test_checkpoints_change_no_number(tmp_path, whole, every):
    result = train(40, run_dir=tmp_path, checkpoint_every=every)
    assert_same_run(result, whole)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == result.history


def test_a_finished_run_is_made_longer(tmp_path, whole):
    short = train(15, run_dir=tmp_path)
    assert [record["step"] for record in short.history] == [10, 15]
    assert short.history[1]["loss"] == pytest.approx(short.losses[10:].mean(), rel=1e-6)
    assert_same_run(short, train(15))
    # Read back, with the same best.
    assert_same_run(short, train(15, run_dir=tmp_path, resume=True))
    assert_same_run(train(40, run_dir=tmp_path, resume=True), whole)
    np.testing.assert_array_equal(load_model(tmp_path, MODEL).W, whole.best_model.W)


@pytest.mark.parametrize("step", [12, 30])
def test_a_run_is_killed_in_the_middle_of_an_interval(tmp_path, whole, killed_at, step):
    killed_at(step, 40, run_dir=tmp_path, checkpoint_every=3)
    assert read_checkpoint_header(tmp_path / "checkpoints" / "last")["step"] == step
    assert_same_run(train(40, run_dir=tmp_path, resume=True, checkpoint_every=3), whole)


def test_a_killed_run_is_called_finished(tmp_path, killed_at):
    killed_at(12, 40, run_dir=tmp_path, checkpoint_every=3)
    assert_same_run(train(12, run_dir=tmp_path, resume=True), train(12))


VALIDATED = {"validation": Accumulate(), "metrics": {"one": lambda trajectory, trials: 1}}


@pytest.fixture(scope="module")
def validated():
    return train(40, validate_every=16, **VALIDATED)


def test_validation_between_logging_has_records_of_its_own(validated, whole):
    assert [record["step"] for record in validated.history] == [10, 16, 20, 30, 32, 40]
    losses = [record["loss"] for record in validated.history if "loss" in record]
    assert losses == [record["loss"] for record in whole.history]
    by_step = {record["step"]: record for record in validated.history}
    at = [step for step, record in by_step.items() if "validation_loss" in record]
    assert at == [16, 32, 40]
    assert [by_step[step]["one"] for step in at] == [1, 1, 1]
    assert validated.best_loss == min(by_step[step]["validation_loss"] for step in at)


def test_validation_at_the_end_is_not_part_of_a_longer_run(tmp_path, validated):
    kwargs = {"run_dir": tmp_path, "validate_every": 16, **VALIDATED}
    # Steps 10 and 20 end logging intervals, 16 validates, and 18 does neither.
    for before, steps in itertools.pairwise([0, 10, 16, 18, 20, 40]):
        result = train(steps, resume=before > 0, **kwargs)
    assert_same_run(result, validated)


def test_a_killed_run_is_called_finished_with_validation(tmp_path, killed_at):
    kwargs = {"validate_every": 16, **VALIDATED}
    killed_at(20, 40, run_dir=tmp_path, checkpoint_every=10, **kwargs)
    short = train(20, run_dir=tmp_path, resume=True, **kwargs)
    assert_same_run(short, train(20, **kwargs))
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == short.history


def test_a_run_is_killed_while_it_is_called_finished(tmp_path, validated, killed_at, monkeypatch):
    kwargs = {"run_dir": tmp_path, "validate_every": 16, **VALIDATED}
    killed_at(20, 40, checkpoint_every=10, **kwargs)

    def die(self, which, tree, **notes):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(RunFiles, "save", die)
        with pytest.raises(Killed):
            train(20, resume=True, **kwargs)
    assert_same_run(train(40, resume=True, **kwargs), validated)


def test_an_ensemble_is_cut_within_an_interval(tmp_path):
    settings = {**SETTINGS, "n_seeds": 2, "log_every": 4}
    whole = fit_ensemble(TinyRNN.init, Accumulate(), steps=12, **settings)
    for steps in (6, 12):
        cut = fit_ensemble(
            TinyRNN.init, Accumulate(), steps=steps, run_dir=tmp_path, resume=steps > 6,
            checkpoint_every=5, **settings,
        )  # fmt: skip
    assert cut.best_losses.tobytes() == whole.best_losses.tobytes()
    assert cut.best_steps.tolist() == whole.best_steps.tolist()
    np.testing.assert_array_equal(cut.best_models.W, whole.best_models.W)
    assert [r["loss"] for r in cut.history] == [r["loss"] for r in whole.history]
    means = whole.losses.astype(np.float64).reshape(2, 3, 4).mean(axis=2)
    np.testing.assert_allclose(whole.best_losses, means.min(axis=1), rtol=1e-12)


def test_a_long_interval_takes_no_more_memory_than_its_run(monkeypatch):
    lengths = []
    chunk = _Loop._chunk

    def noted(self, key, length):
        lengths.append(length)
        chunk(self, key, length)

    monkeypatch.setattr(_Loop, "_chunk", noted)
    result = fit(
        Constant(jnp.ones(1)), constant_trials([0.0]), optimizer=optax.sgd(0.1), steps=3, dt=1.0,
        key=KEY, log_every=10**12, progress=False,
    )  # fmt: skip
    assert lengths == [3]
    assert [record["step"] for record in result.history] == [3]


def test_steps_that_ask_for_nothing_count_for_nothing():
    # One trial asks, three do not: most steps see a mask of zeros, and a loss of 0.
    inputs = jnp.zeros((4, 1, 1))
    mask = jnp.asarray([1.0, 0.0, 0.0, 0.0])[:, None, None]
    trials = Trials(inputs, jnp.full((4, 1, 1), 2.0), mask, {})
    result = fit(
        Constant(jnp.zeros(1)), trials, optimizer=optax.sgd(0.01), steps=40, batch_size=1, dt=1.0,
        key=KEY, log_every=5, progress=False,
    )  # fmt: skip
    asked = result.losses > 0
    # With (p - 2)^2 and rate 0.01, p - 2 shrinks by 0.98 at each step that asks.
    expected = 4 * 0.98 ** (2 * np.arange(asked.sum()))
    np.testing.assert_allclose(result.losses[asked], expected, rtol=1e-5)
    assert not asked.reshape(8, 5).any(axis=1).all()
    assert asked.reshape(8, 5).any(axis=1).sum() > 1
    means = [
        losses[now].mean() if now.any() else np.nan
        for losses, now in zip(result.losses.reshape(8, 5), asked.reshape(8, 5))
    ]
    logged = [np.nan if r["loss"] is None else r["loss"] for r in result.history]
    assert logged == pytest.approx(means, rel=1e-6, nan_ok=True)
    assert result.best_loss == pytest.approx(np.nanmin(means), rel=1e-6)


class Silent(Accumulate):
    def sample(self, key, batch_size):
        trials = Accumulate.sample(self, key, batch_size)
        return Trials(trials.inputs, trials.targets, jnp.zeros_like(trials.targets), {})


def test_validation_that_asks_for_nothing_is_refused():
    with pytest.raises(ValueError, match="mask of the validation trials is zero everywhere"):
        train(10, validation=Silent())
