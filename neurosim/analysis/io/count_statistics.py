"""Statistics of spike counts: transforms that even out their variance, Fano factor, silence."""

import warnings
from typing import Any, NamedTuple

import jax
import numpy as np

from ...kernels import safe_sqrt
from ..activity import ActivityLike, AnyArray, is_traced, read_activity
from ..trial_arrays import LabelsLike, TrialArray, read_conditions, read_trials, refuse_traced
from .condition_averages import averages_of


class SpikingUnits(NamedTuple):
    """Activity without its silent units; see `drop_silent_units`."""

    X: AnyArray | list[AnyArray]
    kept: np.ndarray


def variance_stabilise(counts: ActivityLike, *, kind: str) -> AnyArray | list[AnyArray]:
    """Transform Poisson counts so that their variance hardly depends on their mean.

    - `kind="sqrt"`: sqrt(n), of variance about 1/4 from a mean of a few spikes on.
    - `kind="anscombe"`: 2 sqrt(n + 3/8), of variance about 1, closer to it at small means.

    **Arguments:**

    - `counts`: `(trial, time, unit)`, a list of `(time_i, unit)`, or `(sample, unit)`.

    **Returns:** the same layout, NumPy float64 for NumPy, JAX for JAX (where the derivative of the
    root at 0 is taken as 0).

    **Raises:** `ValueError` for another kind, a bad layout, or counts that are negative or not
    finite.

    **Reference:** Anscombe (1948), The transformation of Poisson, binomial and negative-binomial
    data, Biometrika 35:246.
    """
    if kind not in ("sqrt", "anscombe"):
        raise ValueError(f"kind must be 'sqrt' or 'anscombe', got {kind!r}.")
    activity = read_activity(counts, name="counts", axis_name="unit")
    _refuse_negative(activity.samples)
    root: Any = np.sqrt if activity.xp is np else safe_sqrt
    n = activity.samples
    return activity.restore(root(n) if kind == "sqrt" else 2 * root(n + 3 / 8))


def fano_factor(
    counts: ActivityLike, *, labels: LabelsLike | None = None, mask: Any = None
) -> AnyArray:
    """Variance over mean of spike counts across trials, at each time.

    1 for a Poisson process, without bias in any number of trials. Trials should be of one
    condition, or labelled with theirs: differences between conditions count as variance.

    **Arguments:**

    - `counts`: `(trial, time, unit)`, or a list of `(time_i, unit)`: counts, not rates, whose
        ratio would depend on the width of a bin.
    - `labels`: arrays `(trial,)` by name, or one array; then each condition has its own.
    - `mask`: booleans `(trial, time)`, or of the shape of `counts`.

    **Returns:** `(time, unit)`, or `(level of each label..., time, unit)`. **NaN marks what has no
    Fano factor**: no spike in any trial, or fewer than two trials. NumPy float64 for NumPy, JAX
    for JAX.

    **Raises:** `ValueError` for a bad layout, labels or mask, or counts that are negative or not
    finite.
    """
    read = read_trials(counts, mask, name="counts", single=False)
    _refuse_negative(read.values)
    one = np.zeros(len(read.mask), int)
    conditions = read_conditions(one if labels is None else labels, len(one))
    xp = read.xp
    mean, n = averages_of(read, conditions)
    known = xp.where(n > 0, mean, 0)
    squares = xp.where(read.mask, (read.values - known[conditions.cell]) ** 2, 0)
    spread, _ = averages_of(TrialArray(squares, read.mask, "trials", None, xp), conditions)
    unbiased = xp.asarray(n / np.maximum(n - 1, 1), dtype=mean.dtype)
    variance = xp.where(n > 1, spread, 0) * unbiased
    there = (n > 1) & (known > 0)
    ratio = xp.where(there, variance / xp.where(there, known, 1), xp.nan)
    return ratio[0] if labels is None else ratio.reshape(*conditions.shape, *ratio.shape[1:])


def drop_silent_units(X: ActivityLike, *, mask: Any = None) -> SpikingUnits:
    """Leave out units that never change, which no correlation or z-score is defined for.

    A warning says how many were left out.

    **Arguments:**

    - `X`: `(trial, time, unit)`, a list of `(time_i, unit)`, or `(sample, unit)`.
    - `mask`: booleans `(trial, time)`; only samples that count are looked at.

    **Returns:** `SpikingUnits`: `X`, in its layout, without these units; and `kept`, `(unit,)`, the
    places of those that are left, for `unit_ids[kept]`.

    **Raises:** `ValueError` for a bad layout or mask, values that count and are not finite, or when
    no unit changes.
    """
    refuse_traced(X, "X")
    read = read_trials(X, mask)
    values = np.asarray(read.values)
    # Compared with a sample that counts, not with the mean, which rounding moves off a constant.
    counts = np.broadcast_to(read.mask, values.shape).reshape(-1, values.shape[-1])
    samples = values.reshape(counts.shape)
    first = np.take_along_axis(samples, counts.argmax(axis=0)[None], axis=0)
    varies = (counts & (samples != first)).any(axis=0)
    if not varies.any():
        raise ValueError(f"none of the {len(varies)} units of X changes: nothing would be left.")
    kept = np.flatnonzero(varies)
    n = len(varies) - len(kept)
    if n > 0:
        warnings.warn(f"left out {n} of {len(varies)} units that never change.", stacklevel=2)
    return SpikingUnits(_select(X, kept), kept)


def _select(X: Any, kept: np.ndarray) -> Any:
    if isinstance(X, np.ndarray) and X.dtype == object:
        X = list(X.ravel())  # what a cell array of MATLAB is loaded as
    if isinstance(X, (list, tuple)):
        return [_select(trial, kept) for trial in X]
    return (X if isinstance(X, jax.Array) else np.asarray(X))[..., kept]


def _refuse_negative(counts: Any) -> None:
    if is_traced(counts):
        return
    least = float(np.min(np.asarray(counts)))
    if least < 0:
        raise ValueError(f"counts must not be negative, got {least:g}.")
