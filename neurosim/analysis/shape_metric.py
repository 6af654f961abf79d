"""Shape metrics: distances that range from rotations only to all invertible linear maps."""

from typing import Any

import numpy as np

from .activity import ActivityLike
from .estimator import Estimator, check_fitted, check_n_features, read_features, refuse_traced
from .numerical_rank import numerical_rank
from .paired_samples import PairedSamples, read_numpy_pair
from .procrustes import distance_of_chord

_WHAT = "a shape metric"
_KINDS = ("angular", "euclidean", "rms")


class ShapeMetric(Estimator):
    """Alignment of two populations over the same samples, and their distance once aligned.

    Each population is partly whitened, keeping its total variance, and the two are rotated onto
    one another. With centred activity X, the whitening is

        Z = c (alpha I + (1 - alpha) (X^T X)^(-1/2)),   c such that |X Z| = |X|.

    `alpha = 1` leaves activity as it is; the distances are those of `procrustes_distance`.
    `alpha = 0` whitens in full: then no invertible linear map of either population changes the
    angle, whose cosine is the mean canonical correlation; it needs as many units in both.
    In between, the metric depends on the unit of activity and the number of samples, which weigh
    X^T X against 1: bring populations to one norm first to compare them.

    The population with fewer units is padded with silent ones. Fitted to some samples, the
    alignment can be judged on others (`distance`), where it cannot fit noise.

    ```python
    metric = ShapeMetric(alpha=1).fit(X[train], Y[train])
    metric.distance(X[test], Y[test])
    ```

    **Arguments:**

    - `alpha`: from 0 to 1, see above.
    - `kind`: of the distance: `"angular"`, the angle between aligned populations; `"euclidean"`,
        the Frobenius norm of their difference; `"rms"`, that over sqrt(samples).
    - `centre`: whether the mean of each unit over the samples fitted is subtracted.

    **Attributes** after `fit`, for p and q units and w = max(p, q):

    - `x_transform_`, `y_transform_`: `(p, w)` and `(q, w)`, whitening and rotation.
    - `x_mean_`, `y_mean_`: `(p,)` and `(q,)`; 0 where not centred.
    - `distance_`: of the samples fitted.
    - `n_features_in_`: p.

    Everything is NumPy float64, whatever is given.

    **Reference:** Williams, Kunz, Kornblith & Linderman (2021), Generalized shape metrics on
    neural representations, NeurIPS, section 2.
    """

    needs_target = True

    def __init__(
        self,
        alpha: float | int = 1.0,
        *,
        kind: str = "angular",
        centre: bool = True,
    ):
        self.alpha = alpha
        self.kind = kind
        self.centre = centre

    def fit(self, X: ActivityLike, y: Any = None) -> "ShapeMetric":
        """Find the alignment.

        **Arguments:**

        - `X`, `y`: the two populations, `(sample, unit)`, `(trials, time, unit)` or lists of
            `(time_i, unit)`, of the same samples.

        **Raises:** `ValueError` for a bad layout, values that are not finite, samples that
        differ, parameters out of range, activity that does not vary, or, where `alpha = 0`,
        units that differ in number or are linearly dependent. `TypeError` under `jit`, `grad` or
        `vmap`.
        """
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha must lie between 0 and 1, got {self.alpha}.")
        if self.kind not in _KINDS:
            raise ValueError(
                f"kind must be one of {', '.join(map(repr, _KINDS))}, got {self.kind!r}."
            )
        pair = self._read(X, y)
        p, q = pair.X.shape[1], pair.Y.shape[1]
        if self.alpha == 0 and p != q:
            raise ValueError(
                f"X and y have {p} and {q} units: silent ones that pad the fewer cannot be "
                "whitened in full. Use alpha above 0, or as many principal components of each."
            )
        width = max(p, q)
        (self.x_mean_, A, Zx), (self.y_mean_, B, Zy) = (
            self._whitened(samples, name, width) for samples, name in ((pair.X, "X"), (pair.Y, "y"))
        )
        U, _, Vt = np.linalg.svd(A.T @ B)
        self.x_transform_, self.y_transform_ = Zx @ U, Zy @ Vt.T
        self.n_features_in_ = p
        self.distance_ = self._distance(pair)
        return self

    def transform(self, X: ActivityLike, y: Any = None) -> Any:
        """Aligned activity, `w` columns in place of units: of `X`, and of `y` too if it is given.

        The layout is that given. **Raises:** `ValueError` for activity that does not fit.
        """
        check_fitted(self)
        aligned = self._aligned(X, "X", self.x_mean_, self.x_transform_)
        if y is None:
            return aligned
        return aligned, self._aligned(y, "y", self.y_mean_, self.y_transform_)

    def fit_transform(self, X: ActivityLike, y: Any = None) -> Any:
        """Find the alignment, and align `X`."""
        return self.fit(X, y).transform(X)

    def distance(self, X: ActivityLike, y: Any) -> float:
        """Distance of two populations by the alignment fitted, which is not fitted anew.

        In samples that were held out an angle may exceed pi / 2. **Raises:** `ValueError` for
        activity that does not fit, or, for angles, is at the mean of the fit everywhere.
        """
        check_fitted(self)
        return self._distance(self._read(X, y))

    def score(self, X: ActivityLike, y: Any) -> float:
        """Cosine of the angle between two populations by the alignment fitted; 1 is best.

        **Raises:** as `distance`.
        """
        check_fitted(self)
        A, B = self._align_pair(self._read(X, y))
        return float(np.vdot(_unit(A, "X"), _unit(B, "y")))

    def _read(self, X: Any, y: Any) -> PairedSamples:
        if y is None:
            raise ValueError(
                "ShapeMetric requires y to be passed, but the target y is None: the population "
                "that X is compared with."
            )
        return read_numpy_pair(X, y, names=("X", "y"), what=_WHAT)

    def _whitened(
        self, samples: np.ndarray, name: str, width: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The mean, centred activity partly whitened, and the whitening; the latter two padded."""
        if self.centre:
            mean = samples.mean(axis=0)
            varies = (samples != samples[0]).any()
        else:
            mean = np.zeros(samples.shape[1])
            varies = (samples != 0).any()
        if not varies:
            raise ValueError(
                f"{name} does not vary (n_samples={len(samples)}): there is nothing to align."
            )
        centred = samples - mean
        n_units = samples.shape[1]
        if self.alpha == 1:
            Z = np.eye(n_units, width)
            return mean, centred @ Z, Z
        # Of X rather than of X^T X, whose small eigenvalues drown in rounding.
        _, s, Vt = np.linalg.svd(centred, full_matrices=False)
        rank, threshold = numerical_rank(s, samples.shape)
        if self.alpha == 0 and rank < n_units:
            raise ValueError(
                f"the {n_units} units of {name} are linearly dependent: numerical rank {rank} "
                f"(singular values above {threshold:.1e}, the largest {s[0]:.1e}), and cannot be "
                "whitened in full. Use alpha above 0, or principal components."
            )
        # Directions without variance are not blown up: there the inverse root counts as 0.
        inverse = np.divide(1, s, out=np.zeros_like(s), where=s > threshold)
        Z = self.alpha * np.eye(n_units) + (1 - self.alpha) * (Vt.T * inverse) @ Vt
        scale = np.linalg.norm(s) / np.linalg.norm(s * (self.alpha + (1 - self.alpha) * inverse))
        Z = np.pad(scale * Z, ((0, 0), (0, width - n_units)))
        return mean, centred @ Z, Z

    def _align_pair(self, pair: PairedSamples) -> tuple[np.ndarray, np.ndarray]:
        check_n_features(self, pair.X.shape[1], axis_name="unit")
        if pair.Y.shape[1] != len(self.y_mean_):
            raise ValueError(f"y has {pair.Y.shape[1]} units, but the fit has {len(self.y_mean_)}.")
        A = (pair.X - self.x_mean_) @ self.x_transform_
        return A, (pair.Y - self.y_mean_) @ self.y_transform_

    def _distance(self, pair: PairedSamples) -> float:
        A, B = self._align_pair(pair)
        if self.kind == "angular":
            chord = _unit(A, "X") - _unit(B, "y")
            return float(distance_of_chord(np.vdot(chord, chord), "angular"))
        return float(np.linalg.norm(A - B)) / (len(A) ** 0.5 if self.kind == "rms" else 1)

    def _aligned(self, X: Any, name: str, mean: np.ndarray, transform: np.ndarray) -> Any:
        activity = read_features(X, name=name, axis_name="unit")
        refuse_traced(activity.samples, _WHAT)
        samples = np.asarray(activity.samples, np.float64)
        if name == "X":
            check_n_features(self, samples.shape[1], axis_name="unit")
        elif samples.shape[1] != len(mean):
            raise ValueError(f"y has {samples.shape[1]} units, but the fit has {len(mean)}.")
        return activity.restore((samples - mean) @ transform)


def _unit(x: np.ndarray, name: str) -> np.ndarray:
    norm = np.linalg.norm(x)
    if norm == 0:
        raise ValueError(f"{name} is at the mean of the fit everywhere: there is no angle.")
    return x / norm
