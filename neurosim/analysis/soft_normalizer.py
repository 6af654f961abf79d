"""Soft normalisation of firing rates: no unit dominates, and none is blown up."""

import math

import numpy as np

from .activity import ActivityLike, AnyArray
from .estimator import Estimator, check_fitted, check_n_features, read_features


class SoftNormalizer(Estimator):
    """Divides each unit by its range plus a constant, as a scikit-learn estimator.

    Strong units come out with a range near 1; units whose range is small beside the constant stay
    small, instead of having their noise brought up to the size of the others' signals. Means are
    left as they are.

    ```python
    rates = SoftNormalizer(5.0).fit_transform(rates)  # spikes/s
    ```

    **Arguments:**

    - `constant`: added to the range of each unit, in units of activity, not negative; 5 spikes/s
        by convention. 0 gives every unit a range of exactly 1.

    **Attributes** after `fit`:

    - `range_`: `(neuron,)`, largest minus smallest value over all samples.
    - `scale_`: `(neuron,)`, what each unit is divided by: its range plus the constant.
    - `n_features_in_`: number of neurons.

    Activity is `(time, neurons)`, `(trials, time, neurons)` or a list of `(time_i, neurons)`, and
    comes back in the layout it was given, NumPy (float64) for NumPy and JAX for JAX.

    **Reference:** Churchland et al. (2012), Neural population dynamics during reaching, Nature 487,
    Methods.
    """

    def __init__(self, constant: float | int = 5.0) -> None:
        self.constant = constant

    def fit(self, X: ActivityLike, y: object = None) -> "SoftNormalizer":
        """Find the range of each unit.

        **Raises:** `ValueError` for a bad layout, values that are not finite, a constant that is
        negative, or a unit that does not vary where the constant is 0.
        """
        del y
        if not (math.isfinite(self.constant) and self.constant >= 0):
            raise ValueError(f"constant must be finite and not negative, got {self.constant}.")
        activity = read_features(X)
        samples, xp = activity.samples, activity.xp
        spread = xp.max(samples, axis=0) - xp.min(samples, axis=0)
        scale = spread + self.constant
        if self.constant == 0 and not bool((spread > 0).all()):
            still = np.flatnonzero(np.asarray(spread) == 0)
            raise ValueError(
                f"neuron {still[0]} does not vary ({len(still)} in all), so it has no range to "
                "divide by: leave such neurons out, or use a constant above 0."
            )
        self.range_, self.scale_ = spread, scale
        self.n_features_in_ = samples.shape[1]
        return self

    def transform(self, X: ActivityLike) -> AnyArray | list[AnyArray]:
        """Activity over the scale of each unit, in the layout it was given."""
        check_fitted(self)
        activity = read_features(X)
        check_n_features(self, activity.samples.shape[1])
        scale = activity.xp.asarray(self.scale_, dtype=activity.samples.dtype)
        return activity.restore(activity.samples / scale)

    def fit_transform(self, X: ActivityLike, y: object = None) -> AnyArray | list[AnyArray]:
        """Find the range of each unit, and divide by the scale."""
        return self.fit(X, y).transform(X)

    def inverse_transform(self, X: ActivityLike) -> AnyArray | list[AnyArray]:
        """Activity in its original units again."""
        check_fitted(self)
        activity = read_features(X)
        check_n_features(self, activity.samples.shape[1])
        scale = activity.xp.asarray(self.scale_, dtype=activity.samples.dtype)
        return activity.restore(activity.samples * scale)
