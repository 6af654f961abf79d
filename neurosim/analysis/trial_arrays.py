"""What functions of trials read: activity of one shape, which samples count, labels of trials."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .activity import ActivityLike, AnyArray, as_floating, is_traced, read_activity, refuse_masked
from .estimator import refuse_traced

#: One label for each trial, or several by name; a table with `items()` of columns will do.
LabelsLike: TypeAlias = Any


@dataclasses.dataclass(frozen=True)
class TrialArray:
    """Activity read into one array of trials.

    - `values`: `(trial, time, unit)`, 0 where no sample counts.
    - `mask`: `(trial, time, 1)`, or `(trial, time, unit)`; which samples count.
    - `layout`: `"samples"`, `"trials"` or `"list"`, as given.
    - `given`: the array that was given, for samples that do not count; `None` for a list.
    - `xp`: the module to compute with, `numpy` or `jax.numpy`.
    """

    values: AnyArray
    mask: np.ndarray
    layout: str
    given: AnyArray | None
    xp: Any

    def restore(self, values: AnyArray) -> AnyArray | list[AnyArray]:
        """Values `(trial, time, column)` in the layout that was read.

        Samples that do not count are as they were given, where the columns still are the units.
        """
        if self.layout == "list":
            lengths = self.mask[..., 0].sum(axis=1)
            return [trial[:n] for trial, n in zip(values, lengths, strict=True)]
        if self.given is not None and not self.mask.all():
            values = self.xp.where(self.mask, values, self.given)
        return values[0] if self.layout == "samples" else values


def read_trials(
    X: ActivityLike, mask: Any = None, *, name: str = "X", single: bool = True
) -> TrialArray:
    """Check activity and read it into one array of trials.

    **Arguments:**

    - `X`: `(trial, time, unit)`, a list of `(time_i, unit)`, or one trial `(time, unit)`.
    - `mask`: which samples count, booleans `(trial, time)` (`(time,)` for one trial), or of the
        shape of `X`; by default all of them. What `X` holds elsewhere is not looked at.
    - `name`: what to call `X` in an error.
    - `single`: whether one trial without an axis of trials will do.

    **Raises:** `ValueError` for another layout, a trial without a sample that counts, or a value
    that counts and is not finite.
    """
    if mask is None:
        activity = read_activity(X, name=name, axis_name="unit")
        xp, layout, given = activity.xp, activity.layout, None
        longest = max(activity.lengths)
        read = np.arange(longest) < np.array(activity.lengths)[:, None]
        if layout == "list":
            trials = activity.trials(activity.samples)
            values = xp.stack([xp.pad(x, ((0, longest - len(x)), (0, 0))) for x in trials])
        else:
            values = activity.samples.reshape(*read.shape, -1)
    else:
        values, read, layout = _read_masked(X, mask, name)
        xp, given = (jnp if isinstance(values, jax.Array) else np), values
        values = _only_counting(values, read, name, xp)
    if layout == "samples" and not single:
        raise ValueError(
            f"{name} must have trials: (trial, time, unit) or a list of (time_i, unit); got one "
            f"array of shape {values.shape[1:]}."
        )
    empty = np.flatnonzero(~read.reshape(len(read), -1).any(axis=1))
    if len(empty) > 0:
        raise ValueError(f"trial {int(empty[0])} of {name} has no sample that counts.")
    return TrialArray(values, read if read.ndim == 3 else read[..., None], layout, given, xp)


def _read_masked(X: Any, mask: Any, name: str) -> tuple[AnyArray, np.ndarray, str]:
    if isinstance(X, (list, tuple)):
        raise ValueError(f"mask is for an array {name}: the lengths of a list say what counts.")
    array = as_floating(X, name)
    if array.ndim not in (2, 3) or array.size == 0:
        raise ValueError(
            f"{name} must be (trial, time, unit) or (time, unit), not empty; got {array.shape}."
        )
    refuse_traced(mask, "mask")
    read = np.asarray(mask)
    if read.dtype != bool or read.shape not in (array.shape[:-1], array.shape):
        raise ValueError(
            f"mask must be booleans of shape {array.shape[:-1]}, or {array.shape}, as {name}; got "
            f"{read.dtype} of shape {read.shape}."
        )
    if array.ndim == 2:
        return array[None], read[None], "samples"
    return array, read, "trials"


def _only_counting(values: AnyArray, read: np.ndarray, name: str, xp: Any) -> AnyArray:
    counts = read if read.ndim == 3 else read[..., None]
    values = xp.where(counts, values, 0)
    if not is_traced(values):
        bad = np.argwhere(~np.isfinite(np.asarray(values)))
        if len(bad) > 0:
            trial, time, unit = (int(i) for i in bad[0])
            raise ValueError(
                f"{name} holds {len(bad)} value(s) that are not finite where the mask counts them, "
                f"the first at trial {trial}, time {time}, unit {unit}."
            )
    return values


@dataclasses.dataclass(frozen=True)
class Conditions:
    """Trials sorted by their labels.

    - `levels`: the values of each label, in order, by name.
    - `cell`: `(trial,)`, the condition of each trial, a flat index into the product of levels.
    """

    levels: dict[str, np.ndarray]
    cell: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each label."""
        return tuple(len(values) for values in self.levels.values())

    @property
    def n_cells(self) -> int:
        """Number of combinations of levels."""
        return int(np.prod(self.shape))

    def members(self, cell: int | np.integer) -> np.ndarray:
        """The trials of a condition."""
        return np.flatnonzero(self.cell == cell)

    def describe(self, cell: int | np.integer) -> str:
        """A condition in words."""
        at = np.unravel_index(cell, self.shape)
        pairs = zip(self.levels.items(), at, strict=True)
        return ", ".join(f"{name} = {values[i]}" for (name, values), i in pairs)

    def labels(self, cells: np.ndarray) -> dict[str, np.ndarray]:
        """The labels of conditions, by name."""
        at = np.unravel_index(cells, self.shape)
        return {name: values[i] for (name, values), i in zip(self.levels.items(), at, strict=True)}


def read_labels(
    labels: LabelsLike, n_trials: int, *, name: str = "labels"
) -> dict[str, np.ndarray]:
    """The labels of trials, by name; `{"label": ...}` for one array of them.

    **Raises:** `ValueError` for no labels, another number of trials, or a label that is missing.
    """
    columns = dict(labels.items()) if hasattr(labels, "items") else {"label": labels}
    if len(columns) == 0:
        raise ValueError(f"{name} must name at least one label.")
    return {str(key): _read_column(value, n_trials, name, key) for key, value in columns.items()}


def _read_column(values: Any, n_trials: int, name: str, key: Any) -> np.ndarray:
    called = f"{name}[{key!r}]" if key != "label" else name
    refuse_traced(values, called)
    refuse_masked(values, called)
    column = np.asarray(values)
    if column.shape != (n_trials,):
        raise ValueError(
            f"{called} must hold one label for each of the {n_trials} trials, got shape "
            f"{column.shape}."
        )
    missing = np.array([_is_missing(value) for value in column.tolist()], bool)
    if missing.any():
        raise ValueError(f"{called} is missing for trial {int(np.argmax(missing))}.")
    return column


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # a marker of pandas, which compares to nothing
        return True


def read_conditions(
    labels: LabelsLike,
    n_trials: int,
    *,
    levels: Mapping[str, Sequence[Any] | np.ndarray] | None = None,
) -> Conditions:
    """Sort trials by their labels.

    **Arguments:**

    - `labels`: `(trial,)`, or several such arrays by name.
    - `levels`: by name, the values of a label in the order wanted; by default those there are,
        sorted.

    **Raises:** `ValueError` for labels that do not match the trials or are not among the levels.
    """
    columns = read_labels(labels, n_trials)
    given = {} if levels is None else dict(levels)
    if not set(given) <= set(columns):
        raise ValueError(f"levels are for {sorted(given)}, but labels for {sorted(columns)}.")
    found, codes = {}, []
    for name, column in columns.items():
        try:
            values = np.asarray(given[name]) if name in given else np.unique(column)
        except TypeError:
            raise ValueError(f"labels[{name!r}] mixes kinds that cannot be ordered.") from None
        if values.ndim != 1 or len({*values.tolist()}) != len(values):
            raise ValueError(f"levels[{name!r}] must be a list without repeats, got {values}.")
        place = {value: i for i, value in enumerate(values.tolist())}
        strange = [value for value in column.tolist() if value not in place]
        if strange:
            raise ValueError(f"labels[{name!r}] holds {strange[0]!r}, not among {values.tolist()}.")
        found[name] = values
        codes.append([place[value] for value in column.tolist()])
    shape = tuple(len(values) for values in found.values())
    return Conditions(
        found, np.atleast_1d(np.ravel_multi_index(tuple(np.array(codes, int)), shape))
    )
