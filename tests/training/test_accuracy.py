"""The share of trials that a classifier gets right."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models import LinearMap
from neurosim.tasks import Trials
from neurosim.training.accuracy import last_step_accuracy

INPUTS = jnp.asarray([[[9.0, 0], [0, 1]], [[9, 0], [1, 0]], [[0, 0], [2, 1]], [[0, 0], [0, 3]]])
MODEL = LinearMap(jnp.eye(2))


def _trials(labels):
    targets = jnp.zeros((4, 2, 2)).at[:, -1].set(jnp.eye(2)[jnp.asarray(labels)])
    return Trials(INPUTS, targets, jnp.ones_like(targets), {})


@pytest.mark.parametrize("save", ["both", "outputs", "final"])
def test_only_the_last_step_counts(save):
    trajectory = simulate(MODEL, INPUTS, dt=1.0, save=save)
    # By their largest channel at the end the trials are of the classes 1, 0, 0, 1.
    for labels, expected in (([1, 0, 0, 1], 1.0), ([1, 0, 1, 0], 0.5), ([0, 1, 1, 0], 0.0)):
        assert float(last_step_accuracy(trajectory, _trials(labels))) == expected


def test_outputs_that_are_not_finite_are_wrong():
    trajectory = simulate(MODEL, INPUTS, dt=1.0)
    outputs = trajectory.outputs.at[1, -1, 0].set(jnp.nan).at[3, -1, 1].set(jnp.inf)
    trajectory = eqx.tree_at(lambda t: t.outputs, trajectory, outputs)
    assert float(last_step_accuracy(trajectory, _trials([1, 0, 0, 1]))) == 0.5


def test_precision_and_traces():
    with jax.enable_x64(True):
        trajectory = simulate(LinearMap(jnp.eye(2)), np.asarray(INPUTS, np.float64), dt=1.0)
        found = jax.jit(last_step_accuracy)(trajectory, _trials([1, 0, 0, 0]))
        assert (float(found), found.dtype) == (0.75, jnp.float64)


def test_what_does_not_fit_is_refused():
    states = simulate(MODEL, INPUTS, dt=1.0, save="states")
    with pytest.raises(ValueError, match="needs the outputs"):
        last_step_accuracy(states, _trials([1, 0, 0, 1]))
    outputs = simulate(MODEL, INPUTS[:3], dt=1.0)
    with pytest.raises(ValueError, match=r"have shape \(3, 2\) and the targets \(4, 2\)"):
        last_step_accuracy(outputs, _trials([1, 0, 0, 1]))
