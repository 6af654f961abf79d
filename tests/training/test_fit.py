import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
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
    assert_same_bits,
    assert_same_run,
    constant_trials,
    train_tiny,
    without_seconds,
)

from neurosim.tasks import Trials
from neurosim.training import (
    CheckpointError,
    TrainingDiverged,
    fit,
    is_locked,
    load_checkpoint,
    member_keys,
    read_checkpoint_header,
)
from neurosim.training.run_files import RunFiles
from neurosim.training.training_step import draw_trials

KEY = jax.random.key(0)


def quartic(trajectory, trials):
    return jnp.sum((trajectory.outputs - trials.targets) ** 4)


def fit_quartic(steps, **kwargs):
    return fit(
        Constant(jnp.array([3.0, -1.0, 0.5])),
        constant_trials([0.0, 1.0, 2.0]),
        optimizer=optax.adam(optax.cosine_decay_schedule(0.1, 200)),
        loss=quartic,
        steps=steps,
        dt=1,
        key=KEY,
        log_every=50,
        progress=False,
        **kwargs,
    )


@pytest.fixture(scope="module")
def whole():
    return train_tiny(None)


def test_resuming_in_the_middle_of_a_cosine_schedule(tmp_path):
    uninterrupted = fit_quartic(200)
    first = fit_quartic(100, run_dir=tmp_path)
    second = fit_quartic(200, run_dir=tmp_path, resume=True)
    assert (first.steps_done, second.steps_done) == (100, 200)
    assert_same_run(uninterrupted, second)
    expected = [0.46261632, 0.87601936, 2.0799384]
    np.testing.assert_allclose(second.model.p, expected, rtol=0, atol=5e-7)
    # Once more is nothing more.
    assert_same_run(second, fit_quartic(200, run_dir=tmp_path, resume=True))
    with pytest.raises(ValueError, match="200 steps already, more than the 150"):
        fit_quartic(150, run_dir=tmp_path, resume=True)


def test_the_first_loss_and_the_first_step_are_those_of_the_textbook():
    # Of (p - 1)^2 at p = 3: loss 4, gradient 4, and the step is rate times gradient.
    result = fit(
        Constant(jnp.array([3.0])),
        constant_trials([1.0]),
        optimizer=optax.sgd(0.125),
        steps=1,
        dt=1.0,
        key=KEY,
        progress=False,
    )
    assert result.losses.tolist() == [4.0]
    assert float(result.model.p[0]) == 2.5
    assert result.history[0]["gradient_norm"] == 4.0


def test_training_learns_and_leaves_the_given_model_alone(whole):
    start = TinyRNN.init(jax.random.key(3))
    assert np.isfinite(np.asarray(start.W)).all()
    # A second run from the same model: its buffers were not given away by the first.
    model = TinyRNN.init(jax.random.key(3))
    runs = [
        fit(
            model,
            Accumulate(),
            optimizer=optax.adam(2e-2),
            steps=300,
            batch_size=16,
            key=KEY,
            progress=False,
        )
        for _ in range(2)
    ]
    assert_same_run(*runs)
    assert_same_bits(model, start)
    losses = runs[0].losses
    assert losses[-20:].mean() < 0.05 * losses[:20].mean()
    np.testing.assert_array_equal(runs[0].model.x0, 0)


def test_history_validation_and_the_best_model(whole):
    assert [record["step"] for record in whole.history] == list(range(10, 121, 10))
    assert whole.history[0]["loss"] == pytest.approx(whole.losses[:10].mean(), rel=1e-6)
    validation = [record["validation_loss"] for record in whole.history]
    assert whole.best_loss == min(validation)
    assert whole.best_step == 10 * (1 + int(np.argmin(validation)))
    assert all(record["peak"] > 0 for record in whole.history)
    assert whole.run_dir is None
    assert not whole.interrupted


def test_where_a_run_is_cut_changes_nothing(whole):
    other = fit(
        TinyRNN.init(jax.random.key(3)),
        Accumulate(),
        optimizer=OPTIMIZER,
        steps=120,
        batch_size=4,
        key=jax.random.key(7),
        simulate_options={"noise": 0.1},
        log_every=37,
        progress=False,
    )
    assert_same_bits(other.model, whole.model)
    assert other.losses.tobytes() == whole.losses.tobytes()


def test_the_files_of_a_run(tmp_path, whole):
    result = train_tiny(tmp_path / "run")
    assert_same_run(result, whole)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == result.history
    header = read_checkpoint_header(tmp_path / "run" / "checkpoints" / "last")
    assert (header["step"], header["config"]) == (120, {"tiny": True})
    assert header["environment"]["precision"] == "float32"
    assert header["record"]["key"]["prng"] == "threefry2x32"
    like = {"model": result.model, "loss": np.zeros(()), "step": np.zeros((), int)}
    best = load_checkpoint(tmp_path / "run" / "checkpoints" / "best", like)
    assert_same_bits(best.tree["model"], result.best_model)
    assert int(best.tree["step"]) == result.best_step

    before = {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}
    with pytest.raises(ValueError, match="already holds a training run"):
        train_tiny(tmp_path / "run")
    assert before == {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}


def test_kill_and_resume_is_the_uninterrupted_run(tmp_path, whole):
    run_dir = tmp_path / "run"
    script = Path(__file__).with_name("tiny_circuits.py")
    process = subprocess.Popen([sys.executable, str(script), str(run_dir)])
    try:
        deadline = time.monotonic() + 60
        while not (run_dir / "metrics.jsonl").exists() or (
            len((run_dir / "metrics.jsonl").read_text().splitlines()) < 5
        ):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    stopped_at = read_checkpoint_header(run_dir / "checkpoints" / "last")["step"]
    assert 40 <= stopped_at < 120
    # As if the kill had hit a line half written.
    with (run_dir / "metrics.jsonl").open("a") as file:
        file.write('{"step": 70, "lo')
    resumed = train_tiny(run_dir, resume=True)
    assert_same_run(resumed, whole)
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    assert without_seconds(map(json.loads, lines)) == without_seconds(whole.history)


def test_resuming_before_the_first_checkpoint_starts_at_the_beginning(tmp_path, whole):
    (tmp_path / "metrics.jsonl").write_text('{"step": 10, "loss": 1.0, "seconds": 1.0}\n')
    assert_same_run(train_tiny(tmp_path, resume=True), whole)


def test_another_set_up_is_not_resumed(tmp_path):
    fit_quartic(100, run_dir=tmp_path, config={"rate": 0.1, "task": {"a": 1}})
    with pytest.raises(CheckpointError, match=r"config\.task\.a was 1 and is now 2"):
        fit_quartic(200, run_dir=tmp_path, resume=True, config={"rate": 0.1, "task": {"a": 2}})
    base = {
        "optimizer": optax.adam(0.1),
        "loss": quartic,
        "steps": 200,
        "dt": 1,
        "key": KEY,
        "progress": False,
        "run_dir": tmp_path,
        "resume": True,
        "config": {"rate": 0.1, "task": {"a": 1}},
    }
    model, trials = Constant(jnp.array([3.0, -1.0, 0.5])), constant_trials([0.0, 1.0, 2.0])
    with pytest.raises(CheckpointError, match=r"model\.p was 'float32\(3\).*float32\(4\)"):
        fit(Constant(jnp.zeros(4)), trials, **base)
    with pytest.raises(CheckpointError, match=r"task\.targets was"):
        fit(model, constant_trials([0.0, 1.0, 3.0]), **base)
    with pytest.raises(CheckpointError, match=r"key\.data was \[0, 0\] and is now \[0, 1\]"):
        fit(model, trials, **{**base, "key": jax.random.key(1)})
    with pytest.raises(CheckpointError, match=r"key\.prng was 'threefry2x32' and is now 'rbg'"):
        fit(model, trials, **{**base, "key": jax.random.key(0, impl="rbg")})
    with jax.enable_x64(True), pytest.raises(CheckpointError, match="precision was 'float32'"):
        fit(Constant(jnp.array([3.0, -1.0, 0.5])), trials, **base)


def first_input(trajectory, trials):
    return trials.inputs[0, 0, 0]


def test_same_seed_same_bits_and_other_seed_other_trials(whole):
    assert_same_run(train_tiny(None), whole)
    # With the trials themselves for a loss, the losses are the trials that were seen.
    seen = [
        fit(
            Constant(jnp.zeros(1)),
            Accumulate(),
            optimizer=OPTIMIZER,
            loss=first_input,
            steps=150,
            batch_size=1,
            key=jax.random.key(seed),
            progress=False,
        ).losses
        for seed in (0, 1, 0)
    ]
    assert seen[0].tobytes() == seen[2].tobytes()
    assert len(np.unique(np.concatenate(seen[:2]))) == 300


def test_minibatches_of_given_trials():
    inputs = jnp.arange(6.0)[:, None, None] * jnp.ones((6, 2, 1))
    trials = Trials(inputs, inputs, inputs, {"label": jnp.arange(6), "grid": jnp.arange(2)})
    batch = draw_trials(trials, KEY, 4)
    assert batch.inputs.shape == (4, 2, 1)
    labels = np.asarray(batch.info["label"])
    assert len(set(labels.tolist())) == 4
    np.testing.assert_array_equal(batch.inputs[:, 0, 0], labels)
    np.testing.assert_array_equal(batch.info["grid"], [0, 1])
    assert draw_trials(trials, KEY, None) is trials


def diverging(kind):
    model, trials = Constant(jnp.array([3.0])), constant_trials([1.0])

    def rate(count):
        # The update number 25, counted from 1, is not a number.
        return jnp.where(count == 24, jnp.nan, 0.01)

    optimizer, loss = optax.sgd(0.01), quartic
    if kind == "parameter":
        optimizer = optax.sgd(rate)
    elif kind == "gradient":

        def loss(trajectory, trials):
            # Its value at 1 is 0, where its slope does not exist.
            return jnp.sqrt(jnp.sum((trajectory.outputs - trials.targets) ** 2))

        model = Constant(jnp.array([1.0]))
    elif kind == "loss":

        def loss(trajectory, trials):
            return jnp.sum(jnp.log(-trajectory.outputs))

    return {
        "model": model,
        "task": trials,
        "optimizer": optimizer,
        "loss": loss,
        "dt": 1.0,
        "key": KEY,
    }


@pytest.mark.parametrize(
    ("kind", "step", "quantity"),
    [
        ("parameter", 25, "the parameter .p"),
        ("gradient", 1, "the gradient of .p"),
        ("loss", 1, "the loss"),
    ],
)
def test_a_number_that_is_none_stops_the_run(tmp_path, kind, step, quantity):
    with pytest.raises(TrainingDiverged) as caught:
        fit(
            **diverging(kind),
            steps=100,
            log_every=10,
            checkpoint_every=10,
            run_dir=tmp_path,
            progress=False,
        )
    error, last = caught.value, tmp_path / "checkpoints" / "last"
    assert (error.step, error.quantity) == (step, quantity)
    assert f"at step {step}: {quantity} is not finite" in str(error)
    assert "\n" not in str(error)
    if kind == "parameter":
        assert error.checkpoint == last
        assert "(step 20)" in str(error)
        model = {"model": Constant(jnp.zeros(1))}
        stored = read_checkpoint_header(last)
        assert stored["step"] == 20
        best = {**model, "loss": np.zeros(()), "step": np.zeros((), int)}
        tree = load_checkpoint(tmp_path / "checkpoints" / "best", best).tree
        assert np.isfinite(tree["model"].p).all()
        lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
        assert [json.loads(line)["step"] for line in lines] == [10, 20]
    else:
        assert error.checkpoint is None
        assert not last.exists()


def test_a_validation_loss_that_is_none_stops_the_run():
    def loss(trajectory, trials):
        return jnp.log(trials.targets[0, 0, 0]) + quartic(trajectory, trials)

    with pytest.raises(TrainingDiverged, match="at step 5: the validation loss is not finite"):
        fit(
            Constant(jnp.array([3.0])),
            constant_trials([1.0]),
            validation=constant_trials([-1.0]),
            optimizer=optax.sgd(0.01),
            loss=loss,
            steps=10,
            log_every=5,
            dt=1.0,
            key=KEY,
            progress=False,
        )


class Interrupting:
    """A metric that presses Ctrl-C when it is called for the n-th time."""

    def __init__(self, call, times=1):
        self.call, self.times, self.count = call, times, 0

    def __call__(self, trajectory, trials):
        self.count += 1
        if self.count == self.call:
            for _ in range(self.times):
                signal.raise_signal(signal.SIGINT)
        return 0.0


def test_ctrl_c_saves_and_returns(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    stopped = fit_quartic(200, run_dir=tmp_path, metrics={"stop": Interrupting(2)})
    assert signal.getsignal(signal.SIGINT) is before
    assert stopped.interrupted
    assert stopped.steps_done == 100
    assert len(stopped.losses) == 100
    assert read_checkpoint_header(tmp_path / "checkpoints" / "last")["step"] == 100
    resumed = fit_quartic(200, run_dir=tmp_path, resume=True, metrics={"stop": Interrupting(-1)})
    assert not resumed.interrupted
    assert_same_run(resumed, fit_quartic(200, metrics={"stop": Interrupting(-1)}))


def test_ctrl_c_in_the_last_steps_is_heard(tmp_path):
    stopped = fit_quartic(100, run_dir=tmp_path, metrics={"stop": Interrupting(2)})
    assert stopped.interrupted
    assert stopped.steps_done == 100
    assert read_checkpoint_header(tmp_path / "checkpoints" / "last")["step"] == 100
    read_back = fit_quartic(100, run_dir=tmp_path, resume=True, metrics={"stop": Interrupting(-1)})
    assert not read_back.interrupted
    assert_same_run(read_back, stopped)


def test_ctrl_c_while_saving_waits_for_the_file(tmp_path, monkeypatch):
    save = RunFiles.save

    def interrupted_save(self, which, tree, **notes):
        if which == self.last:
            signal.raise_signal(signal.SIGINT)
        save(self, which, tree, **notes)

    monkeypatch.setattr(RunFiles, "save", interrupted_save)
    assert fit_quartic(100, run_dir=tmp_path).interrupted
    assert read_checkpoint_header(tmp_path / "checkpoints" / "last")["step"] == 100


def test_a_run_directory_has_one_writer(tmp_path):
    refused = []

    def second(trajectory, trials):
        try:
            fit_quartic(200, run_dir=tmp_path, resume=True, metrics={"second": second})
        except ValueError as error:
            refused.append(str(error))
        return 0.0

    result = fit_quartic(200, run_dir=tmp_path, metrics={"second": second})
    assert len(refused) == 4
    assert all("is being written by another process" in text for text in refused)
    assert [record["step"] for record in result.history] == [50, 100, 150, 200]
    # And none behind it, also where it raises.
    with pytest.raises(ValueError, match="200 steps already"):
        fit_quartic(150, run_dir=tmp_path, resume=True, metrics={"second": second})
    assert not is_locked(tmp_path)


def test_ctrl_c_twice_stops_at_once(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit_quartic(200, run_dir=tmp_path, metrics={"stop": Interrupting(2, times=2)})
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_in_plain_lines(capfd):
    kwargs = {"optimizer": optax.sgd(0.1), "steps": 30, "log_every": 10, "dt": 1.0, "key": KEY}
    fit(Constant(jnp.ones(1)), constant_trials([1.0]), **kwargs)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith("step 10/30 | loss 0.000e+00 | ")
    assert "steps/s" in lines[0]
    assert lines[-1].endswith("0:00 left")
    fit(Constant(jnp.ones(1)), constant_trials([1.0]), progress=False, **kwargs)
    assert capfd.readouterr() == ("", "")


def test_an_optimiser_that_asks_for_the_objective():
    result = fit(
        Constant(jnp.array([3.0, -1.0])),
        constant_trials([0.0, 1.0]),
        optimizer=optax.lbfgs(),
        steps=5,
        dt=1.0,
        key=KEY,
        progress=False,
    )
    np.testing.assert_allclose(result.model.p, [0, 1], atol=1e-5)


def nan_inputs(trials):
    return eqx.tree_at(lambda t: t.inputs, trials, trials.inputs.at[0, 0, 0].set(jnp.nan))


FOUR = Accumulate().sample(KEY, 4)
BAD = {
    "no steps": ({"steps": 0}, "steps must be at least 1, got 0"),
    "empty batch": ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
    "no batch": ({"batch_size": None}, "batch_size is needed"),
    "dt": ({"dt": -0.1}, "dt must be a positive"),
    "channels": (
        {"model": TinyRNN.init(KEY, n_in=3)},
        "The task has 1 input channels, and the model takes 3",
    ),
    "log": ({"log_every": 0}, "log_every must be at least 1"),
    "nan": (
        {"task": nan_inputs(FOUR), "dt": 0.2},
        r"inputs of the trials must be finite: 1 of 24 values .* \(0, 0, 0\)",
    ),
    "too many": ({"task": Accumulate().sample(KEY, 2), "dt": 0.2}, "only 2 trials"),
    "trials without dt": ({"task": FOUR}, "dt is needed"),
    "no trials": (
        {"task": jax.tree.map(lambda x: x[:0], FOUR), "dt": 0.2},
        "are empty",
    ),
    "silent mask": (
        {
            "task": eqx.tree_at(lambda t: t.mask, FOUR, jnp.zeros((4, 6, 1))),
            "dt": 0.2,
        },
        "nothing to learn",
    ),
    "model": (
        {"model": eqx.tree_at(lambda m: m.W, TinyRNN.init(KEY), jnp.full((5, 5), jnp.inf))},
        r"The model's \.W must be finite",
    ),
    "own option": ({"simulate_options": {"key": KEY}}, "training sets it itself"),
    "metric name": ({"metrics": {"loss": lambda a, b: 0.0}}, "cannot be called 'loss'"),
    "config": ({"config": {"a": object()}}, "form in JSON"),
    "resume": ({"resume": True}, "needs the run_dir"),
    "loss": ({"loss": lambda trajectory, trials: trajectory.outputs}, "must return a scalar"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_is_refused_in_one_line(tmp_path, name):
    changes, message = BAD[name]
    good = {
        "model": TinyRNN.init(KEY),
        "task": Accumulate(),
        "optimizer": optax.sgd(0.1),
        "steps": 3,
        "batch_size": 4,
        "key": KEY,
        "run_dir": None if name == "resume" else tmp_path / "run",
        "progress": False,
    }
    with pytest.raises(ValueError, match=message) as caught:
        fit(**{**good, **changes})
    assert "\n" not in str(caught.value).split("\n----")[0]
    assert not list(tmp_path.rglob("last"))


def test_a_run_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("kept")
    with pytest.raises(ValueError, match=r"cannot be written to .* write permission is needed"):
        fit_quartic(10, run_dir=tmp_path / "file" / "run")
    assert (tmp_path / "file").read_text() == "kept"


def test_member_keys_do_not_depend_on_their_number():
    few, many = member_keys(KEY, 2), member_keys(KEY, 5)
    np.testing.assert_array_equal(jax.random.key_data(few), jax.random.key_data(many[:2]))
