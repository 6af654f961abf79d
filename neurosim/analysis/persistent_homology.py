"""Loops in a cloud of points that stand out over many scales."""

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ..kernels import whole_number
from .max_min_landmarks import landmarks_of_cloud, read_cloud
from .ripser_backend import import_ripser, rips_bars

# The cost grows with the third power of the number of points: 1,000 on a circle took 8 s and
# 0.7 GB with ripser 0.6, 2,000 took 100 s and 4.6 GB, or 3.5 bytes for each triple of points.
_MOST_POINTS = 1000
_BYTES_PER_TRIPLE = 3.5


class RingPersistence(NamedTuple):
    """The loop of a cloud of points that lasts longest; see `ring_persistence`."""

    birth: float
    death: float
    length: float
    ratio: float
    bars: np.ndarray
    landmarks: np.ndarray
    covering_radius: float


def ring_persistence(points: Any, *, n_landmarks: int | np.integer | None = 300) -> RingPersistence:
    """The loop in a cloud of points that lasts over the widest range of scales.

    Points nearer to each other than a scale are joined, and triples of joined points filled in
    (the Vietoris-Rips complex). A ring becomes a loop at the scale of its gaps, its `birth`, and is
    filled in at the `death`: for points close together on a circle of radius R, at R sqrt(3).
    Clouds without a ring have loops too, short ones, so what tells a ring is a `length` far beyond
    that of the second longest (`ratio`).

    Many points are represented by landmarks: each is the point farthest from those chosen before,
    starting from the one farthest from the mean. This moves births and deaths by at most twice the
    `covering_radius`, so a loop that lasts longer than four times that is not lost; but it favours
    points that lie far out: leave outliers out first.

    **Arguments:**

    - `points`: `(point, dimension)`, for instance states at the end of a delay, one a trial; at
      least four.
    - `n_landmarks`: number of points that represent a greater number, at most 1,000; `None` to
      take all points.

    **Returns:** `RingPersistence`, NumPy whatever is given; scales in the units of `points`:

    - `birth`, `death`: of the longest bar of one-dimensional homology; NaN where there is no loop.
    - `length`: their difference; 0 where there is no loop.
    - `ratio`: of that length to the second longest; infinite where there is no second loop, NaN
      where there is none.
    - `bars`: `(loop, 2)`, births and deaths of all loops, the longest first.
    - `landmarks`: `(landmark,)`, which points were taken, in order of choice.
    - `covering_radius`: largest distance of a point from its nearest landmark; 0 for all points.

    **Raises:** `ValueError` for another layout, values that are not finite, fewer than four
    points or landmarks, more than 1,000 to be taken, or if ripser is not installed; `TypeError`
    under `jit`, `grad` or `vmap`.

    **Reference:** Bauer (2021), Ripser, Journal of Applied and Computational Topology 5, 391-423;
    Tralie, Saul & Bar-On (2018), Ripser.py, JOSS 3(29), 925; de Silva & Carlsson (2004),
    Topological estimation using witness complexes, for max-min landmarks.
    """
    cloud, scale = _read(points)
    n = len(cloud)
    taken = n if n_landmarks is None else min(n, _count(n_landmarks))
    _check_cost(taken)
    ripser = import_ripser("ring_persistence")
    if taken == n:
        landmarks, radius = np.arange(n), 0.0
    else:
        landmarks, radius = landmarks_of_cloud(cloud, taken)
    distance = cdist(cloud[landmarks], cloud[landmarks])
    diagrams, _ = rips_bars(ripser, distance, max_dim=1)
    bars = diagrams[1] * scale
    length = bars[:, 1] - bars[:, 0]
    birth, death, longest = np.nan, np.nan, 0.0
    ratio = np.nan
    if len(bars) > 0:
        (birth, death), longest = bars[0], length[0]
        ratio = longest / length[1] if len(bars) > 1 else np.inf
    return RingPersistence(
        birth=float(birth),
        death=float(death),
        length=float(longest),
        ratio=float(ratio),
        bars=bars,
        landmarks=landmarks,
        covering_radius=radius * scale,
    )


def _read(points: Any) -> tuple[np.ndarray, float]:
    cloud, scale = read_cloud(points, "ring_persistence")
    if len(cloud) < 4:
        raise ValueError(f"at least four points are needed for a loop, got {len(cloud)}.")
    if not (cloud != cloud[0]).any():
        raise ValueError("all points are equal: there is no loop to look for.")
    return cloud, scale


def _count(n_landmarks: Any) -> int:
    n = whole_number(n_landmarks, "n_landmarks")
    if n < 4:
        raise ValueError(f"at least four landmarks are needed for a loop, got {n}.")
    return n


def _check_cost(n: int) -> None:
    if n > _MOST_POINTS:
        triples = n**3 / 6
        raise ValueError(
            f"the loops of {n:,} points may need {_BYTES_PER_TRIPLE * triples / 1e9:,.0f} GB of "
            f"memory ({triples:.1e} triples of points): at most {_MOST_POINTS:,} are taken. Set "
            "n_landmarks to a few hundred."
        )
