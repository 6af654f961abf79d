"""Spike times as they come from any source: sorted float64 arrays, one for each unit."""

from typing import Any, NamedTuple

import numpy as np

from ..activity import refuse_masked
from ..trial_arrays import refuse_traced


class SpikeTrains(NamedTuple):
    """Spike times of several units; see `read_spike_trains`."""

    times: list[np.ndarray]
    unit_ids: np.ndarray
    resolution: float


def read_spike_trains(spike_times: Any) -> SpikeTrains:
    """Check spike times and read them into one array for each unit.

    **Arguments:**

    - `spike_times`: an array of times for one unit; a list of arrays; or a mapping from unit to
        array, as a dictionary or a pynapple `TsGroup`. Objects that know their times (`.t`) or
        their unit of time (`.rescale`) are asked for seconds.

    **Returns:** `SpikeTrains`:

    - `times`: for each unit, `(spike,)`, float64.
    - `unit_ids`: `(unit,)`, keys of a mapping, else 0, 1, ...
    - `resolution`: the relative spacing of the coarsest floating-point numbers among those given.

    **Raises:** `ValueError` for no unit, another layout, times that are not finite, or times that
    are not sorted, with unit and place.
    """
    refuse_traced(spike_times, "spike_times")
    if hasattr(spike_times, "keys"):
        keys = list(spike_times.keys())
        given = [(f"unit {key!r}", spike_times[key]) for key in keys]
    else:
        trains = _list_of_trains(spike_times)
        keys = list(range(len(trains)))
        given = [(f"unit {i}", train) for i, train in enumerate(trains)]
    if len(given) == 0:
        raise ValueError("spike_times holds no unit: pass an array of times for each unit.")
    read = [_read_train(train, name) for name, train in given]
    return SpikeTrains([times for times, _ in read], as_ids(keys), max(r for _, r in read))


def as_ids(keys: list[Any]) -> np.ndarray:
    """Names of units or channels as an array along one axis, whatever they are."""
    ids = np.asarray(keys) if not any(isinstance(key, tuple) for key in keys) else None
    if ids is None or ids.ndim != 1:
        ids = np.empty(len(keys), dtype=object)
        ids[:] = keys
    return ids


def _list_of_trains(spike_times: Any) -> list[Any]:
    if _knows_its_times(spike_times):
        return [spike_times]
    if isinstance(spike_times, np.ndarray) and spike_times.dtype == object:
        return list(spike_times.ravel())  # what a cell array of MATLAB is loaded as
    # A neo SpikeTrainList is a sequence too.
    if isinstance(spike_times, (list, tuple)) or (
        hasattr(spike_times, "__len__") and not hasattr(spike_times, "ndim")
    ):
        trains = list(spike_times)
        numbers = len(trains) > 0 and all(np.ndim(train) == 0 for train in trains)
        return [np.asarray(trains)] if numbers else trains
    return [spike_times]


def _knows_its_times(x: Any) -> bool:
    return hasattr(x, "t") or hasattr(x, "rescale")


def seconds(x: Any) -> np.ndarray:
    """The times of an object with a unit of time, a clock, or neither, as an array."""
    if hasattr(x, "rescale"):
        # Converted by NumPy, milliseconds would become as many seconds.
        return np.asarray(x.rescale("s").magnitude)
    return np.asarray(x.t) if hasattr(x, "t") else np.asarray(x)


def _read_train(train: Any, name: str) -> tuple[np.ndarray, float]:
    refuse_masked(train, f"spike_times of {name}")
    times = seconds(train)
    if times.ndim != 1:
        raise ValueError(
            f"spike times of {name} must be an array (spike,), got shape {times.shape}."
            + (" Pass them as .ravel()." if 1 in times.shape else "")
        )
    if times.size == 0:
        return np.zeros(0), 0.0
    if times.dtype == bool or not np.issubdtype(times.dtype, np.number) or np.iscomplexobj(times):
        raise ValueError(f"spike times of {name} must be real numbers, got {times.dtype}.")
    floating = np.issubdtype(times.dtype, np.floating)
    resolution = float(np.finfo(times.dtype).eps) if floating else 0.0
    times = times.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad) > 0:
        raise ValueError(f"spike times of {name}: spike {bad[0]} is {times[bad[0]]}.")
    back = np.flatnonzero(np.diff(times) < 0)
    if len(back) > 0:
        i = int(back[0])
        raise ValueError(
            f"spike times of {name} are not sorted: spike {i + 1} ({times[i + 1]:.9g}) comes "
            f"after spike {i} ({times[i]:.9g}). Sort them, after a look at why they are not."
        )
    return times, resolution
