"""Stages of training: what moves when, and that each stage starts its optimiser afresh."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from neurosim.training import Stage, staged


def _train(optimizer, params, gradient, steps):
    state = optimizer.init(params)
    path = [params]
    for _ in range(steps):
        updates, state = jax.jit(optimizer.update)(gradient(params), state, params)
        params = optax.apply_updates(params, updates)
        path.append(params)
    return path


def test_only_the_chosen_leaves_move_even_under_weight_decay():
    params = {"a": jnp.array([1.0, -2.0]), "b": jnp.array(3.0), "c": jnp.array(0.5)}
    optimizer = staged(
        [
            Stage(2, optax.adamw(0.1, weight_decay=0.1), lambda p: (p["a"], p["c"])),
            Stage(3, optax.adamw(0.1, weight_decay=0.1), lambda p: p["b"]),
            Stage(1, optax.sgd(0.1)),
        ]
    )
    path = _train(optimizer, params, lambda p: jax.tree.map(jnp.ones_like, p), 7)
    changed = [
        {k: bool(np.any(np.asarray(new[k]) != np.asarray(old[k]))) for k in params}
        for old, new in itertools.pairwise(path)
    ]
    first, second = {"a": True, "b": False, "c": True}, {"a": False, "b": True, "c": False}
    assert changed == [first] * 2 + [second] * 3 + [{"a": True, "b": True, "c": True}] * 2


def test_each_stage_starts_afresh():
    # Adam's first update has the length of the learning rate whatever the gradient, because its
    # moments start at zero and are corrected for it. Moments that had only been waiting would give
    # 0.1 / sqrt(0.001), three times as much.
    params = {"a": jnp.array(0.0), "b": jnp.array(0.0)}
    optimizer = staged(
        [
            Stage(500, optax.adam(0.01), lambda p: p["a"]),
            Stage(1, optax.adam(0.02), lambda p: p["b"]),
        ]
    )
    path = _train(optimizer, params, lambda p: {"a": jnp.array(1.0), "b": jnp.array(7.0)}, 501)
    assert float(path[500]["b"]) == 0
    assert float(path[501]["b"]) == pytest.approx(-0.02, rel=1e-4)


def test_schedules_begin_with_their_stage():
    schedule = optax.linear_schedule(1.0, 0.0, 4)
    optimizer = staged([Stage(2, optax.sgd(schedule)), Stage(2, optax.sgd(schedule))])
    path = _train(optimizer, jnp.array(0.0), lambda p: jnp.array(1.0), 4)
    steps = -np.diff([float(p) for p in path])
    np.testing.assert_allclose(steps, [1.0, 0.75, 1.0, 0.75], rtol=1e-6)


def test_bad_stages_are_refused():
    with pytest.raises(ValueError, match="at least one stage"):
        staged([])
    with pytest.raises(ValueError, match="at least one update"):
        staged([Stage(0, optax.sgd(1.0))])
    optimizer = staged([Stage(1, optax.sgd(1.0))])
    params = jnp.array(1.0)
    with pytest.raises(ValueError, match="needs the parameters"):
        optimizer.update(params, optimizer.init(params))
