"""Circuits and tasks small enough to be trained inside a test, also by a script of their own."""

import sys
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from neurosim.models import Dynamics, fixed_field
from neurosim.tasks import Task, Trials
from neurosim.training import fit


class Constant(Dynamics):
    """Shows its parameter, whatever happens: training it is minimising a function of `p`."""

    p: Any

    def initial_state(self):
        return jnp.zeros(1)

    def vector_field(self, t, state, input):
        return -state

    def readout(self, state):
        return self.p + 0 * state[0]


class TinyRNN(Dynamics):
    W: Any
    B: Any
    C: Any
    x0: Any = fixed_field()

    @classmethod
    def init(cls, key, n_units=5, n_in=1):
        a, b, c = jax.random.split(key, 3)
        return cls(
            0.5 * jax.random.normal(a, (n_units, n_units)),
            jax.random.normal(b, (n_units, n_in)),
            jax.random.normal(c, (1, n_units)) / n_units,
            jnp.zeros(n_units),
        )

    def initial_state(self):
        return self.x0

    def vector_field(self, t, state, input):
        return -state + self.W @ jnp.tanh(state) + self.B @ input

    def readout(self, state):
        return self.C @ jnp.tanh(state)


class Accumulate(Task):
    """The running sum of a random input."""

    dt: float = 0.2
    n_time: int = 6

    @property
    def n_inputs(self):
        return 1

    @property
    def n_outputs(self):
        return 1

    @property
    def n_steps(self):
        return self.n_time

    def sample(self, key, batch_size):
        inputs = jax.random.normal(key, (batch_size, self.n_time, 1))
        targets = self.dt * jnp.cumsum(inputs, axis=1)
        return Trials(inputs, targets, jnp.ones_like(targets), {})


def constant_trials(target):
    """One trial of one step that asks for `target`."""
    target = jnp.asarray(target)[None, None]
    return Trials(jnp.zeros((1, 1, 1)), target, jnp.ones_like(target), {})


def arrays(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def assert_same_bits(a, b):
    for x, y in zip(arrays(a), arrays(b), strict=True):
        assert x.dtype == y.dtype
        assert x.tobytes() == y.tobytes()


def without_seconds(history):
    return [{k: v for k, v in record.items() if k != "seconds"} for record in history]


def assert_same_run(a, b):
    assert_same_bits(a.model, b.model)
    assert_same_bits(a.best_model, b.best_model)
    assert a.losses.tobytes() == b.losses.tobytes()
    assert (a.best_loss, a.best_step) == (b.best_loss, b.best_step)
    assert without_seconds(a.history) == without_seconds(b.history)


# One object for all runs, so that they share what is compiled.
OPTIMIZER = optax.adamw(optax.cosine_decay_schedule(1e-2, 120))


def train_tiny(run_dir, *, steps=120, resume=False, pause=0.0, **kwargs):
    """A run with a schedule, noise, momentum, validation and metrics: all that has to resume."""

    def metric(trajectory, trials):
        time.sleep(pause)
        return np.abs(np.asarray(trajectory.outputs)).max()

    task = Accumulate()
    return fit(
        TinyRNN.init(jax.random.key(3)),
        task,
        optimizer=OPTIMIZER,
        steps=steps,
        batch_size=4,
        key=jax.random.key(7),
        simulate_options={"noise": 0.1},
        validation=task,
        metrics={"peak": metric},
        log_every=10,
        checkpoint_every=20,
        run_dir=run_dir,
        resume=resume,
        config={"tiny": True},
        progress=False,
        **kwargs,
    )


if __name__ == "__main__":
    train_tiny(sys.argv[1], pause=0.1)
