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


def test_the_value_reaches_an_optimiser_that_asks_for_it():
    # Two values without progress halve the rate; a stage begins with the whole one.
    plateau = optax.chain(
        optax.sgd(1.0), optax.contrib.reduce_on_plateau(factor=0.5, patience=2, rtol=1e-6)
    )
    optimizer = staged([Stage(6, plateau), Stage(3, plateau)])
    params, state = jnp.array(0.0), optimizer.init(jnp.array(0.0))
    steps = []
    for value in (1.0, 1.0, 1.0, 1.0, 0.5, 0.4, 1.0, 0.9, 0.8):
        updates, state = optimizer.update(jnp.array(1.0), state, params, value=jnp.array(value))
        steps.append(-float(updates))
    alone, alone_state = [], plateau.init(params)
    for value in (1.0, 1.0, 1.0, 1.0, 0.5, 0.4):
        updates, alone_state = plateau.update(1.0, alone_state, params, value=jnp.array(value))
        alone.append(-float(updates))
    assert steps[:6] == alone
    assert alone[-1] == 0.5
    assert steps[6:] == [1.0, 1.0, 1.0]


def test_a_line_search_by_stages():
    def value_fn(params):
        return (params["a"] - 1) ** 2 + 10 * (params["b"] - 2 * params["a"]) ** 2

    params = {"a": jnp.array(5.0), "b": jnp.array(0.0)}
    optimizer = staged([Stage(12, optax.lbfgs(), lambda p: p["b"]), Stage(20, optax.lbfgs())])
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        value, gradient = jax.value_and_grad(value_fn)(params)
        updates, state = optimizer.update(
            gradient, state, params, value=value, grad=gradient, value_fn=value_fn
        )
        return optax.apply_updates(params, updates), state

    for _ in range(12):
        params, state = step(params, state)
    # Along b alone the minimum is at 2 a.
    assert float(params["a"]) == 5.0
    assert float(params["b"]) == pytest.approx(10.0, rel=1e-4)
    for _ in range(20):
        params, state = step(params, state)
    assert [float(params["a"]), float(params["b"])] == pytest.approx([1.0, 2.0], abs=1e-3)


def test_what_does_not_move_has_no_slope():
    def update(updates, state, params=None, *, grad, value_fn, **extra):
        return jax.tree.map(jnp.subtract, grad, jax.grad(value_fn)(params)), {
            "grad": grad, "slope": jax.grad(value_fn)(params),
        }  # fmt: skip

    params = {"a": jnp.array(2.0), "b": jnp.array(3.0)}
    empty = {"grad": params, "slope": params}
    asking = optax.GradientTransformationExtraArgs(lambda params: empty, update)
    optimizer = staged([Stage(1, asking, lambda p: p["b"])])
    value_fn = lambda p: p["a"] * p["b"]  # noqa: E731
    gradient = jax.grad(value_fn)(params)
    _, state = optimizer.update(
        gradient, optimizer.init(params), params, value=0.0, grad=gradient, value_fn=value_fn
    )
    expected = {"a": 0.0, "b": 2.0}
    assert state.inner[0] == {"grad": expected, "slope": expected}


def test_bad_stages_are_refused():
    with pytest.raises(ValueError, match="at least one stage"):
        staged([])
    with pytest.raises(ValueError, match="at least one update"):
        staged([Stage(0, optax.sgd(1.0))])
    optimizer = staged([Stage(1, optax.sgd(1.0))])
    params = jnp.array(1.0)
    with pytest.raises(ValueError, match="needs the parameters"):
        optimizer.update(params, optimizer.init(params))
