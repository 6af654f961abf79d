"""Communication subspace: the few directions of one population that predict another."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike
from .estimator import Estimator, check_fitted, check_n_features, read_features, refuse_traced
from .grouped_folds import grouped_folds
from .paired_samples import PairedSamples, read_numpy_pair
from .ridge_regression import ridge_factors

_WHAT = "reduced-rank regression"


class RankScores(NamedTuple):
    """How well each rank predicts held-out samples; see `reduced_rank_scores`."""

    rank: int
    scores: np.ndarray
    standard_errors: np.ndarray
    folds: np.ndarray


class ReducedRankRegression(Estimator):
    """Regression of one population on another through few dimensions.

    Of all linear maps of rank m it is the one that predicts the target with the least squared
    error: Y ~ X B V V^T, with B of ordinary (or ridge) regression and V the first m right singular
    vectors of the prediction X B. The columns of B V span the source's communication subspace:
    what the source does outside of it has no bearing on the prediction. Compare its rank with the
    dimension of the target's own activity, `factor_dimension`.

    ```python
    model = ReducedRankRegression().fit(V1, V2)
    model.rank_, model.transform(V1)
    ```

    **Arguments:**

    - `rank`: m, from 0 (the mean) to min(units of the source, of the target); `None` for the
        smallest whose cross-validated score is within one standard error of the best, see
        `reduced_rank_scores`.
    - `regularisation`: penalty on squared coefficients over the mean variance of a source unit
        and the number of samples; 0 for none.
    - `n_folds`, `random_state`: of the cross-validation, where the rank is chosen by it.

    **Attributes** after `fit`, by decreasing variance of the prediction:

    - `rank_`: m.
    - `coef_`: `(target unit, source unit)`, `(source unit,)` for a vector target, as
        scikit-learn has it, and `intercept_`.
    - `x_axes_`: `(source unit, m)`, B V; the prediction is `(X - x_mean_) @ x_axes_ @ y_axes_.T`.
    - `y_axes_`: `(target unit, m)`, V, orthonormal; the largest entry of each is positive.
    - `x_mean_`, `y_mean_`: means over samples.
    - `cv_scores_`, `cv_standard_errors_`: `(m_max + 1,)`, from rank 0 on; `None` where `rank` was
        given.
    - `n_features_in_`: units of the source.

    Everything is NumPy float64, whatever is given.

    **Reference:** Semedo, Zandvakili, Machens, Yu & Kohn (2019), Cortical areas interact through a
    communication subspace, Neuron 102, 249-259; Izenman (1975), Reduced-rank regression for the
    multivariate linear model, Journal of Multivariate Analysis 5, 248-264; Mukherjee & Zhu (2011),
    Statistical Analysis and Data Mining 4, 612-622, for the penalty.
    """

    estimator_kind = "regressor"
    needs_target = True

    def __init__(
        self,
        rank: int | np.integer | None = None,
        *,
        regularisation: float | int = 0.0,
        n_folds: int | np.integer = 10,
        random_state: Any = 0,
    ):
        self.rank = rank
        self.regularisation = regularisation
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: ActivityLike, y: Any = None) -> "ReducedRankRegression":
        """Find the map.

        **Arguments:**

        - `X`: source, `(sample, unit)`, `(trials, time, unit)` or a list of `(time_i, unit)`.
        - `y`: target, the same samples; a vector is one unit.

        **Raises:** `ValueError` for a bad layout, values that are not finite, samples that
        differ, a rank or regularisation out of range, fewer than two samples, a source that does
        not vary, or whose units are linearly dependent without regularisation, and too few trials
        for the folds. `TypeError` under `jit`, `grad` or `vmap`.
        """
        pair = _read(X, y)
        scores = None
        if self.rank is None:
            scores = _rank_scores(pair, self.regularisation, self.n_folds, self.random_state)
            self.rank_ = scores.rank
        else:
            most = min(pair.X.shape[1], pair.Y.shape[1])
            if int(self.rank) != self.rank or not 0 <= self.rank <= most:
                raise ValueError(f"rank must be from 0 to {most}, or None; got {self.rank!r}.")
            self.rank_ = int(self.rank)
        self.cv_scores_ = None if scores is None else scores.scores
        self.cv_standard_errors_ = None if scores is None else scores.standard_errors
        self.x_mean_, self.y_mean_ = pair.X.mean(axis=0), pair.Y.mean(axis=0)
        B, V = _axes(pair.X - self.x_mean_, pair.Y - self.y_mean_, self.regularisation)
        V = V[:, : self.rank_]
        pivot = np.argmax(np.abs(V), axis=0)
        self.y_axes_ = V * np.sign(V[pivot, np.arange(V.shape[1])])
        self.x_axes_ = B @ self.y_axes_
        coefficients = self.y_axes_ @ self.x_axes_.T
        intercept = self.y_mean_ - coefficients @ self.x_mean_
        self._vector = pair.y_is_vector
        self.coef_ = coefficients[0] if self._vector else coefficients
        self.intercept_ = float(intercept[0]) if self._vector else intercept
        self.n_features_in_ = pair.X.shape[1]
        return self

    def predict(self, X: ActivityLike) -> Any:
        """The target that is predicted, in the layout of `X`; a vector where one was fitted."""
        check_fitted(self)
        found = self._projected(X, self.x_axes_ @ self.y_axes_.T, self.y_mean_)
        return found[..., 0] if self._vector and not isinstance(found, list) else found

    def transform(self, X: ActivityLike) -> Any:
        """Activity of the source in its communication subspace, `rank_` columns for units."""
        check_fitted(self)
        return self._projected(X, self.x_axes_, 0.0)

    def fit_transform(self, X: ActivityLike, y: Any = None) -> Any:
        """Find the map, and the activity of the source in its communication subspace."""
        return self.fit(X, y).transform(X)

    def score(self, X: ActivityLike, y: Any) -> float:
        """Share of the target's variance that is predicted, all units together; at most 1."""
        check_fitted(self)
        pair = _read(X, y)
        check_n_features(self, pair.X.shape[1], axis_name="unit")
        if pair.Y.shape[1] != len(self.y_mean_):
            raise ValueError(f"y has {pair.Y.shape[1]} units, but the fit has {len(self.y_mean_)}.")
        error = pair.Y - self.y_mean_ - (pair.X - self.x_mean_) @ self.x_axes_ @ self.y_axes_.T
        return _share_explained(error, pair.Y - pair.Y.mean(axis=0))

    def _projected(self, X: Any, axes: np.ndarray, offset: Any) -> Any:
        activity = read_features(X, axis_name="unit")
        refuse_traced(activity.samples, _WHAT)
        samples = np.asarray(activity.samples, np.float64)
        check_n_features(self, samples.shape[1], axis_name="unit")
        return activity.restore((samples - self.x_mean_) @ axes + offset)


def reduced_rank_scores(
    X: ActivityLike,
    Y: ActivityLike,
    *,
    regularisation: float | int = 0.0,
    n_folds: int | np.integer = 10,
    random_state: int | np.integer | np.random.Generator = 0,
) -> RankScores:
    """How well reduced-rank regression of each rank predicts held-out samples.

    Trials are held out whole; where there are none, single samples. One fit serves all ranks.

    **Arguments:**

    - `X`, `Y`: source and target, as for `ReducedRankRegression.fit`.
    - `regularisation`, `n_folds`, `random_state`: see `ReducedRankRegression`.

    **Returns:** `RankScores`:

    - `rank`: the smallest with a score within one standard error (of the best) of the best; 0
      where the mean does as well.
    - `scores`: `(m_max + 1,)`, the share of variance predicted, from rank 0, the mean of the
      samples fitted, whose score is 0.
    - `standard_errors`: `(m_max + 1,)`, of these means, folds taken as independent.
    - `folds`: `(n_folds, m_max + 1)`, variance predicted in each, over the mean variance of a fold.

    **Raises:** as `ReducedRankRegression.fit`.
    """
    return _rank_scores(_read(X, Y), regularisation, n_folds, random_state)


def _read(X: Any, y: Any) -> PairedSamples:
    if y is None:
        raise ValueError("ReducedRankRegression requires y to be passed, but the target y is None.")
    pair = read_numpy_pair(X, y, names=("X", "y"), what=_WHAT)
    if len(pair.X) < 2:
        raise ValueError("X and y hold one sample (n_samples=1): a regression needs two at least.")
    return pair


def _axes(X: np.ndarray, Y: np.ndarray, regularisation: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients B of the regression, and the directions V of its prediction, all of them."""
    factors = ridge_factors(X, regularisation, "X")
    B = factors.coefficients(Y)
    # Singular vectors of the prediction, the penalty counted as further samples.
    weight = factors.singular / np.sqrt(factors.singular**2 + factors.penalty)
    _, _, Vt = np.linalg.svd(weight[:, None] * (factors.left.T @ Y), full_matrices=False)
    return B, Vt.T


def _rank_scores(
    pair: PairedSamples, regularisation: Any, n_folds: Any, random_state: Any
) -> RankScores:
    most = min(pair.X.shape[1], pair.Y.shape[1])
    whole_number(n_folds, "n_folds", least=1)
    gains, totals = [], []
    for train, test in grouped_folds(pair.groups, n_folds=n_folds, random_state=random_state):
        x_mean, y_mean = pair.X[train].mean(axis=0), pair.Y[train].mean(axis=0)
        B, V = _axes(pair.X[train] - x_mean, pair.Y[train] - y_mean, regularisation)
        target = (pair.Y[test] - y_mean) @ V
        source = (pair.X[test] - x_mean) @ B @ V
        # Each direction of the prediction lowers the error on its own.
        explained = np.zeros(most)
        found = np.sum(2 * target * source - source**2, axis=0)[:most]
        explained[: len(found)] = found
        gains.append(np.concatenate([[0.0], np.cumsum(explained)]))
        totals.append(np.sum((pair.Y[test] - y_mean) ** 2))
    total = float(np.mean(totals))
    if total == 0:
        raise ValueError("y does not vary: there is nothing to predict.")
    # Over the variance of all folds, since that of a small one may vanish.
    folds = np.array(gains) / total
    scores, errors = folds.mean(axis=0), folds.std(axis=0, ddof=1) / len(folds) ** 0.5
    best = int(np.argmax(scores))
    rank = int(np.argmax(scores >= scores[best] - errors[best]))
    return RankScores(rank, scores, errors, folds)


def _share_explained(error: np.ndarray, centred: np.ndarray) -> float:
    total = float(np.sum(centred**2))
    if total == 0:
        raise ValueError("y does not vary: there is no variance to explain.")
    return 1 - float(np.sum(error**2)) / total
