"""A run is not resumed with anything else that can be compared."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiny_circuits import Accumulate, TinyRNN, assert_same_bits

from neurosim.training import CheckpointError, FrozenEntries, NonNegative, fit

KEY = jax.random.key(0)
OPTIMIZER = optax.sgd(0.01)
MASK = np.eye(5, dtype=bool)
GIVEN = {
    "constraints": [FrozenEntries(lambda m: m.W, MASK)],
    "validation": Accumulate(n_time=4),
    "simulate_options": {"noise": 0.1, "substeps": 2, "solver": diffrax.Heun()},
    "log_every": 2,
}


def train(steps, run_dir, **changes):
    return fit(
        TinyRNN.init(jax.random.key(3)), Accumulate(), optimizer=OPTIMIZER, steps=steps,
        batch_size=2, key=KEY, run_dir=run_dir, resume=steps > 2, progress=False,
        **(GIVEN | changes),
    )  # fmt: skip


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    path = tmp_path_factory.mktemp("run")
    train(2, path)
    return path


def options(**changes):
    return {"simulate_options": GIVEN["simulate_options"] | changes}


TRIALS = Accumulate(n_time=4).sample(KEY, 2)
CHANGES = {
    "validation task": (
        {"validation": Accumulate(n_time=5)},
        r"validation\.n_time was '4'",
    ),
    "validation dt": ({"validation": Accumulate(n_time=4, dt=0.1)}, r"validation\.dt was 0\.2"),
    "validation trials": (
        {"validation": TRIALS},
        r"validation\.type was .* now 'Trials'",
    ),
    "no validation": ({"validation": None}, "validation was .* and is now None"),
    "noise": (options(noise=0.2), r"simulate_options\.noise was 0\.1 and is now 0\.2"),
    "array of noise": (options(noise=jnp.array(0.2)), r"simulate_options\.noise was 0\.1"),
    "substeps": (options(substeps=1), r"simulate_options\.substeps was 2 and is now 1"),
    "solver": (
        options(solver=diffrax.Euler()),
        r"solver\.type was 'Heun' and is now 'Euler'",
    ),
    "more options": (options(t0=1.0), r"simulate_options\.t0 is new"),
    "log_every": ({"log_every": 3}, "log_every was 2 and is now 3"),
    "mask": (
        {"constraints": [FrozenEntries(lambda m: m.W, ~MASK)]},
        r"constraints\[0\]\.mask was .*hash.*is now .*hash",
    ),
    "kind": (
        {"constraints": [NonNegative(lambda m: m.W)]},
        r"\[0\]\.type was .* now 'NonNeg",
    ),
    "none": ({"constraints": []}, r"constraints was .*is now \[\]"),
}


@pytest.mark.parametrize("name", list(CHANGES))
def test_what_differs_is_named(run_dir, name):
    changes, message = CHANGES[name]
    with pytest.raises(CheckpointError, match=message) as caught:
        train(4, run_dir, **changes)
    assert "\n" not in str(caught.value)
    assert str(run_dir) in str(caught.value)


def test_what_a_constraint_is_for_is_compared(tmp_path):
    kwargs = {"validation": None, "simulate_options": None}
    train(2, tmp_path, constraints=[NonNegative(lambda m: m.W)], **kwargs)
    with pytest.raises(CheckpointError, match=r"\[0\]\.where was .*\.W.* and is now .*\.B"):
        train(4, tmp_path, constraints=[NonNegative(lambda m: m.B)], **kwargs)
    # The same by another function is the same.
    train(4, tmp_path, constraints=[NonNegative(lambda model: (model.W,))], **kwargs)


def test_what_does_not_change_the_numbers_may_differ(tmp_path):
    train(2, tmp_path)
    resumed = train(
        4, tmp_path, validate_every=1, checkpoint_every=1,
        metrics={"one": lambda trajectory, trials: 1.0},
        validation=Accumulate(n_time=4), constraints=[FrozenEntries(lambda m: m.W, MASK)],
        simulate_options={"solver": diffrax.Heun(), "substeps": np.int64(2), "noise": 0.1},
    )  # fmt: skip
    assert resumed.history[-1]["one"] == 1.0
    train(2, tmp_path / "other")
    assert_same_bits(resumed.model, train(4, tmp_path / "other").model)
