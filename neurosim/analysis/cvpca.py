"""Cross-validated PCA: how much variance along each component repeats from trial to trial."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import Activity, ActivityLike, AnyArray, read_activity, refuse_masked
from .estimator import Estimator, check_fitted, check_n_features, read_features, refuse_traced
from .pca import principal_axes
from .resampling import as_generator, permutation_p_value


class CrossValidatedSpectrum(NamedTuple):
    """Signal variance along principal components; see `cross_validated_spectrum`."""

    variance: np.ndarray
    splits: np.ndarray
    null: np.ndarray | None
    p_value: np.ndarray | None


class _Split(NamedTuple):
    """Projections of two repeats on axes of the first, `(stimulus, time, component)`."""

    fitted: np.ndarray
    held_out: np.ndarray


def cross_validated_spectrum(
    X: ActivityLike,
    *,
    n_components: int | np.integer | None = None,
    n_shuffles: int | np.integer = 0,
    random_state: int | np.integer | np.random.Generator = 0,
) -> CrossValidatedSpectrum:
    """Variance along principal components that two repeats of the same stimuli share.

    Axes v_k are fitted to one repeat, X1, and f_k = mean over stimuli of (X1 v_k)(X2 v_k), with
    every neuron centred over stimuli in each repeat. Noise that is independent between repeats
    drops out: f_k is unbiased for the variance of the signal along v_k, and may be negative. With
    R repeats each is held out in turn, against the mean of the others.

    Repeats must hold the **same stimuli in the same order**. Whatever else repeats with them, such
    as a slow drift, counts as signal.

    **Arguments:**

    - `X`: `(repeat, stimulus, neuron)`, at least two repeats.
    - `n_components`: number of axes; by default min(stimuli - 1, neurons).
    - `n_shuffles`: how often the stimuli of every repeat are put in a random order of their own and
        all is done again, for the variance that comes about by chance.
    - `random_state`: a seed or a generator, for the shuffles.

    **Returns:** `CrossValidatedSpectrum` of NumPy arrays, by decreasing variance of what was
    fitted:

    - `variance`: `(component,)`, the mean over held-out repeats, in squared units of activity.
    - `splits`: `(split, component)`, for each held-out repeat.
    - `null`: `(shuffle, component)`, or `None` without shuffles.
    - `p_value`: `(component,)`, that the signal variance is above 0, or `None`.

    **Raises:** `ValueError` for another layout, fewer than two repeats or three stimuli, values
    that are not finite, or a repeat that does not vary.

    **Reference:** Stringer et al. (2019), High-dimensional geometry of population responses in
    visual cortex, Nature 571, 361-365.
    """
    refuse_traced(X, "the cross-validated spectrum")
    activity = read_activity(X)
    if activity.layout == "samples" or len(set(activity.lengths)) > 1:
        raise ValueError(
            "X must be (repeat, stimulus, neuron), each repeat with the same stimuli; got "
            f"{activity.samples.shape if activity.layout == 'samples' else activity.lengths}."
        )
    repeats = np.stack([np.asarray(r, np.float64) for r in activity.trials(activity.samples)])
    if len(repeats) < 2:
        raise ValueError("X holds one repeat: signal is what two or more have in common.")

    def shuffled(rng: np.random.Generator) -> np.ndarray:
        # All of it again: splits that leave one repeat out share most of what they are fitted to.
        mixed = np.stack([repeat[rng.permutation(len(repeat))] for repeat in repeats])
        return _variances(_leave_one_out(mixed, n_components)).mean(axis=0)

    by_split = _variances(_leave_one_out(repeats, n_components))
    return _spectrum(by_split, shuffled, n_shuffles, random_state)


class CrossValidatedPCA(Estimator):
    """PCA of averages over trials, with the variance that repeats, as a scikit-learn estimator.

    `fit` takes single trials and the label of the stimulus (condition) of each. Trials of each
    label are dealt into random halves, several times over; axes are fitted to averages over one
    half and their variance is found between both (see `cross_validated_spectrum`). The axes that
    `transform` projects on are those of averages over all trials.

    ```python
    pca = CrossValidatedPCA("significant", n_shuffles=200).fit(X, stimulus)
    signal = pca.transform(X)
    ```

    **Arguments:**

    - `n_components`: number of components; `None` for as many as the averages have, or
        `"significant"` for those up to the first whose signal variance is not above chance, one at
        least; that asks for shuffles.
    - `n_splits`: number of random halvings; each is used both ways.
    - `n_shuffles`: number of shuffles for the variance that comes about by chance.
    - `alpha`: p value below which a component is significant. Halvings of the same trials are
        not independent, and the shuffles mix stimuli, not times: of components of noise about .08
        were below .05 in simulations, and time courses common to all stimuli do not stand out.
    - `random_state`: a seed or a generator.

    **Attributes** after `fit`, by decreasing variance of the averages:

    - `components_`: `(component, neuron)`, rows orthonormal, signs as in `principal_axes`.
    - `explained_variance_`: `(component,)`, of the averages, noise included (divisor samples - 1).
    - `signal_variance_`: `(component,)`, cross-validated; may be negative.
    - `null_`, `p_values_`: `(shuffle, component)` and `(component,)`; `None` without shuffles.
    - `n_significant_`: number of components up to the first that is not significant, or `None`.
    - `mean_`, `n_components_`, `n_features_in_`.

    **Reference:** Stringer et al. (2019), High-dimensional geometry of population responses in
    visual cortex, Nature 571, 361-365.
    """

    needs_target = True

    def __init__(
        self,
        n_components: int | np.integer | str | None = None,
        *,
        n_splits: int | np.integer = 10,
        n_shuffles: int | np.integer = 0,
        alpha: float = 0.05,
        random_state: int | np.integer | np.random.Generator = 0,
    ) -> None:
        self.n_components = n_components
        self.n_splits = n_splits
        self.n_shuffles = n_shuffles
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: ActivityLike, y: Any = None) -> "CrossValidatedPCA":
        """Find the axes, and their variance between halves of the trials.

        **Arguments:**

        - `X`: `(trials, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`.
            With time, all time points of all averages are samples.
        - `y`: `(trials,)`, the label of each trial.

        **Raises:** `ValueError` for a bad layout, values that are not finite, a label with one
        trial only, trials of one label that differ in length, or parameters out of range.
        """
        refuse_traced(X, "CrossValidatedPCA")
        significant = isinstance(self.n_components, str)
        if significant and (self.n_components != "significant" or self.n_shuffles < 1):
            raise ValueError(
                "n_components must be a whole number, None, or 'significant', which needs "
                f"n_shuffles; got {self.n_components!r} and n_shuffles={self.n_shuffles}."
            )
        n_splits = whole_number(self.n_splits, "n_splits")
        if n_splits < 1 or not 0 < self.alpha < 1:
            raise ValueError(
                "n_splits must be at least 1 and alpha between 0 and 1; got "
                f"{n_splits} and {self.alpha}."
            )
        activity = read_features(X)
        conditions = _trials_by_label(activity, y)
        rng = as_generator(self.random_state)
        asked = None if significant else self.n_components
        splits = []
        for _ in range(n_splits):
            halves = _halves(conditions, rng)
            splits += [_project(a, b, asked) for a, b in (halves, halves[::-1])]

        def shuffled(rng: np.random.Generator) -> np.ndarray:
            return _variances(splits, rng.permutation(len(conditions))).mean(axis=0)

        found = _spectrum(_variances(splits), shuffled, self.n_shuffles, rng)
        kept = found.variance.size
        self.n_significant_ = None
        if found.p_value is not None:
            passed = np.append(found.p_value < self.alpha, False)
            self.n_significant_ = int(np.argmin(passed))
            kept = max(self.n_significant_, 1) if significant else kept
        averages = np.concatenate([trials.mean(axis=0) for trials in conditions])
        axes = principal_axes(averages, n_components=kept)
        self.components_, self.mean_ = axes.components, axes.mean
        self.explained_variance_ = axes.explained_variance
        self.signal_variance_ = found.variance[:kept]
        self.null_ = None if found.null is None else found.null[:, :kept]
        self.p_values_ = None if found.p_value is None else found.p_value[:kept]
        self.n_components_, self.n_features_in_ = kept, averages.shape[1]
        return self

    def transform(self, X: ActivityLike) -> AnyArray | list[AnyArray]:
        """Project activity on the axes: same layout, with components in place of neurons."""
        check_fitted(self)
        activity = read_features(X)
        check_n_features(self, activity.samples.shape[1])
        dtype = activity.samples.dtype
        mean = activity.xp.asarray(self.mean_, dtype=dtype)
        components = activity.xp.asarray(self.components_, dtype=dtype)
        return activity.restore((activity.samples - mean) @ components.T)

    def fit_transform(self, X: ActivityLike, y: Any = None) -> AnyArray | list[AnyArray]:
        """Find the axes, and project the single trials on them."""
        return self.fit(X, y).transform(X)


def _project(first: np.ndarray, second: np.ndarray, n_components: Any) -> _Split:
    """Both repeats, `(stimulus, time, neuron)`, on the axes of the first, about their own means."""
    n_neurons = first.shape[-1]
    n_samples = first.shape[0] * first.shape[1]
    if n_samples < 3:
        raise ValueError(f"X holds {n_samples} stimuli: at least three are needed.")
    # Centred samples of one stimulus less have no variance left along the last axis.
    kept = min(n_samples - 1, n_neurons) if n_components is None else n_components
    axes = principal_axes(first.reshape(-1, n_neurons), n_components=kept).components
    fitted, held_out = ((repeat - repeat.mean(axis=(0, 1))) @ axes.T for repeat in (first, second))
    return _Split(fitted, held_out)


def _leave_one_out(repeats: np.ndarray, n_components: Any) -> list[_Split]:
    """Axes of the mean of the others, for each repeat `(stimulus, neuron)`."""
    total = repeats.sum(axis=0)
    pairs = [((total - held_out) / (len(repeats) - 1), held_out) for held_out in repeats]
    return [_project(a[:, None], b[:, None], n_components) for a, b in pairs]


def _variances(splits: list[_Split], order: Any = slice(None)) -> np.ndarray:
    """`(split, component)`, the held-out stimuli in another order where one is given."""
    return np.stack(
        [
            np.einsum("stk,stk->k", s.fitted, s.held_out[order]) / s.fitted[..., 0].size
            for s in splits
        ]
    )


def _spectrum(
    by_split: np.ndarray,
    shuffled: Callable[[np.random.Generator], np.ndarray],
    n_shuffles: Any,
    random_state: Any,
) -> CrossValidatedSpectrum:
    n_shuffles = whole_number(n_shuffles, "n_shuffles", least=0)
    variance = by_split.mean(axis=0)
    if n_shuffles == 0:
        return CrossValidatedSpectrum(variance, by_split, None, None)
    rng = as_generator(random_state)
    null = np.stack([shuffled(rng) for _ in range(n_shuffles)])
    p_value = np.asarray(permutation_p_value(variance, null))
    return CrossValidatedSpectrum(variance, by_split, null, p_value)


def _trials_by_label(activity: Activity, y: Any) -> list[np.ndarray]:
    """For each label its trials, `(trial, time, neuron)`."""
    if y is None:
        raise ValueError("y is needed: the label (stimulus) of each trial.")
    refuse_masked(y, "y")
    samples = np.asarray(activity.samples, np.float64)
    trials = list(samples[:, None]) if activity.layout == "samples" else activity.trials(samples)
    labels = np.asarray(y)
    if labels.shape != (len(trials),):
        raise ValueError(
            f"y must hold one label for each of the {len(trials)} trials, got shape {labels.shape}."
        )
    conditions = []
    for label in np.unique(labels):
        members = [trials[i] for i in np.flatnonzero(labels == label)]
        if len(members) < 2:
            raise ValueError(f"label {label} has one trial: two are needed to hold one out.")
        if len({len(trial) for trial in members}) > 1:
            raise ValueError(f"trials of label {label} differ in length: cut them to one.")
        conditions.append(np.stack(members))
    return conditions


def _halves(conditions: list[np.ndarray], rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Averages over two random halves of the trials of each label, `(stimulus, time, neuron)`."""
    halves: tuple[list, list] = ([], [])
    for trials in conditions:
        order = rng.permutation(len(trials))
        # Of an odd number either half may get one more.
        cut = (len(trials) + int(rng.integers(2))) // 2
        halves[0].append(trials[order[:cut]].mean(axis=0))
        halves[1].append(trials[order[cut:]].mean(axis=0))
    if len({len(average) for average in halves[0]}) > 1:
        # Stimuli of unequal length can be compared, but not exchanged: one row for each sample.
        raise ValueError("trials of all labels must have one length: cut them to one.")
    return np.stack(halves[0]), np.stack(halves[1])
