"""Gains held for a trial, and networks run again with them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden_network import GAINS_ONE, GAINS_ZERO, STEPS, golden, golden_inputs, golden_weights

from neurosim import simulate
from neurosim.analysis.gain_ablation import ablate_gains, hold_gains
from neurosim.models import clamp_gains

S = np.random.default_rng(0).uniform(size=(3, 7, 4))


def test_gains_are_held_where_asked_and_free_elsewhere():
    start = hold_gains(S, 1)
    np.testing.assert_array_equal(start[..., 1], np.tile(S[:, :1, 1], (1, 7)))
    np.testing.assert_array_equal(start[..., [0, 2, 3]], S[..., [0, 2, 3]])
    mean = hold_gains(S, [3, 0], to="mean")
    np.testing.assert_allclose(mean[..., 3], S[..., 3].mean(), rtol=1e-14)
    np.testing.assert_allclose(mean[..., 0], S[..., 0].mean(), rtol=1e-14)
    np.testing.assert_array_equal(mean[..., 1:3], S[..., 1:3])
    values = hold_gains(S, [3, 0], to=np.array([0.25, 0.75]))
    assert np.all(values[..., 3] == 0.25)
    assert np.all(values[..., 0] == 0.75)
    assert np.all(hold_gains(S, np.int64(2), to=0)[..., 2] == 0)
    course = np.linspace(0, 1, 7)[:, None]
    np.testing.assert_array_equal(hold_gains(S, [2], to=course)[1, :, 2:3], course)
    assert hold_gains(S[0], 1).shape == (7, 4)
    assert np.all(S[:, 1:, 1] != S[:, :1, 1])  # the gains given are left as they were


def test_held_gains_stay_in_jax():
    s = jnp.asarray(S)
    np.testing.assert_allclose(jax.jit(lambda s: hold_gains(s, 1))(s), hold_gains(S, 1), rtol=1e-6)
    slope = jax.grad(lambda to: hold_gains(S[0], [1], to=to).sum())(0.5)
    assert float(slope) == 7


@pytest.mark.parametrize(
    ("components", "to", "message"),
    [
        (4, 0.0, "gain index 4 is out of range: there are 4 gains"),
        (-1, 0.0, "gain index -1 is out of range"),
        ([1, 1], 0.0, "twice"),
        ([], 0.0, "one or more whole numbers"),
        ([0.5], 0.0, "one or more whole numbers"),
        (0, "median", "'initial', 'mean' or values"),
        (0, np.nan, "to must be finite"),
        ([0, 1], np.ones(3), r"to must be a number, \(2,\)"),
    ],
)
def test_gains_that_cannot_be_held_are_refused(components, to, message):
    with pytest.raises(ValueError, match=message):
        hold_gains(S, components, to=to)


def test_gains_without_time_are_refused():
    with pytest.raises(ValueError, match=r"gains must be \(time, gain\)"):
        hold_gains(np.ones(4), 0)
    with pytest.raises(ValueError, match=r"gains must be \(time, gain\)"):
        hold_gains(np.ones((0, 4)), 0)


def golden_ablation(gains, inputs=None, **options):
    w = golden_weights()
    inputs = golden_inputs() if inputs is None else inputs
    factors = (w["L"], w["R"], w["B_x"], w["C"])
    fields = {"d": w["d"], "x0": w["x0"], "tau": 10.0, **options}
    return ablate_gains(*factors, inputs, gains, **fields)


def test_one_index_is_one_ablation():
    s = np.random.default_rng(1).uniform(size=(110, 2))
    one = golden_ablation(s, components=0)
    assert one.held == ((0,),)
    np.testing.assert_array_equal(one.gains[0], hold_gains(s, 0))
    np.testing.assert_array_equal(one.outputs, golden_ablation(s, components=[0]).outputs)
    assert golden_ablation(s, components=np.int64(1)).held == ((1,),)


def test_no_trials_and_missing_gains_are_refused():
    with pytest.raises(ValueError, match=r"not empty, got \(0, 7, 4\)"):
        hold_gains(S[:0], 1)
    with pytest.raises(ValueError, match="gains is needed, got None"):
        hold_gains(None, 1)
    with pytest.raises(ValueError, match="to is needed, got None"):
        hold_gains(S, 1, to=None)


def test_all_gains_held_give_the_golden_networks_without_them():
    s = np.random.default_rng(0).uniform(size=(110, 2))
    for value, known in ((1.0, GAINS_ONE), (0.0, GAINS_ZERO)):
        found = golden_ablation(s, components=[[0, 1], 0], to=value)
        assert found.held == ((0, 1), (0,))
        assert found.gains.shape == (2, 110, 2)
        assert found.outputs.shape == (2, 110, 1)
        np.testing.assert_allclose(found.outputs[0, STEPS, 0], known, rtol=0, atol=1e-12)
        assert np.max(np.abs(found.outputs[1, STEPS, 0] - known)) > 1e-2
    with pytest.raises(ValueError, match="no error without targets"):
        _ = found.error_change


@pytest.mark.usefixtures("double_precision")
def test_ablations_are_those_of_the_model_with_its_gains_held():
    model = golden()
    rng = np.random.default_rng(0)
    u = golden_inputs() * rng.uniform(0.5, 1, size=(4, 1, 3))
    run = simulate(model, u, dt=1.0)
    s = np.asarray(jax.vmap(jax.vmap(model.gains))(run.states.z))
    targets = rng.normal(size=(4, 110, 1))
    found = golden_ablation(s, u, to="initial", targets=targets, groups=[14, 12, 12, 14])
    np.testing.assert_allclose(found.intact, run.outputs, rtol=0, atol=1e-12)
    assert found.held == ((0,), (1,))
    for k in range(2):
        # All trials start from one state with no input, so from one gain.
        held = clamp_gains(model, {k: s[0, 0, k]})
        y = np.asarray(simulate(held, u, dt=1.0).outputs)
        np.testing.assert_allclose(found.outputs[k], y, rtol=0, atol=1e-12)
        for i, trials in enumerate(([1, 2], [0, 3])):
            error = np.mean((y[trials] - targets[trials]) ** 2)
            before = np.mean((np.asarray(run.outputs)[trials] - targets[trials]) ** 2)
            assert found.error.values[k, i] == pytest.approx(error, rel=1e-12)
            assert found.error_change[k, i] == pytest.approx(error - before, rel=1e-9)
    assert found.error.groups.tolist() == found.intact_error.groups.tolist() == [12, 14]
    # Sharing the inputs, or the gains, of all trials changes nothing but the number of trials.
    shared = golden_ablation(s, u[0])
    np.testing.assert_allclose(shared.outputs[:, 0], found.outputs[:, 0], rtol=0, atol=1e-12)
    shared = golden_ablation(s[0], u)
    np.testing.assert_allclose(shared.outputs[:, 0], found.outputs[:, 0], rtol=0, atol=1e-12)


def test_a_common_gain_can_be_held_and_ablations_stay_in_jax():
    s = jnp.asarray(np.random.default_rng(0).uniform(size=(110, 1)))
    found = jax.jit(lambda s: golden_ablation(s, to=1.0).outputs)(s)
    np.testing.assert_allclose(found[0, np.array(STEPS), 0], GAINS_ONE, rtol=0, atol=5e-7)


def test_arguments_that_do_not_fit_are_refused():
    s, trials = np.ones((110, 2)), np.ones((2, 110, 2))
    for gains, options, message in (
        (np.ones(2), {}, r"gains must be \(time, gain\)"),
        (s, {"components": []}, "nothing to hold"),
        (s, {"components": [2]}, "out of range"),
        (s, {"groups": [0]}, "give targets too"),
        (s, {"mask": np.ones((1, 110))}, "give targets too"),
        (s, {"targets": np.ones((3, 110, 1))}, "trial axis"),
        (trials, {"targets": np.ones((3, 110, 1))}, "outputs must be"),
        (s, {"d": np.ones(2)}, "d must be"),
        (s, {"d": np.array([np.nan])}, "d must be finite"),
        (np.ones((110, 3)), {}, "one entry for each of 2 component"),
        (np.ones((100, 2)), {}, "same number of steps"),
        (s, {"dt": 20.0}, "not below 2 tau"),
        (s, {"phi": "tanh"}, "phi must be a function"),
        (None, {}, "gains is needed"),
        (np.ones((0, 110, 2)), {}, "not empty"),
    ):
        with pytest.raises(ValueError, match=message):
            golden_ablation(gains, **options)
