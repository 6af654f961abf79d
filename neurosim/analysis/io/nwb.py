"""Recordings from Neurodata Without Borders (NWB) files."""

import dataclasses
import os
import warnings
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from .nwb_series import NWBSeries, choose_series, find_series, read_series
from .nwb_tables import Columns, is_ragged, read_entry, read_table
from .optional_library import import_library

# Read one unit at a time, kept as rows, or larger than all the rest.
_APART = ("spike_times", "electrodes", "waveforms")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class NWBRecording:
    """What was read of an NWB file, in NumPy; see `from_nwb`.

    Times are in s, from the start of the session.

    - `spike_times`: `(spike,)` for each unit, by its id.
    - `unit_info`: the other columns of the table of units, by name, in the order of `spike_times`.
    - `unit_electrodes`: for each unit, by its id, its rows in `electrodes`, in the file's order.
    - `electrodes`: the columns of the table of electrodes, by name.
    - `trials`: the columns of the table of trials, by name; goes into `bin_spikes` as `epochs`.
    - `intervals`: the columns of every table of intervals (epochs, trials, ...), by its name.
    - `series`: the time series that were asked for, by the name they were asked for.
    - `series_names`: the paths of all time series in the file.
    - `session_start_time`: date and time that times count from.
    """

    spike_times: dict[Any, np.ndarray]
    unit_info: Columns
    unit_electrodes: dict[Any, np.ndarray]
    electrodes: Columns
    trials: Columns
    intervals: dict[str, Columns]
    series: dict[str, NWBSeries]
    series_names: tuple[str, ...]
    session_start_time: datetime | None

    def electrodes_of(self, unit: Any) -> Columns:
        """The rows of the table of electrodes that belong to a unit, by the names of its columns.

        **Raises:** `ValueError` for a unit without electrodes, or one that was not read.
        """
        if unit not in self.unit_electrodes:
            raise ValueError(f"unit {unit!r} has no electrodes; {list(self.unit_electrodes)} have.")
        rows = self.unit_electrodes[unit]
        return {
            name: [column[i] for i in rows] if isinstance(column, list) else column[rows]
            for name, column in self.electrodes.items()
        }

    def __repr__(self) -> str:
        tables = {name: len(table["id"]) for name, table in self.intervals.items()}
        return (
            f"NWBRecording({len(self.spike_times)} units, intervals {tables}, series read "
            f"{list(self.series)} of {list(self.series_names)})"
        )


def from_nwb(
    source: Any,
    *,
    units: Sequence[Any] | np.ndarray | None = None,
    series: str | Sequence[str] = (),
) -> NWBRecording:
    """Read spikes, trials and time series from an NWB file.

    Only what is asked for is read: units one by one, and no time series unless it is named, since a
    raw recording may be larger than memory. What is returned are copies, which can be used after
    the file is closed.

    ```python
    recording = from_nwb("session.nwb", series=["Position"])
    counts = bin_spikes(recording.spike_times, epochs=recording.trials, bin=0.05)
    position = recording.series["Position"]
    ```

    **Arguments:**

    - `source`: path of a file, or an `NWBFile` of pynwb, which stays open.
    - `units`: ids of the units to be read, in the order wanted; by default all.
    - `series`: names of time series; the end or any part of a path (`"Position"` for
        `"processing/behavior/Position/SpatialSeries"`) will do if it fits only one. `"all"` for
        all. `series_names` of the result says what there is.

    **Returns:** `NWBRecording`. A part that the file has not is empty. Values of series are in
    their unit, factors and offsets of the file applied.

    **Raises:** `ValueError` for a file that is missing or no NWB file, ids or names that it has
    not, or where pynwb is needed and not installed.
    """
    if hasattr(source, "units") and hasattr(source, "objects"):
        return _read(source, units, series)
    if not isinstance(source, (str, os.PathLike)):
        raise ValueError(
            f"source must be the path of an NWB file, or an NWBFile, got {type(source).__name__}."
        )
    path = os.fspath(source)
    if not os.path.isfile(path):
        what = "is a folder; only HDF5 files are read" if os.path.isdir(path) else "does not exist"
        raise ValueError(f"{path} {what}.")
    pynwb = import_library("pynwb", "reading an NWB file")
    with warnings.catch_warnings():
        # That a file was written by an older schema is no news to who reads it.
        warnings.simplefilter("ignore", DeprecationWarning)
        with _attempt(lambda: pynwb.NWBHDF5IO(path, "r", load_namespaces=True), path) as reader:
            return _read(_attempt(reader.read, path), units, series)


def _attempt(step: Callable[[], Any], path: str) -> Any:
    try:
        return step()
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no NWB file that pynwb can open: {error}") from error


def _read(nwb: Any, units: Any, series: str | Sequence[str]) -> NWBRecording:
    found = find_series(nwb)
    tables = dict((nwb.intervals or {}).items())
    # Before a file is written, these are not among its intervals yet.
    for name in ("epochs", "trials", "invalid_times"):
        if getattr(nwb, name, None) is not None:
            tables[name] = getattr(nwb, name)
    intervals = {str(name): read_table(table) for name, table in tables.items()}
    electrodes = getattr(nwb, "electrodes", None)
    spike_times, info, unit_electrodes = _read_units(nwb.units, units)
    return NWBRecording(
        spike_times=spike_times,
        unit_info=info,
        unit_electrodes=unit_electrodes,
        electrodes={} if electrodes is None else read_table(electrodes),
        trials=intervals.get("trials", {}),
        intervals=intervals,
        series={
            name: read_series(item, name) for name, item in choose_series(series, found).items()
        },
        series_names=tuple(found),
        session_start_time=getattr(nwb, "session_start_time", None),
    )


def _read_units(
    table: Any, wanted: Any
) -> tuple[dict[Any, np.ndarray], Columns, dict[Any, np.ndarray]]:
    if table is None:
        if wanted is not None and len(wanted) > 0:
            raise ValueError("the file has no units.")
        return {}, {}, {}
    ids = np.asarray(table.id[:]).tolist()
    if len(set(ids)) < len(ids):
        warnings.warn("ids of units repeat in the file: units are numbered instead.", stacklevel=4)
        ids = list(range(len(ids)))
    chosen = ids if wanted is None else np.asarray(wanted).tolist()
    strange = [unit for unit in chosen if unit not in ids]
    if strange:
        raise ValueError(f"the file has no units {strange}; it has {ids}.")
    rows = [ids.index(unit) for unit in chosen]
    spike_times, electrodes = {}, {}
    for unit, row in zip(chosen, rows, strict=True):
        if "spike_times" in table.colnames:
            spike_times[unit] = read_entry(table["spike_times"], row).astype(np.float64)
        if "electrodes" in table.colnames:
            column = table["electrodes"]
            entry = read_entry(column, row) if is_ragged(column) else [column.data[row]]
            electrodes[unit] = np.asarray(entry, np.int64)
    return spike_times, read_table(table, without=_APART, rows=rows), electrodes
