"""jPCA: planes in which population activity rotates."""

import math

import numpy as np
from scipy import linalg

from ..kernels import whole_number
from .activity import ActivityLike
from .estimator import Estimator, check_fitted, check_n_features
from .linear_dynamics_fit import (
    fit_linear_map,
    fit_rotation_logarithm,
    fit_skew_map,
    rotation_planes,
    state_pairs,
)
from .pca import principal_axes
from .soft_normalizer import SoftNormalizer
from .trial_arrays import read_trials, refuse_traced


class JPCA(Estimator):
    """Planes in which the states of a population rotate over time, as a scikit-learn estimator.

    Each unit is soft-normalised, the mean over conditions is subtracted **at each time**, and the
    rest is reduced to its principal components (nothing else is centred). There dX/dt = X M is
    fitted with a skew-symmetric M, which can only rotate. Differences are taken within conditions,
    never across the end of one.

    Smooth activity often looks as if it rotated: `rotation_test` says how well M fits activity of
    the same smoothness and correlations by chance.

    ```python
    jpca = JPCA(n_components=6, dt=0.01).fit(rates)  # (condition, time, unit)
    plane = jpca.transform(rates)[..., :2]
    jpca.frequencies_[0], jpca.r2_ratio_
    ```

    **Arguments:**

    - `n_components`: number of principal components kept, at least 2; planes are half as many.
    - `dt`: time between samples; frequencies are in cycles per unit of it.
    - `method`: `"forward"` and `"central"` fit M to differences. A rotation at angular frequency
        w comes out at sin(w dt) / dt by either: too slow, by 16 % where w dt is 1. `"log"` fits the
        rotation from each sample to the next, and takes its logarithm: exact below half a cycle
        for each sample.
    - `soft_constant`: added to the range of each unit, which it is then divided by; see
        `SoftNormalizer`. `None` leaves units as they are.

    **Attributes** after `fit`, planes by decreasing frequency:

    - `components_`: `(2 * plane, unit)`, rows orthonormal, of normalised activity. In each plane
        states turn from the first axis to the second. The first is along the largest spread over
        conditions at the first time; its loading of largest magnitude is positive.
    - `frequencies_`: `(plane,)`, cycles per unit of time, not negative.
    - `plane_variance_ratio_`: `(plane,)`, share of the variance about the mean over conditions.
    - `r2_skew_`, `r2_unconstrained_`: 1 - |Xdot - X M|^2 / |Xdot|^2, for the skew-symmetric map and
        for the best linear map; for `"log"` those of what a step of exp(M dt) changes.
    - `r2_ratio_`: the former over the latter.
    - `skew_map_`, `unconstrained_map_`: `(n_components, n_components)`, of states in principal
        components; per unit of time.
    - `principal_components_`: `(n_components, unit)`.
    - `explained_variance_ratio_`: `(n_components,)`, of those.
    - `mean_`: `(time, unit)`, over conditions, of normalised activity.
    - `scale_`: `(unit,)`, what each unit is divided by.
    - `n_features_in_`: number of units.

    **Reference:** Churchland et al. (2012), Neural population dynamics during reaching, Nature 487.
    """

    def __init__(
        self,
        n_components: int | np.integer = 6,
        *,
        dt: float | int = 1.0,
        method: str = "forward",
        soft_constant: float | int | None = 5.0,
    ) -> None:
        self.n_components = n_components
        self.dt = dt
        self.method = method
        self.soft_constant = soft_constant

    def fit(self, X: ActivityLike, y: object = None) -> "JPCA":
        """Find the planes.

        **Arguments:**

        - `X`: `(condition, time, unit)`, averages over trials; the same times for all conditions.

        **Raises:** `ValueError` for another layout, values that are not finite, one condition,
        conditions that do not differ, a parameter out of range, or more components than the
        activity has dimensions; `TypeError` under `jit`.
        """
        del y
        values = self._read(X)
        if len(values) < 2:
            raise ValueError("X has one condition: its mean over conditions would be all of it.")
        kept = self._check(values)
        self.n_features_in_ = values.shape[-1]
        self.scale_ = np.ones(values.shape[-1])
        if self.soft_constant is not None:
            self.scale_ = SoftNormalizer(self.soft_constant).fit(values).scale_
        normal = values / self.scale_
        self.mean_ = normal.mean(axis=0)
        rest = normal - self.mean_
        if np.abs(rest).max() <= 1e-12 * np.abs(normal).max():
            raise ValueError("conditions do not differ: nothing is left without their mean.")
        axes = principal_axes(rest, n_components=kept)
        self.principal_components_ = np.asarray(axes.components)
        self.explained_variance_ratio_ = np.asarray(axes.explained_variance_ratio)
        states = rest @ self.principal_components_.T
        self._fit_maps(states)
        planes = rotation_planes(self.skew_map_)
        self.frequencies_ = planes.frequencies
        turned = [_orient(plane, states[:, 0], self.principal_components_) for plane in planes.axes]
        self.components_ = np.concatenate(turned) @ self.principal_components_
        variance = ((rest @ self.components_.T) ** 2).sum(axis=(0, 1))
        self.plane_variance_ratio_ = variance.reshape(-1, 2).sum(axis=1) / (rest**2).sum()
        return self

    def transform(self, X: ActivityLike) -> np.ndarray:
        """Projections on the planes, `(condition, time, 2 * plane)`.

        The mean over conditions is that of the activity fitted, so that the times must be the same.
        """
        check_fitted(self)
        values = self._read(X)
        check_n_features(self, values.shape[-1], axis_name="unit")
        if values.shape[1] != len(self.mean_):
            raise ValueError(
                f"X has {values.shape[1]} times, but the mean over conditions is that of "
                f"{len(self.mean_)} times."
            )
        return (values / self.scale_ - self.mean_) @ self.components_.T

    def fit_transform(self, X: ActivityLike, y: object = None) -> np.ndarray:
        """Find the planes, and project on them."""
        return self.fit(X, y).transform(X)

    def _fit_maps(self, states: np.ndarray) -> None:
        difference = "forward" if self.method == "log" else self.method
        X, derivatives = state_pairs(states, self.dt, difference=difference)
        if not (derivatives != 0).any():
            raise ValueError("X does not change over time: there is nothing to fit.")
        self.unconstrained_map_ = fit_linear_map(X, derivatives)
        if self.method == "log":
            self.skew_map_ = fit_rotation_logarithm(X, X + self.dt * derivatives, self.dt)
            step = linalg.expm(self.skew_map_ * self.dt)
            change = (step - np.eye(len(step))) / self.dt
        else:
            change = self.skew_map_ = fit_skew_map(X, derivatives)
        total = (derivatives**2).sum()
        self.r2_skew_, self.r2_unconstrained_ = (
            float(1 - ((derivatives - X @ M) ** 2).sum() / total)
            for M in (change, self.unconstrained_map_)
        )
        # A map that does not fit at all has no share of it.
        self.r2_ratio_ = self.r2_skew_ / max(self.r2_unconstrained_, np.finfo(np.float64).tiny)

    def _read(self, X: ActivityLike) -> np.ndarray:
        refuse_traced(X, "jPCA")
        read = read_trials(X, single=False)
        if not read.mask.all():
            lengths = read.mask[..., 0].sum(axis=1)
            raise ValueError(
                f"conditions must have the same times, got between {lengths.min()} and "
                f"{lengths.max()}: cut or warp them to one length."
            )
        return np.asarray(read.values, np.float64)

    def _check(self, values: np.ndarray) -> int:
        if self.method not in ("forward", "central", "log"):
            raise ValueError(f"method must be 'forward', 'central' or 'log', got {self.method!r}.")
        if not (math.isfinite(self.dt) and self.dt > 0):
            raise ValueError(f"dt must be finite and above 0, got {self.dt}.")
        n_conditions, n_times, n_units = values.shape
        kept = whole_number(self.n_components, "n_components")
        most = min((n_conditions - 1) * n_times, n_units)
        if not 2 <= kept <= most:
            raise ValueError(
                f"n_components must lie between 2 and {most}, the fewer of {n_units} units and "
                f"(conditions - 1) x times, got {kept}."
            )
        return kept


def _orient(plane: np.ndarray, first: np.ndarray, components: np.ndarray) -> np.ndarray:
    """The plane `(2, component)` with its first axis along the largest spread of states `first`."""
    spread = plane @ first.T
    values, vectors = np.linalg.eigh(spread @ spread.T)
    if values[1] - values[0] > 1e-12 * values[1]:
        x, y = vectors[:, 1]
        # A rotation within the plane, which keeps the sense in which states turn.
        plane = np.array([[x, y], [-y, x]]) @ plane
    loadings = plane[0] @ components
    magnitude = np.abs(loadings)
    pivot = int(np.argmax(magnitude >= (1 - 1e-8) * magnitude.max()))
    return plane if loadings[pivot] > 0 else -plane
