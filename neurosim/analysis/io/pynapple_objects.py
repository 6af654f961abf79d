"""Recordings from pynapple."""

import dataclasses
from typing import Any

import numpy as np

from ..activity import as_floating
from .epochs import metadata_of, read_epochs
from .missing_values import complete_trials
from .signals import SignalTrials, cut_samples, cut_signal, read_signal
from .spike_times import as_ids
from .spikes import SpikeCounts, bin_spikes


def from_pynapple(
    source: Any,
    epochs: Any = None,
    *,
    bin: float | int | None = None,
    nan_policy: str = "raise",
) -> SpikeCounts | SignalTrials:
    """Arrays `(trial, time, unit)` from a pynapple object.

    - `Ts`, `TsGroup`: spikes, counted by `bin_spikes`.
    - `Tsd`, `TsdFrame`, `TsdTensor`: signals, cut by `cut_signal`.
    - What `pynapple.build_tensor` and `pynapple.warp_tensor` return: an array `(unit, trial, time)`
        or `(trial, time)`, NaN-padded at either end.

    Epochs are half-open, unlike in pynapple: a spike or a sample exactly at the end of an epoch is
    not part of it. **Without epochs**, each epoch of the time support of `source` is one trial, and
    its last sample, which pynapple puts at the end of the support, is kept.

    **Arguments:**

    - `source`: see above.
    - `epochs`: an `IntervalSet`, or what else `read_epochs` takes; not for an array.
    - `bin`: width of a bin in s, for spikes.
    - `nan_policy`: what is done about NaN in signals, see `complete_trials`.

    **Returns:** `SpikeCounts` for spikes, `SignalTrials` otherwise. `unit_ids` are the keys of the
    group or the columns of the frame, `(unit, axis)` places for a `TsdTensor`; metadata of epochs
    become `labels`, those of units `unit_info`. An array has no clock: its `times` count samples.

    **Raises:** `ValueError` for another object, spikes without a bin, or what the functions named
    above refuse.
    """
    kind = getattr(source, "nap_class", type(source).__name__)
    if isinstance(source, np.ndarray):
        if epochs is not None or bin is not None:
            raise ValueError("an array is cut and binned already: it takes no epochs and no bin.")
        return _from_tensor(source, nan_policy)
    if kind in ("Ts", "TsGroup"):
        if bin is None:
            raise ValueError(f"a {kind} holds spike times: pass bin, the width of a bin in s.")
        counts = bin_spikes(
            source, bin=bin, epochs=source.time_support if epochs is None else epochs
        )
        return dataclasses.replace(counts, unit_info=metadata_of(source, len(counts.unit_ids)))
    if kind in ("Tsd", "TsdFrame", "TsdTensor"):
        if bin is not None:
            raise ValueError(f"a {kind} is sampled already: bin is for spike times.")
        return _from_signal(source, kind, epochs, nan_policy)
    raise ValueError(
        "source must be a Ts, TsGroup, Tsd, TsdFrame or TsdTensor of pynapple, or an array made by "
        f"its build_tensor; got {type(source).__name__}."
    )


def _from_signal(source: Any, kind: str, epochs: Any, nan_policy: str) -> SignalTrials:
    values = np.asarray(source.values)
    flat = values.reshape(len(values), -1)
    clock = np.asarray(source.t)
    if epochs is None:
        flat, clock = read_signal(flat, clock)
        support = read_epochs(source.time_support)
        slack = support.rounding()
        first = np.searchsorted(clock, support.starts - slack, side="left")
        last = np.searchsorted(clock, support.stops + slack, side="right")
        found = cut_samples(flat, clock, first, last, support, nan_policy=nan_policy)
    else:
        found = cut_signal(flat, clock, epochs=epochs, nan_policy=nan_policy)
    ids = np.arange(flat.shape[1])
    if kind == "TsdFrame":
        ids = as_ids(list(source.columns))
    elif kind == "TsdTensor":
        ids = np.column_stack(np.unravel_index(ids, values.shape[1:]))
    info = metadata_of(source, len(ids)) if kind == "TsdFrame" else {}
    kept = found.unit_ids
    return dataclasses.replace(
        found,
        unit_ids=ids[kept],
        unit_info={name: column[kept] for name, column in info.items()},
    )


def _from_tensor(tensor: np.ndarray, nan_policy: str) -> SignalTrials:
    values = np.asarray(as_floating(tensor, "source"))
    if values.ndim not in (2, 3):
        raise ValueError(
            f"an array must be (unit, trial, time) or (trial, time), got shape {values.shape}."
        )
    by_unit = values if values.ndim == 3 else values[None]
    complete = complete_trials(np.moveaxis(by_unit, 0, -1), nan_policy=nan_policy)
    trials, time = complete.mask.shape
    return SignalTrials(
        values=complete.X,
        mask=complete.mask,
        times=np.tile(np.arange(float(time)), (trials, 1)),
        unit_ids=complete.kept_units,
    )
