"""The line or ring along which a system moves slowest, walked from a slow point."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from ..kernels import whole_number
from .displacement import Displacement, flow_or_map, value_and_jacobians
from .estimator import refuse_traced
from .search_starts import check_dynamics, lay_out, read_many

#: Iterations of Gauss-Newton allowed in a step.
_MOST_ITERATIONS = 20

#: Least cosine of the angle that the line may turn by in a step.
_LEAST_COSINE = 0.95

#: A step is halved so many times at most.
_MOST_HALVINGS = 10


class SlowManifold(NamedTuple):
    """States along a slow line or ring, in order; see `slow_manifold`."""

    points: PyTree
    speed: np.ndarray
    drift: np.ndarray
    tangent: np.ndarray
    eigenvalue: np.ndarray
    arclength: np.ndarray
    length: float
    closed: bool
    start: int
    ends: tuple[str, str]


def slow_manifold(
    dynamics: Callable[[PyTree], PyTree],
    start: PyTree,
    *,
    kind: str,
    step: float | int,
    largest_speed: float | int,
    n_steps: int | np.integer = 1000,
) -> SlowManifold:
    """Walk along the slow line through a state, both ways.

    The line is where F, map(x) - x or flow(x), has no part across the direction in which it changes
    least: the right eigenvector of its Jacobian for the eigenvalue nearest to 0 (flow) or 1 (map).
    On a line or ring attractor F vanishes there; on an approximate one the state drifts along it.
    Each step follows that eigenvector and then comes back to the line across it, by Gauss-Newton on
    the part of F across. It differs from an invariant manifold by second order in the drift.
    Computed in float64 whatever JAX's setting.

    ```python
    def ring(x):
        return x * (1 - x @ x)


    found = find_fixed_points(ring, starts, kind="flow")
    walked = slow_manifold(ring, found.points[0], kind="flow", step=0.1, largest_speed=1e-3)
    walked.closed, walked.length  # True, 2 pi
    ```

    **Arguments:**

    - `dynamics`: a function of one state, written in `jax.numpy`, to the next state
      (`kind="map"`) or the time derivative (`kind="flow"`), in the layout of the state.
    - `start`: `(n,)`, or a pytree of arrays: a state near the line, such as `found.points[0]` of
      `find_fixed_points` or of its `slow` points.
    - `kind`: `"map"` or `"flow"`. No default: the same function means another thing in each.
    - `step`: distance from one state to the next, in units of the state; shorter where the line
      bends.
    - `largest_speed`: the walk ends where |F| exceeds this, in units of the state per unit of time
      (flow) or per step (map).
    - `n_steps`: the most steps each way.

    **Returns:** `SlowManifold`, NumPy, from one end to the other:

    - `points`: leaves `(point, ...)`.
    - `speed`: `(point,)`, |F|. `drift`: `(point,)`, F along the tangent, with its sign.
    - `tangent`: `(point, n)`, unit vectors along the line in the order of the points, on states
      flattened in the order of `jax.flatten_util.ravel_pytree`.
    - `eigenvalue`: `(point,)`, real, that of the tangent, of the Jacobian of `dynamics`.
    - `arclength`: `(point,)`, from the first point. `length`: of all, round a ring if it is closed.
    - `closed`: whether it came back to its start.
    - `start`: the index of the state it started from; 0 for a ring.
    - `ends`: why it ends before the first and after the last point: `"closed"`, `"speed"`,
      `"steps"`, `"no line"` where the eigenvalue ceases to be real, or `"lost"` where no step is
      short enough for another reason.

    **Raises:** `ValueError` for another kind, a start that is masked or not finite, dynamics that
    do not fit it, a `step` or `largest_speed` that is not positive, or a start at which the
    eigenvalue is not real, is not the only one so near, or which is not near a slow line.
    `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Seung (1996), How the brain keeps the eyes still, PNAS 93, 13339-13344, and
    Mante et al. (2013), Nature 503, 78-84, for lines; Sagodi, Martin-Sanchez, Sokol & Park (2024),
    Back to the continuous attractor, NeurIPS 37, for slow manifolds near them.
    """
    flow_or_map(kind)
    refuse_traced(start, "slow_manifold")
    limit = whole_number(n_steps, "n_steps", least=1)
    for name, value in (("step", step), ("largest_speed", largest_speed)):
        if not (value > 0 and np.isfinite(value)):
            raise ValueError(f"{name} must be positive, got {value}.")
    with jax.enable_x64(True):
        many, x = read_many(
            jax.tree.map(lambda leaf: np.asanyarray(leaf)[None], start), "start", "state"
        )
        template = jax.tree.map(lambda leaf: leaf[0].astype(float), many)
        check_dynamics(dynamics, template)
        line = _Line(Displacement(dynamics, template, kind), float(step))
        first = _first(line, x[0].astype(float), float(largest_speed))
        after, end = _walk(line, first, float(largest_speed), limit)
        if end == "closed":
            places, ends, at = [first, *after], (end, end), 0
        else:
            turned = first._replace(tangent=-first.tangent)
            before, begin = _walk(line, turned, float(largest_speed), limit)
            before = [place._replace(tangent=-place.tangent) for place in before[::-1]]
            places, ends, at = [*before, first, *after], (begin, end), len(before)
        return _laid_out(line, places, ends, at)


class _Lost(Exception):
    """No state of the line is found near; `word` of `SlowManifold.ends`."""

    def __init__(self, word: str = "lost") -> None:
        super().__init__(word)
        self.word = word


class _Line(NamedTuple):
    """What is walked along, and the longest step."""

    displacement: Displacement
    step: float

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F and its Jacobian, whose eigenvalue along the line is near 0 for maps too."""
        f, jacobian, _ = value_and_jacobians(self.displacement, x, np.zeros(0))
        if not (np.isfinite(f).all() and np.isfinite(jacobian).all()):
            raise _Lost
        return f, jacobian


class _Place(NamedTuple):
    x: np.ndarray
    f: np.ndarray
    tangent: np.ndarray
    eigenvalue: float


def _direction(jacobian: np.ndarray, before: np.ndarray | None) -> tuple[np.ndarray, float]:
    """The slow eigenvector, on the side of the one before, and its eigenvalue."""
    values, vectors = np.linalg.eig(jacobian)
    values, vectors = values.astype(complex), vectors.astype(complex)
    if before is None:
        chosen = int(np.argmin(np.abs(values)))
    else:
        # The same one as before, though another may come nearer to 0.
        chosen = int(np.argmax(np.abs(before @ vectors)))
    if np.imag(values[chosen]) != 0:
        raise _Lost("no line")
    vector = np.real(vectors[:, chosen])
    vector = vector / np.linalg.norm(vector)
    if before is not None and vector @ before < 0:
        vector = -vector
    elif before is None:
        vector = vector * np.sign(vector[np.argmax(np.abs(vector))])
    return vector, float(np.real(values[chosen]))


def _onto(line: _Line, x: np.ndarray, before: np.ndarray | None) -> _Place:
    """The state of the line across the slow direction from a state nearby."""
    for _ in range(_MOST_ITERATIONS):
        f, jacobian = line.at(x)
        tangent, eigenvalue = _direction(jacobian, before)
        # The rows after the first span what is across the tangent.
        across = np.linalg.svd(tangent[None])[2][1:]
        part = across @ jacobian @ across.T
        move = -across.T @ np.linalg.lstsq(part, across @ f, rcond=None)[0]
        if np.linalg.norm(move) <= 1e-9 * line.step:
            return _Place(x, f, tangent, eigenvalue)
        x = x + move
    raise _Lost


def _first(line: _Line, x: np.ndarray, largest_speed: float) -> _Place:
    try:
        place = _onto(line, x, None)
    except _Lost as lost:
        reason = {
            "lost": "no state near it has F along its slow direction",
            "no line": "the eigenvalue nearest to 0 (flow) or 1 (map) belongs to a rotation",
        }
        raise ValueError(f"start is on no slow line: {reason[lost.word]}.") from None
    _, jacobian = line.at(place.x)
    sizes = np.sort(np.abs(np.linalg.eigvals(jacobian)))
    if len(sizes) > 1 and sizes[1] <= 1e-7 * max(sizes[-1], 1.0) and sizes[0] <= sizes[1]:
        raise ValueError(
            "start is on no slow line: it is slow in more than one direction, as on a plane."
        )
    speed = float(np.linalg.norm(place.f))
    if speed > largest_speed:
        raise ValueError(
            f"start is on no slow line: its speed is {speed:.3g}, above largest_speed = "
            f"{largest_speed:g}."
        )
    return place


def _walk(line: _Line, first: _Place, largest_speed: float, limit: int) -> tuple[list[_Place], str]:
    """Places from the first on, without it, in the direction of its tangent; and why they end."""
    places, place, step, words = [], first, line.step, set()
    while len(places) < limit:
        try:
            new = _onto(line, place.x + step * place.tangent, place.tangent)
            strayed = np.linalg.norm(new.x - place.x - step * place.tangent)
            if strayed > 0.5 * step or new.tangent @ place.tangent < _LEAST_COSINE:
                raise _Lost
        except _Lost as lost:
            step /= 2
            words.add(lost.word)
            if step < line.step / 2**_MOST_HALVINGS:
                return places, max(words)
            continue
        if np.linalg.norm(new.f) > largest_speed:
            return places, "speed"
        places.append(new)
        place, step, words = new, min(2 * step, line.step), set()
        if len(places) > 2 and _ahead(place, first, line.step):
            return places, "closed"
    return places, "steps"


def _ahead(place: _Place, first: _Place, step: float) -> bool:
    """Whether the first place is the next step's."""
    way = first.x - place.x
    along = float(way @ place.tangent)
    aside = float(np.linalg.norm(way - along * place.tangent))
    near = 0 < along <= 1.5 * step and aside <= 0.5 * along
    return near and float(place.tangent @ first.tangent) > 0.5


def _laid_out(line: _Line, places: list[_Place], ends: tuple[str, str], start: int) -> SlowManifold:
    x, f, tangent = (
        np.stack([getattr(place, name) for place in places]) for name in ("x", "f", "tangent")
    )
    closed = ends[1] == "closed"
    to = np.arange(1, len(x) + closed) % len(x)
    chord = np.linalg.norm(x[to] - x[: len(to)], axis=1)
    # Of an arc that turns as far as the tangents do.
    cosine = np.sum(tangent[to] * tangent[: len(to)], axis=1)
    half = 0.5 * np.arccos(np.clip(cosine, -1, 1))
    arc = chord / np.sinc(half / np.pi)
    neutral = 1.0 if line.displacement.kind == "map" else 0.0
    return SlowManifold(
        points=lay_out(line.displacement.template, x),
        speed=np.linalg.norm(f, axis=1),
        drift=np.sum(f * tangent, axis=1),
        tangent=tangent,
        eigenvalue=np.array([place.eigenvalue for place in places]) + neutral,
        arclength=np.concatenate([[0.0], np.cumsum(arc)])[: len(x)],
        length=float(arc.sum()),
        closed=closed,
        start=start,
        ends=ends,
    )
