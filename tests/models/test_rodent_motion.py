"""The motion of an animal against the law of its equation, and the one that analysis draws."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf
from scipy.stats import ks_2samp, kstest

from neurosim import simulate
from neurosim.analysis import random_foraging
from neurosim.models.rodent_motion import RodentMotion, RodentMotionState

TAU, S, N = 0.7, 0.3, 4000
KEY = jax.random.key(0)
BOX = ((0.0, 1.0), (-1.0, 1.0))


def moments(t):
    """Variances of displacement and velocity, and covariance, from rest, over S^2."""
    h = t / TAU
    return (
        TAU**2 * (2 * h - 3 + 4 * np.exp(-h) - np.exp(-2 * h)),
        1 - np.exp(-2 * h),
        TAU * (1 - np.exp(-h)) ** 2,
    )


@pytest.mark.parametrize(("dt", "solver"), [(0.5, None), (0.0125, diffrax.Euler())])
def test_from_rest_far_from_walls(dt, solver):
    model = RodentMotion((0.0, 1e3), speed=S, coherence_time=TAU)
    end = simulate(
        model, dt=dt, t1=1.0, batch_size=N, key=KEY, save="final", solver=solver
    ).states  # fmt: skip
    x, v = (np.asarray(a, np.float64)[:, 0, 0] / S for a in (end.x - 500, end.v))
    found = np.mean(x * x), np.mean(v * v), np.mean(x * v)
    # Four standard errors, and what Euler is off.
    np.testing.assert_allclose(found, moments(1.0), rtol=4 * (2 / N) ** 0.5 + 0.5 * (dt < 0.1) * dt)


def test_reflecting_walls_as_in_analysis():
    model = RodentMotion(BOX, speed=S, coherence_time=TAU)
    start = model.draw_states(KEY, N)
    run = simulate(model, dt=0.5, t1=3.0, initial_state=start, key=KEY)
    seen = model.within(run.states)
    x, v = np.asarray(seen.x[:, -1]), np.asarray(seen.v[:, -1])
    np.testing.assert_array_equal(run.outputs[:, -1], x)
    path = random_foraging(3e4, 0.5, box=BOX, speed=S, coherence_time=TAU, random_state=1)
    for axis, (low, high) in enumerate(BOX):
        assert kstest((x[:, axis] - low) / (high - low), "uniform").pvalue > 0.001
        assert kstest(v[:, axis] / S, "norm").pvalue > 0.001
        # Steps of three seconds, with whatever walls did to them.
        step = x[:, axis] - np.asarray(start.x)[:, axis]
        other = path.positions[6::12, axis] - path.positions[:-6:12, axis]
        alike: Any = ks_2samp(step, other[: len(step)])
        assert alike.pvalue > 0.001


def test_walls_that_repel():
    model = RodentMotion((0.0, 0.4), speed=S, coherence_time=TAU, repulsion=4.0)
    end = simulate(
        model, dt=0.02, t1=6.0, initial_state=model.draw_states(KEY, N), key=KEY, save="final"
    ).states  # fmt: skip
    seen = model.within(end)
    x, v = np.asarray(seen.x[:, 0, 0]), np.asarray(seen.v[:, 0, 0])
    # exp(-2 (1 - y / d)^2) next to a wall, 1 in the middle.
    wall = 0.1 * np.sqrt(np.pi / 8)

    def law(y):
        y = np.where(y > 0.2, 0.4 - y, y)
        half = wall * (erf(2**0.5) - erf(2**0.5 * np.clip(1 - y / 0.1, 0, 1)))
        return half + np.maximum(y - 0.1, 0)

    whole = 2 * law(np.array(0.2))
    share = np.where(x > 0.2, whole - law(x), law(x)) / whole
    assert kstest(share, "uniform").pvalue > 0.001
    assert kstest(v / S, "norm").pvalue > 0.001
    assert kstest(x / 0.4, "uniform").pvalue < 1e-6


def test_an_animal_turns_round_at_the_wall():
    """A push of strength 1 stops an animal of velocity s just at the wall."""
    model = RodentMotion((0.0, 1.0), speed=S, coherence_time=1e9, repulsion=1.0)
    start = RodentMotionState(jnp.array([0.2]), jnp.array([-S]))
    x = np.asarray(simulate(model, dt=1e-3, t1=2.0, initial_state=start, noise=0).outputs)
    assert 0 <= x.min() < 1e-3
    assert x[-1] > 0.2
    # Twice as fast it is reflected, and leaves as fast as it came.
    start = RodentMotionState(jnp.array([0.2]), jnp.array([-2 * S]))
    end = simulate(model, dt=1e-3, t1=2.0, initial_state=start, noise=0).states
    assert float(model.within(end).v[1000, 0]) == pytest.approx(2 * S, rel=1e-3)


@pytest.mark.usefixtures("double_precision")
def test_slopes():
    model = RodentMotion((0.0, 1.0), speed=S, repulsion=2.0)
    y, dW = (
        RodentMotionState(jnp.array([a]), jnp.array([b])) for a, b in ((0.04, 0.2), (0.1, 0.3))
    )

    @jax.jit
    def at(h):
        """The step with noise and its slope along a line, and what a short step does."""

        def end(h):
            step = model.noisy_step(0.0, RodentMotionState(y.x + h, y.v + h), None, 0.05, dW)
            return jnp.concatenate(step)

        short = jnp.concatenate(model.step(0.0, y, None, 1e-6)) - jnp.concatenate(y)
        flow = jnp.concatenate(model.vector_field(0.0, y, None))
        return *jax.jvp(end, (h,), (1.0,)), short / 1e-6, flow

    (low, *_), (_, slope, short, flow), (high, *_) = at(-1e-6), at(0.0), at(1e-6)
    np.testing.assert_allclose(short, flow, rtol=1e-4)
    np.testing.assert_allclose(slope, (high - low) / 2e-6, rtol=1e-6)


def test_bad_input_is_refused():
    for make, message in (
        (lambda: RodentMotion((1.0, 0.0)), "low < high"),
        (lambda: RodentMotion((1.0, 2.0, 3.0)), "box must be"),
        (lambda: RodentMotion(speed=0.0), "speed must be"),
        (lambda: RodentMotion(repulsion=-1.0), "repulsion must be"),
        (lambda: RodentMotion(start=(2.0, 0.5)), "start must lie"),
        (lambda: RodentMotion(start=(0.5,)), "start must lie"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
