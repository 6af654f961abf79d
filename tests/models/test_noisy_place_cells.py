"""Noise of place cells in time, against the law of an Ornstein-Uhlenbeck process."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models import Environment, FieldStatistics, PlaceMap, PlaceMapEnsemble
from neurosim.models.noisy_place_cells import NoisyPlaceCells
from neurosim.models.place_cell_noise import ConstantNoise, PoissonLikeNoise

TAU, DT, N = 0.1, 0.05, 4000
MAP = PlaceMap(
    jnp.array([[[0.2]], [[0.5]], [[0.6]]]),
    jnp.ones((3, 1), bool),
    jnp.full((3, 1), 0.4),
    jnp.array([29.9, 29.9, 10.0]),
    ensemble=PlaceMapEnsemble(Environment(1.0), FieldStatistics.preset("rooke2024_1d"), 0.4),
)
HELD = np.full((20, 1), 0.5)
CASES: Any = ({}, {"noise": 1.0})
RATES = np.asarray(MAP([0.5]), np.float64)


def run(own, inputs: Any = HELD, **options: Any):
    model = NoisyPlaceCells(MAP, own, start=[0.5], tau=TAU)
    options = {"dt": DT, "batch_size": N, "key": jax.random.key(0), **options}
    return simulate(model, inputs, **options)


@pytest.mark.parametrize("noise", [ConstantNoise(2.0), PoissonLikeNoise(0.5)])
def test_law_at_a_position_that_is_held(noise):
    states = np.asarray(run(noise).states, np.float64)
    v = 4.0 if noise.kind == "constant" else 0.5 * RATES
    # From the rates, at steps of half a time constant: four standard errors.
    for step in (0, 1, 19):
        grown = -np.expm1(-2 * (step + 1) * DT / TAU)
        np.testing.assert_allclose(states[:, step].mean(axis=0), RATES, atol=4 * 3.9 / N**0.5)
        np.testing.assert_allclose(states[:, step].var(axis=0), v * grown, rtol=4 * (2 / N) ** 0.5)
    z = (states - RATES) / np.sqrt(v)
    for lag in (1, 3):
        r = np.mean(z[:, 19] * z[:, 19 - lag])
        assert r == pytest.approx(np.exp(-lag * DT / TAU), abs=4 / (3 * N) ** 0.5)
    # Cells are independent.
    assert abs(np.mean(z[:, 19, 0] * z[:, 19, 1])) < 4 / N**0.5


def test_euler_converges_to_it():
    # Its variance is v / (1 - dt / (2 tau)).
    states = run(ConstantNoise(2.0), solver=diffrax.Euler(), substeps=4).states
    expected = 4 / (1 - DT / 4 / (2 * TAU))
    assert np.var(states[:, -1] - RATES) == pytest.approx(expected, rel=4 * (2 / 3 / N) ** 0.5)


def test_rates_follow_the_animal_and_are_not_negative():
    path = np.linspace(0, 1, 20)[:, None]
    quiet = run(ConstantNoise(2.0), path, noise=0, key=None, batch_size=None)
    f, r = np.asarray(MAP(path), np.float64), RATES
    for step in range(20):
        r = f[step] + (r - f[step]) * np.exp(-DT / TAU)
        np.testing.assert_allclose(quiet.states[step], r, rtol=1e-5)
    model = NoisyPlaceCells(MAP, ConstantNoise(2.0), start=[0.5])
    np.testing.assert_array_equal(model.readout(jnp.array([-1.0, 0, 2])), [0, 0, 2])


def test_noise_that_is_asked_for_takes_the_place_of_its_own():
    """As for every model: `noise` per square root of time, added at the end of the step."""
    own, asked = (
        np.asarray(run(ConstantNoise(2.0), **options).states[:9, 0]) - RATES for options in CASES
    )
    ratio = 2 * np.sqrt(-np.expm1(-2 * DT / TAU) / DT)
    np.testing.assert_allclose(own, ratio * asked, rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("double_precision")
def test_slopes():
    fields = MAP.centres.astype(float), MAP.mask, MAP.widths.astype(float), MAP.gain.astype(float)
    model = NoisyPlaceCells(PlaceMap(*fields), PoissonLikeNoise(0.5), start=[0.5], tau=TAU)
    r, x, dW = jnp.asarray(RATES + 3), jnp.array([0.3]), jnp.array([0.1, -0.2, 0.3])

    @jax.jit
    def at(h):
        """The step with noise and its slope along a line, and what a short step does."""

        def end(h):
            return model.noisy_step(0.0, r + h, x + h, 0.05, dW)

        short = (model.step(0.0, r, x, 1e-6) - r) / 1e-6
        return *jax.jvp(end, (h,), (1.0,)), short, model.vector_field(0.0, r, x)

    (low, *_), (_, slope, short, flow), (high, *_) = at(-1e-5), at(0.0), at(1e-5)
    np.testing.assert_allclose(short, flow, rtol=1e-4)
    np.testing.assert_allclose(slope, (high - low) / 2e-5, rtol=1e-6)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="tau must be positive"):
        NoisyPlaceCells(MAP, ConstantNoise(1.0), start=[0.5], tau=0.0)
    with pytest.raises(ValueError, match="takes 1"):
        run(ConstantNoise(1.0), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="needs a key"):
        run(ConstantNoise(1.0), key=None)
