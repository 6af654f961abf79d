"""Principal component analysis of population activity."""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .activity import Activity, ActivityLike, AnyArray, in_range, read_activity, refuse_masked


class PrincipalAxes(NamedTuple):
    """Directions of greatest variance; see `principal_axes`."""

    components: AnyArray
    explained_variance: AnyArray
    explained_variance_ratio: AnyArray
    mean: AnyArray


def principal_axes(
    X: ActivityLike, *, n_components: int | np.integer | None = None
) -> PrincipalAxes:
    """The orthonormal directions along which activity varies most.

    All time points of all trials are samples; the mean of each neuron over them is subtracted. A
    pure function: on JAX input it can be jitted and differentiated, where the variances of the
    components kept are distinct (derivatives of an axis do not exist where two are equal).

    The sign of each axis is such that its loading of greatest magnitude is positive; among
    loadings that are equal in magnitude to rounding, the first decides.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`.
    - `n_components`: number of axes kept, at most min(samples, neurons), which is the default.

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


def _count(n_components: Any) -> int:
    try:
        return operator.index(n_components)
    except TypeError:
        raise ValueError(
            f"n_components must be a whole number or None, got {n_components!r}."
        ) from None


def _axes_of_samples(activity: Activity, n_components: Any) -> PrincipalAxes:
    samples, xp = activity.samples, activity.xp
    n_samples, n_neurons = samples.shape
    if n_samples < 2:
        raise ValueError("X holds one sample: a variance needs at least two.")
    most = min(n_samples, n_neurons)
    kept = most if n_components is None else _count(n_components)
    if not 1 <= kept <= most:
        raise ValueError(
            f"n_components must lie between 1 and min(samples, neurons) = "
            f"min({n_samples}, {n_neurons}) = {most}, got {n_components}."
        )
    if not activity.varies:
        raise ValueError("X does not vary: every neuron is constant, so there are no axes.")
    centred, scale, mean = activity.centred()
    _, singular, axes = xp.linalg.svd(centred, full_matrices=False)
    axes = axes[:kept]
    magnitude = xp.abs(axes)
    largest = xp.max(magnitude, axis=1, keepdims=True)
    # A tie broken by rounding would turn an axis like (1, -1) over from one machine to the next.
    slack = float(jnp.finfo(axes.dtype).eps) ** 0.5
    pivot = xp.argmax(magnitude >= (1 - slack) * largest, axis=1)
    sign = xp.sign(axes[xp.arange(kept), pivot])
    variance = singular**2 / (n_samples - 1)
    with np.errstate(over="ignore"):
        explained_variance = variance[:kept] * scale * scale
    return PrincipalAxes(
        components=axes * sign[:, None],
        explained_variance=explained_variance,
        explained_variance_ratio=variance[:kept] / xp.sum(variance),
        mean=mean,
    )


class PCA:
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

    - `n_components`: number of components; `None` for min(samples, neurons).
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
        self, n_components: int | np.integer | None = None, *, average: str = "none"
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
        activity = read_activity(X)
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
        self._check_fitted()
        activity = self._read(X, self.n_features_in_, "neuron")
        mean, components = self._parameters(activity)
        return activity.restore((activity.samples - mean) @ components.T)

    def fit_transform(self, X: ActivityLike, y: Any = None) -> AnyArray | list[AnyArray]:
        """Find the axes, and project the activity (single trials, not averages) on them."""
        return self.fit(X, y).transform(X)

    def inverse_transform(self, X: ActivityLike) -> AnyArray | list[AnyArray]:
        """The activity that projections stand for: same layout, with neurons again."""
        self._check_fitted()
        activity = self._read(X, self.n_components_, "component")
        mean, components = self._parameters(activity)
        return activity.restore(activity.samples @ components + mean)

    def score(self, X: ActivityLike, y: Any = None) -> float | jax.Array:
        """Fraction of the variance of `X` that its reconstruction explains, at most 1.

        See `explained_variance`; `X` is taken as it is, not averaged.
        """
        del y
        return explained_variance(X, self.inverse_transform(self.transform(X)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name, as scikit-learn's `clone` and searches ask for them."""
        del deep
        return {"n_components": self.n_components, "average": self.average}

    def set_params(self, **params: Any) -> "PCA":
        """Set constructor arguments by name."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"PCA has no parameter {name!r}; it has n_components and average.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"PCA(n_components={self.n_components!r}, average={self.average!r})"

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise ValueError("this PCA is not fitted yet: call fit first.")

    def _read(self, X: ActivityLike, width: int, axis_name: str) -> Activity:
        activity = read_activity(X, axis_name=axis_name)
        if activity.samples.shape[1] != width:
            raise ValueError(
                f"X has {activity.samples.shape[1]} {axis_name}s, but the fit has {width}."
            )
        return activity

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


def explained_variance(X: ActivityLike, reconstruction: ActivityLike) -> float | jax.Array:
    """Fraction of the variance of activity that a reconstruction of it explains.

    1 - |X - reconstruction|^2 / |X - mean|^2, squares summed over samples and neurons, the mean
    taken for each neuron over samples. At most 1, and negative for a reconstruction worse than
    the mean. The variance of the projections themselves is no substitute for it: that can exceed
    the variance there is, as soon as reading and writing directions differ.

    **Arguments:**

    - `X`: `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`.
    - `reconstruction`: the same layout and shape, in the units of `X`, its mean included.

    **Returns:** a float; a JAX scalar where either input is JAX.

    **Raises:** `ValueError` for layouts that differ, values that are not finite, or `X` constant.

    **Reference:** Kobak et al. (2016), Demixed principal component analysis, eLife 5:e10989,
    explained variance of a component (its decoder reads, its encoder writes).
    """
    data, model = read_activity(X), read_activity(reconstruction, name="reconstruction")
    if data.samples.shape != model.samples.shape or data.lengths != model.lengths:
        raise ValueError(
            "X and its reconstruction must have one shape: the second argument is the activity "
            "that a model puts in the place of X, as PCA.inverse_transform gives it, not its "
            f"components. Got {len(data.lengths)} trial(s), {data.samples.shape} samples by "
            f"neurons, and {len(model.lengths)} trial(s), {model.samples.shape}."
        )
    if not data.varies:
        raise ValueError("X does not vary: every neuron is constant, so there is no variance.")
    xp = jnp if jnp in (data.xp, model.xp) else np
    centred, unit, _ = data.centred()
    residual, residual_unit = in_range(data.samples - model.samples, xp)
    with np.errstate(over="ignore"):
        ratio = residual_unit / unit
        fraction = 1 - xp.sum(residual**2) / xp.sum(centred**2) * ratio * ratio
    return float(fraction) if xp is np else fraction
