import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiny_circuits import Accumulate, TinyRNN

from neurosim.training import (
    ConnectivityMask,
    DaleLaw,
    FrozenEntries,
    NonNegative,
    UpdateInfo,
    UpdateRule,
    fit,
)

MASK = np.array([[(i + j) % 2 == 0 for j in range(5)] for i in range(5)])


class RandomKick(UpdateRule):
    """Moves every parameter at random; no constraint holds by the rule's own merit."""

    def init(self, params):
        return ()

    def update(self, objective, params, state, key):
        leaves, structure = jax.tree.flatten(params)
        keys = jax.random.split(key, len(leaves))
        leaves = [x + jax.random.normal(k, x.shape) for x, k in zip(leaves, keys)]
        info = UpdateInfo(objective(params), None, {"size": jnp.asarray(2.0)})
        return jax.tree.unflatten(structure, leaves), state, info


RULES = {
    "adamw": optax.adamw(5e-2, weight_decay=0.3),
    "momentum": optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.3, momentum=0.9)),
    "random kick": RandomKick(),
}


def train(constraints, rule, model=None, **kwargs):
    return fit(
        TinyRNN.init(jax.random.key(0)) if model is None else model,
        Accumulate(),
        optimizer=RULES[rule],
        steps=50,
        batch_size=3,
        key=jax.random.key(1),
        constraints=constraints,
        progress=False,
        **kwargs,
    )


@pytest.mark.parametrize("rule", list(RULES))
def test_all_constraints_hold_under_every_optimiser(rule):
    given = TinyRNN.init(jax.random.key(0))
    # Column 4 is inhibitory (4 of 5 excite) and B is not negative.
    constraints = [
        DaleLaw(lambda m: m.W, excitatory=0.8),
        ConnectivityMask(lambda m: m.W, MASK),
        NonNegative(lambda m: m.B),
    ]
    result = train(constraints, rule, given)
    W, B = np.asarray(result.model.W), np.asarray(result.model.B)
    assert (W[:, :4] >= 0).all()
    assert (W[:, 4] <= 0).all()
    assert (W[~MASK] == 0).all()
    assert (B >= 0).all()
    assert not np.array_equal(W[MASK], np.abs(np.asarray(given.W))[MASK])
    assert result.steps_done == 50


@pytest.mark.parametrize(("rule", "double"), [*((r, False) for r in RULES), ("adamw", True)])
def test_frozen_entries_keep_their_bits(rule, double):
    with jax.enable_x64(double):
        model = TinyRNN.init(jax.random.key(2))
        result = train([FrozenEntries(lambda m: m.W, MASK)], rule, model)
        before, after = np.asarray(model.W), np.asarray(result.model.W)
        assert before.dtype == (np.float64 if double else np.float32)
        assert before[MASK].tobytes() == after[MASK].tobytes()
        assert (before[~MASK] != after[~MASK]).all()


def test_dale_keeps_magnitudes_at_the_start_and_holds_flips_at_zero():
    law = DaleLaw(lambda m: m.W, excitatory=0.4)
    model = TinyRNN.init(jax.random.key(0))
    started = law.start(model)
    np.testing.assert_array_equal(np.abs(started.W), np.abs(model.W))
    np.testing.assert_array_equal(np.sign(started.W), np.tile([1, 1, -1, -1, -1], (5, 1)))
    moved = eqx.tree_at(lambda m: m.W, started, -started.W.at[0].multiply(-1))
    held = law.project(moved, started)
    np.testing.assert_array_equal(held.W[0], started.W[0])
    np.testing.assert_array_equal(held.W[1:], 0)


def test_several_matrices_at_once():
    law = DaleLaw(lambda m: (m.W, m.C), excitatory=0.6)
    started = law.start(TinyRNN.init(jax.random.key(0)))
    for weight in (started.W, started.C):
        assert (weight[:, :3] >= 0).all()
        assert (weight[:, 3:] <= 0).all()


def test_the_number_of_excitatory_neurons_is_exact():
    assert (DaleLaw(lambda m: m.W, excitatory=0.8).signs(100) > 0).sum() == 80
    assert (DaleLaw(lambda m: m.W, excitatory=1 / 3).signs(30) > 0).sum() == 10
    assert (DaleLaw(lambda m: m.W, excitatory=1).signs(7) > 0).sum() == 7
    message = r"0\.75 is 3\.75 of 5.*3/5 = 0\.6 and 4/5 = 0\.8"
    with pytest.raises(ValueError, match=message):
        train([DaleLaw(lambda m: m.W, excitatory=0.75)], "adamw")
    with pytest.raises(ValueError, match="between 0 and 1"):
        DaleLaw(lambda m: m.W, excitatory=1.5)


def test_constraints_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 2\).*shape \(5, 5\)"):
        train([ConnectivityMask(lambda m: m.W, np.ones((2, 2)))], "adamw")
    with pytest.raises(ValueError, match="zeros and ones"):
        FrozenEntries(lambda m: m.W, np.full((5, 5), 0.5))
    everything = np.ones((5, 5), bool)
    with pytest.raises(ValueError, match="FrozenEntries cannot be kept together with NonNegative"):
        train(
            [FrozenEntries(lambda m: m.W, everything), NonNegative(lambda m: m.W)],
            "adamw",
        )


def test_the_update_rule_is_given_both_halves_of_the_objective():
    class Halves(UpdateRule):
        def init(self, params):
            return jnp.zeros(())

        def update(self, objective, params, state, key):
            outputs = objective.outputs(params)
            loss = objective.loss(outputs)
            # Loss and outputs can be pushed forward apart, as a second-order rule needs.
            _, tangent = jax.jvp(lambda p: objective.outputs(p).outputs, (params,), (params,))
            both = {"composed": objective(params), "apart": loss, "tangent": jnp.sum(tangent**2)}
            return params, state + 1, UpdateInfo(loss, None, both)

    result = fit(
        TinyRNN.init(jax.random.key(0)),
        Accumulate(),
        optimizer=Halves(),
        steps=2,
        batch_size=3,
        key=jax.random.key(1),
        progress=False,
    )
    record = result.history[-1]
    assert record["composed"] == record["apart"] == record["loss"]
    assert record["tangent"] > 0
