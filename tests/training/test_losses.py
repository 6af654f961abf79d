import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_circuits import Accumulate, Constant, TinyRNN, constant_trials

from neurosim import simulate
from neurosim.training import (
    activity_loss,
    masked_mse,
    masked_sse,
    mean_squared_error,
    pattern_mismatch,
    rate_fluctuation,
    rate_norm,
    rate_power,
    weighted_sum,
)

Y = np.array([1.0, 2.0, 3.0])
TARGET = np.array([1.5, np.nan, 2.0])
MASK = np.array([1.0, 0.0, 1.0])


@pytest.mark.parametrize("double", [False, True])
def test_nan_targets_under_the_mask_are_not_read(double):
    with jax.enable_x64(double):
        y = jnp.asarray(Y)
        assert y.dtype == (jnp.float64 if double else jnp.float32)

        def sse(y):
            return masked_sse(y, TARGET, MASK)

        assert float(sse(y)) == 1.25
        np.testing.assert_array_equal(jax.grad(sse)(y), [-1, 0, 2])
        tangent = jnp.asarray([1.0, 5.0, 1.0])
        assert float(jax.jvp(sse, (y,), (tangent,))[1]) == 1.0
        # Two entries are asked for, so the mean is half the sum.
        assert float(masked_mse(y, TARGET, MASK)) == 0.625
        np.testing.assert_array_equal(
            jax.grad(lambda y: masked_mse(y, TARGET, MASK))(y), [-0.5, 0, 1]
        )


def test_nan_outputs_under_the_mask_are_not_read():
    y = jnp.array([1.0, jnp.nan, 3.0])
    assert float(masked_sse(y, TARGET, MASK)) == 1.25
    assert np.isfinite(jax.grad(lambda y: masked_sse(y, TARGET, MASK))(y)).all()


def test_the_mask_counts_once_for_every_output_channel():
    y, target = jnp.full((2, 3, 4), 2.0), jnp.zeros((2, 3, 4))
    mask = jnp.zeros((2, 3, 1)).at[:, -1].set(1.0)
    assert float(masked_mse(y, target, mask)) == 4.0


def test_a_mask_of_zeros():
    y = jnp.asarray(Y)
    with pytest.raises(ValueError, match="zero everywhere"):
        masked_mse(y, y, jnp.zeros(3))
    value, slope = jax.jit(jax.value_and_grad(lambda y: masked_mse(y, y, jnp.zeros(3))))(y)
    assert float(value) == 0
    np.testing.assert_array_equal(slope, 0)


def test_shapes_that_do_not_fit_are_not_broadcast():
    with pytest.raises(ValueError, match="3 output channels for 1 targets"):
        masked_mse(jnp.zeros((2, 5, 3)), jnp.zeros((2, 5, 1)), jnp.ones((2, 5, 1)))
    with pytest.raises(ValueError, match="mask has shape"):
        masked_mse(jnp.zeros((2, 5, 3)), jnp.zeros((2, 5, 3)), jnp.ones((2, 4, 3)))


PENALTIES = {
    "norm": (rate_norm, 0.0),
    "power": (rate_power, 0.0),
    "cosine": (lambda rates: pattern_mismatch(rates, jnp.ones(3)), 1.0),
    "fluctuation": (rate_fluctuation, 0.0),
}


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", list(PENALTIES))
def test_penalties_of_a_silent_population_are_finite(name, double):
    penalty, at_rest = PENALTIES[name]
    with jax.enable_x64(double):
        rates = jnp.zeros((2, 5, 3))
        value, gradient = jax.value_and_grad(penalty)(rates)
        assert float(value) == at_rest
        assert np.isfinite(gradient).all()
        tangents = jnp.stack([jnp.ones_like(rates), 2 * jnp.ones_like(rates)])
        slopes = jax.vmap(lambda v: jax.jvp(penalty, (rates,), (v,))[1])(tangents)
        assert np.isfinite(slopes).all()


def test_penalties_of_a_known_population():
    rates = jnp.broadcast_to(jnp.array([3.0, 4.0]), (2, 5, 2))
    assert float(rate_norm(rates)) == 5
    assert float(rate_power(rates)) == 12.5
    assert float(rate_fluctuation(rates)) == 0
    assert float(pattern_mismatch(rates, jnp.array([4.0, 3.0]))) == pytest.approx(1 - 24 / 25)
    two_times = jnp.array([[[1.0], [3.0]]])
    assert float(rate_fluctuation(two_times)) == 1


def test_a_sum_of_losses_on_a_trajectory():
    model = Constant(jnp.array([3.0]))
    trials = constant_trials([1.0])
    trajectory = simulate(model, trials.inputs, dt=0.1)
    power = activity_loss(rate_power, of=lambda trajectory: trajectory.outputs)
    loss = weighted_sum((1, mean_squared_error), (0.5, power))
    assert float(loss(trajectory, trials)) == 4 + 4.5
    with pytest.raises(ValueError, match="at least one"):
        weighted_sum()


def test_a_silent_network_has_a_finite_gradient_of_its_activity():
    model = TinyRNN(jnp.zeros((2, 2)), jnp.zeros((2, 1)), jnp.zeros((1, 2)), jnp.zeros(2))

    trials = Accumulate().sample(jax.random.key(0), 3)

    @jax.jit
    @jax.grad
    def gradient(model):
        trajectory = simulate(model, trials.inputs, dt=0.2)
        return activity_loss(rate_norm)(trajectory, trials)

    for leaf in jax.tree.leaves(gradient(model)):
        assert np.isfinite(leaf).all()
