"""Angles that a population codes, from the shape of its activity alone."""

from typing import Any

import numpy as np

from .activity import ActivityLike, AnyArray
from .circular_classes import circular_classes
from .estimator import Estimator, check_fitted, check_n_features, read_features, refuse_traced
from .manifold_cloud import manifold_cloud, read_samples
from .rips_persistence import rips_persistence


class CircularCoordinates(Estimator):
    """Angles round the loops of activity: one of a ring, two of a torus.

    Loops of a cloud of activity are found by persistent homology, and landmarks get an angle round
    each (`circular_classes`). Every other sample gets them by what units tell: with z-scored
    activity z, and C_n, S_n the means over landmarks of unit n's times the cosine and sine,

        theta(t) = atan2(sum_n z_n(t) S_n, sum_n z_n(t) C_n)

    so that activity of another time, or sleep, can be decoded too. Head-direction cells have
    `n_circles=1`, a module of grid cells 2. Where a loop does not stand out (`betti_numbers` of
    `persistence_`), its angle says nothing.

    ```python
    phases = CircularCoordinates(n_circles=2).fit(X).decode(X)  # (sample, 2)
    ```

    **Arguments:**

    - `n_circles`: 1 or 2.
    - `n_components`, `n_neighbours`: of `manifold_cloud`; `z_score` too, which only concerns the
      cloud.
    - `n_landmarks`, `coefficient`: of `rips_persistence`. `position`: of `circular_classes`.

    **Attributes** after `fit`, NumPy float64:

    - `angles_`: `(circle, landmark)`, radians; `landmarks_`: `(landmark,)`, which samples.
    - `weights_`: `(2, circle, unit)`, C and S.
    - `mean_`, `scale_`: `(unit,)`, of the activity fitted; units that are constant weigh nothing.
    - `gram_`: `(circle, circle)`, see `lattice_spectrum`.
    - `persistence_`: of the cloud. `n_features_in_`: number of units.

    **Reference:** Gardner et al. (2022), Toroidal topology of population activity in grid cells,
    Nature 602, 123-128.
    """

    def __init__(
        self,
        n_circles: int | np.integer = 2,
        *,
        n_components: int | np.integer | None = 6,
        n_neighbours: int | np.integer = 15,
        z_score: bool = False,
        n_landmarks: int | np.integer | None = 200,
        coefficient: int | np.integer = 47,
        position: float | int = 0.9,
    ) -> None:
        self.n_circles = n_circles
        self.n_components = n_components
        self.n_neighbours = n_neighbours
        self.z_score = z_score
        self.n_landmarks = n_landmarks
        self.coefficient = coefficient
        self.position = position

    def fit(self, X: ActivityLike, y: Any = None) -> "CircularCoordinates":
        """Find the loops, and what each unit tells of the angle round them.

        **Arguments:**

        - `X`: activity, see `manifold_cloud`.
        - `y`: ignored, as scikit-learn's pipelines expect.

        **Raises:** `ValueError` as `manifold_cloud`, `rips_persistence` and `circular_classes`.
        """
        del y
        refuse_traced(X, "CircularCoordinates")
        samples = read_samples(read_features(X, axis_name="unit").samples, "CircularCoordinates")
        cloud = manifold_cloud(
            samples,
            n_components=self.n_components,
            n_neighbours=self.n_neighbours,
            z_score=self.z_score,
        )
        persistence = rips_persistence(
            cloud,
            max_dim=1,
            n_landmarks=self.n_landmarks,
            coefficient=self.coefficient,
            cocycles=True,
        )
        classes = circular_classes(persistence, n_circles=self.n_circles, position=self.position)
        self.mean_ = samples.mean(axis=0)
        varies = (samples != samples[0]).any(axis=0)
        self.scale_ = np.where(varies, samples.std(axis=0), np.inf)
        z = (samples[persistence.landmarks] - self.mean_) / self.scale_
        waves = np.stack([np.cos(classes.angles), np.sin(classes.angles)])
        # About their means: landmarks need not lie evenly.
        waves -= waves.mean(axis=-1, keepdims=True)
        self.weights_ = waves @ z / len(z)
        self.angles_, self.gram_ = classes.angles, classes.gram
        self.landmarks_, self.persistence_ = persistence.landmarks, persistence
        self.n_features_in_ = samples.shape[1]
        return self

    def decode(self, X: ActivityLike) -> AnyArray | list[AnyArray]:
        """Angles of activity, of the fit or new: its layout, with circles in place of units.

        Radians, from 0 to 2 pi. Samples whose activity is the mean of the fit have none: NaN.
        """
        check_fitted(self)
        refuse_traced(X, "CircularCoordinates.decode")
        activity = read_features(X, axis_name="unit")
        check_n_features(self, activity.samples.shape[1], axis_name="unit")
        z = (np.asarray(activity.samples, np.float64) - self.mean_) / self.scale_
        cosine, sine = z @ self.weights_[0].T, z @ self.weights_[1].T
        angle = np.arctan2(sine, cosine) % (2 * np.pi)
        return activity.restore(np.where((cosine == 0) & (sine == 0), np.nan, angle))

    def transform(self, X: ActivityLike) -> AnyArray | list[AnyArray]:
        """As `decode`."""
        return self.decode(X)

    def fit_transform(self, X: ActivityLike, y: Any = None) -> AnyArray | list[AnyArray]:
        """Find the loops, and decode the activity they were found in."""
        return self.fit(X, y).decode(X)
