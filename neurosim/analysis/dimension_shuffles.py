"""What dimension activity would have if its neurons were independent."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import Activity, ActivityLike, read_activity
from .dimensionality import participation_ratio
from .estimator import refuse_traced
from .resampling import as_generator, permutation_p_value


class DimensionTest(NamedTuple):
    """A dimension, and those of independent neurons; see `dimension_of_shuffles`."""

    dimension: float
    null: np.ndarray
    p_value: float


def dimension_of_shuffles(
    X: ActivityLike,
    dimension: Callable[[Any], Any] = participation_ratio,
    *,
    by: Literal["samples", "trials", "shifts"] = "samples",
    n_shuffles: int | np.integer = 100,
    random_state: int | np.integer | np.random.Generator = 0,
) -> DimensionTest:
    """Compare a dimension with that of neurons which do not know of one another.

    Each neuron is shuffled by itself: its variance stays, what it shares with others goes. The
    shuffles hold as many neurons and samples as the activity does, so that the bias of the
    dimension is the same in both.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`.
    - `dimension`: what takes activity, as samples `(sample, neuron)`, and gives a number:
        `participation_ratio`, or `lambda X: effective_rank(X, kind="covariance")`.
    - `by`: what is shuffled in each neuron. `"samples"`, one by one, for samples that are
        independent; `"shifts"` turns each trial round by a number of time points, which keeps its
        autocorrelation; `"trials"` exchanges trials of equal length, which keeps the average over
        trials in its place and so leaves dimensions of noise to be tested.
    - `n_shuffles`: number of shuffles.
    - `random_state`: a seed or a generator.

    **Returns:** `DimensionTest`: `dimension` of the activity, `null` `(shuffle,)`, and `p_value`,
    that the dimension is lower than that of independent neurons.

    **Raises:** `ValueError` for a bad layout, values that are not finite, another kind of shuffle,
    trials that cannot be exchanged, or no shuffles.
    """
    refuse_traced(X, "a comparison with shuffles")
    if by not in ("samples", "trials", "shifts"):
        raise ValueError(f"by must be 'samples', 'trials' or 'shifts', got {by!r}.")
    count = whole_number(n_shuffles, "n_shuffles", least=1)
    activity = read_activity(X)
    samples = np.asarray(activity.samples, np.float64)
    if by == "trials" and (len(activity.lengths) < 2 or len(set(activity.lengths)) > 1):
        raise ValueError(
            "by='trials' needs at least two trials of equal length, got lengths "
            f"{activity.lengths}."
        )
    rng = as_generator(random_state)
    found = float(dimension(samples))
    null = np.array([float(dimension(_shuffled(samples, activity, by, rng))) for _ in range(count)])
    return DimensionTest(found, null, float(permutation_p_value(found, null, alternative="less")))


def _shuffled(
    samples: np.ndarray, activity: Activity, by: str, rng: np.random.Generator
) -> np.ndarray:
    n_neurons = samples.shape[1]
    if by == "samples":
        return rng.permuted(samples, axis=0)
    if by == "trials":
        n_trials, n_times = len(activity.lengths), activity.lengths[0]
        order = rng.permuted(np.tile(np.arange(n_trials)[:, None], (1, n_neurons)), axis=0)
        trials = samples.reshape(n_trials, n_times, n_neurons)
        return np.take_along_axis(trials, order[:, None], axis=0).reshape(samples.shape)
    turned = []
    for trial in activity.trials(samples):
        steps = np.arange(len(trial))[:, None] + rng.integers(len(trial), size=n_neurons)
        turned.append(np.take_along_axis(trial, steps % len(trial), axis=0))
    return np.concatenate(turned)
