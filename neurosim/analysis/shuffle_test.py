"""What a similarity of two populations is by chance: samples of one in random order."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import Activity, ActivityLike, AnyArray, read_activity
from .estimator import refuse_traced
from .paired_samples import check_same_samples, sample_groups, shuffled_samples
from .resampling import as_generator, permutation_p_value


class ShuffleTest(NamedTuple):
    """A similarity, and what it is by chance; see `shuffle_test`."""

    value: Any
    p_value: Any
    null: np.ndarray


def shuffle_test(
    measure: Callable[[Any, Any], Any],
    X: ActivityLike,
    Y: ActivityLike,
    *,
    n_shuffles: int | np.integer = 200,
    random_state: int | np.integer | np.random.Generator = 0,
    alternative: str = "greater",
) -> ShuffleTest:
    """Whether two populations are more alike than with the samples of one in random order.

    Trials are shuffled whole, so that what is smooth in time stays so. Without trials single
    samples are: consecutive times are no independent samples, and such a chance level is too low.

    ```python
    shuffle_test(cka, X, Y).p_value
    shuffle_test(procrustes_distance, X, Y, alternative="less").p_value
    ```

    **Arguments:**

    - `measure`: a function of `X` and `Y` that returns a number, or an array of numbers which are
      then tested one by one.
    - `X`, `Y`: `(sample, unit)`, `(trials, time, unit)` or a list of `(time, unit)`, of the same
      samples. The trials must have one length.
    - `n_shuffles`: number of shuffles of `Y`.
    - `random_state`: seed or generator of the shuffles.
    - `alternative`: `"greater"` for similarities, `"less"` for distances.

    **Returns:** `ShuffleTest`, NumPy whatever is given:

    - `value`: the measure of the data as they are.
    - `p_value`: share of shuffles, the data as they are counted among them, that are at least as
      similar; no less than 1 / (n_shuffles + 1).
    - `null`: `(n_shuffles, ...)`, the measure of shuffles.

    **Raises:** `ValueError` for a bad layout, values that are not finite, samples that differ,
    trials of unequal length, fewer than two, no shuffles, another alternative, or a measure that
    is not finite; and whatever the measure raises.
    """
    if alternative not in ("greater", "less"):
        raise ValueError(f"alternative must be 'greater' or 'less', got {alternative!r}.")
    n_shuffles = whole_number(n_shuffles, "n_shuffles", least=1)
    first, second = (
        read_activity(x, name=name, axis_name="unit") for x, name in ((X, "X"), (Y, "Y"))
    )
    check_same_samples(first, second)
    for activity in (first, second):
        refuse_traced(activity.samples, "a shuffle test")
    rng = as_generator(random_state)
    groups = sample_groups(first.lengths, first.layout)
    value = _measured(measure, first, second, second.samples)
    null = np.empty((n_shuffles, *value.shape))
    for i in range(n_shuffles):
        order = shuffled_samples(groups, rng)
        null[i] = _measured(measure, first, second, second.samples[order])
    p_value = permutation_p_value(value, null, alternative=alternative)
    return ShuffleTest(float(value) if value.ndim == 0 else value, p_value, null)


def _measured(
    measure: Callable[[Any, Any], Any], first: Activity, second: Activity, samples: AnyArray
) -> np.ndarray:
    value = np.asarray(measure(first.restore(first.samples), second.restore(samples)), np.float64)
    if not np.isfinite(value).all():
        raise ValueError(f"the measure must be finite to be tested, got {value}.")
    return value
