"""SOFO trains the recurrent cell of ORGaNICs, from a state in which nothing inhibits."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from tiny_circuits import Accumulate

from neurosim.models.organics_cell import ORGaNICsCell
from neurosim.training import SOFO, fit


def test_the_loss_falls_from_a_start_without_inhibition():
    """The slope of sqrt(a) at a = 0 is infinite, and must not reach the tangents."""
    cell = ORGaNICsCell.init(6, 1, 1, key=jax.random.key(0), kappa_max=(0.5, 0.2, 0.8))
    cell = dataclasses.replace(cell, start=cell.start._replace(a=jnp.zeros(6)))
    task = Accumulate()
    trials = task.sample(jax.random.key(1), 16)
    result = fit(
        cell, trials, optimizer=SOFO(32, 0.3), steps=50, key=jax.random.key(2), dt=1.0,
        progress=False,
    )  # fmt: skip
    losses = np.asarray(result.losses)
    assert np.all(np.isfinite(losses))
    assert losses[-5:].mean() < 0.5 * losses[0]
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(result.model))
