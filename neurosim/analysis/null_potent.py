"""Null and potent space: directions of a population that its output does not see, or sees."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike
from .estimator import Estimator, check_fitted, check_n_features, read_features, refuse_traced
from .numerical_rank import numerical_rank
from .paired_samples import read_numpy_pair
from .resampling import as_generator, permutation_p_value
from .ridge_regression import ridge_factors

_WHAT = "null and potent space"


class TuningRatio(NamedTuple):
    """Variance in the null space over that in the potent space; see `NullPotent.tuning_ratio`."""

    ratio: float
    null: np.ndarray
    p_value: float


class NullPotent(Estimator):
    """Division of a population's leading dimensions by what its output sees of them.

    The population is reduced to its leading principal components, the output (muscles, another
    area) to as many as its `rank`, and the latter regressed on the former: M = W X. The row space
    of W is output-potent, its complement among the components output-null. A regression has full
    rank if only by noise, so the rank must be said; both spaces have the same number of
    dimensions by default, which makes their variances comparable.

    **Arguments:**

    - `rank`: dimensions of the output, and of the potent space.
    - `n_dimensions`: principal components of the population that are kept, more than `rank`; by
        default twice as many. Those beyond `rank` are the dimensions of the null space.
    - `regularisation`: penalty on squared coefficients over the mean variance of a component and
        the number of samples; 0 for none.

    **Attributes** after `fit`:

    - `potent_axes_`: `(unit, rank)`, orthonormal, by decreasing weight on the output.
    - `null_axes_`: `(unit, n_dimensions - rank)`, orthonormal and orthogonal to the potent axes,
        by decreasing variance. The largest entry of each axis is positive.
    - `weights_`: `(output, unit)`, W, that predict the centred output from centred activity.
    - `mean_`, `output_mean_`: means over samples.
    - `explained_variance_ratio_`: share of the population's variance in the components.
    - `n_features_in_`: number of units.

    Everything is NumPy float64, whatever is given.

    **Reference:** Kaufman, Churchland, Ryu & Shenoy (2014), Cortical activity in the null space:
    permitting preparation without movement, Nature Neuroscience 17, 440-448.
    """

    needs_target = True

    def __init__(
        self,
        rank: int | np.integer = 1,
        *,
        n_dimensions: int | np.integer | None = None,
        regularisation: float | int = 0.0,
    ):
        self.rank = rank
        self.n_dimensions = n_dimensions
        self.regularisation = regularisation

    def fit(self, X: ActivityLike, y: Any = None) -> "NullPotent":
        """Find the spaces, from activity while the output is active (during movement).

        **Arguments:**

        - `X`: population, `(sample, unit)`, `(trials, time, unit)` or a list of `(time_i, unit)`.
        - `y`: output, the same samples, `(..., output)`; a vector is one output.

        **Raises:** `ValueError` for a bad layout, values that are not finite, samples that
        differ, a number of dimensions out of range or more than the population or output has, or
        a regularisation below 0. `TypeError` under `jit`, `grad` or `vmap`.
        """
        if y is None:
            raise ValueError("NullPotent requires y to be passed, but the target y is None.")
        pair = read_numpy_pair(X, y, names=("X", "y"), what=_WHAT)
        rank, n_dimensions = self._dimensions()
        self.mean_, self.output_mean_ = pair.X.mean(axis=0), pair.Y.mean(axis=0)
        centred = pair.X - self.mean_
        output = pair.Y - self.output_mean_
        axes, share = _leading_axes(centred, n_dimensions, "X")
        output_axes, _ = _leading_axes(output, rank, "y")
        coefficients = ridge_factors(centred @ axes, self.regularisation, "X").coefficients(
            output @ output_axes
        )
        _check_rank(centred @ axes @ coefficients, output, rank)
        U = np.linalg.svd(coefficients)[0]
        null = axes @ U[:, rank:]
        _, _, turn = np.linalg.svd(centred @ null, full_matrices=False)
        self.potent_axes_ = _signed(axes @ U[:, :rank])
        self.null_axes_ = _signed(null @ turn.T)
        self.weights_ = output_axes @ coefficients.T @ axes.T
        self.explained_variance_ratio_ = share
        self.n_features_in_ = pair.X.shape[1]
        return self

    def transform(self, X: ActivityLike) -> Any:
        """Activity along the potent axes, then along the null axes, in the layout given."""
        check_fitted(self)
        activity = read_features(X, axis_name="unit")
        refuse_traced(activity.samples, _WHAT)
        return activity.restore(self._projected(activity.samples))

    def fit_transform(self, X: ActivityLike, y: Any = None) -> Any:
        """Find the spaces, and project the activity on them."""
        return self.fit(X, y).transform(X)

    def tuning_ratio(
        self,
        X: ActivityLike,
        *,
        n_shuffles: int | np.integer = 1000,
        random_state: int | np.integer | np.random.Generator = 0,
    ) -> TuningRatio:
        """Variance of a null dimension over that of a potent one, and by chance.

        Above 1, activity (in preparation, for instance) avoids what the output sees. Chance is a
        potent space of random directions among the principal components of the fit.

        **Arguments:**

        - `X`: activity of the units fitted, averages of conditions for instance; the mean over
          its samples is subtracted.
        - `n_shuffles`, `random_state`: number of random spaces, and their seed or generator.

        **Returns:** `TuningRatio`: `ratio`; `null`, `(n_shuffles,)`, of random spaces; `p_value`,
        the share of these, the data counted among them, with a ratio at least as large.

        **Raises:** `ValueError` for activity that does not fit, or does not vary in the potent
        space.
        """
        check_fitted(self)
        activity = read_features(X, axis_name="unit")
        refuse_traced(activity.samples, _WHAT)
        projected = self._projected(activity.samples)
        rounding = (64 * np.finfo(np.float64).eps * np.abs(projected).max()) ** 2
        projected -= projected.mean(axis=0)
        covariance = projected.T @ projected / len(projected)
        rank = self.potent_axes_.shape[1]
        if not np.trace(covariance[:rank, :rank]) > rounding:
            raise ValueError("X does not vary in the potent space: the ratio has no bound.")
        rng = as_generator(random_state)
        null = np.empty(whole_number(n_shuffles, "n_shuffles", least=1))
        for i in range(len(null)):
            Q = np.linalg.qr(rng.normal(size=covariance.shape))[0]
            null[i] = _ratio(Q.T @ covariance @ Q, rank)
        ratio = _ratio(covariance, rank)
        return TuningRatio(ratio, null, float(permutation_p_value(ratio, null)))

    def _dimensions(self) -> tuple[int, int]:
        rank = whole_number(self.rank, "rank", least=1)
        n_dimensions = 2 * rank
        if self.n_dimensions is not None:
            n_dimensions = whole_number(self.n_dimensions, "n_dimensions", least=1)
        if n_dimensions <= rank:
            raise ValueError(
                f"n_dimensions must exceed rank = {rank}, got {n_dimensions}: nothing would "
                "be null."
            )
        return rank, n_dimensions

    def _projected(self, samples: Any) -> np.ndarray:
        values = np.asarray(samples, np.float64)
        check_n_features(self, values.shape[1], axis_name="unit")
        return (values - self.mean_) @ np.hstack([self.potent_axes_, self.null_axes_])


def _check_rank(predicted: np.ndarray, output: np.ndarray, rank: int) -> None:
    s = np.linalg.svd(predicted, compute_uv=False)
    threshold = max(output.shape) * np.finfo(np.float64).eps * np.linalg.norm(output)
    found = int((s > threshold).sum())
    if found < rank:
        raise ValueError(
            f"the output depends on {found} dimension(s) of X, fewer than rank = {rank} (singular "
            f"values of the prediction above {threshold:.1e})."
        )


def _ratio(covariance: np.ndarray, rank: int) -> float:
    variances = np.diagonal(covariance)
    return float(variances[rank:].mean() / variances[:rank].mean())


def _leading_axes(centred: np.ndarray, wanted: int, name: str) -> tuple[np.ndarray, float]:
    """The first principal axes in columns, and their share of the variance."""
    _, s, Vt = np.linalg.svd(centred, full_matrices=False)
    rank, threshold = numerical_rank(s, centred.shape)
    if rank < wanted:
        raise ValueError(
            f"{name} varies in {rank} dimension(s) (singular values above {threshold:.1e}; "
            f"n_samples={len(centred)}, n_features={centred.shape[1]}), fewer than the "
            f"{wanted} asked for."
        )
    return Vt[:wanted].T, float(np.sum(s[:wanted] ** 2) / np.sum(s**2))


def _signed(axes: np.ndarray) -> np.ndarray:
    """Columns with their entry of greatest magnitude positive."""
    pivot = np.argmax(np.abs(axes), axis=0)
    return axes * np.sign(axes[pivot, np.arange(axes.shape[1])])
