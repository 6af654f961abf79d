"""Whether components of demixed PCA tell conditions apart in trials that were held out."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .condition_layouts import read_condition_trials
from .condition_trials import ConditionTrials
from .dpca import DPCA
from .dpca_decomposition import DemixedRegression
from .dpca_marginalisation import TIME, contrasts, joined_terms
from .estimator import check_fitted, check_n_features
from .resampling import as_generator, permutation_p_value


class DPCASignificance(NamedTuple):
    """Classification by components, and by chance; see `dpca_significance`."""

    accuracy: dict[str, np.ndarray]
    significant: dict[str, np.ndarray]
    p_value: dict[str, np.ndarray]
    null: dict[str, np.ndarray]
    chance: dict[str, float]


def dpca_significance(
    dpca: DPCA,
    X: Any,
    y: Any = None,
    *,
    n_components: int | np.integer = 3,
    n_splits: int | np.integer = 100,
    n_shuffles: int | np.integer = 100,
    alpha: float = 0.01,
    n_consecutive: int | np.integer = 1,
    random_state: int | np.integer | np.random.Generator = 0,
) -> DPCASignificance:
    """Test at which times components of demixed PCA tell conditions apart.

    One random trial of each condition is held out, and demixed PCA is fitted to the others, with
    the parameters and the penalty of `dpca`. Each component and each time point is a classifier: a
    held-out trial belongs to the class whose mean component is nearest. Classes are the levels of
    the factors of the part, all combinations for an interaction; the part of time has none. The
    same is done with the labels of trials dealt out anew.

    **Arguments:**

    - `dpca`: fitted.
    - `X`, `y`: single trials, as for `DPCA.fit`; two of each neuron in every cell.
    - `n_components`: how many leading components of each part are tested, where it has so many.
    - `n_splits`: how often trials are held out.
    - `n_shuffles`: number of shuffles of the labels, each with as many splits.
    - `alpha`: p value up to which a time point is significant; by default, with 100 shuffles, those
        above all shuffles.
    - `n_consecutive`: shortest run of significant time points that counts.
    - `random_state`: a seed or a generator.

    **Returns:** `DPCASignificance`, by name of the part:

    - `accuracy`: `(component, time)`, share of held-out trials that are classified correctly.
    - `significant`: `(component, time)`, booleans.
    - `p_value`: `(component, time)`, of the accuracy among those of shuffles.
    - `null`: `(shuffle, component, time)`.
    - `chance`: 1 over the number of classes.

    Without a time axis, time has one point.

    **Raises:** `ValueError` for a `dpca` that is not fitted, trials that do not match it, a cell
    with fewer than two trials, or numbers out of range.

    **Reference:** Kobak et al. (2016), Demixed principal component analysis of neural population
    data, eLife 5:e10989, Methods, Significance analysis of dPCA components.
    """
    check_fitted(dpca)
    n_components = whole_number(n_components, "n_components", least=1)
    n_splits = whole_number(n_splits, "n_splits", least=1)
    n_shuffles = whole_number(n_shuffles, "n_shuffles", least=1)
    n_consecutive = whole_number(n_consecutive, "n_consecutive", least=1)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha}.")
    trials = read_condition_trials(X, y, dpca.factors_)
    check_n_features(dpca, trials.shape[-1])
    if trials.shape[:-1] != tuple(len(values) for values in dpca.levels_.values()):
        raise ValueError(
            f"trials have {trials.shape[:-1]} levels of {trials.factors}, the fit has "
            f"{tuple(len(values) for values in dpca.levels_.values())}."
        )
    trials.check_counts(2)
    rng = as_generator(random_state)
    test = _Classification(dpca, trials, n_components, n_splits)
    accuracy = test.accuracy(trials, rng)
    shuffles = [test.accuracy(trials.shuffled(rng), rng) for _ in range(n_shuffles)]
    null = {part: np.stack([each[part] for each in shuffles]) for part in accuracy}
    p_value = {
        part: np.asarray(permutation_p_value(found, null[part])) for part, found in accuracy.items()
    }
    return DPCASignificance(
        accuracy=accuracy,
        significant={part: _runs(p <= alpha, n_consecutive) for part, p in p_value.items()},
        p_value=p_value,
        null=null,
        chance={part: 1 / (1 + int(classes.max())) for part, classes in test.classes.items()},
    )


class _Classification:
    """Held-out classification with the parameters of a fit."""

    def __init__(
        self, dpca: DPCA, trials: ConditionTrials, n_components: int, n_splits: int
    ) -> None:
        self.terms = joined_terms(trials.factors, dpca.join)
        self.classes = _classes(trials, self.terms)
        if not self.classes:
            raise ValueError("the only factor is time: there are no conditions to tell apart.")
        self.kept = {part: min(n_components, dpca.n_components_[part]) for part in self.classes}
        self.ridge, self.noise, self.n_splits = dpca.ridge_, dpca.noise, n_splits

    def accuracy(self, trials: ConditionTrials, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Share of held-out trials that are classified correctly, `(component, time)` by part."""
        n_neurons, n_cells = trials.shape[-1], trials.n_cells
        n_times = trials.values.shape[1]
        noise = None if self.noise == "none" else trials.noise(self.noise) * n_cells * n_times
        right = {part: np.zeros((kept, n_times)) for part, kept in self.kept.items()}
        for _ in range(self.n_splits):
            train, test = trials.held_out(rng)
            regression = DemixedRegression(
                contrasts(train, self.terms), noise=noise, ridge=self.ridge
            )
            train, test = (x.reshape(n_cells, n_times, n_neurons) for x in (train, test))
            for part, classes in self.classes.items():
                decoders = regression.solve(part, self.kept[part], self.ridge).decoders
                found = (
                    _nearest(train @ decoders.T, test @ decoders.T, classes)
                    == classes[:, None, None]
                )
                right[part][: len(decoders)] += found.mean(axis=0).T
        return {part: share / self.n_splits for part, share in right.items()}


def _classes(
    trials: ConditionTrials, terms: Mapping[str, Sequence[tuple[int, ...]]]
) -> dict[str, np.ndarray]:
    """For each part the class of each cell, `(cell,)`; none for parts of time alone."""
    factors = [name for name in trials.factors if name != TIME]
    shape = [len(trials.levels[name]) for name in factors]
    at = np.unravel_index(np.arange(trials.n_cells), shape) if factors else ()
    classes = {}
    for part, group in terms.items():
        axes = sorted({axis for term in group for axis in term if axis < len(factors)})
        if axes:
            levels = [shape[axis] for axis in axes]
            classes[part] = np.ravel_multi_index([at[axis] for axis in axes], levels)
    return classes


def _nearest(train: np.ndarray, test: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The class whose mean is nearest, for each cell, time and component by itself."""
    means = np.stack([train[classes == k].mean(axis=0) for k in range(classes.max() + 1)])
    return np.argmin(np.abs(test[:, None] - means), axis=1)


def _runs(marked: np.ndarray, shortest: int) -> np.ndarray:
    """Marks along the last axis that stand in runs of a length."""
    kept = np.zeros_like(marked)
    for row, result in zip(marked, kept, strict=True):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        for start, stop in edges.reshape(-1, 2):
            result[start:stop] = stop - start >= shortest
    return kept
