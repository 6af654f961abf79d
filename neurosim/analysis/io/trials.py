"""Trials of unequal length in one array, and back."""

from typing import Any, NamedTuple

import numpy as np

from ..activity import ActivityLike, AnyArray, as_floating
from ..trial_arrays import read_trials, refuse_traced


class PaddedTrials(NamedTuple):
    """Trials in one array; see `pad_trials`."""

    X: AnyArray
    mask: np.ndarray


def pad_trials(
    trials: ActivityLike, *, align: str = "start", fill: float | int = 0.0
) -> PaddedTrials:
    """Put trials of unequal length into one array, with a mask of the samples that there are.

    Padding is 0 by default and not NaN, which would poison derivatives even under a mask.

    **Arguments:**

    - `trials`: a list of `(time_i, unit)`, or an array `(trial, time, unit)`, which is kept.
    - `align`: whether trials begin (`"start"`) or end (`"end"`) together.
    - `fill`: what to pad with; NaN for tools that take it as the mark of missing samples.

    **Returns:** `PaddedTrials`: `X`, `(trial, time, unit)`, NumPy float64 for NumPy and JAX for
    JAX; and `mask`, booleans `(trial, time)`, true where there is a sample.

    **Raises:** `ValueError` for another layout, an empty trial, trials that differ in their units,
    a value that is not finite (with its place), or another alignment.
    """
    if align not in ("start", "end"):
        raise ValueError(f"align must be 'start' or 'end', got {align!r}.")
    if np.isinf(fill):
        raise ValueError(f"fill must be a finite number or NaN, got {fill}.")
    for i, trial in enumerate(trials if isinstance(trials, (list, tuple)) else ()):
        if np.shape(trial)[:1] == (0,):
            raise ValueError(f"trial {i} has no samples: leave it out.")
    read = read_trials(trials, name="trials", single=False)
    X, mask, xp = read.values, read.mask[..., 0], read.xp
    if align == "end":
        longest = mask.shape[1]
        steps = (np.arange(longest) - (longest - mask.sum(axis=1))[:, None]) % longest
        X = xp.take_along_axis(X, xp.asarray(steps)[..., None], axis=1)
        mask = np.take_along_axis(mask, steps, axis=1)
    return PaddedTrials(X if fill == 0 else xp.where(mask[..., None], X, fill), mask)


def unpad_trials(X: AnyArray, mask: Any) -> list[AnyArray]:
    """The trials of a padded array, each at its own length.

    **Arguments:**

    - `X`: `(trial, time, unit)`.
    - `mask`: booleans `(trial, time)`, true where there is a sample; without gaps.

    **Returns:** a list of `(time_i, unit)`, NumPy float64 for NumPy and JAX for JAX.

    **Raises:** `ValueError` for shapes that do not fit, or a trial that is empty, has a gap, or
    holds a value that is not finite.
    """
    if np.ndim(X) != 3:
        raise ValueError(f"X must be (trial, time, unit), got shape {np.shape(X)}.")
    refuse_traced(mask, "mask")
    if np.shape(mask) != np.shape(X)[:2]:
        raise ValueError(f"mask must have shape {np.shape(X)[:2]}, got {np.shape(mask)}.")
    read = read_trials(X, mask)
    present = read.mask[..., 0]
    starts = np.argmax(present, axis=1)
    stops = starts + present.sum(axis=1)
    for i, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        if not present[i, start:stop].all():
            raise ValueError(
                f"trial {i} has a gap in its mask: its samples cannot be joined across it."
            )
    return [trial[a:b] for trial, a, b in zip(read.values, starts, stops, strict=True)]


def padding_mask(X: AnyArray) -> np.ndarray:
    """Where a NaN-padded array holds samples.

    Padding is what lies before the first and after the last sample of a trial that has any unit.

    **Arguments:**

    - `X`: `(trial, time, unit)`, NaN where padded.

    **Returns:** booleans `(trial, time)`, false in the padding. Elsewhere `X` may hold NaN.

    **Raises:** `ValueError` for another shape.
    """
    refuse_traced(X, "X")
    array = as_floating(X, "X")
    if array.ndim != 3:
        raise ValueError(f"X must be (trial, time, unit), got shape {array.shape}.")
    present: Any = ~np.isnan(np.asarray(array))
    present = present.any(axis=2)
    since = np.logical_or.accumulate(present, axis=1)
    until = np.logical_or.accumulate(present[:, ::-1], axis=1)[:, ::-1]
    return since & until
