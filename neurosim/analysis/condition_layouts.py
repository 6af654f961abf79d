"""The layouts in which activity of an experiment with factors comes: labelled trials, tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .activity import as_floating, in_range
from .condition_trials import ConditionTrials
from .dpca_marginalisation import TIME, check_factors, check_levels
from .estimator import refuse_traced
from .trial_arrays import read_conditions


def read_condition_trials(
    X: Any, y: Any = None, factors: Sequence[str] | None = None
) -> ConditionTrials:
    """Read single trials, or averages, of an experiment with factors.

    **Arguments:**

    - `X`: with labels `y`, single trials: `(trial, time, neuron)`, a list of `(time_i, neuron)`, or
        `(trial, neuron)`. Without labels, a tensor with an axis for each factor, `(*levels,
        neuron)` of averages or `(trial, *levels, neuron)` of single trials. NaN is what was not
        observed: the end of a short trial, trials that one condition has fewer of than another,
        neurons that were not recorded in a trial.
    - `y`: `(trial,)` labels by name of the factor; or one array, `(trial,)` or `(trial, factor)`,
        in the order of `factors`.
    - `factors`: names, `"time"` last; by default those of `y`, and `"time"` where there is time.

    **Raises:** `ValueError` for another layout, names or labels that do not match, infinite values,
    or a factor with one level.
    """
    refuse_traced(X, "an analysis of conditions")
    names = None if factors is None else check_factors(factors)
    if y is None:
        values, cell, levels = _read_tensor(X, names)
    else:
        values, cell, levels = _read_labelled(X, y, names)
    check_levels({name: len(found) for name, found in levels.items()})
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.vdot(values, values)
    if 1e-200 < squares < 1e200:
        # The usual case, told at the price of one product: nothing missing, nothing extreme.
        return ConditionTrials(values, None, cell, levels)
    if np.isinf(values).any():
        place = [int(i) for i in np.argwhere(np.isinf(values))[0]]
        raise ValueError(f"X holds infinite values, the first at (trial, time, neuron) = {place}.")
    observed = ~np.isnan(values)
    there = observed.any(axis=(1, 2))
    if not there.any():
        raise ValueError("X is NaN throughout: there are no trials.")
    # Whole trials that are missing are padding to the number of the most frequent condition.
    values, observed, cell = values[there], observed[there], cell[there]
    scaled, unit = in_range(np.where(observed, values, 0), np)
    values = np.asarray(scaled)
    if observed.all():
        return ConditionTrials(values, None, cell, levels, float(unit))
    if (observed == observed[..., :1]).all():
        observed = observed[..., :1]
    return ConditionTrials(values, observed, cell, levels, float(unit))


def _read_tensor(
    X: Any, names: tuple[str, ...] | None
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    if names is None:
        raise ValueError(
            "without labels, factors must name the axes of X between trials and neurons, such as "
            "('stimulus', 'time'); or give the labels of single trials as y."
        )
    values = _floats(X)
    if values.ndim not in (len(names) + 1, len(names) + 2) or values.size == 0:
        raise ValueError(
            f"X must be ({', '.join(names)}, neuron) of averages or (trial, {', '.join(names)}, "
            f"neuron) of single trials, not empty; got shape {values.shape}."
        )
    values = values[None] if values.ndim == len(names) + 1 else values
    levels = {name: np.arange(n) for name, n in zip(names, values.shape[1:-1], strict=True)}
    n_times = values.shape[-2] if names[-1] == TIME else 1
    n_cells = int(np.prod(values.shape[1:-1])) // n_times
    cell = np.tile(np.arange(n_cells), len(values))
    return values.reshape(-1, n_times, values.shape[-1]), cell, levels


def _read_labelled(
    X: Any, y: Any, names: tuple[str, ...] | None
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    values = _padded(X) if isinstance(X, (list, tuple)) else _floats(X)
    if values.ndim not in (2, 3) or values.size == 0:
        raise ValueError(
            "with labels, X must be (trial, time, neuron), a list of (time_i, neuron), or (trial, "
            f"neuron), not empty; got shape {values.shape}."
        )
    has_time = values.ndim == 3
    if names is not None and (names[-1] == TIME) != has_time:
        raise ValueError(
            f"factors must end in 'time' where X has a time axis, and only there; got {names} and "
            f"X of shape {values.shape}."
        )
    labels = _named(y, names[:-1] if names and has_time else names)
    conditions = read_conditions(labels, len(values))
    levels = dict(conditions.levels)
    if TIME in levels:
        raise ValueError("'time' is the time axis of X: call a label of trials something else.")
    if has_time:
        levels[TIME] = np.arange(values.shape[1])
    return values if has_time else values[:, None], conditions.cell, levels


def _floats(X: Any) -> np.ndarray:
    """NumPy float64, without a copy where it is that already."""
    if type(X) is np.ndarray and X.dtype == np.float64:
        return X
    return np.asarray(as_floating(X, "X"), np.float64)


def _named(y: Any, names: tuple[str, ...] | None) -> dict[str, Any]:
    """Labels by name, those asked for in their order."""
    if hasattr(y, "items"):
        columns = {str(key): value for key, value in y.items()}
        missing = [name for name in names or () if name not in columns]
        if missing:
            raise ValueError(f"y has no labels for {missing}; it has {list(columns)}.")
        return columns if names is None else {name: columns[name] for name in names}
    table = np.asarray(y)
    table = table[:, None] if table.ndim == 1 else table
    if names is None or table.ndim != 2 or table.shape[1] != len(names):
        raise ValueError(
            "labels without names go in the order of factors, one column for each but time; got y "
            f"of shape {np.shape(y)} and factors {names}."
        )
    return {name: table[:, i] for i, name in enumerate(names)}


def _padded(trials: Sequence[Any]) -> np.ndarray:
    """Trials of unequal length in one array, NaN after their ends."""
    if len(trials) == 0:
        raise ValueError("X is an empty list: at least one trial is needed.")
    blocks = [np.asarray(as_floating(trial, f"X[{i}]")) for i, trial in enumerate(trials)]
    for i, block in enumerate(blocks):
        if block.ndim != 2 or block.shape[1] != blocks[0].shape[-1]:
            raise ValueError(
                f"a list X must hold trials (time_i, neuron) of the same neurons; trial {i} has "
                f"shape {block.shape}, trial 0 {blocks[0].shape}."
            )
    padded = np.full((len(blocks), max(map(len, blocks)), *blocks[0].shape[1:]), np.nan)
    for row, block in zip(padded, blocks, strict=True):
        row[: len(block)] = block
    return padded
