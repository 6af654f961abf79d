"""Recordings from xarray, whose axes have names."""

from typing import Any

import numpy as np

from .missing_values import complete_trials
from .signals import SignalTrials


def from_xarray(
    array: Any,
    *,
    trial: str = "trial",
    time: str = "time",
    unit: str = "unit",
    nan_policy: str = "raise",
) -> SignalTrials:
    """Arrays `(trial, time, unit)` from an `xarray.DataArray`, whatever the order of its axes.

    **Arguments:**

    - `array`: a `DataArray` with axes for time and units, and trials if there are several.
    - `trial`, `time`, `unit`: the names of its axes.
    - `nan_policy`: what is done about NaN, see `complete_trials`; NaN that pads trials at either
        end is masked.

    **Returns:** `SignalTrials`. Coordinates along time become `times`, in s where they are dates or
    time differences and as they are otherwise; those along units `unit_ids` and `unit_info`, those
    along trials `labels`.

    **Raises:** `ValueError` for no `DataArray`, axes that are missing or more than these, or what
    `complete_trials` refuses.
    """
    dims = getattr(array, "dims", None)
    if dims is None or not hasattr(array, "coords"):
        raise ValueError(f"array must be an xarray.DataArray, got {type(array).__name__}.")
    if hasattr(array, "data_vars"):
        raise ValueError(
            f"array is a Dataset: choose one of its variables, {list(array.data_vars)}."
        )
    present = tuple(str(name) for name in dims)
    if not {time, unit} <= set(present) <= {trial, time, unit}:
        raise ValueError(
            f"array has axes {present}, but ({trial}, {time}, {unit}) are looked for: pass their "
            "names, as in from_xarray(array, unit='neuron'), or select along others first."
        )
    order = [name for name in (trial, time, unit) if name in present]
    values = np.asarray(array.transpose(*order).values)
    if values.ndim == 2:
        values = values[None]
    complete = complete_trials(values, nan_policy=nan_policy)
    labels = _coordinates(array, trial, values.shape[0])
    along_time = _coordinates(array, time, values.shape[1])
    units = _coordinates(array, unit, values.shape[2])
    clock = _as_seconds(along_time[time] if time in along_time else np.arange(values.shape[1]))
    ids = units.pop(unit, np.arange(values.shape[2]))
    kept_trials, kept_units = complete.kept_trials, complete.kept_units
    return SignalTrials(
        values=complete.X,
        mask=complete.mask,
        times=np.tile(clock, (len(kept_trials), 1)),
        unit_ids=ids[kept_units],
        labels={name: column[kept_trials] for name, column in labels.items()},
        unit_info={name: column[kept_units] for name, column in units.items()},
    )


def _coordinates(array: Any, dim: str, n: int) -> dict[str, np.ndarray]:
    found = {}
    for name, coordinate in array.coords.items():
        if coordinate.dims != (dim,) or coordinate.shape != (n,):
            continue
        values = np.asarray(coordinate.values)
        # The levels of a coordinate of tuples are coordinates themselves.
        if values.dtype != object or not isinstance(values[0], tuple):
            found[str(name)] = values
    return found


def _as_seconds(clock: np.ndarray) -> np.ndarray:
    if np.issubdtype(clock.dtype, np.datetime64):
        clock = clock - clock[0]
    if np.issubdtype(clock.dtype, np.timedelta64):
        return clock / np.timedelta64(1, "s")
    if not np.issubdtype(clock.dtype, np.number):
        raise ValueError(f"the coordinate of time must be numbers or dates, got {clock.dtype}.")
    return clock.astype(np.float64)
