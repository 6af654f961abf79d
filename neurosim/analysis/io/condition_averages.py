"""Averages over the trials of each condition."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..activity import ActivityLike, AnyArray
from ..trial_arrays import Conditions, LabelsLike, TrialArray, read_conditions, read_trials


class ConditionAverages(NamedTuple):
    """Averages by condition; see `average_by`."""

    averages: AnyArray
    counts: np.ndarray
    n_samples: np.ndarray
    levels: dict[str, np.ndarray]


def average_by(
    X: ActivityLike,
    labels: LabelsLike,
    *,
    mask: Any = None,
    missing: str = "raise",
    levels: Mapping[str, Sequence[Any] | np.ndarray] | None = None,
) -> ConditionAverages:
    """Average trials over each combination of their labels.

    ```python
    found = average_by(rates, {"stimulus": stimulus, "choice": choice})
    found.averages.shape  # (stimuli, choices, time, units)
    ```

    **Arguments:**

    - `X`: `(trial, time, unit)`, or a list of `(time_i, unit)`.
    - `labels`: arrays `(trial,)` by name, in the order wanted for the axes; or one array.
    - `mask`: booleans `(trial, time)`, or of the shape of `X`, such as where a unit was not
        recorded in every trial; samples that do not count enter no average.
    - `missing`: what is done about a condition without a sample at some time: `"raise"`, or
        `"nan"` in its place.
    - `levels`: by name, the values of a label in the order wanted; by default those there are,
        sorted. Needed to keep a condition that has no trial at all.

    **Returns:** `ConditionAverages`:

    - `averages`: `(level of each label..., time, unit)`, each sample counting the same within a
      condition; NumPy float64 for NumPy, JAX for JAX.
    - `counts`: `(level of each label...,)`, trials of each condition.
    - `n_samples`: `(level of each label..., time, 1)`, samples behind each average; with units as
      its last axis where the mask has them.
    - `levels`: the values of each label by name, in the order of the axes.

    **Raises:** `ValueError` for labels that do not match the trials, a bad layout or mask, values
    that count and are not finite, or a missing condition under `"raise"`, which it names.
    """
    if missing not in ("raise", "nan"):
        raise ValueError(f"missing must be 'raise' or 'nan', got {missing!r}.")
    read = read_trials(X, mask, single=False)
    conditions = read_conditions(labels, len(read.mask), levels=levels)
    averages, n_samples = averages_of(read, conditions)
    if missing == "raise":
        _check_cells(conditions, n_samples)
    shape = conditions.shape
    return ConditionAverages(
        averages=averages.reshape(*shape, *averages.shape[1:]),
        counts=np.bincount(conditions.cell, minlength=conditions.n_cells).reshape(shape),
        n_samples=n_samples.reshape(*shape, *n_samples.shape[1:]),
        levels=conditions.levels,
    )


def averages_of(read: TrialArray, conditions: Conditions) -> tuple[AnyArray, np.ndarray]:
    """Averages `(condition, time, unit)`, NaN where no sample counts, and samples behind each."""
    xp = read.xp
    member = np.arange(conditions.n_cells)[:, None] == conditions.cell
    n_samples = np.tensordot(member.astype(np.int64), read.mask.astype(np.int64), axes=1)
    total = xp.tensordot(xp.asarray(member, dtype=read.values.dtype), read.values, axes=1)
    divisor = xp.asarray(np.maximum(n_samples, 1), dtype=read.values.dtype)
    return xp.where(n_samples > 0, total / divisor, xp.nan), n_samples


def _check_cells(conditions: Conditions, n_samples: np.ndarray) -> None:
    bad = np.argwhere(n_samples == 0)
    if len(bad) == 0:
        return
    cell, time = int(bad[0][0]), int(bad[0][1])
    name = conditions.describe(cell)
    if len(conditions.members(cell)) == 0:
        cells = len(set(range(conditions.n_cells)) - set(conditions.cell.tolist()))
        raise ValueError(
            f"no trial has {name}; {cells} of {conditions.n_cells} conditions have none. Leave "
            "levels out, or pass missing='nan'."
        )
    raise ValueError(
        f"the trials with {name} have no sample at time {time}. Cut trials to a length that every "
        "condition has, or pass missing='nan'."
    )
