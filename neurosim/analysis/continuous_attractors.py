"""Which of the states that stand still are one point, and which lie on one continuum.

On a line, ring or plane of fixed points every start converges to a point of its own. Reported as
they are, these are as many distinct fixed points as there were starts. Two points are taken
to lie on one continuum here if both have a direction in which F does not change to first order,
and if the way between them can be filled in: states between them, brought to the nearest minimum
of q, stand still, have such a direction too, and stay spread between the two. The last excludes
isolated points, to which states between them would fall back; bringing the states to a minimum
first allows for curvature, since a chord of a ring does not lie on it.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from .displacement import Displacement
from .speed_minimisation import linearise, minimise_speed

#: States tried between two points, as fractions of the way.
_BETWEEN = np.array([0.25, 0.5, 0.75])

#: Widest gap allowed between them after they came to rest, as a fraction of the way. Evenly spread
#: they are 0.25 apart; on a quarter of a ring 0.27 (the chord is shorter than the arc).
_WIDEST_GAP = 0.45

#: Neighbours tried for each point, beyond the shortest tree that joins all points.
_N_NEIGHBOURS = 5


def merge_duplicates(
    x: np.ndarray, q: np.ndarray, condition: np.ndarray, *, tolerance: float
) -> np.ndarray:
    """Group states of one condition that agree to `tolerance` in every coordinate.

    The slowest state founds a group and takes all that are near it, then the slowest of the rest.

    **Arguments:**

    - `x`: `(state, n)`.
    - `q`: `(state,)`.
    - `condition`: `(state,)`, the number of the input that each was found under.

    **Returns:** `(state,)`, for each state the index of the founder of its group.
    """
    founder = np.full(len(x), -1)
    for i in np.argsort(q, kind="stable"):
        if founder[i] == -1:
            free = np.flatnonzero(founder == -1)
            near = np.max(np.abs(x[free] - x[i]), axis=1) <= tolerance
            founder[free[near & (condition[free] == condition[i])]] = i
    return founder


def flat_below(
    typical: np.ndarray | np.floating, *, scale: float, tolerance: float
) -> np.ndarray | np.floating:
    """The change of F along a unit vector, per unit of state, below which it counts as none.

    Ten times the square root of the precision (1.5e-7 in float64, 3.5e-3 in float32) of its
    `typical` change over directions, since that is how well a Jacobian is known; or, where every
    direction is flat, a change that over a distance of `scale` leaves q below `tolerance`.
    """
    eps = float(np.finfo(typical.dtype).eps)
    return np.maximum(10 * eps**0.5 * typical, (2 * tolerance) ** 0.5 / scale)


def group_continua(
    displacement: Displacement,
    x: np.ndarray,
    u: np.ndarray,
    condition: np.ndarray,
    *,
    scale: float,
    tolerance: float,
    uniqueness: float,
    batch_size: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Group distinct states that stand still by the continuum they lie on, within a condition.

    A state that no other is grouped with may still lie on a continuum, of which it is the only
    state found: it is moved both ways along its flattest direction by a tenth of `scale`, or ten
    times `uniqueness` if that is more, and does if a moved state comes to rest where it was
    moved to. (A shorter way would not do: near a bifurcation F grows with a higher power of
    distance, and stays below `tolerance` for a while.)

    **Arguments:**

    - `x`: `(state, n)`, no two of a condition nearer than `uniqueness`.
    - `u`: `(state, m)`, the input held for each.
    - `condition`: `(state,)`, the number of that input.
    - `scale`, `tolerance`, `batch_size`: see `minimise_speed`.

    **Returns:** `(state,)` numbers of groups from 0 on, and `(group,)` whether a group lies on a
    continuum.
    """
    search = {"scale": scale, "tolerance": tolerance, "batch_size": batch_size}
    is_flat, direction = _flattest(displacement, x, u, search)
    flat = np.flatnonzero(is_flat)
    group = np.arange(len(x))
    if len(flat) == 0:
        return group, np.zeros(len(x), bool)

    edges = np.empty((2, 0), int)
    if len(flat) > 1:
        distance = cdist(x[flat], x[flat])
        # No way leads from one input to another.
        distance[condition[flat][:, None] != condition[flat]] = np.inf
        for candidates in (_shortest_tree(distance), _neighbours(distance)):
            part = _components(edges, len(flat))
            candidates = candidates[:, part[candidates[0]] != part[candidates[1]]]
            first, second = flat[candidates]
            joined = _filled_in(displacement, x[first], x[second], u[first], search)
            edges = np.concatenate([edges, candidates[:, joined]], axis=1)
    group[flat] = len(x) + _components(edges, len(flat))
    _, group, size = np.unique(group, return_inverse=True, return_counts=True)

    continuous = size > 1
    alone = flat[size[group[flat]] == 1]
    if len(alone) > 0:
        step = max(0.1 * scale, 10 * uniqueness)
        moved = step * direction[alone]
        both = np.concatenate([x[alone] + moved, x[alone] - moved])
        rest = minimise_speed(displacement, both, np.tile(u[alone], (2, 1)), **search)
        strayed = np.linalg.norm(rest.x - both, axis=1)
        stays = (rest.q <= tolerance) & (strayed < 0.5 * step)
        continuous[group[alone]] = stays.reshape(2, -1).any(axis=0)
    return group, continuous


def _flattest(
    displacement: Displacement, x: np.ndarray, u: np.ndarray, search: dict
) -> tuple[np.ndarray, np.ndarray]:
    """Whether F is flat in some direction at each state, and the flattest direction."""
    at = linearise(displacement, x, u, batch_size=search["batch_size"])
    limit = flat_below(at.typical, scale=search["scale"], tolerance=search["tolerance"])
    return at.flattest <= limit, at.direction


def _components(edges: np.ndarray, n: int) -> np.ndarray:
    graph = coo_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(n, n))
    return connected_components(graph, directed=False)[1]


def _shortest_tree(distance: np.ndarray) -> np.ndarray:
    return np.array(minimum_spanning_tree(distance).nonzero())


def _neighbours(distance: np.ndarray) -> np.ndarray:
    n = len(distance)
    nearest = np.argsort(distance, axis=1)[:, 1 : 1 + _N_NEIGHBOURS]
    first = np.repeat(np.arange(n), nearest.shape[1])
    pairs = np.sort(np.stack([first, nearest.ravel()]), axis=0)
    pairs = pairs[:, np.isfinite(distance[pairs[0], pairs[1]])]
    return np.unique(pairs, axis=1)


def _filled_in(
    displacement: Displacement, a: np.ndarray, b: np.ndarray, u: np.ndarray, search: dict
) -> np.ndarray:
    """Whether states at rest lead from `a` to `b`, both `(pair, n)`, under `u`; `(pair,)`."""
    joined = np.zeros(len(a), bool)
    if len(a) == 0:
        return joined
    between = a[:, None] + _BETWEEN[:, None].astype(a.dtype) * (b - a)[:, None]
    held = np.repeat(u, len(_BETWEEN), axis=0)
    rest = minimise_speed(displacement, between.reshape(-1, a.shape[1]), held, **search)
    path = np.concatenate([a[:, None], rest.x.reshape(between.shape), b[:, None]], axis=1)
    gaps = np.linalg.norm(np.diff(path, axis=1), axis=2)
    way = np.linalg.norm(b - a, axis=1)
    at_rest = (rest.q <= search["tolerance"]).reshape(between.shape[:2]).all(axis=1)
    likely = np.flatnonzero(at_rest & (gaps.max(axis=1) <= _WIDEST_GAP * way))
    if len(likely) > 0:
        inner = path[likely, 1:-1].reshape(-1, a.shape[1])
        under = np.repeat(u[likely], len(_BETWEEN), axis=0)
        flat, _ = _flattest(displacement, inner, under, search)
        joined[likely] = flat.reshape(len(likely), -1).all(axis=1)
    return joined
