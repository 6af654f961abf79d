"""The squared error of outputs, group of trials by group of trials."""

from typing import Any, NamedTuple

import numpy as np

from .activity import AnyArray, is_traced, refuse_masked
from .low_rank_factors import Numbers, read_arrays


class GroupedError(NamedTuple):
    """Mean squared error of each group of trials.

    - `groups`: `(group,)`, NumPy, the distinct labels in ascending order; 0 for all trials as one.
    - `values`: `(..., group)`.
    """

    groups: np.ndarray
    values: AnyArray


def grouped_error(
    outputs: Numbers, targets: Numbers, *, mask: Numbers | None = None, groups: Any = None
) -> GroupedError:
    """Mean squared error of outputs in each group of trials, weighted by a mask.

    Within a group it is sum(mask (y - y*)^2) / sum(mask), so trials of which more is asked count
    for more.

    **Arguments:**

    - `outputs`: `(..., trials, time, output)`; leading axes, as of ablations, are kept.
    - `targets`: `(trials, time, output)`.
    - `mask`: as `targets`, or with 1 in place of any axis, or `(trials, time)` for all outputs;
      not negative. All ones by default.
    - `groups`: `(trials,)`, a label for each trial, numbers or strings, known when traced; one
      group by default.

    **Returns:** a `GroupedError`; its values are NumPy float64, or JAX if any argument is.

    **Raises:** `ValueError` for shapes that do not fit, values that are not finite, a negative
    weight, or a group in which nothing is asked.
    """
    xp, (y, target, weight) = read_arrays("mask", outputs=outputs, targets=targets, mask=mask)
    if target.ndim != 3 or y.ndim < 3 or y.shape[-3:] != target.shape or target.size == 0:
        raise ValueError(
            "outputs must be (..., trials, time, output) and targets (trials, time, output), not "
            f"empty, got {y.shape} and {target.shape}."
        )
    n_trials = target.shape[0]
    weight = xp.ones((1, 1, 1), target.dtype) if weight is None else weight
    weight = weight[..., None] if weight.ndim == 2 else weight
    try:
        weight = xp.broadcast_to(weight, target.shape)
    except ValueError:
        raise ValueError(
            f"mask must fit targets of shape {target.shape}, got {weight.shape}."
        ) from None
    if not is_traced(weight) and np.any(np.asarray(weight) < 0):
        raise ValueError("mask must not be negative.")
    member, labels = _membership(groups, n_trials)
    member = xp.asarray(member, dtype=target.dtype)
    asked = member @ weight.sum(axis=(1, 2))
    if not is_traced(asked) and np.any(np.asarray(asked) <= 0):
        empty = labels[int(np.argmax(np.asarray(asked) <= 0))]
        raise ValueError(f"nothing is asked in group {empty}: its mask is zero throughout.")
    error = (weight * (y - target) ** 2).sum(axis=(-2, -1))
    return GroupedError(labels, error @ member.T / asked)


def _membership(groups: Any, n_trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Which trials belong to each group, `(group, trials)`, and the groups' labels."""
    if groups is None:
        return np.ones((1, n_trials)), np.zeros(1, int)
    refuse_masked(groups, "groups")
    labels = np.asarray(groups)
    if labels.shape != (n_trials,):
        raise ValueError(
            f"groups must have one label for each of {n_trials} trials, got shape {labels.shape}."
        )
    if np.issubdtype(labels.dtype, np.floating) and not np.isfinite(labels).all():
        raise ValueError("groups must be finite.")
    distinct = np.unique(labels)
    return (labels == distinct[:, None]).astype(float), distinct
