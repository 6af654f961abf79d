"""Manifold capacity: how many clouds of points a linear readout can part, for each dimension."""

from typing import Any, NamedTuple

import numpy as np
from scipy import integrate, optimize, special

from ..kernels import whole_number
from .activity import ActivityLike, as_floating
from .estimator import read_features, refuse_traced
from .resampling import as_generator, group_members


class ManifoldCapacity(NamedTuple):
    """Capacity of manifolds and its standard error; see `manifold_capacity`."""

    capacity: float
    standard_error: float
    critical_dimension: float
    n_manifolds: int
    n_points: int
    n_units: int
    null: np.ndarray | None
    p_value: float | None


def manifold_capacity(
    X: ActivityLike,
    labels: Any,
    *,
    origin: Any = None,
    n_draws: int | np.integer = 200,
    n_shuffles: int | np.integer = 0,
    random_state: int | np.integer | np.random.Generator = 0,
) -> ManifoldCapacity:
    """How many manifolds for each dimension have their random halves parted by a plane.

    The points of one label are a manifold. P manifolds get signs y at random; seen through a random
    projection to n dimensions they are parted by a plane through the origin, all points of each on
    its side, as soon as n exceeds the mean of |Pi g|^2, where Pi g is the nearest point to a
    Gaussian g in the cone of sums of y_i x_i with weights that are not negative. The capacity is P
    over that dimension: 2 for single points, less for manifolds that extend. It is a mean over
    signs and g, found by non-negative least squares.

    Points are a sample: the manifold between and around them is larger, and its capacity lower,
    noticeably so for manifolds of five dimensions or more.

    **Arguments:**

    - `X`: `(sample, unit)`, or `(trial, time, unit)`, whose time points all are samples then.
    - `labels`: `(sample,)`, or `(trial,)` for trials: the manifold of each.
    - `origin`: `(unit,)`, where planes pass through; by default the mean of all samples. Correlated
        centres lower the capacity; no correction is made.
    - `n_draws`: number of draws of signs and g.
    - `n_shuffles`: how often labels are dealt out anew, to see what clouds without structure have.
    - `random_state`: a seed or a generator.

    **Returns:** `ManifoldCapacity`:

    - `capacity`: manifolds for each dimension.
    - `standard_error`: of the capacity, by draws of signs and g alone.
    - `critical_dimension`: manifolds over capacity.
    - `n_manifolds`, `n_points`, `n_units`: what was given; the capacity depends on how many.
    - `null`: `(shuffle,)`, capacities with shuffled labels, or `None`.
    - `p_value`: share of shuffles, the labels as given among them, of as large a capacity; or
        `None`.

    **Raises:** `ValueError` for a bad layout, values that are not finite, one label, labels that do
    not match, points that are all at the origin, or fewer than two draws; `TypeError` under `jit`.

    **Reference:** Chung, Lee & Sompolinsky (2018), Classification and geometry of general
    perceptual manifolds, Phys. Rev. X 8; Amelunxen, Lotz, McCoy & Tropp (2014), Living on the edge,
    Information and Inference 3.
    """
    refuse_traced(X, "manifold capacity")
    activity = read_features(X, axis_name="unit")
    x = np.asarray(activity.samples, np.float64)
    lengths = activity.lengths if activity.layout != "samples" else (1,) * len(x)
    members = group_members(labels, len(lengths), "labels")
    if labels is None or len(members) < 2:
        raise ValueError("labels must name two manifolds or more.")
    draws = whole_number(n_draws, "n_draws", least=1)
    if draws < 2:
        raise ValueError("n_draws must be at least 2, for a standard error.")
    points = _about_origin(x, origin)
    manifold = np.empty(len(lengths), int)
    for i, trials in enumerate(members):
        manifold[trials] = i
    rng = as_generator(random_state)

    def dimensions(manifold: np.ndarray) -> np.ndarray:
        return _dimensions(points, np.repeat(manifold, lengths), draws, rng)

    drawn = dimensions(manifold)
    needed, error = float(drawn.mean()), float(drawn.std(ddof=1) / draws**0.5)
    capacity = len(members) / needed
    null = p_value = None
    if n_shuffles != 0:
        count = whole_number(n_shuffles, "n_shuffles", least=1)
        means = [dimensions(rng.permutation(manifold)).mean() for _ in range(count)]
        null = len(members) / np.array(means)
        p_value = float((1 + (null >= capacity).sum()) / (1 + count))
    return ManifoldCapacity(
        capacity,
        capacity * error / needed,
        needed,
        len(members),
        len(x),
        x.shape[1],
        null,
        p_value,
    )


def point_capacity(margin: float | int) -> float:
    """Capacity of random points that a plane has to clear by a margin, in units of their spread.

    1 / integral of (t + margin)^2 over a standard Gaussian t from -margin on; 2 without a margin.

    **Raises:** `ValueError` for a margin that is negative or not finite.

    **Reference:** Gardner (1988), The space of interactions in neural network models, J. Phys. A
    21.
    """
    if not (np.isfinite(margin) and margin >= 0):
        raise ValueError(f"margin must be finite and not negative, got {margin}.")
    return float(1 / _mean_square_above(-float(margin)))


def ball_capacity(radius: float | int, dimension: int | np.integer) -> float:
    """Capacity of balls around orthonormal centres, in subspaces orthogonal to them and each other.

    1 / E dist^2 of a Gaussian vector (v0, v) to the cone v0 >= radius |v|: 2 / (1 + dimension) for
    radius 1, and 2 for radius 0.

    **Arguments:**

    - `radius`: of the balls, in units of the distance of their centres from the origin; not
        negative.
    - `dimension`: of the balls, at least 1.

    **Raises:** `ValueError` for a radius or dimension out of range.

    **Reference:** Chung, Lee & Sompolinsky (2018), Classification and geometry of general
    perceptual manifolds, Phys. Rev. X 8.
    """
    if not (np.isfinite(radius) and radius >= 0):
        raise ValueError(f"radius must be finite and not negative, got {radius}.")
    D, R = whole_number(dimension, "dimension", least=1), float(radius)
    if R == 0:
        return 2.0

    def density_times_distance(r: float) -> float:
        # Beyond the polar cone, v0 < -r / R, the nearest point is the tip; else the side.
        inner = _mean_square_above(-R * r) - _mean_square_above_and_shift(r / R, R * r)
        tip = r**2 * special.ndtr(-r / R) + _mean_square_tail(r / R)
        chi = (D - 1) * np.log(r) - r**2 / 2 - (D / 2 - 1) * np.log(2) - special.gammaln(D / 2)
        return float(np.exp(chi)) * (inner / (1 + R**2) + tip)

    centre = D**0.5
    parts = [(0.0, centre), (centre, centre + 12.0)]
    total = sum(integrate.quad(density_times_distance, a, b, limit=200)[0] for a, b in parts)
    return float(1 / total)


def _mean_square_above(start: float) -> float:
    """Integral of (t - start)^2 over a standard Gaussian t above `start`."""
    density = np.exp(-(start**2) / 2) / np.sqrt(2 * np.pi)
    return float((1 + start**2) * special.ndtr(-start) - start * density)


def _mean_square_tail(start: float) -> float:
    """Integral of t^2 over a standard Gaussian t above `start`."""
    density = np.exp(-(start**2) / 2) / np.sqrt(2 * np.pi)
    return float(special.ndtr(-start) + start * density)


def _mean_square_above_and_shift(start: float, shift: float) -> float:
    """Integral of (t + shift)^2 over a standard Gaussian t above `start`."""
    density = np.exp(-(start**2) / 2) / np.sqrt(2 * np.pi)
    first = _mean_square_tail(start)
    return float(first + 2 * shift * density + shift**2 * special.ndtr(-start))


def _about_origin(x: np.ndarray, origin: Any) -> np.ndarray:
    centre = x.mean(axis=0) if origin is None else np.asarray(as_floating(origin, "origin"))
    if centre.shape != x.shape[1:] or not np.isfinite(centre).all():
        raise ValueError(
            f"origin must be {x.shape[1]} finite numbers, one a unit, got {centre.shape}."
        )
    points = x - centre
    U, singular, _ = np.linalg.svd(points, full_matrices=False)
    if singular[0] <= 1e-12 * np.abs(x).max():
        raise ValueError("all points are at the origin: they have no direction to be parted by.")
    # Of g only the part within the span of the points counts.
    rank = int((singular > 1e-12 * singular[0]).sum())
    points = U[:, :rank] * singular[:rank]
    length = np.sqrt((points**2).sum(axis=1))
    there = length > 1e-12 * length.max()
    # The cone has directions alone, and points of one length are the better posed.
    return points / np.where(there, length, 1)[:, None]


def _dimensions(
    points: np.ndarray, manifold: np.ndarray, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """|Pi g|^2 for draws of signs and of g."""
    n = manifold.max() + 1
    found = np.empty(n_draws)
    for i in range(n_draws):
        sign = rng.choice([-1.0, 1.0], size=n)
        g = rng.normal(size=points.shape[1])
        _, residual = optimize.nnls((sign[manifold, None] * points).T, g)
        found[i] = g @ g - residual**2
    return found
