"""Principal component analysis of population activity."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..kernels import whole_number
from .activity import Activity, ActivityLike, AnyArray, is_traced, read_activity, refuse_masked
from .estimator import Estimator, check_fitted, check_n_features, read_features
from .reconstruction import explained_variance


class PrincipalAxes(NamedTuple):
    """Directions of greatest variance; see `principal_axes`."""

    components: AnyArray
    explained_variance: AnyArray
    explained_variance_ratio: AnyArray
    mean: AnyArray


def principal_axes(
    X: ActivityLike, *, n_components: int | np.integer | float | np.floating | None = None
) -> PrincipalAxes:
    """The orthonormal directions along which activity varies most.

    All time points of all trials are samples; the mean of each neuron over them is subtracted. A
    pure function: on JAX input it can be jitted and differentiated, where the variances of the
    components kept are distinct (derivatives of an axis do not exist where two are equal).

    The sign of each axis is such that its loading of greatest magnitude is positive; among
    loadings that are equal in magnitude to rounding, the first decides.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`.
    - `n_components`: number of axes kept, at most min(samples, neurons), which is the default. A
        fraction between 0 and 1 keeps the fewest that have this share of the variance; it needs
        the values of `X`, so it cannot be used under `jit`, `grad` or `vmap`.

    **Returns:** `PrincipalAxes`, the axes in order of decreasing variance:

    - `components`: `(component, neuron)`, rows orthonormal.
    - `explained_variance`: `(component,)`, divisor samples - 1, in squared units of activity.
    - `explained_variance_ratio`: `(component,)`, the same over the total variance of all neurons.
    - `mean`: `(neuron,)`.

    NumPy arrays (float64) for NumPy input, JAX arrays for JAX input (float32 for half precision).
    Activity so large or small that its variance leaves the range of its precision has a variance
    of infinity or 0; axes and ratios are right all the same.

    **Raises:** `ValueError` for a bad layout, values that are not finite, fewer than two samples,
    activity that does not vary, or a number of components out of range.
    """
    return _axes_of_samples(read_activity(X), n_components)


def _axes_of_samples(activity: Activity, n_components: Any) -> PrincipalAxes:
    samples, xp = activity.samples, activity.xp
    n_samples, n_neurons = samples.shape
    if n_samples < 2:
        raise ValueError("X holds one sample: a variance needs at least two.")
    most = min(n_samples, n_neurons)
    kept = _requested(n_components, most, samples)
    if not activity.varies:
        raise ValueError("X does not vary: every neuron is constant, so there are no axes.")
    centred, scale, mean = activity.centred()
    _, singular, axes = xp.linalg.svd(centred, full_matrices=False)
    variance = singular**2 / (n_samples - 1)
    ratio = variance / xp.sum(variance)
    if isinstance(kept, float):
        # A share that is reached exactly is not missed by rounding.
        reached = np.cumsum(np.asarray(ratio, np.float64)) + 8 * most * np.finfo(axes.dtype).eps
        kept = min(int(np.searchsorted(reached, kept)) + 1, most)
    with np.errstate(over="ignore"):
        explained_variance = variance[:kept] * scale * scale
    return PrincipalAxes(
        components=orient_axes(axes[:kept], xp),
        explained_variance=explained_variance,
        explained_variance_ratio=ratio[:kept],
        mean=mean,
    )


def _requested(n_components: Any, most: int, samples: AnyArray) -> int | float:
    """A number of components, or a share of the variance as a float."""
    if n_components is None:
        return most
    if isinstance(n_components, (float, np.floating)) and 0 < n_components < 1:
        if is_traced(samples):
            raise ValueError(
                f"n_components={n_components}, a share of the variance, asks for a number of "
                "components that depends on values, which are not known under jit, grad or vmap."
            )
        return float(n_components)
    try:
        number = whole_number(n_components, "n_components")
    except ValueError:
        raise ValueError(
            "n_components must be a whole number, a fraction of the variance between 0 and 1, or "
            f"None, got {n_components!r}."
        ) from None
    if not 1 <= number <= most:
        n_samples, n_neurons = samples.shape
        raise ValueError(
            f"n_components must lie between 1 and min(samples, neurons) = "
            f"min({n_samples}, {n_neurons}) = {most}, got {n_components}."
        )
    return number


def orient_axes(axes: AnyArray, xp: Any) -> AnyArray:
    """Axes `(axis, neuron)` turned so that the loading of greatest magnitude is positive.

    Among loadings that are equal in magnitude to rounding, the first decides: a tie broken by
    rounding would turn an axis like (1, -1) over from one machine to the next.
    """
    magnitude = xp.abs(axes)
    largest = xp.max(magnitude, axis=1, keepdims=True)
    slack = float(jnp.finfo(axes.dtype).eps) ** 0.5
    pivot = xp.argmax(magnitude >= (1 - slack) * largest, axis=1)
    return axes * xp.sign(axes[xp.arange(len(axes)), pivot])[:, None]


class PCA(Estimator):
    """Principal component analysis that knows trials, as a scikit-learn estimator.

    Activity is `(time, neurons)`, `(trials, time, neurons)`, or a list of `(time_i, neurons)` for
    trials of unequal length, and comes back in the layout it was given. The axes can be fitted to
    trial averages, which leaves trial-to-trial variability out of them, and single trials be
    projected on them afterwards.

    ```python
    pca = PCA(n_components=3, average="trials").fit(X, conditions)
    single_trials = pca.transform(X)  # (trials, time, 3)
    ```

    **Arguments:**

    - `n_components`: number of components, at most min(samples, neurons), or `None` for that many;
        a fraction between 0 and 1 for the fewest that have this share of the variance.
    - `average`: `"none"` fits every time point of every trial. `"trials"` fits averages over
      trials: over all of them, or over those that share a label where `fit` is given labels. Every
      condition then counts the same, however many trials it has.

    **Attributes** after `fit`, by decreasing variance (see `principal_axes` for signs):

    - `components_`: `(component, neuron)`, rows orthonormal.
    - `explained_variance_`, `explained_variance_ratio_`: `(component,)`, of what was fitted.
    - `mean_`: `(neuron,)`, of what was fitted.
    - `n_components_`, `n_features_in_`, `n_samples_`: sizes of the fit; samples are time points
      after averaging.

    NumPy input is computed in float64 and gives NumPy attributes; JAX input gives JAX attributes.
    `transform` follows its own input. For use under `jit` or `grad` see `principal_axes`.
    """

    def __init__(
        self,
        n_components: int | np.integer | float | np.floating | None = None,
        *,
        average: str = "none",
    ) -> None:
        self.n_components = n_components
        self.average = average

    def fit(self, X: ActivityLike, y: Any = None) -> "PCA":
        """Find the axes.

        **Arguments:**

        - `X`: activity, see the class.
        - `y`: `(trials,)`, the label (condition) of each trial, used when averages over trials are
          fitted, and ignored otherwise, as scikit-learn's pipelines expect.

        **Raises:** `ValueError` for a bad layout, values that are not finite (with their place),
        labels that do not match the trials, trials to be averaged that differ in length, or a
        number of components out of range.
        """
        if self.average not in ("none", "trials"):
            raise ValueError(f"average must be 'none' or 'trials', got {self.average!r}.")
        activity = read_features(X)
        if self.average == "trials":
            activity = _average_trials(activity, y)
        axes = _axes_of_samples(activity, self.n_components)
        self.components_ = axes.components
        self.explained_variance_ = axes.explained_variance
        self.explained_variance_ratio_ = axes.explained_variance_ratio
        self.mean_ = axes.mean
        self.n_components_ = len(axes.components)
        self.n_samples_, self.n_features_in_ = activity.samples.shape
        return self

    def transform(self, X: ActivityLike) -> AnyArray | list[AnyArray]:
        """Project activity on the axes: same layout, with components in place of neurons."""
        check_fitted(self)
        activity = read_features(X)
        check_n_features(self, activity.samples.shape[1])
        mean, components = self._parameters(activity)
        return activity.restore((activity.samples - mean) @ components.T)

    def fit_transform(self, X: ActivityLike, y: Any = None) -> AnyArray | list[AnyArray]:
        """Find the axes, and project the activity (single trials, not averages) on them."""
        return self.fit(X, y).transform(X)

    def inverse_transform(self, X: ActivityLike) -> AnyArray | list[AnyArray]:
        """The activity that projections stand for: same layout, with neurons again."""
        check_fitted(self)
        activity = read_features(X, axis_name="component")
        width = activity.samples.shape[1]
        if width != self.n_components_:
            raise ValueError(f"X has {width} components, but the fit has {self.n_components_}.")
        mean, components = self._parameters(activity)
        return activity.restore(activity.samples @ components + mean)

    def score(self, X: ActivityLike, y: Any = None) -> float | jax.Array:
        """Fraction of the variance of `X` that its reconstruction explains, at most 1.

        See `explained_variance`; `X` is taken as it is, not averaged.
        """
        del y
        check_fitted(self)
        return explained_variance(X, self.inverse_transform(self.transform(X)))

    def _parameters(self, activity: Activity) -> tuple[AnyArray, AnyArray]:
        dtype = activity.samples.dtype
        mean = activity.xp.asarray(self.mean_, dtype=dtype)
        return mean, activity.xp.asarray(self.components_, dtype=dtype)


def _average_trials(activity: Activity, labels: Any) -> Activity:
    if activity.layout == "samples":
        raise ValueError(
            "average='trials' needs trials: X of shape (trials, time, neurons) or a list of "
            f"(time_i, neurons), got shape {activity.samples.shape}."
        )
    refuse_masked(labels, "y")
    trials = activity.trials(activity.samples)
    labels = np.zeros(len(trials), int) if labels is None else np.asarray(labels)
    if labels.shape != (len(trials),):
        raise ValueError(
            f"y must hold one label for each of the {len(trials)} trials, got shape {labels.shape}."
        )
    if np.issubdtype(labels.dtype, np.floating) and np.isnan(labels).any():
        raise ValueError(f"y is NaN for trial {int(np.argmax(np.isnan(labels)))}.")
    averages = [
        _average(trials, np.flatnonzero(labels == label), label, activity.xp)
        for label in np.unique(labels)
    ]
    return Activity(
        samples=activity.xp.concatenate(averages),
        lengths=tuple(average.shape[0] for average in averages),
        layout="list",
        xp=activity.xp,
    )


def _average(trials: Sequence[AnyArray], members: np.ndarray, label: Any, xp: Any) -> AnyArray:
    lengths = sorted({trials[i].shape[0] for i in members})
    if len(lengths) > 1:
        raise ValueError(
            f"trials to be averaged (label {label}) must have one length, got {lengths} time "
            "points. Cut or warp them to one length, or give them labels of their own."
        )
    return xp.mean(xp.stack([trials[i] for i in members]), axis=0)
