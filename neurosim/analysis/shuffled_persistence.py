"""How long loops and voids last by chance: units shuffled independently of each other."""

import inspect
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import ActivityLike, read_activity
from .estimator import refuse_traced
from .manifold_cloud import manifold_cloud
from .resampling import as_generator
from .rips_persistence import rips_persistence


class ShuffledPersistence(NamedTuple):
    """The longest bars of shuffles; see `shuffled_persistence`."""

    longest: np.ndarray


def shuffled_persistence(
    X: ActivityLike,
    *,
    n_shuffles: int | np.integer = 20,
    shuffle: str = "permute",
    random_state: int | np.integer | np.random.Generator = 0,
    n_components: int | np.integer | None = 6,
    n_neighbours: int | np.integer = 15,
    z_score: bool = False,
    progress: Callable[[int, int], Any] | None = None,
    **options: Any,
) -> ShuffledPersistence:
    """The longest component, loop and void of activity whose units are shuffled one by one.

    Each unit keeps its values and loses its relation to the others. Maps over space must not be
    rolled for this: a rolled map of a grid cell is one of another phase, and the torus survives.

    **Arguments:**

    - `X`: activity, see `manifold_cloud`.
    - `n_shuffles`: number of shuffles; each costs one `rips_persistence`.
    - `shuffle`: `"permute"` puts the samples of each unit in random order. `"roll"` moves each unit
      in time, round the end of each trial, which keeps its autocorrelation: for recordings.
    - `random_state`: seed or generator.
    - `n_components`, `n_neighbours`, `z_score`: of `manifold_cloud`.
    - `progress`: called with the number of shuffles done, and of all, after each.
    - `options`: of `rips_persistence`. Take the same as for the activity itself.

    **Returns:** `ShuffledPersistence`:

    - `longest`: `(shuffle, dimension)`, lengths over the size of the shuffled cloud, since units
      that share nothing leave less variance to the leading components. Of components the longest
      that is joined to another; 0 where there is no bar.

    **Raises:** `ValueError` as `manifold_cloud` and `rips_persistence`, for another shuffle, fewer
    than one, or options that are none of `rips_persistence`. `TypeError` under `jit`, `grad` or
    `vmap`.
    """
    if shuffle not in ("permute", "roll"):
        raise ValueError(f"shuffle must be 'permute' or 'roll', got {shuffle!r}.")
    known = set(inspect.signature(rips_persistence).parameters) - {"points", "metric", "cocycles"}
    wrong = sorted(set(options) - known)
    if wrong:
        raise ValueError(f"{', '.join(wrong)} cannot be given: see options of rips_persistence.")
    n = whole_number(n_shuffles, "n_shuffles", least=1)
    rng = as_generator(random_state)
    refuse_traced(X, "shuffled_persistence")
    activity = read_activity(X, axis_name="unit")
    samples = np.asarray(activity.samples, np.float64)
    ends = np.cumsum((0, *activity.lengths))
    longest = []
    for done in range(n):
        if shuffle == "permute":
            shuffled = rng.permuted(samples, axis=0)
        else:
            trials = [samples[a:b] for a, b in pairwise(ends)]
            shuffled = np.concatenate([_rolled(trial, rng) for trial in trials])
        cloud = manifold_cloud(
            shuffled, n_components=n_components, n_neighbours=n_neighbours, z_score=z_score
        )
        persistence = rips_persistence(cloud, **options)
        longest.append([_longest(bars) / persistence.size for bars in persistence.diagrams])
        if progress is not None:
            progress(done + 1, n)
    return ShuffledPersistence(np.array(longest))


def _rolled(trial: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shift = rng.integers(len(trial), size=trial.shape[1])
    return np.take_along_axis(trial, (np.arange(len(trial))[:, None] - shift) % len(trial), axis=0)


def _longest(bars: np.ndarray) -> float:
    ended = bars[np.isfinite(bars[:, 1])]
    return float(np.max(ended[:, 1] - ended[:, 0], initial=0.0))
