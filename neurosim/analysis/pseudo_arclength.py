"""A branch of fixed points followed along a path of inputs, in steps along the branch itself."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from .displacement import Displacement, value_and_jacobians

#: Newton's iterations allowed in a step; its convergence doubles digits.
_MOST_ITERATIONS = 8

#: Least cosine of the angle that a branch may turn by in a step.
_LEAST_COSINE = 0.95


class Lost(Exception):
    """Newton's method does not arrive."""


class InputPath(NamedTuple):
    """F as a function of a state and a position along the path."""

    displacement: Displacement
    u: np.ndarray
    tolerance: float

    def input(self, s: float, leg: int) -> np.ndarray:
        """The input at a position on the leg from one entry to the next."""
        return self.u[leg] + (s - leg) * (self.u[leg + 1] - self.u[leg])

    def at(self, x: np.ndarray, s: float, leg: int) -> tuple[np.ndarray, ...]:
        """F, dF/dx, dF/du and dF/ds."""
        f, by_x, by_u = value_and_jacobians(self.displacement, x, self.input(s, leg))
        return f, by_x, by_u, by_u @ (self.u[leg + 1] - self.u[leg])


class Place(NamedTuple):
    """A point of a branch: state, position, the leg it was reached on, and the unit tangent there,
    whose last entry is that of the position in units of `theta`."""

    x: np.ndarray
    s: float
    leg: int
    tangent: np.ndarray
    fold: bool = False


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    try:
        found = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        raise Lost from None
    if not np.isfinite(found).all():
        raise Lost
    return found


def _newton(
    path: InputPath,
    x: np.ndarray,
    s: float,
    leg: int,
    *,
    scale: float,
    theta: float = 1.0,
    along: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """A zero of F near (x, s): at this very s, or in the plane across the tangent `along`."""
    last = np.inf
    for _ in range(_MOST_ITERATIONS):
        f, by_x, _, by_s = path.at(x, s, leg)
        if not np.isfinite(f).all():
            raise Lost
        if along is None:
            delta = np.append(_solve(by_x, -f), 0.0)
        else:
            bordered = np.vstack([np.column_stack([by_x, by_s / theta]), along])
            delta = _solve(bordered, np.append(-f, 0.0))
        x, s = x + delta[:-1], s + delta[-1] / theta
        size = float(np.linalg.norm(delta))
        at_rest = 0.5 * float(f @ f) <= path.tolerance
        # Where rounding in F is more than a step, steps no longer shrink.
        if at_rest and (size <= 1e-11 * scale or size >= 0.5 * last):
            return x, s
        last = size
    raise Lost


def _tangent(
    path: InputPath, x: np.ndarray, s: float, leg: int, theta: float, before: np.ndarray
) -> np.ndarray:
    """The unit tangent at a point of the branch, on the side of the one before."""
    _, by_x, _, by_s = path.at(x, s, leg)
    bordered = np.vstack([np.column_stack([by_x, by_s / theta]), before])
    tangent = _solve(bordered, np.append(np.zeros(len(x)), 1.0))
    return tangent / np.linalg.norm(tangent)


def _exact(path: InputPath, x: np.ndarray, i: int, scale: float) -> tuple[Place, float]:
    """The given point made exact, and theta: how far states move per unit of position."""
    try:
        x, _ = _newton(path, x, 0.0, 0, scale=scale)
        _, by_x, _, by_s = path.at(x, 0.0, 0)
        singular = np.linalg.svd(by_x, compute_uv=False)
        if singular[-1] <= 1e-9 * singular[0]:
            raise Lost
        slope = _solve(by_x, -by_s)
    except Lost:
        raise ValueError(
            f"point {i} is no isolated fixed point under the first input: Newton's method does not "
            "converge there, or dF/dx is singular, as on a continuum or at a fold."
        ) from None
    theta = float(np.linalg.norm(slope))
    if theta <= 1e-8 * scale or theta == 0:
        theta = scale if scale > 0 else 1.0
    tangent = np.append(slope, theta)
    return Place(x, 0.0, 0, tangent / np.linalg.norm(tangent)), theta


def follow(
    path: InputPath, x: np.ndarray, i: int, scale: float, limit: int
) -> tuple[list[Place], str]:
    """Follow one fixed point along a path of inputs.

    **Arguments:**

    - `path`: F along the path.
    - `x`: `(n,)`, a fixed point under the first input. `i`: its number, for an error.
    - `scale`: the size of states.
    - `limit`: the most steps.

    **Returns:** places along its branch; and why it ends, in a word of `continue_fixed_points`.

    **Raises:** `ValueError` where the point is not fixed, or not isolated.
    """
    place, theta = _exact(path, x, i, scale)
    scale = max(scale, theta)
    places, n_legs = [place], len(path.u) - 1
    step, taken, shortest = 0.1 * theta, 0, 1e-9 * theta
    while True:
        forward = place.tangent[-1] > 0
        leg = place.leg
        if place.s == (leg + 1 if forward else leg):
            leg += 1 if forward else -1
            if not 0 <= leg < n_legs:
                return places, "end" if forward else "start"
        if taken == limit:
            return places, "steps"
        try:
            if leg != place.leg:
                place = _turned(path, place, leg, theta)
            new, used = _advance(path, place, step, theta, scale)
            between = []
            if new.tangent[-1] * place.tangent[-1] < 0:
                between = [_fold(path, place, used, theta, scale)]
        except Lost:
            step /= 2
            if step < shortest:
                return places, "lost"
            continue
        straight = float(new.tangent @ place.tangent)
        places += [*between, new]
        place, taken = new, taken + 1
        step = used * (2.0 if straight > 0.5 * (1 + _LEAST_COSINE) else 1.0)


def _turned(path: InputPath, place: Place, leg: int, theta: float) -> Place:
    """A place on an entry of the path, on the leg that leads on from there."""
    _, by_x, _, by_s = path.at(place.x, place.s, leg)
    tangent = np.append(_solve(by_x, -by_s / theta), 1.0)
    tangent *= np.sign(place.tangent[-1]) / np.linalg.norm(tangent)
    return place._replace(leg=leg, tangent=tangent)


def _advance(
    path: InputPath, place: Place, step: float, theta: float, scale: float
) -> tuple[Place, float]:
    """The place a step ahead, or on the next entry of the path if that is nearer; and the step."""
    x, s, leg, tangent, _ = place
    rate = tangent[-1] / theta
    entry = leg + (rate > 0)
    lands = rate != 0 and (entry - s) / rate <= step
    if lands:
        step = (entry - s) / rate
        new_x, _ = _newton(path, x + step * tangent[:-1], float(entry), leg, scale=scale)
        new = Place(new_x, float(entry), leg, tangent)
        new = new._replace(tangent=_tangent(path, new.x, new.s, leg, theta, tangent))
    else:
        new = _moved(path, place, step, theta, scale)
        if not leg < new.s < leg + 1:
            raise Lost
    strayed = np.append(new.x - x, theta * (new.s - s)) - step * tangent
    turned_back = lands and new.tangent[-1] * rate <= 0
    if np.linalg.norm(strayed) > 0.5 * step or new.tangent @ tangent < _LEAST_COSINE or turned_back:
        raise Lost
    return new, step


def _moved(path: InputPath, place: Place, step: float, theta: float, scale: float) -> Place:
    x, s, leg, tangent, _ = place
    ahead = x + step * tangent[:-1], s + step * tangent[-1] / theta
    x, s = _newton(path, *ahead, leg, scale=scale, theta=theta, along=tangent)
    return Place(x, s, leg, _tangent(path, x, s, leg, theta, tangent))


def _fold(path: InputPath, place: Place, step: float, theta: float, scale: float) -> Place:
    """Where, within a step, the branch stands still along the path."""

    def rate(part: float) -> float:
        return float(_moved(path, place, part * step, theta, scale).tangent[-1])

    part: Any = brentq(rate, 0.0, 1.0, xtol=1e-14)
    return _moved(path, place, part * step, theta, scale)._replace(fold=True)
