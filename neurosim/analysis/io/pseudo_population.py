"""Units of several sessions put together as if they had been recorded at once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..resampling import as_generator
from ..trial_arrays import Conditions, read_conditions, read_labels, read_trials


class PseudoPopulation(NamedTuple):
    """Trials that were never recorded at once; see `pseudo_population`."""

    X: np.ndarray
    labels: dict[str, np.ndarray]
    unit_ids: np.ndarray
    source_trials: np.ndarray


def pseudo_population(
    sessions: Sequence[Any],
    *,
    random_state: Any,
    n_trials: int | np.integer | None = None,
    replace: bool = False,
    levels: Mapping[str, Sequence[Any] | np.ndarray] | None = None,
) -> PseudoPopulation:
    """Put units of several sessions together, trials matched by condition.

    For each condition and each unit by itself, trials are drawn from those that its session has of
    the condition. Units recorded at once are drawn apart as well, so no unit shares its
    trial-to-trial variability with another. Draw fit and test trials from different trials of each
    session, where both are needed: one drawn twice may end up in both.

    **Arguments:**

    - `sessions`: for each, its activity `(trial, time, unit)` and its labels, arrays `(trial,)` by
        name or one array. The same times and names in all, any number of trials and units.
    - `random_state`: a seed or a generator.
    - `n_trials`: trials drawn for each condition; by default as many as the session and condition
        that have the fewest.
    - `replace`: whether a trial may be drawn twice.
    - `levels`: by name, the values of a label that are wanted, in order; trials with others are
        left out. By default those of any session.

    **Returns:** `PseudoPopulation`:

    - `X`: `(trial, time, unit)`, float64, trials of one condition after those of another.
    - `labels`: arrays `(trial,)` by name.
    - `unit_ids`: `(unit, 2)`, session and unit within it.
    - `source_trials`: `(trial, unit)`, the trial of its session that each was drawn from.

    **Raises:** `ValueError` for sessions that differ in times or names of labels, a condition that
    a session lacks, or fewer trials than are to be drawn; it names session and condition.
    """
    rng = as_generator(random_state)
    if len(sessions) == 0:
        raise ValueError("sessions is empty: there is no unit.")
    if any(len(session) != 2 for session in sessions):
        raise ValueError("each session must be a pair: activity (trial, time, unit) and labels.")
    activity = [_activity(X, i) for i, (X, _) in enumerate(sessions)]
    if len({values.shape[1] for values in activity}) > 1:
        raise ValueError(
            "sessions must have the same times, got "
            f"{[values.shape[1] for values in activity]} samples. Cut them to one length."
        )
    columns = [
        read_labels(labels, len(values), name=f"labels of session {i}")
        for i, (values, (_, labels)) in enumerate(zip(activity, sessions, strict=True))
    ]
    kept, conditions = _conditions(columns, levels)
    wanted = sorted({int(cell) for c in conditions for cell in c.cell})
    n = _number(conditions, wanted, n_trials, replace)
    X, source, unit_ids = [], [], []
    for i, (values, places, c) in enumerate(zip(activity, kept, conditions, strict=True)):
        n_units = values.shape[2]
        drawn = np.empty((len(wanted) * n, n_units), np.int64)
        for j, cell in enumerate(wanted):
            trials = places[c.members(cell)]
            for unit in range(n_units):
                drawn[j * n : (j + 1) * n, unit] = rng.choice(trials, size=n, replace=replace)
        X.append(np.take_along_axis(values, drawn[:, None], axis=0))
        source.append(drawn)
        unit_ids.append(np.column_stack([np.full(n_units, i), np.arange(n_units)]))
    return PseudoPopulation(
        X=np.concatenate(X, axis=2),
        labels=conditions[0].labels(np.repeat(wanted, n)),
        unit_ids=np.concatenate(unit_ids),
        source_trials=np.concatenate(source, axis=1),
    )


def _activity(X: Any, session: int) -> np.ndarray:
    if isinstance(X, (list, tuple)):
        raise ValueError(f"session {session} must be one array (trial, time, unit), not a list.")
    return np.asarray(read_trials(X, name=f"session {session}", single=False).values)


def _conditions(
    columns: list[dict[str, np.ndarray]], levels: Any
) -> tuple[list[np.ndarray], list[Conditions]]:
    """The trials of each session that are wanted, and their conditions, the same for all."""
    names = list(columns[0])
    for i, column in enumerate(columns):
        if set(column) != set(names):
            raise ValueError(f"session {i} has labels {list(column)}, session 0 has {names}.")
    given = {} if levels is None else dict(levels)
    if not set(given) <= set(names):
        raise ValueError(f"levels are for {sorted(given)}, but labels for {sorted(names)}.")
    union = {
        name: given.get(name, np.unique(np.concatenate([column[name] for column in columns])))
        for name in names
    }
    kept, found = [], []
    for i, column in enumerate(columns):
        keep = np.all([np.isin(column[name], union[name]) for name in names], axis=0)
        if not keep.any():
            raise ValueError(f"session {i} has no trial with one of the levels.")
        trials = np.flatnonzero(keep)
        kept.append(trials)
        found.append(
            read_conditions(
                {name: column[name][trials] for name in names}, len(trials), levels=union
            )
        )
    return kept, found


def _number(conditions: list[Conditions], wanted: list[int], n_trials: Any, replace: bool) -> int:
    available = np.array([[len(c.members(cell)) for cell in wanted] for c in conditions])
    session, column = np.unravel_index(np.argmin(available), available.shape)
    least, name = int(available.min()), conditions[0].describe(wanted[column])
    if least == 0:
        raise ValueError(
            f"session {session} has no trial with {name}. Leave the session or the level out."
        )
    if n_trials is None:
        return least
    if not (isinstance(n_trials, (int, np.integer)) and n_trials >= 1):
        raise ValueError(f"n_trials must be a whole number, at least 1, got {n_trials!r}.")
    if n_trials > least and not replace:
        raise ValueError(
            f"session {session} has {least} trial(s) with {name}, fewer than the {n_trials} to be "
            "drawn. Draw fewer, or pass replace=True."
        )
    return int(n_trials)
