"""Simulated sessions with known truth: an animal that wanders, and cells that fire by position."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels import check_dt, steps_in, time_grid
from ..kernels.integrated_ornstein_uhlenbeck import reflect, velocity_step
from .activity import as_floating
from .rate_maps import RateMaps
from .resampling import as_generator
from .running_speed import read_path
from .spatial_bins import bins_of_maps, read_wrap


class Foraging(NamedTuple):
    """A simulated path; see `random_foraging`."""

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray


def random_foraging(
    duration: float | int,
    dt: float | int,
    *,
    box: Any,
    speed: Any = 0.08,
    coherence_time: Any = 0.7,
    wrap: Any = False,
    start: Any = None,
    random_state: Any = 0,
) -> Foraging:
    """The path of an animal with Ornstein-Uhlenbeck velocity in a box with reflecting walls.

        dv = -v / tau dt + sqrt(2 / tau) speed dW,    dx = v dt

    in each dimension. Velocity and position are drawn from their exact joint law over a step, so
    their statistics at the samples do not depend on `dt`: velocities are normal, independent of
    position, and forget themselves as exp(-lag / tau); positions are uniform over the box. A path
    that is reflected at walls is the free path folded into the box, and is computed so. Walls
    neither attract nor repel; for an animal that keeps away from them, whose law over a step is not
    known in closed form, `simulate` a `models.RodentMotion`.

    **Arguments:**

    - `duration`: in s, a multiple of `dt`.
    - `dt`: time between samples, in s.
    - `box`: `(low, high)` of a track, or a pair of these for a rectangle, in any unit of length.
    - `speed`: standard deviation of velocity in each dimension, in that unit per s. The defaults
        are those of rats, in m.
    - `coherence_time`: tau in s.
    - `wrap`: whether the ends of a dimension meet, in place of walls; for all or for each.
    - `start`: `(d,)`, the first position; by default anywhere.
    - `random_state`: seed or generator.

    **Returns:** `Foraging`: `times`, `(sample,)`, from 0 to `duration`; `positions` and
    `velocities`, `(sample, d)`.

    **Raises:** `ValueError` for a duration that is no multiple of `dt`, a box without extent, a
    start outside of it, or a speed or time that is not positive.

    **Reference:** George et al. (2024), RatInABox, eLife 13, RP85274, for the defaults.
    """
    # Slow to import, and needed by nothing else in this room.
    from scipy.signal import lfilter

    n = steps_in(duration, dt)
    step, tau_s, sd = check_dt(dt), float(coherence_time), float(speed)
    if not 0 < tau_s < np.inf or not 0 < sd < np.inf:
        raise ValueError(
            f"speed and coherence_time must be positive and finite, got {speed} and "
            f"{coherence_time}."
        )
    low, high = _read_box(box)
    d = len(low)
    round_the_end = np.array(read_wrap(wrap, d))
    rng = as_generator(random_state)
    first = low + (high - low) * rng.random(d)
    if start is not None:
        first = np.broadcast_to(np.asarray(as_floating(start, "start"), np.float64), (d,))
        if not ((first >= low) & (first <= high)).all():
            raise ValueError(f"start must lie in the box, got {start}.")
    law = velocity_step(step, coherence_time=tau_s, speed=sd)
    draw = rng.normal(size=(2, n, d))
    v = np.empty((n + 1, d))
    v[0] = sd * rng.normal(size=d)
    v[1:] = lfilter([1.0], [1.0, -law.keep], law.kick * draw[0], axis=0, zi=law.keep * v[:1])[0]
    moves = law.reach * v[:-1] + law.share * draw[0] + law.rest * draw[1]
    free = np.concatenate([first[None], first + np.cumsum(moves, axis=0)])
    positions, turned = reflect(free, low, high)
    around = low + np.mod(free - low, high - low)
    positions = np.where(round_the_end, np.clip(around, low, high), positions)
    v = np.where(turned & ~round_the_end, -v, v)
    return Foraging(time_grid(n, step), positions, v)


def _read_box(box: Any) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.atleast_2d(np.asarray(as_floating(box, "box"), np.float64))
    if pairs.shape not in ((1, 2), (2, 2)) or not np.isfinite(pairs).all():
        raise ValueError(f"box must be (low, high), or a pair of these; got {box}.")
    if not (pairs[:, 0] < pairs[:, 1]).all():
        raise ValueError(f"box must have low < high in each dimension, got {box}.")
    return pairs[:, 0], pairs[:, 1]


def poisson_spikes(
    rates: Any,
    times: Any,
    positions: Any,
    *,
    edges: Any = None,
    wrap: Any = None,
    dispersion: float | int = 1.0,
    window: float | int = 0.1,
    random_state: Any = 0,
) -> list[np.ndarray]:
    """Spikes of cells that fire as Poisson processes with a rate given by position.

    Between two samples the rate goes straight from one to the other. With a `dispersion` F above 1
    the rate is multiplied by a gamma number in each window, of mean 1 and variance (F - 1) / m
    where m spikes are expected in it: the count has the variance F m. That is Poisson-like noise of
    the rate, with phi = F / `window`.

    **Arguments:**

    - `rates`: a function of positions `(sample, d)` that returns rates `(sample, cell)` in Hz; or
        `RateMaps`, or maps `(cell, *bins)` with their `edges`, read without interpolation.
    - `times`: `(sample,)`, in s, increasing; `positions`: `(sample,)` or `(sample, d)`.
    - `edges`, `wrap`: of the bins of maps; those of `RateMaps` by default.
    - `dispersion`: Fano factor of the counts in a window, at least 1, that of a Poisson process.
    - `window`: in s, counted from the first sample; the last one may be shorter.
    - `random_state`: seed or generator. Each cell has a stream of its own.

    **Returns:** for each cell its spike times, sorted.

    **Raises:** `ValueError` for rates that are negative or not finite somewhere on the path, as in
    unvisited bins, positions that are NaN or outside of the bins, maps without edges, a dispersion
    below 1, or a window that is not positive.
    """
    if not (1 <= dispersion < np.inf and 0 < window < np.inf):
        raise ValueError(
            f"dispersion must be at least 1 and window positive, both finite; got {dispersion} and "
            f"{window}."
        )
    clock, x = read_path(times, positions)
    if np.isnan(x).any():
        raise ValueError("positions must be known throughout: some are NaN.")
    f = rates if callable(rates) else _rate_function(rates, edges, wrap)
    rate = np.asarray(as_floating(f(x), "rates"), np.float64)
    rate = rate[:, None] if rate.ndim == 1 else rate
    if rate.ndim != 2 or len(rate) != len(x):
        raise ValueError(f"rates must be ({len(x)} samples, cell), got shape {rate.shape}.")
    if not (np.isfinite(rate) & (rate >= 0)).all():
        sample, cell = (int(i) for i in np.argwhere(~(np.isfinite(rate) & (rate >= 0)))[0])
        raise ValueError(
            f"rates must be finite and not negative; cell {cell} has {rate[sample, cell]} at "
            f"sample {sample}, position {x[sample].tolist()}."
        )
    expected = np.zeros_like(rate)
    np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(clock)[:, None], axis=0, out=expected[1:])
    starts = clock[0] + np.arange(0, clock[-1] - clock[0], window)
    streams = as_generator(random_state).spawn(rate.shape[1])
    spikes = []
    for cell, rng in enumerate(streams):
        total = expected[-1, cell]
        # Uniform on the clock of expected spikes, where a Poisson process has rate 1.
        if dispersion == 1:
            moments = np.sort(rng.uniform(0, total, rng.poisson(total)))
        else:
            ends = _expected_at(starts, clock, rate[:, cell], expected[:, cell])
            moments = _gamma_mixed(np.append(ends, total), float(dispersion) - 1, rng)
        interval = np.searchsorted(expected[:, cell], moments, side="right") - 1
        interval = np.clip(interval, 0, len(clock) - 2)
        dt, r0 = clock[interval + 1] - clock[interval], rate[interval, cell]
        r1, missing = rate[interval + 1, cell], moments - expected[interval, cell]
        # Root of r0 s + (r1 - r0) s^2 / (2 dt) = missing, in the form that does not cancel.
        root = np.sqrt(np.maximum(r0**2 + 2 * (r1 - r0) / dt * missing, 0))
        s = np.divide(2 * missing, r0 + root, where=r0 + root > 0, out=np.zeros_like(missing))
        spikes.append(clock[interval] + np.clip(s, 0, dt))
    return spikes


def _expected_at(
    t: np.ndarray, clock: np.ndarray, rate: np.ndarray, expected: np.ndarray
) -> np.ndarray:
    """Spikes expected until each of the times `t`, from those until each sample."""
    i = np.clip(np.searchsorted(clock, t, side="right") - 1, 0, len(clock) - 2)
    s, dt = t - clock[i], clock[i + 1] - clock[i]
    return expected[i] + rate[i] * s + (rate[i + 1] - rate[i]) * s**2 / (2 * dt)


def _gamma_mixed(ends: np.ndarray, excess: float, rng: np.random.Generator) -> np.ndarray:
    """Spikes on the clock of expected spikes, with windows between `ends` of gains of their own."""
    width = np.maximum(np.diff(ends), 0)
    counts = rng.poisson(excess * rng.gamma(width / excess))
    return np.sort(
        np.repeat(ends[:-1], counts) + np.repeat(width, counts) * rng.random(counts.sum())
    )


def _rate_function(maps: Any, edges: Any, wrap: Any) -> Callable[[np.ndarray], np.ndarray]:
    if isinstance(maps, RateMaps):
        edges, wrap = maps.edges if edges is None else edges, maps.wrap if wrap is None else wrap
        maps = maps.rates
    if edges is None:
        raise ValueError("maps need their edges, or pass a function of position.")
    rates = np.asarray(as_floating(maps, "rates"), np.float64)
    d = rates.ndim - 1
    bins = bins_of_maps(edges, wrap, rates.shape[1:])

    def rate(x: np.ndarray) -> np.ndarray:
        if x.shape[1] != d:
            raise ValueError(f"maps have {d} dimensions, positions {x.shape[1]}.")
        for axis in range(d):
            out = bins.outside(x[:, axis], axis)
            if out.any():
                raise ValueError(
                    f"positions lie outside of the bins on axis {axis}, the first at sample "
                    f"{int(np.argmax(out))}."
                )
        return rates.reshape(len(rates), -1)[:, bins.indices(x)].T

    return rate
