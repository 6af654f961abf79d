"""What is done about values that are missing: refuse, mask, or leave units or trials out."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..activity import as_floating
from ..trial_arrays import refuse_traced
from .trials import padding_mask

POLICIES = ("raise", "mask", "omit_units", "omit_trials")


class CompleteTrials(NamedTuple):
    """Trials without missing values; see `complete_trials`."""

    X: np.ndarray
    mask: np.ndarray
    kept_trials: np.ndarray
    kept_units: np.ndarray


def complete_trials(X: Any, *, nan_policy: str = "raise", mask: Any = None) -> CompleteTrials:
    """Trials with finite values everywhere, and a mask of the samples that count.

    NaN that pads a trial at its ends, in all units, is taken out of the mask whatever the policy.
    What happens to any other NaN is the caller's choice:

    - `"raise"`: it is refused, with its place.
    - `"mask"`: the sample counts for no unit.
    - `"omit_units"`: units with a NaN in any trial are left out.
    - `"omit_trials"`: trials with a NaN in any unit are left out.

    A warning says how many units or trials were left out.

    **Arguments:**

    - `X`: `(trial, time, unit)`.
    - `nan_policy`: see above.
    - `mask`: booleans `(trial, time)`, false where `X` is not looked at.

    **Returns:** `CompleteTrials`:

    - `X`: `(trial, time, unit)`, float64, 0 where the mask is false.
    - `mask`: `(trial, time)`.
    - `kept_trials`, `kept_units`: their places in what was given.

    **Raises:** `ValueError` for another layout or policy, infinite values, NaN under `"raise"`, a
    trial without a sample, or nothing that is left.
    """
    refuse_traced((X, mask), "X")
    values = np.asarray(as_floating(X, "X"), np.float64)
    if values.ndim != 3 or values.size == 0:
        raise ValueError(f"X must be (trial, time, unit), not empty; got shape {values.shape}.")
    counts = padding_mask(values)
    if mask is not None:
        given = np.asarray(mask)
        if given.dtype != bool or given.shape != values.shape[:2]:
            raise ValueError(
                f"mask must be booleans of shape {values.shape[:2]}, got {given.dtype} of shape "
                f"{given.shape}."
            )
        counts &= given
    return apply_policy(values, counts, nan_policy)


def apply_policy(values: np.ndarray, counts: np.ndarray, nan_policy: str) -> CompleteTrials:
    """Do about missing values what the policy says; see `complete_trials`, without padding."""
    if nan_policy not in POLICIES:
        raise ValueError(f"nan_policy must be one of {POLICIES}, got {nan_policy!r}.")
    looked_at = np.where(counts[..., None], values, 0.0)
    if np.isinf(looked_at).any():
        raise ValueError(f"X is infinite at {_first(np.isinf(looked_at))}.")
    missing: Any = np.isnan(looked_at)
    if nan_policy == "raise" and missing.any():
        raise ValueError(
            f"X holds {int(missing.sum())} missing value(s), NaN or left out by the clock, the "
            f"first at {_first(missing)}. Fill them, or choose another nan_policy of {POLICIES}."
        )
    kept_trials, kept_units = np.arange(values.shape[0]), np.arange(values.shape[2])
    if nan_policy == "mask":
        counts = counts & ~missing.any(axis=2)
    elif nan_policy == "omit_units":
        kept_units = _kept(missing.any(axis=(0, 1)), "unit")
    elif nan_policy == "omit_trials":
        kept_trials = _kept(missing.any(axis=(1, 2)) | ~counts.any(axis=1), "trial")
    counts = counts[kept_trials]
    empty = np.flatnonzero(~counts.any(axis=1))
    if len(empty) > 0:
        raise ValueError(f"trial {int(kept_trials[empty[0]])} has no sample that counts.")
    left = values[kept_trials][:, :, kept_units]
    return CompleteTrials(np.where(counts[..., None], left, 0.0), counts, kept_trials, kept_units)


def _first(where: np.ndarray) -> str:
    trial, time, unit = (int(i) for i in np.argwhere(where)[0])
    return f"trial {trial}, time {time}, unit {unit}"


def _kept(dropped: np.ndarray, kind: str) -> np.ndarray:
    if dropped.all():
        raise ValueError(f"every {kind} has missing values: nothing would be left.")
    if dropped.any():
        n, places = int(dropped.sum()), np.flatnonzero(dropped)
        warnings.warn(
            f"left out {n} of {len(dropped)} {kind}s with missing values: "
            f"{', '.join(str(i) for i in places[:10])}{', ...' if n > 10 else ''}.",
            stacklevel=4,
        )
    return np.flatnonzero(~dropped)
