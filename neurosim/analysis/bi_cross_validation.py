"""How many components activity has, by holding out neurons and samples at the same time."""

from typing import NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import Activity, ActivityLike, read_activity
from .estimator import refuse_traced
from .numerical_rank import numerical_rank
from .resampling import as_generator


class BiCrossValidation(NamedTuple):
    """Error of held-out entries by number of components; see `bi_cross_validation`."""

    n_components: int
    error: np.ndarray
    standard_error: np.ndarray


def bi_cross_validation(
    X: ActivityLike,
    *,
    max_components: int | np.integer | None = None,
    n_folds: int | np.integer = 2,
    n_repeats: int | np.integer = 5,
    random_state: int | np.integer | np.random.Generator = 0,
) -> BiCrossValidation:
    """Choose the number of principal components by bi-cross-validation.

    Samples and neurons are both cut into folds. A block A of held-out samples and held-out neurons
    is predicted as B D_k^+ C: B holds those samples of the other neurons, C the other samples of
    those neurons, D the rest, and D_k is its best approximation by k components. Held-out entries
    take no part in their own prediction, so too many components predict worse. Holding out samples
    alone does not do that: projecting them on more axes always brings them closer.

    Neurons are centred by their means over the samples that are not held out. Trials are held out
    whole, because neighbouring time points tell of one another.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`.
    - `max_components`: largest number tried; by default as many as the smallest D has.
    - `n_folds`: number of folds of the samples, and of the neurons. 2 leaves few data to fit, and
        many to predict, which is best for telling components from noise; more folds find weaker
        components, and keep some that are noise.
    - `n_repeats`: how often the folds are drawn.
    - `random_state`: a seed or a generator.

    **Returns:** `BiCrossValidation`:

    - `n_components`: the number with the smallest error, 0 where none predicts.
    - `error`: `(max_components + 1,)`, mean squared error of held-out entries for 0, 1, ...
        components, over their mean square about the mean; 1 for 0 components.
    - `standard_error`: `(max_components + 1,)`, of the mean over repeats (0 for one repeat).

    **Raises:** `ValueError` for a bad layout, values that are not finite, fewer trials, samples or
    neurons than folds, a neuron that does not vary, or numbers out of range.

    **Reference:** Owen and Perry (2009), Bi-cross-validation of the SVD and the nonnegative matrix
    factorization, Ann. Appl. Stat. 3, 564-594.
    """
    refuse_traced(X, "bi-cross-validation")
    activity = read_activity(X)
    if not activity.varies:
        raise ValueError("X does not vary: every neuron is constant, so there are no components.")
    values = np.asarray(activity.centred()[0], np.float64)
    folds = whole_number(n_folds, "n_folds", least=2)
    repeats = whole_number(n_repeats, "n_repeats", least=1)
    groups = _groups(activity)
    for count, what in ((groups[-1] + 1, "trials or samples"), (values.shape[1], "neurons")):
        if count < folds:
            raise ValueError(f"X has {count} {what}, fewer than n_folds = {folds}.")
    rng = as_generator(random_state)
    draws = [
        (_deal(groups, folds, rng), _deal(np.arange(values.shape[1]), folds, rng))
        for _ in range(repeats)
    ]
    # One less, for the mean.
    most = min(
        min(int((rows != i).sum()) - 1, int((columns != j).sum()))
        for rows, columns in draws for i in range(folds) for j in range(folds)
    )  # fmt: skip
    kept = most
    if max_components is not None:
        kept = whole_number(max_components, "max_components", least=0)
    if kept > most:
        raise ValueError(
            f"max_components must be at most {most}, the size of what is not held out, got {kept}."
        )
    errors = np.stack([_errors(values, *draw, folds, kept) for draw in draws])
    errors /= errors[:, :1].mean()
    error = errors.mean(axis=0)
    spread = errors.std(axis=0, ddof=1) / np.sqrt(repeats) if repeats > 1 else np.zeros(kept + 1)
    # Of errors equal to rounding (those relative to 1), the fewest components.
    fewest = int(np.argmax(error <= error.min() + 1e-12))
    return BiCrossValidation(fewest, error, spread)


def _errors(
    X: np.ndarray, rows: np.ndarray, columns: np.ndarray, folds: int, most: int
) -> np.ndarray:
    """Squared errors of all entries for 0 to `most` components."""
    errors = np.zeros(most + 1)
    for i in range(folds):
        held_out, rest = X[rows == i], X[rows != i]
        mean = rest.mean(axis=0)
        held_out, rest = held_out - mean, rest - mean
        for j in range(folds):
            out = columns == j
            U, s, Vt = np.linalg.svd(rest[:, ~out], full_matrices=False)
            # Directions that D does not have predict nothing.
            present = s[:most] > numerical_rank(s, rest.shape).threshold
            weight = np.where(present, 1 / np.where(present, s[:most], 1), 0)
            left = held_out[:, ~out] @ Vt[:most].T * weight
            right = U[:, :most].T @ rest[:, out]
            A = held_out[:, out]
            # |A - L_k R_k|^2 for all k at once.
            fit = np.einsum("sk,sk->k", left, A @ right.T)
            gram = (left.T @ left) * (right @ right.T)
            norm = np.cumsum(np.cumsum(gram, axis=0), axis=1).diagonal()
            squared = np.sum(A**2) + np.concatenate([[0.0], norm - 2 * np.cumsum(fit)])
            errors += np.maximum(squared, 0)
    return errors


def _groups(activity: Activity) -> np.ndarray:
    """For each sample what it is held out with: its trial, where there are trials."""
    if activity.layout == "samples":
        return np.arange(len(activity.samples))
    return np.repeat(np.arange(len(activity.lengths)), activity.lengths)


def _deal(groups: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """A fold for each entry, whole groups to folds of about equal size."""
    n = int(groups[-1]) + 1
    return rng.permutation(np.arange(n) % folds)[groups]
