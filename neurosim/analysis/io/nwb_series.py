"""Time series of an NWB file, with their clock and in their unit."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

# Where the file keeps what the object hands on under these names.
_PLACES = {
    "acquisition": "acquisition",
    "processing": "processing",
    "analysis": "analysis",
    "stimulus": "stimulus/presentation",
    "stimulus_template": "stimulus/templates",
}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class NWBSeries:
    """A time series of an NWB file; see `from_nwb`.

    - `values`: `(time, channel)`, or with more axes for images; float64, in `unit`.
    - `times`: `(time,)`, in s from the start of the session.
    - `unit`: of the values, as the file has it.
    - `electrodes`: `(channel,)`, rows of the table of electrodes; `None` for other series.
    - `description`: as the file has it.
    """

    values: np.ndarray
    times: np.ndarray
    unit: str
    electrodes: np.ndarray | None
    description: str

    def __repr__(self) -> str:
        return f"NWBSeries({self.values.shape} in {self.unit!r})"


def find_series(nwb: Any) -> dict[str, Any]:
    """The time series of a file by their path in it, without their data."""
    top = {}
    for attribute, place in _PLACES.items():
        for child in (getattr(nwb, attribute, None) or {}).values():
            top[child.object_id] = place
    found = {}
    for item in nwb.objects.values():
        if not all(hasattr(item, name) for name in ("data", "timestamps", "rate")):
            continue
        names, parent = [item.name], item
        while parent.object_id not in top and parent.parent not in (None, nwb):
            parent = parent.parent
            names.append(parent.name)
        place = [top[parent.object_id]] if parent.object_id in top else []
        found["/".join([*place, *reversed(names)])] = item
    return found


def choose_series(wanted: str | Sequence[str], found: dict[str, Any]) -> dict[str, Any]:
    """The series asked for, by the name that was asked for.

    **Raises:** `ValueError` for a name that fits none, or several.
    """
    if isinstance(wanted, str):
        if wanted == "all":
            return found
        wanted = [wanted]
    chosen = {}
    for name in wanted:
        paths = [path for path in found if f"/{name}/" in f"/{path}/"]
        paths = [path for path in paths if path == name] or paths
        if len(paths) != 1:
            fits = "fits none" if not paths else f"fits {len(paths)}: {paths}"
            raise ValueError(f"series {name!r} {fits}; the file has {list(found)}.")
        chosen[name] = found[paths[0]]
    return chosen


def read_series(series: Any, name: str) -> NWBSeries:
    """The data and times of a series.

    **Raises:** `ValueError` for a series that is no numbers, has its frames in other files, or
    whose times do not match.
    """
    if getattr(series, "external_file", None) is not None:
        raise ValueError(f"series {name!r} keeps its frames in other files, which are not read.")
    data = np.asarray(series.data[:])
    if not (np.issubdtype(data.dtype, np.number) or data.dtype == bool) or data.ndim == 0:
        raise ValueError(f"series {name!r} holds {data.dtype}, not numbers over time.")
    values = data.astype(np.float64) * float(series.conversion)
    of_channel = getattr(series, "channel_conversion", None)
    if of_channel is not None:
        # Channels are the second axis, also where events or images have a third.
        shape = (1, -1, *(1,) * (values.ndim - 2)) if values.ndim > 1 else (-1,)
        values = values * np.asarray(of_channel[:], np.float64).reshape(shape)
    values = values + float(getattr(series, "offset", 0.0))
    if series.timestamps is not None:
        times = np.asarray(series.timestamps[:], np.float64)
    else:
        # Divided, not multiplied by a rounded step: sample k is at k / rate.
        times = float(series.starting_time or 0.0) + np.arange(len(values)) / float(series.rate)
    if times.shape != values.shape[:1]:
        raise ValueError(
            f"series {name!r} has {len(values)} samples and times of shape {times.shape}."
        )
    region = getattr(series, "electrodes", None)
    return NWBSeries(
        values=values[:, None] if values.ndim == 1 else values,
        times=times,
        unit=str(series.unit),
        electrodes=None if region is None else np.asarray(region.data[:], np.int64),
        description=str(series.description),
    )
