"""Cross-temporal regression: whether a number read out at one time can be read out at another."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike, as_floating
from .cross_temporal_trials import read_split_trials, shuffled_scores, trial_folds
from .estimator import refuse_traced
from .resampling import as_generator
from .time_resolved_decoders import fit_ridge


class CrossTemporalRegression(NamedTuple):
    """Predictions by time of training and of testing; see `cross_temporal_regress`."""

    r2: np.ndarray
    correlation: np.ndarray
    r2_folds: np.ndarray
    correlation_folds: np.ndarray
    n_train: np.ndarray
    n_test: np.ndarray
    null: np.ndarray | None
    p_value: np.ndarray | None


def cross_temporal_regress(
    X: ActivityLike,
    y: Any,
    *,
    mask: Any = None,
    groups: Any = None,
    n_folds: int | np.integer = 5,
    penalty: float | int = 1.0,
    min_trials: int | np.integer = 3,
    n_shuffles: int | np.integer = 0,
    alternative: str = "greater",
    random_state: int | np.integer | np.random.Generator = 0,
) -> CrossTemporalRegression:
    """How well a number that goes with each trial is predicted at one time by a fit at another.

    As `cross_temporal_decode`, by ridge regression on units standardised at the time fitted. R^2 is
    far below 0 where a code has moved on; the correlation then says whether it is unrelated or only
    scaled, shifted or inverted.

    **Arguments:** those of `cross_temporal_decode`, but for

    - `y`: `(trial,)`, numbers.
    - `min_trials`: least number of trials to fit at a time.

    **Returns:** `CrossTemporalRegression`, NumPy whatever is given:

    - `r2`: `(trained time, tested time)`, mean over folds of 1 - (squared error) / (squared
        distance from the mean), over held-out trials. NaN where `n_train` at the trained time is
        below `min_trials`, or the held-out trials of a fold at the tested time number fewer than 2
        or all have the same `y`.
    - `correlation`: `(trained time, tested time)`, mean over folds of that between `y` and its
        prediction; 0 where predictions do not vary.
    - `r2_folds`, `correlation_folds`: `(fold, trained time, tested time)`.
    - `n_train`, `n_test`: `(time,)`, trials to fit and to test, in the fold with fewest.
    - `null`, `p_value`: as those of `cross_temporal_decode`, of the correlation.

    **Raises:** `ValueError` for a bad layout, values that are not finite, numbers that do not match
    the trials or do not vary, or a penalty out of range; `TypeError` under `jit`.
    """
    if not (np.isfinite(penalty) and penalty > 0):
        raise ValueError(f"penalty must be finite and above 0, got {penalty}.")
    trials = read_split_trials(X, mask, groups)
    refuse_traced(y, "cross-temporal regression")
    target = np.asarray(as_floating(y, "y"), np.float64)
    if target.shape != (len(trials.values),) or not np.isfinite(target).all():
        raise ValueError(
            f"y must hold one finite number for each of the {len(trials.values)} trials, got shape "
            f"{target.shape}."
        )
    if (target == target[0]).all():
        raise ValueError(f"y is {target[0]} throughout: there is nothing to predict.")
    least = whole_number(min_trials, "min_trials", least=1)
    rng = as_generator(random_state)

    def regress(target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, counts = [], []
        for train, test in trial_folds(trials, n_folds, rng, None):
            there = trials.there[test].astype(np.float64)
            counts.append([trials.there[train].sum(axis=0), there.sum(axis=0)])
            fitted = counts[-1][0] >= least
            model = fit_ridge(
                trials.values[train][:, fitted],
                target[train, None],
                trials.there[train][:, fitted].astype(np.float64),
                penalty,
            )
            predicted = model.scores(trials.values[test])[..., 0]
            scores = np.full((2, len(fitted), len(fitted)), np.nan)
            scores[:, fitted] = _goodness(target[test, None], predicted, there)
            found.append(scores)
        return np.stack(found, axis=1), np.min(counts, axis=0).astype(int)

    (r2, correlation), counts = regress(target)
    mean = correlation.mean(axis=0)
    if not np.isfinite(mean).any():
        raise ValueError(f"no time has {least} trials to fit in every fold, and two to test.")
    null, p_value = shuffled_scores(
        lambda order: regress(target[order])[0][1].mean(axis=0),
        mean, target, trials, n_shuffles, alternative, rng,
    )  # fmt: skip
    return CrossTemporalRegression(
        r2.mean(axis=0), mean, r2, correlation, counts[0], counts[1], null, p_value
    )


def _goodness(y: np.ndarray, predicted: np.ndarray, there: np.ndarray) -> np.ndarray:
    """R^2 and correlation, `(2, trained time, tested time)`, over the trials that are there."""
    n = np.where(there.sum(axis=0) > 0, there.sum(axis=0), 1)
    about = (y - (y * there).sum(axis=0) / n) * there
    total = (about**2).sum(axis=0)
    error = ((y - predicted) ** 2 * there).sum(axis=1)
    centred = (predicted - (predicted * there).sum(axis=1, keepdims=True) / n[:, None].T) * there
    spread = (centred**2).sum(axis=1)
    size = (predicted**2 * there).sum(axis=1)
    varies = spread > 1e-24 * size
    product = (about * centred).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = 1 - error / total
        correlation = np.where(varies, product / np.sqrt(spread * total), 0)
    return np.where(total > 0, np.stack([r2, correlation]), np.nan)
