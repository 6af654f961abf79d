"""Factor analysis: variability that units share, apart from that of each unit alone."""

from math import log, pi
from typing import Any, NamedTuple

import numpy as np

from .activity import ActivityLike
from .estimator import Estimator, check_fitted, check_n_features, read_features, refuse_traced
from .grouped_folds import grouped_folds
from .paired_samples import sample_groups

_WHAT = "factor analysis"

# Of its variance, the least that a unit is left alone: a likelihood without bound lies below.
_LEAST = 1e-6

# Models with more factors than there are creep on for long, by less than matters to a comparison.
_TOLERANCE = 1e-5


class FactorDimension(NamedTuple):
    """Number of dimensions that units share; see `factor_dimension`."""

    dimension: int
    n_factors: int
    log_likelihoods: np.ndarray
    folds: np.ndarray


class FactorAnalysis(Estimator):
    """Factor analysis by maximum likelihood.

    Activity is Gaussian about its mean with covariance L L^T + diag(psi): factors that units
    share, and variance of each unit alone. Unlike principal components, factors do not follow
    units that merely vary much. Fitted by expectation maximisation.

    **Arguments:**

    - `n_factors`: from 0 to the number of units.
    - `max_iterations`: the most rounds.
    - `tolerance`: the fit ends when a round raises the mean log-likelihood by less.

    **Attributes** after `fit`:

    - `loadings_`: `(factor, unit)`, rows of L^T, orthogonal in units of the variance alone, by
        decreasing shared variance in these; the largest entry of each is positive.
    - `noise_variance_`: `(unit,)`, psi.
    - `mean_`: `(unit,)`.
    - `shared_dimension_`: the fewest directions that hold 95 % of the shared variance tr(L L^T).
    - `log_likelihood_`: of the fit, mean over samples, natural logarithm.
    - `n_iter_`: rounds taken.
    - `n_features_in_`: number of units.

    **Reference:** Rubin & Thayer (1982), EM algorithms for ML factor analysis, Psychometrika 47,
    69-76; Barber (2012), Bayesian reasoning and machine learning, section 21.2.2, for the rounds;
    Williamson et al. (2016), PLoS Computational Biology 12, e1005141, for the shared dimension.
    """

    def __init__(
        self,
        n_factors: int | np.integer = 1,
        *,
        max_iterations: int | np.integer = 5000,
        tolerance: float | int = 1e-6,
    ):
        self.n_factors = n_factors
        self.max_iterations = max_iterations
        self.tolerance = tolerance

    def fit(self, X: ActivityLike, y: Any = None) -> "FactorAnalysis":
        """Find the factors of `(sample, unit)`, `(trials, time, unit)` or a list; `y` is ignored.

        **Raises:** `ValueError` for a bad layout, values that are not finite, fewer than two
        samples, a unit that is constant, a number of factors out of range, or a fit that has not
        ended after `max_iterations`. `TypeError` under `jit`, `grad` or `vmap`.
        """
        del y
        samples = _read(X)[0]
        found = _fitted(samples, self.n_factors, self.max_iterations, self.tolerance)
        self.mean_, self.loadings_, self.noise_variance_, self.log_likelihood_, self.n_iter_ = found
        self.shared_dimension_ = _shared_dimension(self.loadings_)
        self.n_features_in_ = samples.shape[1]
        return self

    def transform(self, X: ActivityLike) -> Any:
        """Posterior mean of the factors, in the layout given, factors in place of units."""
        check_fitted(self)
        samples, activity = _read(X)
        check_n_features(self, samples.shape[1], axis_name="unit")
        weighted = self.loadings_ / self.noise_variance_
        precision = np.eye(len(self.loadings_)) + weighted @ self.loadings_.T
        return activity.restore((samples - self.mean_) @ np.linalg.solve(precision, weighted).T)

    def fit_transform(self, X: ActivityLike, y: Any = None) -> Any:
        """Find the factors, and their posterior mean."""
        return self.fit(X, y).transform(X)

    def score(self, X: ActivityLike, y: Any = None) -> float:
        """Log-likelihood of activity, mean over samples, natural logarithm."""
        del y
        check_fitted(self)
        samples, _ = _read(X)
        check_n_features(self, samples.shape[1], axis_name="unit")
        return _log_likelihood(samples - self.mean_, self.loadings_, self.noise_variance_)


def factor_dimension(
    X: ActivityLike,
    *,
    max_factors: int | np.integer | None = None,
    n_folds: int | np.integer = 10,
    random_state: int | np.integer | np.random.Generator = 0,
) -> FactorDimension:
    """Number of dimensions that units share, by factor analysis and cross-validation.

    The number of factors is that of the greatest likelihood of held-out samples; of those, the
    dimension is the fewest directions that hold 95 % of the shared variance. A communication
    subspace (`ReducedRankRegression`) of fewer dimensions than this is a bottleneck: activity of
    the target has more dimensions than the source predicts.

    **Arguments:**

    - `X`: `(sample, unit)`, `(trials, time, unit)` or a list of `(time_i, unit)`. Trials are held
      out whole; where there are none, single samples.
    - `max_factors`: the most factors to try; by default half of the units, rounded up.
    - `n_folds`, `random_state`: number of folds, and seed or generator that deals trials to them.

    **Returns:** `FactorDimension`:

    - `dimension`: as said; 0 where units share nothing.
    - `n_factors`: of the greatest likelihood.
    - `log_likelihoods`: `(max_factors + 1,)`, from no factors on, mean over held-out samples.
    - `folds`: `(n_folds, max_factors + 1)`.

    **Raises:** as `FactorAnalysis.fit`, about the samples fitted; `ValueError` for a number of
    factors or folds out of range.

    **Reference:** Semedo et al. (2019), Neuron 102, 249-259, STAR methods; Williamson et al.
    (2016), PLoS Computational Biology 12, e1005141.
    """
    samples, activity = _read(X)
    n_units = samples.shape[1]
    most = (n_units + 1) // 2 if max_factors is None else int(max_factors)
    if not 0 <= most <= n_units:
        raise ValueError(f"max_factors must be from 0 to the {n_units} units, got {max_factors}.")
    groups = sample_groups(activity.lengths, activity.layout)
    folds = []
    for train, test in grouped_folds(groups, n_folds=n_folds, random_state=random_state):
        models = [
            FactorAnalysis(q, tolerance=_TOLERANCE).fit(samples[train]) for q in range(most + 1)
        ]
        folds.append([model.score(samples[test]) for model in models])
    values = np.array(folds)
    means = values.mean(axis=0)
    n_factors = int(np.argmax(means))
    dimension = FactorAnalysis(n_factors, tolerance=_TOLERANCE).fit(samples).shared_dimension_
    return FactorDimension(dimension, n_factors, means, values)


def _read(X: Any) -> tuple[np.ndarray, Any]:
    activity = read_features(X, axis_name="unit")
    refuse_traced(activity.samples, _WHAT)
    return np.asarray(activity.samples, np.float64), activity


def _fitted(
    samples: np.ndarray, n_factors: Any, max_iterations: Any, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, int]:
    n, n_units = samples.shape
    if int(n_factors) != n_factors or not 0 <= n_factors <= n_units:
        raise ValueError(f"n_factors must be from 0 to the {n_units} units, got {n_factors!r}.")
    if n < 2:
        raise ValueError("X holds one sample (n_samples=1): a covariance needs two at least.")
    constant = (samples == samples[0]).all(axis=0)
    if constant.any():
        raise ValueError(
            f"unit {int(np.argmax(constant))} is constant ({int(constant.sum())} of {n_units} "
            "units are): its likelihood has no bound. Leave out such units."
        )
    q, mean = int(n_factors), samples.mean(axis=0)
    centred = samples - mean
    covariance = centred.T @ centred / n
    variance = np.diagonal(covariance)
    psi, before = variance.copy(), -np.inf
    for iteration in range(1, int(max_iterations) + 1):
        # Eigenvectors in units of the variance alone give the best loadings for it.
        deviation = np.sqrt(psi)
        values, vectors = np.linalg.eigh(covariance / deviation / deviation[:, None])
        values, vectors = values[::-1], vectors[:, ::-1]
        shared = np.sqrt(np.maximum(values[:q] - 1, 0))
        loadings = (vectors[:, :q] * shared).T * deviation
        # -2 log-likelihood of the sample covariance at these loadings and this variance.
        cost = np.sum(np.log(psi)) + np.sum(np.log(np.maximum(values[:q], 1)))
        cost += np.sum(np.minimum(values[:q], 1)) + np.sum(values[q:])
        likelihood = -0.5 * float(cost + n_units * log(2 * pi))
        if likelihood - before < tolerance:
            signs = np.sign(loadings[np.arange(q), np.argmax(np.abs(loadings), axis=1)])
            loadings = loadings * np.where(signs == 0, 1, signs)[:, None]
            return mean, loadings, psi, likelihood, iteration
        before = likelihood
        psi = np.maximum(variance - np.sum(loadings**2, axis=0), _LEAST * variance)
    raise ValueError(
        f"factor analysis has not ended after max_iterations = {max_iterations}: allow more, or a "
        "larger tolerance."
    )


def _log_likelihood(centred: np.ndarray, loadings: np.ndarray, psi: np.ndarray) -> float:
    n_units = centred.shape[1]
    # By the matrix inversion lemma, at the cost of a matrix of factors only.
    weighted = loadings / psi
    precision = np.eye(len(loadings)) + weighted @ loadings.T
    projected = centred @ weighted.T
    quadratic = np.sum(centred**2 / psi) - np.sum(
        projected.T * np.linalg.solve(precision, projected.T)
    )
    log_determinant = np.sum(np.log(psi)) + np.linalg.slogdet(precision)[1]
    return -0.5 * float(n_units * log(2 * pi) + log_determinant + quadratic / len(centred))


def _shared_dimension(loadings: np.ndarray, share: float = 0.95) -> int:
    variances = np.linalg.svd(loadings, compute_uv=False) ** 2
    total = variances.sum()
    if total == 0:
        return 0
    return int(np.searchsorted(np.cumsum(variances) / total, share - 1e-12)) + 1
