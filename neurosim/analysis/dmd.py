"""Dynamic mode decomposition of delay-embedded activity: the best linear map from now to next."""

from typing import Any

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike
from .estimator import Estimator, check_fitted, check_n_features, read_features, refuse_traced
from .linearisation import turn_real
from .numerical_rank import numerical_rank


class DMD(Estimator):
    """Dynamic mode decomposition with delays: principal component regression of next on now.

    Each trial is embedded by itself: a row holds the activity at one time and at `n_delays - 1`
    times before, `delay_interval` samples apart. The embedded samples are projected on their `rank`
    first principal directions, and a linear map takes each to the sample after it; pairs never
    cross trials. The mean is not subtracted: activity must be measured from the point it moves
    about, such as a fixed point.

    Rank and delays decide everything: choose them by `score` on trials held out, and say how
    results change with them. Noise in the observation makes moduli of eigenvalues too small.

    ```python
    dmd = DMD(n_delays=5, rank=2).fit(X_train)
    dmd.score(X_test), dmd.eigenvalues_
    ```

    **Arguments:**

    - `n_delays`: times in each row, 1 for none but the present.
    - `rank`: principal directions kept; by default all that the data have.
    - `delay_interval`: samples from one time in a row to the one before it.
    - `ridge`: added to the squared lengths of the (orthonormal) coordinates: a penalty.

    **Attributes** after `fit`:

    - `A_`: `(rank, rank)`, the map, in coordinates scaled to the same mean square.
    - `eigenvalues_`: `(rank,)`, complex, of `A_`, by decreasing modulus, per sample: with `dt`
        between samples, a mode has time constant -dt / ln|eigenvalue|.
    - `modes_`: `(rank, neuron)`, complex, how each mode shows in the activity of the present;
        of length 1, the entry of greatest magnitude real and positive.
    - `components_`: `(rank, n_delays * neuron)`, principal directions of rows, the present first;
        the loading of greatest magnitude is positive.
    - `singular_values_`: `(rank,)`, of the embedded samples, decreasing.
    - `rank_`, `n_features_in_`, `n_pairs_`: sizes of the fit.

    **Reference:** Brunton et al. (2017), Chaos as an intermittently forced linear system, Nature
    Communications 8, 19; Ostrow, Eisen, Kozachkov & Fiete (2023), Beyond geometry: comparing the
    temporal structure of computation in neural circuits with dynamical similarity analysis,
    NeurIPS 36.
    """

    def __init__(
        self,
        n_delays: int | np.integer = 1,
        rank: int | np.integer | None = None,
        *,
        delay_interval: int | np.integer = 1,
        ridge: float | int = 1e-8,
    ) -> None:
        self.n_delays = n_delays
        self.rank = rank
        self.delay_interval = delay_interval
        self.ridge = ridge

    def fit(self, X: ActivityLike, y: Any = None) -> "DMD":
        """Fit to `(time, neurons)`, `(trials, time, neurons)` or a list; `y` is ignored.

        **Raises:** `ValueError` for a bad layout, values that are not finite, a trial too short
        for its delays and one pair, activity that is zero, or a rank that the data do not have,
        with the threshold used. `TypeError` under `jit`, `grad` or `vmap`.
        """
        del y
        if not (np.isfinite(self.ridge) and self.ridge >= 0):
            raise ValueError(f"ridge must be finite and not negative, got {self.ridge}.")
        trials, n_neurons = self._embedded(X)
        rows = np.concatenate(trials)
        n_pairs = len(rows) - len(trials)
        _, singular, directions = np.linalg.svd(rows, full_matrices=False)
        numerical, threshold = numerical_rank(singular, rows.shape)
        if numerical == 0:
            raise ValueError("X is zero throughout: it has no dynamics.")
        most = min(numerical, n_pairs)
        rank = most if self.rank is None else whole_number(self.rank, "rank", least=1)
        if rank > most:
            raise ValueError(
                f"rank must be at most {most}, got {rank}: the embedded samples have numerical "
                f"rank {numerical} (singular values above {threshold:.3g}) and make {n_pairs} "
                "pair(s)."
            )
        directions = directions[:rank]
        pivot = np.argmax(np.abs(directions), axis=1)
        directions = directions * np.sign(directions[np.arange(rank), pivot])[:, None]
        scale = singular[:rank]
        coordinates = [trial @ directions.T / scale for trial in trials]
        now = np.concatenate([trial[:-1] for trial in coordinates])
        after = np.concatenate([trial[1:] for trial in coordinates])
        # The penalty as rows of its own: the squares of the coordinates are never formed.
        penalty = np.sqrt(self.ridge) * np.eye(rank)
        transposed = np.linalg.lstsq(
            np.concatenate([now, penalty]), np.concatenate([after, 0 * penalty]), rcond=None
        )[0]
        self.A_ = transposed.T
        self.components_, self.singular_values_ = directions, scale
        values, vectors = np.linalg.eig(self.A_)
        values, vectors = values.astype(complex), vectors.astype(complex)
        order = np.lexsort((np.imag(values), -np.abs(values)))
        self.eigenvalues_ = values[order]
        modes = ((directions[:, :n_neurons].T * scale) @ vectors[:, order]).T
        length = np.linalg.norm(modes, axis=1, keepdims=True)
        # A mode that the present does not show stays zero.
        self.modes_ = turn_real(modes / np.where(length == 0, 1, length))
        self.rank_, self.n_features_in_, self.n_pairs_ = rank, n_neurons, n_pairs
        return self

    def predict(self, X: ActivityLike) -> Any:
        """Activity one sample ahead, from each row: `(time - window, neurons)` for each trial.

        The first is of the sample after the first `window = (n_delays - 1) * delay_interval + 1`.
        """
        check_fitted(self)
        activity, trials = self._read(X)
        predicted = [self._ahead(rows[:-1]) for rows in trials]
        if activity.layout == "samples":
            return predicted[0]
        return np.stack(predicted) if activity.layout == "trials" else predicted

    def score(self, X: ActivityLike, y: Any = None) -> float:
        """Fraction of the variance of activity, about the mean of each neuron, predicted one ahead.

        Slow activity is predicted by its last value already: compare models, not with 0.

        **Raises:** as `fit`, and `ValueError` where the activity to predict does not vary.
        """
        del y
        check_fitted(self)
        _, trials = self._read(X)
        actual = np.concatenate([rows[1:, : self.n_features_in_] for rows in trials])
        error = actual - np.concatenate([self._ahead(rows[:-1]) for rows in trials])
        about_mean = actual - actual.mean(axis=0)
        if (actual == actual[0]).all():
            raise ValueError("X does not vary after its first rows: there is nothing to explain.")
        return float(1 - np.sum(error**2) / np.sum(about_mean**2))

    def _ahead(self, rows: np.ndarray) -> np.ndarray:
        present = self.components_[:, : self.n_features_in_]
        coordinates = rows @ self.components_.T / self.singular_values_
        return (coordinates @ self.A_.T * self.singular_values_) @ present

    def _read(self, X: Any) -> tuple[Any, list[np.ndarray]]:
        activity = read_features(X)
        check_n_features(self, activity.samples.shape[1])
        return activity, self._embedded(X)[0]

    def _embedded(self, X: Any) -> tuple[list[np.ndarray], int]:
        """Rows of each trial, the present first, and the number of neurons."""
        n_delays = whole_number(self.n_delays, "n_delays", least=1)
        interval = whole_number(self.delay_interval, "delay_interval", least=1)
        activity = read_features(X)
        refuse_traced(activity.samples, "dynamic mode decomposition")
        samples = np.asarray(activity.samples, np.float64)
        before = (n_delays - 1) * interval
        short = [i for i, n in enumerate(activity.lengths) if n < before + 2]
        if short:
            raise ValueError(
                f"trial {short[0]} has {activity.lengths[short[0]]} sample(s) (n_samples="
                f"{activity.lengths[short[0]]}): {n_delays} delay(s) {interval} apart and one pair "
                f"need {before + 2} at least."
            )
        return [
            np.concatenate(
                [x[before - lag : len(x) - lag] for lag in range(0, before + 1, interval)], axis=1
            )
            for x in activity.trials(samples)
        ], samples.shape[1]
