"""Resampling of trials: shuffles for null distributions, and bootstrap."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike, AnyArray, as_floating, refuse_masked
from .trial_arrays import LabelsLike, read_conditions, read_labels, read_trials, refuse_traced


def as_generator(random_state: Any) -> np.random.Generator:
    """The generator that a seed stands for, or the generator that is given.

    **Raises:** `ValueError` for anything else, `None` included: it would draw differently each
    time.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return np.random.default_rng(whole_number(random_state, "random_state", least=0))
    except ValueError:
        raise ValueError(
            "random_state must be a whole number, not negative, or a numpy.random.Generator; got "
            f"{random_state!r}."
        ) from None


def shuffle_labels(
    labels: Any,
    *,
    random_state: Any,
    groups: Any = None,
    n_shuffles: int | np.integer | None = None,
) -> np.ndarray:
    """Labels dealt out anew to the trials, within each group.

    Trials of one session, or one block, are a group: across groups labels may differ for reasons
    that a shuffle must keep.

    **Arguments:**

    - `labels`: `(trial,)`, or `(trial, label)` for labels that stay together.
    - `random_state`: a seed, or a generator, which goes on from where it is.
    - `groups`: `(trial,)`, the group of each trial; by default all are one.
    - `n_shuffles`: number of shuffles; by default one, without an axis of shuffles.

    **Returns:** the shape of `labels`, or `(shuffle, *shape)`.

    **Raises:** `ValueError` for labels that are the same throughout each group, which no shuffle
    changes, or groups that do not match the trials.
    """
    rng = as_generator(random_state)
    refuse_traced(labels, "labels")
    refuse_masked(labels, "labels")
    values = np.asarray(labels)
    if values.ndim not in (1, 2) or len(values) == 0:
        raise ValueError(f"labels must be (trial,) or (trial, label), got shape {values.shape}.")
    n = len(values)
    members = group_members(groups, n, "groups")
    if all((values[group] == values[group[0]]).all() for group in members):
        raise ValueError("labels are the same throughout each group: no shuffle changes them.")
    count = 1 if n_shuffles is None else whole_number(n_shuffles, "n_shuffles", least=1)
    order = np.tile(np.arange(n), (count, 1))
    for group in members:
        order[:, group] = rng.permuted(order[:, group], axis=1)
    shuffled = values[order]
    return shuffled[0] if n_shuffles is None else shuffled


def circular_shifts(
    n_samples: int | np.integer,
    *,
    n_shifts: int | np.integer,
    random_state: Any,
    min_shift: int | np.integer = 1,
) -> np.ndarray:
    """Shifts in time, round the end, for a null that keeps the autocorrelation of what is shifted.

    Shift a covariate against the activity, as in `numpy.roll(position, shift, axis=0)`.

    **Arguments:**

    - `n_samples`: length of the recording, in samples.
    - `n_shifts`: number of shifts, all different.
    - `random_state`: a seed or a generator.
    - `min_shift`: the least distance from no shift, either way, in samples; beyond the time over
        which the covariate is correlated with itself.

    **Returns:** `(n_shifts,)`, from `min_shift` to `n_samples - min_shift`.

    **Raises:** `ValueError` for more shifts than there are different ones.
    """
    n = whole_number(n_samples, "n_samples", least=1)
    wanted = whole_number(n_shifts, "n_shifts", least=1)
    least = whole_number(min_shift, "min_shift", least=1)
    there = max(0, n - 2 * least + 1)
    if wanted > there:
        raise ValueError(
            f"{n} samples have {there} different shifts of at least {least}, fewer than the "
            f"{wanted} asked for."
        )
    return least + as_generator(random_state).choice(there, size=wanted, replace=False)


def shuffle_trials_per_unit(
    X: ActivityLike,
    *,
    random_state: Any,
    labels: LabelsLike | None = None,
) -> AnyArray:
    """Activity with the trials of each unit in an order of their own, within each condition.

    This removes what units share from trial to trial, their noise correlations, and keeps each
    unit's averages, variances and time courses.

    **Arguments:**

    - `X`: `(trial, time, unit)`.
    - `random_state`: a seed or a generator.
    - `labels`: arrays `(trial,)` by name, or one array; by default all trials are one condition.

    **Returns:** `(trial, time, unit)`, NumPy float64 for NumPy, JAX for JAX.

    **Raises:** `ValueError` for another layout, labels that do not match the trials, or when no
    condition has two trials.
    """
    rng = as_generator(random_state)
    if isinstance(X, (list, tuple)):
        raise ValueError("trials of unequal length cannot be exchanged: cut them to one length.")
    read = read_trials(X, single=False)
    n_trials, _, n_units = read.values.shape
    one = np.zeros(n_trials, int)
    conditions = read_conditions(one if labels is None else labels, n_trials)
    members = [conditions.members(cell) for cell in np.unique(conditions.cell)]
    if max(len(trials) for trials in members) < 2:
        raise ValueError("no condition has two trials: there is nothing to exchange.")
    order = np.tile(np.arange(n_trials)[:, None], (1, n_units))
    for trials in members:
        order[trials] = rng.permuted(order[trials], axis=0)
    return read.xp.take_along_axis(read.values, read.xp.asarray(order)[:, None], axis=0)


def bootstrap_trials(
    n_trials: int | np.integer,
    *,
    n_resamples: int | np.integer,
    random_state: Any,
    labels: LabelsLike | None = None,
    sessions: Any = None,
) -> list[np.ndarray]:
    """Trials drawn with replacement, as many as there are; sessions first, where there are several.

    With sessions the bootstrap is hierarchical: as many sessions as there are, drawn with
    replacement, and within each its trials with replacement, so that trials of one session do not
    pass for independent. The spread of a statistic over resamples is then its standard error for
    new sessions, not for new trials of the same ones.

    **Arguments:**

    - `n_trials`: number of trials.
    - `n_resamples`: number of resamples.
    - `random_state`: a seed or a generator.
    - `labels`: arrays `(trial,)` by name, or one array; each condition (within a session) then
        keeps its number of trials.
    - `sessions`: `(trial,)`, the session of each trial.

    **Returns:** for each resample the places of its trials, `(n_trials,)`; of varying length where
    sessions differ in theirs.

    **Raises:** `ValueError` for labels or sessions that do not match the trials.
    """
    rng = as_generator(random_state)
    n = whole_number(n_trials, "n_trials", least=1)
    wanted = whole_number(n_resamples, "n_resamples", least=1)
    of_session = group_members(sessions, n, "sessions")
    cell = np.zeros(n, int) if labels is None else read_conditions(labels, n).cell
    strata = [[s[cell[s] == c] for c in np.unique(cell[s])] for s in of_session]

    def resample() -> np.ndarray:
        drawn = rng.integers(len(strata), size=len(strata)) if len(strata) > 1 else [0]
        parts = [trials for session in drawn for trials in strata[session]]
        return np.concatenate(
            [trials[rng.integers(len(trials), size=len(trials))] for trials in parts]
        )

    return [resample() for _ in range(wanted)]


def permutation_p_value(
    observed: Any, null: Any, *, alternative: str = "greater"
) -> float | np.ndarray:
    """The p value of a statistic against its values under the null, (1 + k) / (1 + n).

    k of n shuffles are as extreme as what was observed, or more; the observed arrangement is itself
    one of those that the null allows, so the p value is never 0.

    **Arguments:**

    - `observed`: a number, or an array of them.
    - `null`: `(shuffle,)`, or `(shuffle, *shape of observed)`.
    - `alternative`: `"greater"`, `"less"`, or `"two-sided"`, twice the smaller of both, at most 1.

    **Returns:** a float, or an array of the shape of `observed`.

    **Raises:** `ValueError` for another alternative, shapes that do not fit, or NaN.
    """
    if alternative not in ("greater", "less", "two-sided"):
        raise ValueError(
            f"alternative must be 'greater', 'less' or 'two-sided', got {alternative!r}."
        )
    refuse_traced((observed, null), "observed")
    value, shuffled = (
        np.asarray(as_floating(x, n)) for x, n in ((observed, "observed"), (null, "null"))
    )
    if shuffled.shape[1:] != value.shape or shuffled.ndim == 0 or len(shuffled) == 0:
        raise ValueError(
            f"null must be (shuffle, *{value.shape}), at least one shuffle; got {shuffled.shape}."
        )
    if np.isnan(value).any() or np.isnan(shuffled).any():
        raise ValueError("observed and null must not be NaN: there is no rank for it.")
    # The same arrangement, summed in another order, differs by rounding and is a tie.
    slack = 100 * float(jnp.finfo(shuffled.dtype).eps) * np.abs(value)
    n = len(shuffled)
    greater = (1 + np.sum(shuffled >= value - slack, axis=0)) / (1 + n)
    less = (1 + np.sum(shuffled <= value + slack, axis=0)) / (1 + n)
    p = {
        "greater": greater,
        "less": less,
        "two-sided": np.minimum(1, 2 * np.minimum(greater, less)),
    }
    return float(p[alternative]) if value.ndim == 0 else p[alternative]


def group_members(groups: Any, n: int, name: str) -> list[np.ndarray]:
    """The places of the members of each group, all of them where there are no groups.

    **Raises:** `ValueError` for groups that do not match the `n` trials.
    """
    if groups is None:
        return [np.arange(n)]
    column = read_labels({name: groups}, n, name="groups")[name]
    _, code = np.unique(column, return_inverse=True)
    return [np.flatnonzero(code == i) for i in range(code.max() + 1)]
