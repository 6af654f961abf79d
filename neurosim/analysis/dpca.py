"""Demixed principal component analysis: components that go with one factor of an experiment."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..kernels import whole_number
from .activity import as_floating, is_traced
from .condition_layouts import read_condition_trials
from .condition_trials import ConditionTrials
from .dpca_decomposition import DemixedAxes, DemixedRegression, oriented
from .dpca_marginalisation import contrasts, joined_terms
from .dpca_ridge import RIDGES, choose_ridge, held_out_losses
from .estimator import Estimator, check_fitted, check_n_features
from .reconstruction import explained_variance
from .resampling import as_generator


class DPCA(Estimator):
    """Demixed PCA of averages over trials, as a scikit-learn estimator.

    Averages over the trials of each condition are split into parts X_phi that go with a stimulus,
    a decision, time, or an interaction (see `marginalise`). For each part, decoders D read
    components from the whole activity X, and encoders F write the part from them, such that
    |X_phi - F D X|^2 + mu^2 |F D|^2 is least.

    ```python
    dpca = DPCA().fit(X, {"stimulus": stimulus, "decision": decision})  # X (trial, time, neuron)
    dpca.transform(X, "stimulus")  # (trial, time, component)
    DPCA(("stimulus", "time"), ridge=0.0).fit(averages)  # (stimulus, time, neuron)
    ```

    Trials may be missing (NaN): see `fit`. Every condition counts the same, however many trials it
    has; every cell needs one trial of each neuron, two where trials are held out.

    **Arguments:**

    - `factors`: names of the factors, `"time"` last; needed where `fit` gets no labels by name.
    - `join`: which effects count as one part, by default each with its interaction with time; see
        `marginalise`.
    - `n_components`: at most how many of each part, or how many by name of the part.
    - `ridge`: the penalty mu over |X|; `"auto"` or a sequence of them for the one that predicts
        averages best from held-out trials.
    - `noise`: `"none"` fits to averages. `"full"` and `"diagonal"` (for neurons that were not
        recorded together) add the covariance of single trials to that of the averages, so that
        components can be read from single trials.
    - `n_splits`: how often trials are held out.
    - `random_state`: a seed or a generator, for the trials held out.

    **Attributes** after `fit`; parts are in the order of `marginalisations_`, components of each by
    decreasing variance, the largest loading of each encoder positive:

    - `marginalisations_`: names of the parts.
    - `encoders_`, `decoders_`: for each part `(component, neuron)`, rows of encoders orthonormal.
    - `explained_variance_ratio_`: for each part `(component,)`, the share of the variance of the
        averages that each component explains, by reconstruction, 1 - |X - f d X|^2 / |X|^2: never
        above 1. Within a part, shares of components add up.
    - `component_variance_ratio_`: for each part `(component, part)`, how that share is made up of
        all parts; a demixed component has it all in its own.
    - `marginal_variance_ratio_`: for each part, its share of the variance of the averages.
    - `total_explained_variance_ratio_`: what all components explain together.
    - `noise_variance_ratio_`: the share that noise of single trials has in the averages; `None`
        where a cell has one trial only.
    - `ridge_`, `ridges_`, `ridge_losses_`: penalty used, and where it was chosen those tried and
        their losses `(split, ridge)`.
    - `factors_`, `levels_`, `mean_` `(neuron,)` over cells, `n_components_` by name of the part,
        `n_features_in_`.

    **Reference:** Kobak et al. (2016), Demixed principal component analysis of neural population
    data, eLife 5:e10989.
    """

    takes_nan = True

    def __init__(
        self,
        factors: Sequence[str] | None = None,
        *,
        join: str | Mapping[str, Sequence[str]] = "time",
        n_components: int | np.integer | Mapping[str, int] = 10,
        ridge: float | int | np.number | str | Sequence[float] | np.ndarray = "auto",
        noise: str = "none",
        n_splits: int | np.integer = 5,
        random_state: int | np.integer | np.random.Generator = 0,
    ) -> None:
        self.factors = factors
        self.join = join
        self.n_components = n_components
        self.ridge = ridge
        self.noise = noise
        self.n_splits = n_splits
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "DPCA":
        """Find the components.

        **Arguments:**

        - `X`: single trials with labels: `(trial, time, neuron)`, a list of `(time_i, neuron)`, or
            `(trial, neuron)`; or, without labels, a tensor with an axis for each factor, of
            averages `(*levels, neuron)` or single trials `(trial, *levels, neuron)`. NaN stands for
            what was not observed: the end of a short trial, trials that one condition has fewer of
            than another, neurons that were not recorded in a trial.
        - `y`: labels `(trial,)` by name of the factor (those in `factors`, or all); or one array,
            `(trial,)` or `(trial, factor)`, in the order of `factors`.

        **Raises:** `ValueError` for a layout, names, labels or parameters that do not fit, infinite
        values, or a cell without trials (named); `TypeError` under `jit`.
        """
        trials = read_condition_trials(X, y, self.factors)
        terms = joined_terms(trials.factors, self.join)
        asked = _numbers_of_components(self.n_components, list(terms))
        ridges = _ridges(self.ridge)
        if self.noise not in ("none", "full", "diagonal"):
            raise ValueError(f"noise must be 'none', 'full' or 'diagonal', got {self.noise!r}.")
        n_splits = whole_number(self.n_splits, "n_splits", least=1)
        averages = trials.averages()
        noise = None
        if self.noise != "none":
            noise = trials.noise(self.noise) * (averages.size // averages.shape[-1])
        self.ridge_, self.ridges_, self.ridge_losses_ = ridges[0], None, None
        if len(ridges) > 1:
            losses = held_out_losses(
                trials, terms, n_components=asked, ridges=ridges, noise=noise,
                n_splits=n_splits, rng=as_generator(self.random_state),
            )  # fmt: skip
            self.ridge_ = choose_ridge(ridges, losses)
            self.ridges_, self.ridge_losses_ = np.array(ridges), losses
        regression = DemixedRegression(contrasts(averages, terms), noise=noise, ridge=self.ridge_)
        rounding = 64 * np.finfo(float).eps
        if not regression.squared_norm > rounding**2 * np.vdot(averages, averages):
            raise ValueError("averages are the same in all cells: there is nothing to demix.")
        axes = {part: oriented(regression.solve(part, n, self.ridge_)) for part, n in asked.items()}
        self.encoders_ = {part: each.encoders for part, each in axes.items()}
        self.decoders_ = {part: each.decoders for part, each in axes.items()}
        self._keep_variance(regression, axes)
        self.noise_variance_ratio_ = _noise_share(trials, regression.squared_norm)
        self.marginalisations_ = tuple(terms)
        self.n_components_ = {part: len(each.encoders) for part, each in axes.items()}
        self.factors_, self.levels_ = trials.factors, trials.levels
        self.mean_ = averages.mean(axis=tuple(range(averages.ndim - 1))) * trials.unit
        self.n_features_in_ = len(self.mean_)
        return self

    def transform(self, X: Any, marginalisation: str | None = None) -> Any:
        """Read components from activity, single trials or averages.

        **Arguments:**

        - `X`: `(..., neuron)`, or a list of `(time_i, neuron)`. A sample that is NaN in all neurons
            is padding, and stays NaN.
        - `marginalisation`: the part whose components to read; all of them by default, one part
            after the other.

        **Returns:** the layout of `X`, with components in place of neurons.
        """
        check_fitted(self)
        decoders = self._stacked(self.decoders_, marginalisation)

        def read(x: Any, xp: Any) -> Any:
            return (x - xp.asarray(self.mean_, x.dtype)) @ xp.asarray(decoders.T, x.dtype)

        return _by_sample(X, read, lambda width: check_n_features(self, width))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the components, and read them from the same activity."""
        return self.fit(X, y).transform(X)

    def inverse_transform(self, X: Any, marginalisation: str | None = None) -> Any:
        """The activity that components stand for, in the layout of `X`; see `transform`."""
        check_fitted(self)
        encoders = self._stacked(self.encoders_, marginalisation)

        def check(width: int) -> None:
            if width != len(encoders):
                raise ValueError(f"X has {width} components, but the fit has {len(encoders)}.")

        def write(z: Any, xp: Any) -> Any:
            return z @ xp.asarray(encoders, z.dtype) + xp.asarray(self.mean_, z.dtype)

        return _by_sample(X, write, check)

    def score(self, X: Any, y: Any = None) -> float:
        """Share of the variance of averages that all components explain together, at most 1.

        **Arguments:**

        - `X`, `y`: as for `fit`, which makes averages of them. Without `y`, activity
            `(sample, neuron)` is taken as it is.
        """
        check_fitted(self)
        if y is None and np.ndim(X) == 2:
            averages = np.asarray(as_floating(X, "X"))
        else:
            trials = read_condition_trials(X, y, self.factors_)
            averages = trials.averages() * trials.unit
        flat = averages.reshape(-1, averages.shape[-1])
        return float(explained_variance(flat, self.inverse_transform(self.transform(flat))))

    def _keep_variance(self, regression: DemixedRegression, axes: dict[str, DemixedAxes]) -> None:
        total = regression.squared_norm
        together = DemixedAxes(*(np.concatenate(s) for s in zip(*axes.values(), strict=True)))
        table = np.stack(list(regression.variance(together).values()), axis=1) / total
        ends = np.cumsum([len(each.encoders) for each in axes.values()])[:-1]
        self.component_variance_ratio_ = dict(zip(axes, np.split(table, ends), strict=True))
        self.explained_variance_ratio_ = {
            part: of.sum(axis=1) for part, of in self.component_variance_ratio_.items()
        }
        self.marginal_variance_ratio_ = {
            part: float(np.trace(C)) / total for part, C in regression.covariances.items()
        }
        self.total_explained_variance_ratio_ = regression.joint_variance(together) / total

    def _stacked(self, axes: dict[str, np.ndarray], part: str | None) -> np.ndarray:
        if part is None:
            return np.concatenate(list(axes.values()))
        if part not in axes:
            raise ValueError(f"marginalisation must be one of {list(axes)}, got {part!r}.")
        return axes[part]


def _by_sample(X: Any, linear: Callable[[Any, Any], Any], check: Callable[[int], None]) -> Any:
    """A map of each sample, in the layout of `X`."""
    if isinstance(X, (list, tuple)):
        return [_by_sample(trial, linear, check) for trial in X]
    array = as_floating(X, "X")
    if array.ndim < 2:
        raise ValueError(f"X must be (..., neuron), got shape {array.shape}.")
    check(array.shape[-1])
    xp = jnp if isinstance(array, jax.Array) else np
    if not is_traced(array):
        values = np.asarray(array)
        partly = ~np.isfinite(values) & ~np.isnan(values).all(axis=-1, keepdims=True)
        if partly.any():
            place = [int(i) for i in np.argwhere(partly)[0]]
            raise ValueError(
                f"X is not finite at {place}: only samples that are NaN throughout, as padding is, "
                "may be NaN."
            )
    return linear(array, xp)


def _numbers_of_components(asked: Any, parts: list[str]) -> dict[str, int]:
    if not isinstance(asked, Mapping):
        asked = dict.fromkeys(parts, asked)
    if set(asked) != set(parts):
        raise ValueError(f"n_components must have a number for each of {parts}, got {dict(asked)}.")
    numbers = {}
    for part in parts:
        try:
            numbers[part] = whole_number(asked[part], "n_components", least=0)
        except ValueError:
            raise ValueError(
                f"n_components must be whole numbers, not negative; got {asked[part]!r} for {part}."
            ) from None
    if sum(numbers.values()) == 0:
        raise ValueError("n_components must be above 0 for some part.")
    return numbers


def _ridges(ridge: Any) -> tuple[float, ...]:
    """Penalties to choose from, or one."""
    if isinstance(ridge, str) and ridge == "auto":
        return RIDGES
    try:
        values = np.atleast_1d(np.asarray(ridge, np.float64))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if values.ndim > 1 or values.size == 0 or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(
            f"ridge must be 'auto', or one or more finite numbers, not negative; got {ridge!r}."
        )
    return tuple(sorted(values.tolist()))


def _noise_share(trials: ConditionTrials, squared_norm: float) -> float | None:
    """Expected share of noise in the variance of averages."""
    if not (trials.counts > 1).all():
        return None
    return trials.noise_of_averages() / squared_norm
