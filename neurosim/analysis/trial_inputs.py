"""Inputs given alongside activity, sample for sample."""

from typing import Any

import numpy as np

from .estimator import refuse_traced
from .trial_arrays import TrialArray, read_trials


def read_inputs(inputs: Any, read: TrialArray, there: np.ndarray) -> np.ndarray:
    """Inputs as `(trial, time, channel)`, float64, 0 beyond the end of a shorter trial.

    **Arguments:**

    - `inputs`: in the layout of the activity, channels in place of units; `None` for no channel.
    - `read`: the activity. `there`: `(trial, time)`, the times that each trial has.

    **Raises:** `ValueError` for another layout, other numbers of trials or times, or values that
    are not finite. `TypeError` under `jit`, `grad` or `vmap`.
    """
    if inputs is None:
        return np.zeros((*there.shape, 0))
    refuse_traced(inputs, "inputs")
    given = read_trials(inputs, name="inputs")
    counts = given.mask[..., 0]
    if given.layout != read.layout or counts.shape != there.shape or (counts != there).any():
        raise ValueError(
            "inputs must have the layout of X, input channels in place of units: X is "
            f"{_described(read.layout, there)}, inputs are {_described(given.layout, counts)}."
        )
    return np.asarray(given.values, np.float64)


def _described(layout: str, there: np.ndarray) -> str:
    if layout == "samples":
        return f"(time, ...) of {there.shape[1]} time(s)"
    if layout == "trials":
        return f"(trial, time, ...) of {there.shape[0]} trial(s) and {there.shape[1]} time(s)"
    return f"a list of trials of {there.sum(axis=1).tolist()} time(s)"
