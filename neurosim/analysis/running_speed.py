"""How fast an animal moves and turns, from its tracked positions and headings."""

from math import tau
from typing import Any

import numpy as np

from .activity import as_floating
from .estimator import refuse_traced
from .io.nwb_series import NWBSeries
from .spatial_bins import read_wrap
from .task_metrics import circular_difference


def running_speed(
    times: Any, positions: Any, *, smoothing: Any = 0.0, wrap: Any = False, period: Any = None
) -> np.ndarray:
    """Speed at each sample by finite differences: central ones, one-sided at the ends.

    Next to lost positions (NaN) the side that is known is taken; speed is NaN where the position
    is, and where neither neighbour is known.

    **Arguments:**

    - `times`: `(sample,)`, in s, increasing.
    - `positions`: `(sample,)` or `(sample, d)`.
    - `smoothing`: standard deviation in s of a Gaussian over which velocities are averaged, 0 for
        none; tracking in whole pixels needs some.
    - `wrap`: whether the ends of a dimension meet, for all dimensions or for each.
    - `period`: of the dimensions that wrap, or one for each dimension.

    **Returns:** `(sample,)`, in the unit of positions per s.

    **Raises:** `ValueError` for times or positions as `rate_maps` refuses them.
    """
    clock, x = read_path(times, positions)
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be finite and not negative, got {smoothing}.")
    velocity = _velocity(clock, displacements(x, wrap, period))
    if smoothing > 0:
        velocity = _smoothed(clock, velocity, float(smoothing))
    return np.sqrt(np.sum(velocity**2, axis=1))


def angular_velocity(times: Any, headings: Any, *, period: float | int = tau) -> np.ndarray:
    """Turns at each sample, positive towards larger angles: `running_speed` with its sign.

    350, 355, 0, 5 and 10 degrees at 50 Hz are 250 degrees/s throughout.

    **Arguments:**

    - `times`: `(sample,)`, in s, increasing.
    - `headings`: `(sample,)`, angles; NaN where they are lost.
    - `period`: of a full turn in the unit of the angles: 2 pi by default, 360 for degrees.

    **Returns:** `(sample,)`, in the unit of the angles per s.

    **Raises:** `ValueError` for times or headings as `rate_maps` refuses them.
    """
    clock, x = read_path(times, headings, names=("times", "headings"))
    if x.shape[1] != 1:
        raise ValueError(f"headings must be (sample,), got {x.shape}.")
    return _velocity(clock, displacements(x, True, period))[:, 0]


def angular_speed(times: Any, headings: Any, *, period: float | int = tau) -> np.ndarray:
    """How fast a heading turns at each sample, either way: `angular_velocity` without its sign."""
    return np.abs(angular_velocity(times, headings, period=period))


def read_path(
    times: Any, positions: Any, *, names: tuple[str, str] = ("times", "positions")
) -> tuple[np.ndarray, np.ndarray]:
    """Times `(sample,)` and positions `(sample, d)` of a tracked animal, NumPy float64.

    **Raises:** `ValueError` for shapes that do not fit, times that do not increase, with the
    place, or positions that are infinite.
    """
    refuse_traced((times, positions), names[1])
    position_values = positions
    if hasattr(positions, "t") or isinstance(positions, NWBSeries):
        position_values = positions.values
    clock = sample_times(times, names[0])
    x = np.asarray(as_floating(position_values, names[1]), np.float64)
    if x.ndim == 1:
        x = x[:, None]
    if clock.ndim != 1 or x.ndim != 2 or len(x) != len(clock) or x.shape[1] not in (1, 2):
        raise ValueError(
            f"{names[0]} must be (sample,) and {names[1]} (sample,) or (sample, 1 or 2); got "
            f"{clock.shape} and {np.shape(position_values)}."
        )
    if len(clock) < 2:
        raise ValueError(f"{names[1]} must hold at least two samples, got {len(clock)}.")
    if not np.isfinite(clock).all():
        i = int(np.flatnonzero(~np.isfinite(clock))[0])
        raise ValueError(f"{names[0]} must be finite: sample {i} is {clock[i]}.")
    back = np.flatnonzero(np.diff(clock) <= 0)
    if len(back) > 0:
        i = int(back[0])
        how = "is at the same time as" if clock[i + 1] == clock[i] else "comes before"
        raise ValueError(
            f"{names[0]} must increase: sample {i + 1} ({clock[i + 1]:.9g}) {how} sample {i} "
            f"({clock[i]:.9g}); so do {len(back)}. Of two samples at one time keep one, and find "
            "out why others are out of order."
        )
    if np.isinf(x).any():
        i = int(np.flatnonzero(np.isinf(x).any(axis=1))[0])
        raise ValueError(f"{names[1]} must be finite, or NaN where lost: sample {i} is {x[i]}.")
    return clock, x


def sample_times(times: Any, name: str = "times") -> np.ndarray:
    """The times of samples as an array, of a pynapple object or an `NWBSeries` too."""
    if hasattr(times, "t"):
        times = times.t
    elif isinstance(times, NWBSeries):
        times = times.times
    return np.asarray(as_floating(times, name), np.float64)


def displacements(x: np.ndarray, wrap: Any, period: Any) -> np.ndarray:
    """Way from each sample to the next, `(sample - 1, d)`, the short way round where it wraps.

    **Raises:** `ValueError` for dimensions that wrap without a period.
    """
    steps = np.diff(x, axis=0)
    round_the_end = read_wrap(wrap, x.shape[1])
    if any(round_the_end):
        if period is None:
            raise ValueError("positions that wrap need their period.")
        periods = np.broadcast_to(np.asarray(period, np.float64), (x.shape[1],))
        for axis in np.flatnonzero(round_the_end):
            later, earlier = x[1:, axis], x[:-1, axis]
            steps[:, axis] = circular_difference(later, earlier, period=float(periods[axis]))
    return steps


def _velocity(clock: np.ndarray, steps: np.ndarray) -> np.ndarray:
    none = np.full((1, steps.shape[1]), np.nan)
    dt = np.diff(clock)[:, None]
    before, after = np.concatenate([none, steps]), np.concatenate([steps, none])
    span = np.concatenate([none, np.broadcast_to(dt, steps.shape)])
    until = np.concatenate([np.broadcast_to(dt, steps.shape), none])
    both = (before + after) / (span + until)
    return np.where(np.isnan(both), np.where(np.isnan(before), after / until, before / span), both)


def _smoothed(clock: np.ndarray, velocity: np.ndarray, width: float) -> np.ndarray:
    """Averages with Gaussian weights in time over the samples that are known."""
    known = np.asarray(np.isfinite(velocity).all(axis=1))
    values = np.where(known[:, None], velocity, 0)
    total, weight = np.zeros_like(values), np.zeros(len(clock))
    reach = int(np.ceil(4 * width / np.median(np.diff(clock))))
    for lag in range(-min(reach, len(clock) - 1), min(reach, len(clock) - 1) + 1):
        here = slice(max(0, -lag), len(clock) - max(0, lag))
        there = slice(max(0, lag), len(clock) - max(0, -lag))
        w = np.exp(-0.5 * ((clock[there] - clock[here]) / width) ** 2) * known[there]
        total[here] += w[:, None] * values[there]
        weight[here] += w
    # A sample that is known is among its own.
    mean = total / np.where(known, weight, 1)[:, None]
    return np.where(known[:, None], mean, np.nan)
