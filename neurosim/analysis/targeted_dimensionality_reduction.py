"""Targeted dimensionality reduction: axes of a population along which task variables are coded."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike, as_floating
from .estimator import Estimator, check_fitted, check_n_features, read_features, refuse_traced
from .numerical_rank import numerical_rank
from .trial_arrays import LabelsLike, read_conditions

_WHAT = "targeted dimensionality reduction"


class TDR(Estimator):
    """Orthogonal axes that task variables move a population along.

    Each unit is z-scored; at each time its activity over trials is regressed on the variables,
    r = sum_v beta_v z_v + beta_0. The vectors beta_v(t), over units, are projected on the leading
    principal components of averages over conditions, which takes noise out of them. Each variable's
    axis is that vector at the time when it is longest, made orthogonal to the axes of the variables
    before it (QR). So **order matters**: variance that two variables share belongs to the first.
    `raw_axes_` and `angles_` say how much there was to share.

    ```python
    tdr = TDR().fit(X, {"choice": choice, "coherence": coherence})
    tdr.transform(X)  # (trials, time, 2)
    ```

    **Arguments:**

    - `n_components`: principal components that denoise; `None` for no denoising. Fewer are used
        where averages have fewer dimensions. What is kept of the noise grows with their number:
        500 trials at one time leave an error of about sqrt(components / 500) times noise over
        effect, in radians.

    **Attributes** after `fit`:

    - `axes_`: `(variable, unit)`, orthonormal rows, of z-scored activity. Each points to the side
        of its raw axis, where activity goes as the variable rises.
    - `raw_axes_`: `(variable, unit)`, of norm 1, before QR.
    - `angles_`: `(variable, variable)`, in radians, between raw axes.
    - `betas_`: `(variable, time, unit)`, denoised, in standard deviations of a unit per unit of the
        variable.
    - `peak_times_`: `(variable,)`, the steps at which they are longest.
    - `variables_`: names of the variables, in order.
    - `components_`: `(component, unit)`, that denoise.
    - `mean_`, `scale_`: `(unit,)`, mean and standard deviation over trials and times.
    - `n_features_in_`: number of units.

    Everything is NumPy float64, whatever is given.

    **Reference:** Mante, Sussillo, Shenoy & Newsome (2013), Context-dependent computation by
    recurrent dynamics in prefrontal cortex, Nature 503, 78-84, supplementary section 6.
    """

    needs_target = True

    def __init__(self, n_components: int | np.integer | None = 12):
        self.n_components = n_components

    def fit(self, X: ActivityLike, y: Any = None, *, conditions: LabelsLike = None) -> "TDR":
        """Find the axes.

        **Arguments:**

        - `X`: `(trials, time, unit)` or a list of `(time_i, unit)`; or `(trial, unit)`, of one
            time. Of a list, times are used as long as the trials that are not over determine the
            regression.
        - `y`: the variables: `(trial,)` arrays of numbers by name, in the order wanted; or
            `(trial, variable)`, or `(trial,)` for one.
        - `conditions`: the labels of trials to average over, `(trial,)` or several by name; by
            default the combinations of the variables' values. Pass bins of variables that are
            continuous.

        **Raises:** `ValueError` for a bad layout, values that are not finite, a unit that is
        constant, variables that do not match the trials, do not vary, or are linearly dependent,
        or variables without an effect. `TypeError` under `jit`, `grad` or `vmap`.
        """
        trials, n_units = _read_trials(X)
        names, Z = _read_variables(y, len(trials))
        self._standardise(trials)
        scored = [(trial - self.mean_) / self.scale_ for trial in trials]
        n_times = _determined_times(trials, Z, names)
        betas = np.stack(
            [_regressed(scored, Z, t) for t in range(n_times)], axis=1
        )  # (variable, time, unit)
        labels = dict(zip(names, Z.T)) if conditions is None else conditions
        self.components_ = self._denoising(scored, labels, n_times)
        self.betas_ = betas @ self.components_.T @ self.components_
        lengths = np.linalg.norm(self.betas_, axis=2)
        self.peak_times_ = np.argmax(lengths, axis=1)
        peaks = self.betas_[np.arange(len(names)), self.peak_times_]
        longest = lengths.max(axis=1)
        if (longest <= 1e-12 * np.abs(betas).max()).any() or not longest.all():
            raise ValueError(
                f"{names[int(np.argmin(longest))]} has no effect on activity: it has no axis."
            )
        self.raw_axes_ = peaks / longest[:, None]
        self.angles_ = _angles(self.raw_axes_)
        self.axes_ = _orthonormal_rows(self.raw_axes_, names)
        self.variables_ = tuple(names)
        self.n_features_in_ = n_units
        return self

    def transform(self, X: ActivityLike) -> Any:
        """Z-scored activity along the axes, in the layout given, variables in place of units."""
        check_fitted(self)
        activity = read_features(X, axis_name="unit")
        refuse_traced(activity.samples, _WHAT)
        samples = np.asarray(activity.samples, np.float64)
        check_n_features(self, samples.shape[1], axis_name="unit")
        return activity.restore((samples - self.mean_) / self.scale_ @ self.axes_.T)

    def fit_transform(self, X: ActivityLike, y: Any = None) -> Any:
        """Find the axes, and project the activity (single trials) on them."""
        return self.fit(X, y).transform(X)

    def _standardise(self, trials: list[np.ndarray]) -> None:
        samples = np.concatenate(trials)
        constant = (samples == samples[0]).all(axis=0)
        if constant.any():
            raise ValueError(
                f"unit {int(np.argmax(constant))} is constant ({int(constant.sum())} of "
                f"{len(constant)} units are; n_samples={len(samples)}): it has no z-score. Leave "
                "out such units."
            )
        self.mean_, self.scale_ = samples.mean(axis=0), samples.std(axis=0)

    def _denoising(self, scored: list[np.ndarray], labels: Any, n_times: int) -> np.ndarray:
        n_units = scored[0].shape[1]
        if self.n_components is None:
            return np.eye(n_units)
        wanted = whole_number(self.n_components, "n_components", least=1)
        cells = read_conditions(labels, len(scored))
        averages = [
            np.mean([scored[i][t] for i in cells.members(cell) if len(scored[i]) > t], axis=0)
            for cell in np.unique(cells.cell)
            for t in range(min(n_times, max(len(scored[i]) for i in cells.members(cell))))
        ]
        centred = np.array(averages) - np.mean(averages, axis=0)
        _, s, Vt = np.linalg.svd(centred, full_matrices=False)
        return Vt[: min(wanted, numerical_rank(s, centred.shape).rank)]


def _read_trials(X: Any) -> tuple[list[np.ndarray], int]:
    activity = read_features(X, axis_name="unit")
    refuse_traced(activity.samples, _WHAT)
    samples = np.asarray(activity.samples, np.float64)
    if activity.layout == "samples":
        return list(samples[:, None]), samples.shape[1]
    return [np.asarray(trial) for trial in activity.trials(samples)], samples.shape[1]


def _read_variables(y: Any, n_trials: int) -> tuple[list[str], np.ndarray]:
    if y is None:
        raise ValueError("TDR requires y to be passed, but the target y is None: the variables.")
    for leaf in jax.tree.leaves(y):
        refuse_traced(leaf, _WHAT)
    if isinstance(y, Mapping) or hasattr(y, "columns"):
        columns = {str(name): values for name, values in y.items()}
    else:
        given = np.asarray(y) if not isinstance(y, jax.Array) else y
        # Numbers of mixed kinds come as objects.
        numbers = given.astype(np.float64) if given.dtype == object else given
        table = np.asarray(as_floating(numbers, "y"), np.float64)
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2:
            raise ValueError(f"y must be (trial, variable), got shape {table.shape}.")
        columns = {f"variable {i}": values for i, values in enumerate(table.T)}
    if len(columns) == 0:
        raise ValueError("y must name at least one variable.")
    read = []
    for name, values in columns.items():
        column = np.asarray(as_floating(values, name), np.float64)
        if column.shape != (n_trials,):
            raise ValueError(
                f"{name} must hold one number for each of the {n_trials} trials, got shape "
                f"{column.shape}."
            )
        if not np.isfinite(column).all():
            raise ValueError(
                f"{name} is not finite (NaN or infinity) for trial "
                f"{int(np.argmin(np.isfinite(column)))}."
            )
        read.append(column)
    return list(columns), np.stack(read, axis=1)


def _determined_times(trials: list[np.ndarray], Z: np.ndarray, names: list[str]) -> int:
    """The number of times at which the trials that are not over determine the regression."""
    lengths = np.array([len(trial) for trial in trials])
    for t in range(int(lengths.max())):
        present = Z[lengths > t]
        if t == 0 or len(present) < (lengths > t - 1).sum():
            problem = _indeterminate(present, names)
            if problem is not None and t == 0:
                raise ValueError(problem)
            if problem is not None:
                return t
    return int(lengths.max())


def _indeterminate(Z: np.ndarray, names: list[str]) -> str | None:
    """What is wrong with a design, `(trial, variable)`, or nothing."""
    centred = Z - Z.mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    flat = scale <= 1e-12 * np.abs(Z).max(axis=0)
    if flat.any():
        return f"{names[int(np.argmax(flat))]} is the same in all trials (n_samples={len(Z)})."
    s = np.linalg.svd(centred / scale, compute_uv=False)
    threshold = 1e-10 * s[0]
    rank = int((s > threshold).sum())
    if rank < Z.shape[1]:
        return (
            f"the variables {', '.join(names)} are linearly dependent over {len(Z)} trials: rank "
            f"{rank} of {Z.shape[1]} (singular values above {threshold:.1e}). Leave one out."
        )
    return None


def _regressed(scored: list[np.ndarray], Z: np.ndarray, t: int) -> np.ndarray:
    """`(variable, unit)`: coefficients at one time, over the trials that are not over."""
    present = [i for i, trial in enumerate(scored) if len(trial) > t]
    design = Z[present] - Z[present].mean(axis=0)
    rates = np.array([scored[i][t] for i in present])
    # About its mean the design takes no part of the constant term.
    return np.linalg.lstsq(design, rates, rcond=None)[0]


def _angles(raw: np.ndarray) -> np.ndarray:
    # By the chord, which is precise for small angles too.
    chord = np.linalg.norm(raw[:, None] - raw, axis=2)
    return 2 * np.arcsin(np.minimum(chord / 2, 1))


def _orthonormal_rows(raw: np.ndarray, names: list[str]) -> np.ndarray:
    Q, R = np.linalg.qr(raw.T)
    left = np.abs(np.diagonal(R))
    if (left < 1e-10).any() or len(left) < len(raw):
        i = int(np.argmin(left))
        raise ValueError(
            f"the axis of {names[min(i, len(names) - 1)]} lies in the span of those before it: "
            "leave it out, or use more components."
        )
    # The direction in which a variable rises stays that of its axis.
    return (Q * np.sign(np.diagonal(R))).T
