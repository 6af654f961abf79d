"""Cross-temporal decoding: whether what is read out at one time can be read out at another."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike
from .cross_temporal_trials import read_split_trials, shuffled_scores, trial_folds
from .resampling import as_generator
from .time_resolved_decoders import fit_discriminant, fit_ridge
from .trial_arrays import read_labels


class CrossTemporalDecoding(NamedTuple):
    """Accuracy by time of training and of testing; see `cross_temporal_decode`."""

    accuracy: np.ndarray
    folds: np.ndarray
    chance: float
    classes: np.ndarray
    n_train: np.ndarray
    n_test: np.ndarray
    null: np.ndarray | None
    p_value: np.ndarray | None


def cross_temporal_decode(
    X: ActivityLike,
    y: Any,
    *,
    mask: Any = None,
    groups: Any = None,
    n_folds: int | np.integer = 5,
    decoder: str = "ridge",
    penalty: float | int | None = None,
    min_trials: int | np.integer = 2,
    n_shuffles: int | np.integer = 0,
    alternative: str = "greater",
    random_state: int | np.integer | np.random.Generator = 0,
) -> CrossTemporalDecoding:
    """How well classes of trials are decoded at one time by a decoder fitted at another.

    A code that stays as it is gives a square of equal accuracies; one that moves on gives a
    diagonal. Accuracies **below chance** off the diagonal are real, a code that is inverted, and
    are left as they are.

    Trials are split into folds once, for all pairs of times: no trial is ever on both sides. Each
    unit is centred and divided by its standard deviation, both those of the trials fitted at
    the time fitted. Every class counts the same in the fit, in that scaling and in the accuracy,
    however many trials it has. Bins or filters that overlap in time broaden the diagonal: bins that
    do not are needed to date a change of code.

    ```python
    found = cross_temporal_decode(rates, stimulus, n_shuffles=100)
    found.accuracy[10, 30]  # fitted at time 10, tested at time 30
    ```

    **Arguments:**

    - `X`: `(trial, time, unit)`, or a list of `(time_i, unit)` that all start at the same event.
    - `y`: `(trial,)`, the class of each trial, two classes or more.
    - `mask`: `(trial, time)`, booleans, which samples count; by default all of them.
    - `groups`: `(trial,)`; trials of one group, such as a block, are never on both sides of a fold.
    - `n_folds`: number of folds, at least 2.
    - `decoder`: `"ridge"`, the class of the largest output of a ridge regression of 1 for the class
        and -1 for the others; `"lda"`, linear discriminant analysis of equally likely classes.
    - `penalty`: for `"ridge"` what is added to the squares of the standardised units, above 0, 1 by
        default; for `"lda"` the shrinkage of the covariance, 0 to 1, 0.1 by default.
    - `min_trials`: least number of trials of each class to fit at a time.
    - `n_shuffles`: how often all is repeated with labels dealt out anew. With `groups`, labels stay
        within their group, or go with it where all its trials have the same.
    - `alternative`: `"greater"`, `"less"` or `"two-sided"`, of the p values.
    - `random_state`: a seed or a generator, for folds and shuffles.

    **Returns:** `CrossTemporalDecoding`, NumPy whatever is given:

    - `accuracy`: `(trained time, tested time)`, the mean over folds of the mean over classes of the
        share of held-out trials that are right. NaN where `n_train` at the trained time is below
        `min_trials`, or `n_test` at the tested time is 0.
    - `folds`: `(fold, trained time, tested time)`, the same for each fold; NaN by the trials of
        that fold alone.
    - `chance`: 1 / classes.
    - `classes`: `(class,)`, in order.
    - `n_train`, `n_test`: `(time,)`, trials of the class with fewest to fit and to test, in the
        fold with fewest.
    - `null`: `(shuffle, trained time, tested time)`, or `None` without shuffles.
    - `p_value`: `(trained time, tested time)`, for each pair alone, not corrected for their number;
        NaN where the accuracy is, or that of a shuffle; or `None` without shuffles.

    **Raises:** `ValueError` for a bad layout, values that are not finite, labels that do not match
    the trials, one class, a class in fewer trials (or groups) than folds, a penalty out of range,
    and, without shrinkage, a covariance that has no inverse; `TypeError` under `jit`.

    **Reference:** King & Dehaene (2014), Characterizing the dynamics of mental representations: the
    temporal generalization method, Trends Cogn. Sci. 18.
    """
    if decoder not in ("ridge", "lda"):
        raise ValueError(f"decoder must be 'ridge' or 'lda', got {decoder!r}.")
    size = _penalty(penalty, decoder)
    trials = read_split_trials(X, mask, groups)
    column = read_labels(y, len(trials.values), name="y")["label"]
    classes, index = np.unique(column, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class, {classes[0]!r}: at least two are needed.")
    least = whole_number(min_trials, "min_trials", least=1)
    rng = as_generator(random_state)

    two = len(classes) == 2

    def decode(index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        member = index[:, None] == np.arange(len(classes))
        # (time, class) trials to fit and to test.
        there = trials.there.astype(np.float64)
        accuracies, fewest = [], []
        for train, test in trial_folds(trials, n_folds, rng, index):
            counts = [there[part].T @ member[part] for part in (train, test)]
            fewest.append([count.min(axis=1) for count in counts])
            fitted, tested = fewest[-1][0] >= least, fewest[-1][1] > 0
            # Each class has the same weight at each time, and all together as many as trials.
            n = counts[0][fitted]
            each = n.sum(axis=1, keepdims=True) / (len(classes) * n)
            weight = there[train][:, fitted] * each.T[index[train]]
            values = trials.values[train][:, fitted]
            if decoder == "ridge":
                targets = np.where(member[train], 1.0, -1.0)
                model = fit_ridge(values, targets[:, -1:] if two else targets, weight, size)
            else:
                model = fit_discriminant(values, index[train], weight, size)
            right = _is_right(model.scores(trials.values[test]), index[test])
            right = right * there[test]
            of_class = np.einsum("sit,ic->stc", right, member[test].astype(np.float64))
            share = of_class / np.where(counts[1] > 0, counts[1], 1)
            accuracy = np.full((len(fitted), len(tested)), np.nan)
            accuracy[np.ix_(fitted, tested)] = share.mean(axis=-1)[:, tested]
            accuracies.append(accuracy)
        least_of_all = np.min(fewest, axis=0).astype(int)
        return np.stack(accuracies), least_of_all[0], least_of_all[1]

    folds, n_train, n_test = decode(index)
    accuracy = folds.mean(axis=0)
    if not np.isfinite(accuracy).any():
        raise ValueError(
            f"no time has {least} trials of each class to fit in every fold, and one to test."
        )
    null, p_value = shuffled_scores(
        lambda order: decode(index[order])[0].mean(axis=0),
        accuracy, index, trials, n_shuffles, alternative, rng,
    )  # fmt: skip
    return CrossTemporalDecoding(
        accuracy, folds, 1 / len(classes), classes, n_train, n_test, null, p_value
    )


def _penalty(penalty: float | int | None, decoder: str) -> float:
    size = (1.0 if decoder == "ridge" else 0.1) if penalty is None else float(penalty)
    if decoder == "ridge" and not (np.isfinite(size) and size > 0):
        raise ValueError(f"penalty must be finite and above 0, got {penalty}.")
    if decoder == "lda" and not 0 <= size <= 1:
        raise ValueError(f"penalty must be between 0 and 1 for 'lda', got {penalty}.")
    return size


def _is_right(scores: np.ndarray, index: np.ndarray) -> np.ndarray:
    """`(trained time, trial, tested time)`: whether the class with the largest score is right."""
    if scores.shape[-1] == 1:
        return (scores[..., 0] > 0) == (index == 1)[:, None]
    return np.argmax(scores, axis=-1) == index[:, None]
