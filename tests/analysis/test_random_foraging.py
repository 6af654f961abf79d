"""The law of the path, whatever its step, and of the spikes fired along it."""

import numpy as np
import pytest
from scipy.stats import kstest

from neurosim.analysis.random_foraging import poisson_spikes, random_foraging

BOX = ((0.0, 1), (-1, 1))


@pytest.mark.parametrize("dt", [0.02, 0.5])
def test_stationary_law_does_not_depend_on_the_step(dt):
    n = 1_000_000 if dt == 0.02 else 60_000
    path = random_foraging(n * dt, dt, box=BOX, speed=0.3, coherence_time=0.7, random_state=0)
    assert path.positions.shape == path.velocities.shape == (n + 1, 2)
    assert path.times[-1] == pytest.approx(n * dt)
    np.testing.assert_allclose(path.velocities.std(axis=0), 0.3, rtol=0.03)
    # Walls turn the velocity round: what forgets itself is its size.
    for lag in (1, round(1 / dt)):
        v = path.velocities**2
        r = np.mean((v[lag:] - 0.09) * (v[:-lag] - 0.09), axis=0) / (2 * 0.09**2)
        np.testing.assert_allclose(r, np.exp(-2 * lag * dt / 0.7), atol=0.05)
    for axis, (low, high) in enumerate(BOX):
        x = path.positions[:, axis]
        assert low <= x.min() <= x.max() <= high
        assert kstest((x - low) / (high - low), "uniform").statistic < 0.03
        # Position and velocity are independent.
        assert abs(np.corrcoef(x, path.velocities[:, axis])[0, 1]) < 0.03


def test_displacement_far_from_walls():
    # The mean square is 2 s^2 tau^2 (h / tau - 1 + exp(-h / tau)).
    dt = 0.05
    path = random_foraging(5e4 * 1.0, dt, box=(0, 1e9), start=5e8, speed=0.2, random_state=1)
    for lag in (1, 20, 200):
        h = lag * dt / 0.7
        expected = 2 * (0.2 * 0.7) ** 2 * (h - 1 + np.exp(-h))
        step = path.positions[lag:, 0] - path.positions[:-lag, 0]
        assert np.mean(step**2) == pytest.approx(expected, rel=0.05)
    # Velocities are those of the path, which change by 0.2 sqrt(2 dt / tau) = 0.08 in a step.
    middle = (path.positions[2:, 0] - path.positions[:-2, 0]) / (2 * dt)
    assert np.std(middle - path.velocities[1:-1, 0]) < 0.04


def test_velocities_turn_round_at_walls():
    path = random_foraging(500, 0.01, box=(0, 0.2), speed=0.3, random_state=3)
    x, v = path.positions[:, 0], path.velocities[:, 0]
    away = (x[1:-1] > 0.01) & (x[1:-1] < 0.19)
    middle = (x[2:] - x[:-2]) / 0.02
    assert np.corrcoef(middle[away], v[1:-1][away])[0, 1] > 0.98


def test_circles_and_seeds():
    ring = random_foraging(2000, 0.1, box=(0, 360), speed=100, wrap=True, random_state=2)
    steps = np.diff(ring.positions[:, 0])
    assert (np.abs(steps) > 300).any()
    assert kstest(ring.positions[:, 0] / 360, "uniform").statistic < 0.1
    again = random_foraging(2000, 0.1, box=(0, 360), speed=100, wrap=True, random_state=2)
    assert np.array_equal(ring.positions, again.positions)
    assert random_foraging(1, 0.1, box=BOX, start=(0.2, 0.3)).positions[0] == pytest.approx(
        [0.2, 0.3]
    )


def test_spikes_are_poisson_with_the_rate_along_the_path():
    t = np.arange(0, 1000.01, 0.5)
    x = t / 1000
    spikes = poisson_spikes(
        lambda x: np.concatenate([40 * x, 0 * x, 20 + 0 * x], axis=1), t, x, random_state=3
    )
    assert len(spikes[0]) == pytest.approx(20_000, abs=4 * 141)
    assert len(spikes[1]) == 0
    assert np.array_equal(spikes[0], np.sort(spikes[0]))
    # Time rescaled by the rate is uniform, and intervals of a constant rate are exponential.
    assert kstest((spikes[0] / 1000) ** 2, "uniform").pvalue > 0.01
    assert kstest(np.diff(spikes[2]) * 20, "expon").pvalue > 0.01


def test_rates_in_steps_between_samples():
    # Within one step of a rate that goes from 0 to 2 at t = 100, density t.
    (spikes,) = poisson_spikes(lambda x: 2 * x, [0.0, 100], [0.0, 100], random_state=1)
    assert len(spikes) == pytest.approx(10_000, abs=400)
    assert kstest((spikes / 100) ** 2, "uniform").pvalue > 0.01


def test_dispersed_counts():
    """Variance F m in a window, and F m over many, whatever the mean; within one more regular."""
    t = np.arange(0, 2000.01, 0.25)
    x = (t / 2000)[:, None]
    run = {"dispersion": 2.5, "window": 0.5, "random_state": 4}
    spikes = poisson_spikes(lambda x: 0 * x + [[2.0, 20, 0]], t, x, **run)
    for train, rate in zip(spikes[:2], (2, 20)):
        for width in (0.5, 2.0):
            n = np.histogram(train, np.arange(0, 2000.01, width))[0]
            # Four standard errors of a mean, and about that of a variance.
            assert n.mean() == pytest.approx(rate * width, rel=4 * (2.5 / rate / 2000) ** 0.5)
            assert n.var() / n.mean() == pytest.approx(2.5, rel=0.2 * width**0.5)
        # Half a window: its share h of the spikes, of Fano factor 1 + h (F - 1).
        n = np.histogram(train, np.arange(0, 2000.01, 0.25))[0]
        assert n.var() / n.mean() == pytest.approx(1.75, rel=0.2)
    assert len(spikes[2]) == 0
    # Rates that change within a window, and a last one that is short.
    (ramp,) = poisson_spikes(lambda x: 40 * x, t, x, dispersion=1.5, window=0.3, random_state=2)
    assert kstest((ramp / 2000) ** 2, "uniform").pvalue > 0.001
    assert len(ramp) == pytest.approx(40_000, abs=4 * 245)


def test_windows_within_a_step():
    """From 0 to 2 within one step of 100 s: 25 spikes in its first half, 75 in its second."""
    run = {"dispersion": 5, "window": 50, "random_state": 0}
    cells = poisson_spikes(lambda x: np.repeat(2 * x, 4000, axis=1), [0, 100], [0.0, 1], **run)
    for high, mean in ((50, 25), (100, 75)):
        n = np.array([np.sum((t >= high - 50) & (t < high)) for t in cells])
        assert n.mean() == pytest.approx(mean, rel=4 * (5 / mean / 4000) ** 0.5)
        assert n.var() / n.mean() == pytest.approx(5, abs=0.4)


def test_maps_as_rates():
    t = np.arange(0, 400, 0.01)
    x = np.mod(t, 1)
    spikes = poisson_spikes(np.array([[10.0, 30]]), t, x, edges=[0, 0.5, 1], wrap=True)
    late = np.mod(spikes[0], 1) > 0.5
    assert late.mean() == pytest.approx(0.75, abs=0.02)
    # A wall in single precision, which is beyond that in double precision.
    wall = np.full(2, 0.3, np.float32)
    assert len(poisson_spikes(np.ones((1, 1)), [0, 100], wall, edges=[0, 0.3])[0]) > 50


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: random_foraging(1, 0.3, box=BOX), "multiple"),
        (lambda: random_foraging(1, 0.1, box=(1, 0)), "low < high"),
        (lambda: random_foraging(1, 0.1, box=(1, 2, 3)), "box must be"),
        (lambda: random_foraging(1, 0.1, box=BOX, speed=0), "speed and coherence_time"),
        (lambda: random_foraging(1, 0.1, box=BOX, start=(5, 0)), "start must lie in the box"),
        (lambda: random_foraging(1, 0.1, box=BOX, random_state=None), "random_state"),
        (lambda: poisson_spikes(lambda x: -x, [0, 1], [1, 1]), "cell 0 has -1.0 at sample 0"),
        (lambda: poisson_spikes(lambda x: x, [0, 1], [1, np.nan]), "known throughout"),
        (lambda: poisson_spikes(abs, [0, 1], [1, 1], dispersion=0.5), "dispersion must"),
        (lambda: poisson_spikes(abs, [0, 1], [1, 1], window=0), "dispersion must"),
        (lambda: poisson_spikes(lambda x: x[:1], [0, 1], [1, 1]), "must be .2 samples, cell"),
        (lambda: poisson_spikes(np.ones((1, 2)), [0, 1], [1, 1]), "need their edges"),
        (lambda: poisson_spikes(np.ones((1, 2)), [0, 1], [5, 1], edges=[0, 1, 2]), "outside"),
        (lambda: poisson_spikes(np.ones((1, 2)), [0, 1], [1, 1], edges=[0, 2]), "edges are of"),
    ],
)
def test_bad_input(run, message):
    with pytest.raises(ValueError, match=message):
        run()
