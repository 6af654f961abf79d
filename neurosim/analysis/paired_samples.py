"""Two sets of activity with the same samples: how similarity and regression read them.

Sample i of one belongs to sample i of the other: the same moments of the same trials, or the same
stimuli. The units differ, in number too.
"""

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .activity import Activity, ActivityLike, AnyArray, in_range, read_activity
from .estimator import read_features, refuse_traced


class PairedSamples(NamedTuple):
    """Two sets of activity as `(sample, unit)`, NumPy float64, and how they were given."""

    X: np.ndarray
    Y: np.ndarray
    lengths: tuple[int, ...]
    layout: str
    y_is_vector: bool

    @property
    def groups(self) -> np.ndarray:
        """What stays together in folds and shuffles: the trial of each sample, or the sample."""
        return sample_groups(self.lengths, self.layout)


def read_pair(
    X: ActivityLike, Y: ActivityLike, *, names: tuple[str, str] = ("X", "Y")
) -> tuple[Activity, Activity]:
    """Read two sets of activity, and check that their samples are the same.

    **Raises:** `ValueError` for a bad layout, values that are not finite, or samples that differ.
    """
    first = read_activity(X, name=names[0], axis_name="unit")
    second = read_activity(Y, name=names[1], axis_name="unit")
    check_same_samples(first, second, names=names)
    return first, second


def check_same_samples(
    first: Activity, second: Activity, *, names: tuple[str, str] = ("X", "Y")
) -> None:
    """`ValueError` where two sets of activity differ in their trials or times."""
    if first.lengths != second.lengths:
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same samples, one row of each for each "
            f"time of each trial: got {_described(first)} and {_described(second)}. The last axis "
            "holds the units, which may differ in number."
        )


def read_numpy_pair(
    X: Any, Y: Any, *, names: tuple[str, str] = ("X", "Y"), what: str
) -> PairedSamples:
    """Two sets of activity with the same samples, in NumPy float64 whatever is given.

    A vector `Y` is one column. `what` names the analysis for a `TypeError` where values are not
    known, under `jit`, `grad` or `vmap`.

    **Raises:** `ValueError` as `read_pair` does.
    """
    first = read_features(X, name=names[0], axis_name="unit")
    columns = _columns(Y)
    second = read_features(columns, name=names[1], axis_name="unit")
    for activity in (first, second):
        refuse_traced(activity.samples, what)
    check_same_samples(first, second, names=names)
    x, y = (np.asarray(activity.samples, np.float64) for activity in (first, second))
    return PairedSamples(x, y, first.lengths, first.layout, columns is not Y and y.shape[1] == 1)


def sample_groups(lengths: tuple[int, ...], layout: str) -> np.ndarray:
    """The trial of each sample; where there are no trials, each sample is a group of its own."""
    if layout == "samples":
        return np.arange(sum(lengths))
    return np.repeat(np.arange(len(lengths)), lengths)


def centred_samples(activity: Activity) -> tuple[AnyArray, Any]:
    """Samples about the mean of each unit, over a power of two so that products stay in range.

    Returns the power, too. In NumPy this makes one array of the size of the samples, and no other.
    """
    if activity.xp is jnp:
        return activity.centred()[:2]
    samples: Any = activity.samples
    if not activity.varies:
        return np.zeros_like(samples), 1.0
    # A mean by a product cannot overflow and needs no room; what it rounds, the second takes out.
    weights = np.full(len(samples), 1 / len(samples))
    centred = samples - weights @ samples
    centred -= weights @ centred
    scale = float(in_range(np.array([max(centred.max(), -centred.min())]), np)[1])
    centred /= scale
    return centred, scale


def warn_of_more_units(activity: Activity, name: str, what: str) -> None:
    """`UserWarning` where units outnumber samples: axes are swapped, or `what` is biased."""
    n_samples, n_units = activity.samples.shape
    if n_units > n_samples:
        warnings.warn(
            f"{name} has {n_units} units but {n_samples} samples; the last axis holds the units. "
            f"If that is as meant, {what} is strongly biased upwards.",
            UserWarning,
            stacklevel=3,
        )


def shuffled_samples(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An order of the samples that shuffles groups (trials) and keeps the samples within each.

    **Raises:** `ValueError` for groups of unequal size, whose samples have no partners.
    """
    names, sizes = np.unique(groups, return_counts=True)
    if len(set(sizes.tolist())) > 1:
        raise ValueError(
            "trials of unequal length cannot be shuffled against one another: cut them to one "
            f"length. Lengths run from {sizes.min()} to {sizes.max()}."
        )
    if len(names) < 2:
        raise ValueError("one trial cannot be shuffled: at least two are needed.")
    rows = np.argsort(groups, kind="stable").reshape(len(names), -1)
    order = np.empty(len(groups), int)
    order[rows] = rows[rng.permutation(len(names))]
    return order


def _columns(Y: Any) -> Any:
    """A vector as one column; anything else as it is."""
    if isinstance(Y, (list, tuple)):
        vector = len(Y) > 0 and all(np.ndim(value) == 0 for value in Y)
        return [[value] for value in Y] if vector else Y
    array = Y if isinstance(Y, (jax.Array, np.ndarray)) else np.asarray(Y)
    # An object array holds numbers, or the trials of a cell array.
    vector = array.ndim == 1 and (array.dtype != object or all(np.ndim(v) == 0 for v in array))
    return array[:, None] if vector else Y


def _described(activity: Activity) -> str:
    n_samples, n_units = activity.samples.shape
    if activity.layout == "samples":
        return f"{n_samples} samples of {n_units} units"
    lengths = sorted(set(activity.lengths))
    times = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    return f"{len(activity.lengths)} trials of {times} times and {n_units} units"
