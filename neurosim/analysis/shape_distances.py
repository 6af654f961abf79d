"""Distances between many populations, out of sample, and of repeats of one; their mean shape."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike, as_floating, read_activity
from .estimator import refuse_traced
from .grouped_folds import grouped_folds
from .paired_samples import read_numpy_pair
from .resampling import as_generator
from .shape_metric import ShapeMetric

Seed = int | np.integer | np.random.Generator

_WHAT = "a shape distance"


class CrossValidatedShapeDistance(NamedTuple):
    """Distance in held-out samples; see `cross_validated_shape_distance`."""

    distance: float
    standard_error: float
    folds: np.ndarray


class ShapeDistanceFloor(NamedTuple):
    """Distance between repeats of one population; see `shape_distance_floor`."""

    distance: float
    splits: np.ndarray


class MeanShape(NamedTuple):
    """What several populations have in common; see `mean_shape`."""

    mean: np.ndarray
    distances: np.ndarray
    n_iterations: int


def cross_validated_shape_distance(
    X: ActivityLike,
    Y: ActivityLike,
    *,
    alpha: float | int = 1.0,
    kind: str = "angular",
    centre: bool = True,
    n_folds: int | np.integer = 5,
    random_state: Seed = 0,
) -> CrossValidatedShapeDistance:
    """Distance in held-out samples of two populations, aligned by the other samples.

    An alignment fits the noise of the samples it is fitted to, the more so the more units there
    are, which makes populations look closer than they are. Held-out noise makes them look farther
    apart instead: compare with `shape_distance_floor`. Trials are held out whole; where there are
    none, single samples.

    **Arguments:**

    - `X`, `Y`: `(sample, unit)`, `(trials, time, unit)` or lists of `(time_i, unit)`, of the same
      samples.
    - `alpha`, `kind`, `centre`: see `ShapeMetric`.
    - `n_folds`: number of parts, each held out once.
    - `random_state`: seed or generator that deals trials to folds.

    **Returns:** `CrossValidatedShapeDistance`: `distance`, the mean over folds; its
    `standard_error`, folds taken as independent; `folds`, `(n_folds,)`.

    **Raises:** `ValueError` as `ShapeMetric.fit`, about the samples fitted, and for a number of
    folds that does not fit the trials. `TypeError` under `jit`, `grad` or `vmap`.
    """
    pair = read_numpy_pair(X, Y, what=_WHAT)
    metric = ShapeMetric(alpha, kind=kind, centre=centre)
    values = np.array([
        metric.fit(pair.X[train], pair.Y[train]).distance(pair.X[test], pair.Y[test])
        for train, test in grouped_folds(pair.groups, n_folds=n_folds, random_state=random_state)
    ])  # fmt: skip
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    return CrossValidatedShapeDistance(float(values.mean()), error, values)


def shape_distances(
    populations: Sequence[ActivityLike],
    *,
    alpha: float | int = 1.0,
    kind: str = "angular",
    centre: bool = True,
    n_folds: int | np.integer | None = None,
    random_state: int | np.integer = 0,
) -> np.ndarray:
    """Distances between all pairs of several populations over the same samples.

    **Arguments:**

    - `populations`: two or more, as `X` of `ShapeMetric.fit`.
    - `alpha`, `kind`, `centre`: see `ShapeMetric`.
    - `n_folds`: the number of folds for distances in held-out samples, see
        `cross_validated_shape_distance`; `None` for distances of the samples aligned.
    - `random_state`: seed that deals trials to folds, the same for all pairs.

    **Returns:** `(population, population)`, symmetric, 0 on the diagonal; of the samples aligned
    it is a metric.

    **Raises:** as `ShapeMetric.fit`, or `cross_validated_shape_distance`; `ValueError` for fewer
    than two populations.
    """
    n = len(populations)
    if n < 2:
        raise ValueError(f"at least two populations are needed, got {n}.")
    distances = np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        X, Y = populations[i], populations[j]
        if n_folds is None:
            distance = ShapeMetric(alpha, kind=kind, centre=centre).fit(X, Y).distance_
        else:
            distance = cross_validated_shape_distance(
                X, Y, alpha=alpha, kind=kind, centre=centre, n_folds=n_folds,
                random_state=random_state,
            ).distance  # fmt: skip
        distances[i, j] = distances[j, i] = distance
    return distances


def shape_distance_floor(
    X: Any,
    *,
    alpha: float | int = 1.0,
    kind: str = "angular",
    centre: bool = True,
    n_splits: int | np.integer = 20,
    random_state: Seed = 0,
) -> ShapeDistanceFloor:
    """Distance between averages of two halves of the repeats of one population: that of noise.

    A distance between populations means something as far as it exceeds this. Halves are noisier
    than averages over all repeats: measure the distance of interest between averages of as many
    repeats as a half has.

    **Arguments:**

    - `X`: `(repeat, sample, unit)`, repeats of the same samples (conditions, or times), at least
      two; of an odd number, one is left out of each split.
    - `alpha`, `kind`, `centre`: see `ShapeMetric`.
    - `n_splits`: number of random halvings.
    - `random_state`: their seed or generator.

    **Returns:** `ShapeDistanceFloor`: `distance`, the mean over splits; `splits`, `(n_splits,)`.

    **Raises:** `ValueError` for another shape, fewer than two repeats, no splits, or values that
    are not finite, and as `ShapeMetric.fit`. `TypeError` under `jit`, `grad` or `vmap`.
    """
    refuse_traced(X, _WHAT)
    repeats = np.asarray(as_floating(X, "X"), np.float64)
    if repeats.ndim != 3 or len(repeats) < 2:
        raise ValueError(
            f"X must be (repeat, sample, unit) with two repeats or more, got {repeats.shape}."
        )
    # Here, since splits of an odd number leave a repeat out, and averages hide which one is bad.
    read_activity(repeats, axis_name="unit")
    rng = as_generator(random_state)
    half = len(repeats) // 2
    metric = ShapeMetric(alpha, kind=kind, centre=centre)
    splits = np.empty(whole_number(n_splits, "n_splits", least=1))
    for i in range(len(splits)):
        order = rng.permutation(len(repeats))
        first, second = repeats[order[:half]], repeats[order[half : 2 * half]]
        splits[i] = metric.fit(first.mean(axis=0), second.mean(axis=0)).distance_
    return ShapeDistanceFloor(float(splits.mean()), splits)


def mean_shape(
    populations: Sequence[ActivityLike],
    *,
    max_iterations: int | np.integer = 1000,
    tolerance: float | int = 1e-13,
) -> MeanShape:
    """The activity from which several populations, rotated onto it, are least far on the whole.

    It minimises the sum of squared Euclidean Procrustes distances (generalised Procrustes
    analysis): populations are rotated onto their mean, which is taken anew, in turn. The mean of
    each unit is subtracted, and populations with fewer units are padded with silent ones. There
    are local minima, in directions of noise: the search starts from each population in turn, and
    the best result is kept.

    **Arguments:**

    - `populations`: two or more, `(sample, unit)`, `(trials, time, unit)` or lists of
      `(time_i, unit)`, of the same samples.
    - `max_iterations`: the most rounds.
    - `tolerance`: the search ends when a round lowers the root mean square distance by less than
      this share of the activity's norm.

    **Returns:** `MeanShape`: `mean`, `(sample, unit)`, centred, in the basis of the first
    population; `distances`, `(population,)`, Euclidean, of each from it; `n_iterations`.

    **Raises:** `ValueError` for a bad layout, values that are not finite, samples that differ,
    fewer than two populations, or a search that has not ended after `max_iterations`.

    **Reference:** Gower (1975), Generalized Procrustes analysis, Psychometrika 40, 33-51.
    """
    if len(populations) < 2:
        raise ValueError(f"at least two populations are needed, got {len(populations)}.")
    read = []
    for i, population in enumerate(populations):
        names = ("populations[0]", f"populations[{i}]")
        samples = read_numpy_pair(populations[0], population, names=names, what=_WHAT).Y
        read.append(samples - samples.mean(axis=0))
    width = max(samples.shape[1] for samples in read)
    padded = [np.pad(x, ((0, 0), (0, width - x.shape[1]))) for x in read]
    norm = float(np.sqrt(np.mean([np.vdot(x, x) for x in padded])))
    found = [_settled(padded, start, int(max_iterations), tolerance * norm) for start in padded]
    best = min(found, key=lambda one: float(np.sum(one.distances**2)))
    return best._replace(mean=_rotated(best.mean, padded[0]))


def _settled(
    padded: list[np.ndarray], mean: np.ndarray, max_iterations: int, tolerance: float
) -> MeanShape:
    spread = last = np.inf
    for iteration in range(1, max_iterations + 1):
        aligned = [_rotated(x, mean) for x in padded]
        mean = np.mean(aligned, axis=0)
        distances = np.array([np.linalg.norm(x - mean) for x in aligned])
        spread = float(np.sqrt(np.mean(distances**2)))
        if last - spread <= tolerance:
            return MeanShape(mean, distances, iteration)
        last = spread
    raise ValueError(
        f"no mean shape after max_iterations = {max_iterations}: the root mean square distance "
        f"is {spread:.3g}, and still falls. Allow more iterations."
    )


def _rotated(x: np.ndarray, onto: np.ndarray) -> np.ndarray:
    U, _, Vt = np.linalg.svd(x.T @ onto)
    return x @ U @ Vt
