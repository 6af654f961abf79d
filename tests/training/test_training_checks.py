"""What `fit` says to ordinary mistakes: one line that names what was given and what is needed."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiny_circuits import Accumulate, Constant, TinyRNN, assert_same_bits, constant_trials

from neurosim.tasks import Trials
from neurosim.training import (
    CheckpointError,
    DaleLaw,
    OptaxRule,
    activity_loss,
    fit,
    fit_ensemble,
    masked_mse,
    rate_power,
)

KEY = jax.random.key(0)
SGD = optax.sgd(0.1)


def fit_constant(**changes):
    settings = {
        "model": Constant(jnp.array([3.0])),
        "task": constant_trials([1.0]),
        "optimizer": SGD,
        "steps": 3,
        "dt": 1.0,
        "key": KEY,
        "progress": False,
    }
    return fit(**(settings | changes))


def constant_metric(value):
    return {"metrics": {"odd": lambda trajectory, trials: value}}


MISTAKES = {
    "steps": ({"steps": 10.5}, r"steps must be a whole number, got 10\.5"),
    "steps as text": ({"steps": "10"}, "steps must be a whole number, got '10'"),
    "steps as bool": ({"steps": True}, "steps must be a whole number, got True"),
    "too many steps": ({"steps": 2**31}, r"steps must be less than 2\^31"),
    "batch": ({"batch_size": 1.0}, r"batch_size must be a whole number, got 1\.0"),
    "log": ({"log_every": 2.5}, r"log_every must be a whole number, got 2\.5"),
    "validate": ({"validate_every": 2.0}, r"validate_every must be a whole number, got 2\.0"),
    "checkpoint": ({"checkpoint_every": np.float32(2)}, "checkpoint_every must be a whole number"),
    "optimizer class": ({"optimizer": OptaxRule}, "got the class OptaxRule itself: call it"),
    "optimizer function": ({"optimizer": optax.adam}, "got the function adam itself: call it"),
    "optimizer": ({"optimizer": 0.1}, "or an UpdateRule; got float"),
    "task class": ({"task": Accumulate}, "got the class Accumulate itself: call it"),
    "constraint class": ({"constraints": DaleLaw}, "must be a list of Constraint objects"),
    "key": ({"key": 0}, "key must be one PRNG key such as .*, got 0"),
    "key array": ({"key": jnp.zeros(3)}, "got an array of float32 and shape "),
    "keys": ({"key": jax.random.split(KEY)}, r"got an array of key<fry> and shape \(2,\)"),
    "option": (
        {"simulate_options": {"substep": 2}},
        "simulate_options holds 'substep', which simulate does not take: .*substeps.* are allowed",
    ),
    "options": ({"simulate_options": ["noise"]}, "must be a dictionary, got list"),
    "config": ({"config": [1]}, "config must be a dictionary, got list"),
    "validation": ({"validation": jnp.zeros((1, 1, 1))}, "validation must be a Task or Trials"),
    "validation inputs": (
        {"validation": Trials(jnp.zeros((1, 1, 2)), jnp.zeros((1, 1, 1)), jnp.ones((1, 1, 1)), {})},
        "The validation has 2 input channels, and training has 1",
    ),
    "validation outputs": (
        {"validation": constant_trials([1.0, 1.0])},
        "The validation has 2 output channels, and training has 1",
    ),
    "no metric": ({"metrics": {"odd": 1.0}}, "The metric 'odd' must be a function"),
    "metric None": (constant_metric(None), "metric 'odd' must return a real number .* NoneType"),
    "metric text": (constant_metric("1"), "metric 'odd' must return a real number .* got str"),
    "metric dict": (constant_metric({"a": 1}), "metric 'odd' must return .* got dict"),
    "metric complex": (constant_metric(1j), "metric 'odd' must return .* got complex"),
    "metric ragged": (constant_metric([[1], [1, 2]]), "metric 'odd' must return .* got list"),
    "metric name": (
        {"metrics": {"gradient_norm": lambda trajectory, trials: 1.0}},
        "metric cannot be called 'gradient_norm'",
    ),
    "no outputs": (
        {"simulate_options": {"save": "states"}},
        "needs the outputs, and the trajectory has none: simulate with save='both' or 'outputs'",
    ),
    "no states": (
        {"simulate_options": {"save": "outputs"}, "loss": activity_loss(rate_power)},
        "The loss cannot be computed with save='outputs'",
    ),
    "no loss": ({"loss": lambda trajectory, trials: None}, "must return a scalar, got NoneType"),
    "whole loss": ({"loss": lambda trajectory, trials: 1}, "a floating-point number, got int32"),
}


@pytest.mark.parametrize("name", list(MISTAKES))
@pytest.mark.usefixtures("unchecked_signatures")
def test_a_mistake_is_one_line(tmp_path, name):
    changes, message = MISTAKES[name]
    with pytest.raises(ValueError, match=message) as caught:
        fit_constant(run_dir=tmp_path, **changes)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("last"))


@pytest.mark.usefixtures("unchecked_signatures")
def test_mistakes_with_an_ensemble():
    with pytest.raises(ValueError, match=r"n_seeds must be a whole number, got 2\.0"):
        fit_ensemble(TinyRNN.init, Accumulate(), n_seeds=2.0, key=KEY, optimizer=SGD, steps=1)
    with pytest.raises(ValueError, match="key must be one PRNG key"):
        fit_ensemble(TinyRNN.init, Accumulate(), n_seeds=2, key=0, optimizer=SGD, steps=1)


def test_whole_numbers_of_numpy_and_old_keys_are_taken():
    numbers = {"steps": np.int64(3), "batch_size": np.int64(1), "log_every": np.int32(2)}
    result = fit_constant(key=jax.random.PRNGKey(0), **numbers)
    assert [record["step"] for record in result.history] == [2, 3]
    assert_same_bits(result.model, fit_constant().model)


def test_metrics_may_be_any_real_numbers():
    values = {"b": True, "i": np.int32(3), "h": jnp.bfloat16(0.5), "v": [1, 2.5], "n": np.nan}
    metrics = {name: lambda a, b, value=value: value for name, value in values.items()}
    record = fit_constant(metrics=metrics).history[-1]
    found = {name: record[name] for name in values}
    assert found == {"b": 1.0, "i": 3.0, "h": 0.5, "v": [1.0, 2.5], "n": None}


@pytest.mark.usefixtures("unchecked_signatures")
def test_a_mask_in_time_counts_for_every_trial_of_a_minibatch():
    # Four time steps, of which the first asks; four trials, of which two are picked.
    targets = jnp.full((4, 4, 2), 2.0)
    whole = eqx.tree_at(
        lambda t: t.mask,
        Trials(jnp.zeros((4, 4, 1)), targets, jnp.zeros_like(targets), {}),
        jnp.array([1.0, 0.0, 0.0, 0.0])[:, None],
    )

    def loss(trajectory, trials):
        assert trials.mask.shape == (2, 4, 2)
        return masked_mse(trajectory.outputs, trials.targets, trials.mask)

    result = fit_constant(model=Constant(jnp.zeros(2)), task=whole, batch_size=2, loss=loss)
    # Of (p - 2)^2, averaged over two channels: the gradient of each is p - 2.
    np.testing.assert_allclose(result.losses, 4 * 0.9 ** (2 * np.arange(3)), rtol=1e-6)


class Decay(Constant):
    """The state falls by the factor 1 - dt at each step, and the output is its size times p."""

    def initial_state(self):
        return jnp.ones(1)

    def readout(self, state):
        return self.p * state


class Nothing(Accumulate):
    def sample(self, key, batch_size):
        zeros = jnp.zeros((batch_size, 1, 1))
        return Trials(zeros, zeros, jnp.ones_like(zeros), {})


def test_validation_has_the_time_step_of_its_task():
    def validation_loss(**kwargs):
        result = fit(
            Decay(jnp.ones(1)), optimizer=optax.sgd(0.0), steps=1, batch_size=2, key=KEY,
            progress=False, **kwargs,
        )  # fmt: skip
        return float(result.losses[0]), result.best_loss

    # After one step of dt the output is 1 - dt.
    fast, slow = Nothing(dt=0.5), Nothing(dt=0.25)
    expected = (0.5**2, 0.75**2)
    assert validation_loss(task=fast, validation=slow) == pytest.approx(expected)
    # Trials have no time step of their own.
    trials = slow.sample(KEY, 2)
    assert validation_loss(task=fast, validation=trials) == pytest.approx((0.25, 0.25))
    assert validation_loss(task=trials, dt=0.5, validation=slow) == pytest.approx(expected)
    # Training on another time step than the task's is validated on that.
    assert validation_loss(task=slow, dt=0.5, validation=slow) == pytest.approx((0.25, 0.25))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"null\n", 1),
        (b"{}\n", 1),
        (b"[1]\n", 1),
        (b"\xff\xfe\n", 1),
        (b"", 1),
        (b'{"step": 2, "loss": 1.0, "seconds": 0.1}\nnull\n{"step": 4, "seconds": 0.1}\n', 2),
        (b'{"step": 2, "loss": 1.0, "seconds": 0.1}\n{"step": 4, "lo', 2),
    ],
)
def test_damaged_metrics_are_one_line(tmp_path, content, line):
    fit_constant(steps=4, log_every=2, run_dir=tmp_path)
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_bytes(content)
    with pytest.raises(
        CheckpointError, match=rf"metrics\.jsonl is damaged in line {line}"
    ) as caught:
        fit_constant(steps=6, log_every=2, run_dir=tmp_path, resume=True)
    assert "\n" not in str(caught.value)
    assert metrics.read_bytes() == content
    # As the error says: without the file the run goes on.
    metrics.unlink()
    result = fit_constant(steps=6, log_every=2, run_dir=tmp_path, resume=True)
    assert [record["step"] for record in result.history] == [6]
    assert_same_bits(result.model, fit_constant(steps=6).model)


@pytest.mark.parametrize("tail", [b"null\n", b"[1]\n", b"\xff", b'{"step": 6, "lo'])
def test_damage_behind_the_checkpoint_is_computed_again(tmp_path, tail):
    fit_constant(steps=4, log_every=2, run_dir=tmp_path)
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(tail)
    result = fit_constant(steps=6, log_every=2, run_dir=tmp_path, resume=True)
    assert [record["step"] for record in result.history] == [2, 4, 6]
