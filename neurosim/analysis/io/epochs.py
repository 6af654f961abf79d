"""Stretches of time: epochs of a recording, or windows about its events."""

from typing import Any, NamedTuple

import numpy as np

from ..activity import refuse_masked
from ..trial_arrays import refuse_traced
from .spike_times import seconds

_EPS = float(np.finfo(np.float64).eps)


class Epochs(NamedTuple):
    """Epochs in order of trials; see `read_epochs`."""

    starts: np.ndarray
    stops: np.ndarray
    origins: np.ndarray
    offset: float
    labels: dict[str, np.ndarray]

    def rounding(self) -> np.ndarray:
        """How far computed times may lie from the true ones at each epoch, `(trial,)`."""
        return 4 * _EPS * np.maximum(np.abs(self.starts), np.abs(self.stops))


def choose_epochs(epochs: Any, events: Any, window: Any) -> Epochs:
    """Epochs as given, or the windows about events: one of the two.

    **Raises:** `ValueError` for both or neither, or for what either is refused for.
    """
    if (epochs is None) == (events is None):
        raise ValueError("give either epochs, or events with a window about each.")
    if epochs is not None:
        if window is not None:
            raise ValueError("window goes with events; epochs have their own ends.")
        return read_epochs(epochs)
    return windows_about(events, window)


def read_epochs(epochs: Any) -> Epochs:
    """Check epochs and read their ends.

    **Arguments:**

    - `epochs`: `(epoch, 2)`, start and stop of each in s, or one pair; a table, by name, of
        `start_time` and `stop_time` with labels in its other columns; a pynapple `IntervalSet` or
        a neo `Epoch`, with their labels. They may overlap.

    **Returns:** `Epochs`: `starts`, `stops` and `origins` (here the starts), `(epoch,)`; `offset`
    of the start from the origin, here 0; and `labels` by name, `(epoch,)` each.

    **Raises:** `ValueError` for another layout, no epoch, or an epoch whose ends are not finite or
    not in order.
    """
    refuse_traced(epochs, "epochs")
    labels: dict[str, np.ndarray] = {}
    if hasattr(epochs, "keys") and "start_time" in epochs:
        starts, stops = (_column(epochs[key], key) for key in ("start_time", "stop_time"))
        labels = _other_columns(epochs, ("start_time", "stop_time"), len(starts))
    elif hasattr(epochs, "durations"):
        starts = np.asarray(seconds(epochs.times), np.float64)
        stops = starts + seconds(epochs.durations)
        if len(epochs.labels) == len(starts):
            labels = {"label": np.asarray(epochs.labels)}
    elif hasattr(epochs, "start") and hasattr(epochs, "end"):
        starts, stops = _column(epochs.start, "start"), _column(epochs.end, "end")
        labels = metadata_of(epochs, len(starts))
    else:
        starts, stops = _pairs(epochs)
    _check(starts, stops)
    return Epochs(starts, stops, starts, 0.0, labels)


def windows_about(events: Any, window: Any) -> Epochs:
    """The windows about events.

    **Arguments:**

    - `events`: `(event,)`, times in s.
    - `window`: start and stop in s from the event, such as `(-0.2, 1.0)`.

    **Raises:** `ValueError` for no event, one that is not finite, or a window that is none.
    """
    refuse_traced((events, window), "events")
    refuse_masked(events, "events")
    times = np.asarray(seconds(events), np.float64)
    if times.ndim == 0:
        times = times[None]
    if times.ndim != 1 or len(times) == 0:
        raise ValueError(f"events must be times (event,), at least one; got shape {times.shape}.")
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad) > 0:
        raise ValueError(f"event {bad[0]} is {times[bad[0]]}: leave out trials without the event.")
    ends = np.asarray(window if window is not None else (), np.float64)
    if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        raise ValueError(
            f"window must be (start, stop) in s from the event, start < stop; got {window}."
        )
    first, last = float(ends[0]), float(ends[1])
    return Epochs(times + first, times + last, times, first, {})


def metadata_of(source: Any, n: int) -> dict[str, np.ndarray]:
    """The columns that a pynapple object carries for its `n` rows or units, by name."""
    found = {}
    for name in getattr(source, "metadata_columns", ()):
        values = np.asarray(source.get_info(name))
        if values.shape == (n,):
            found[str(name)] = values
    return found


def _column(values: Any, name: str) -> np.ndarray:
    refuse_masked(values, name)
    try:
        column = np.atleast_1d(np.asarray(values, np.float64))
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} of epochs must be numbers, got {type(values).__name__}."
        ) from None
    if column.ndim != 1:
        raise ValueError(f"{name} must hold one time for each epoch, got shape {column.shape}.")
    return column


def _other_columns(table: Any, taken: tuple[str, ...], n: int) -> dict[str, np.ndarray]:
    # Not `dict(table)`: a data frame is no mapping, but it too has columns for keys.
    others = {str(key): table[key] for key in list(table.keys()) if key not in taken}
    return {
        key: np.asarray(values)
        for key, values in others.items()
        if len(values) == n and _is_flat(values)
    }


def _is_flat(values: Any) -> bool:
    # A column with several entries for each epoch is no label; they may differ in number.
    if isinstance(values, (list, tuple)):
        return all(np.ndim(value) == 0 for value in values)
    return np.ndim(values) == 1


def _pairs(epochs: Any) -> tuple[np.ndarray, np.ndarray]:
    refuse_masked(epochs, "epochs")
    try:
        pairs = np.asarray(epochs, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "epochs must be numbers (epoch, 2): start and stop of each in s."
        ) from None
    if pairs.shape == (2,):
        pairs = pairs[None]
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"epochs must be (epoch, 2), start and stop of each in s; got shape {pairs.shape}."
        )
    return pairs[:, 0], pairs[:, 1]


def _check(starts: np.ndarray, stops: np.ndarray) -> None:
    if len(starts) == 0:
        raise ValueError("epochs is empty: there is no trial.")
    if len(starts) != len(stops):
        raise ValueError(f"epochs have {len(starts)} starts and {len(stops)} stops.")
    bad = np.flatnonzero(~(np.isfinite(starts) & np.isfinite(stops) & (starts < stops)))
    if len(bad) > 0:
        i = int(bad[0])
        raise ValueError(
            f"epoch {i} goes from {starts[i]:.9g} to {stops[i]:.9g}: it must start before it "
            "stops, at finite times."
        )
