"""Circle-valued maps on a cloud of points, from loops that last."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernels import whole_number
from .rips_persistence import RipsPersistence

# Multiples of a cocycle that may be one of whole numbers: itself and few times it, where the
# representative is some fraction of such a one modulo p.
_NUMERATORS = (0, 1, -1, 2, -2, 3, -3, 4, -4)
_DENOMINATORS = (2, 3)
# Beyond this cosine two classes are taken for multiples of each other.
_PARALLEL = 0.97


class CircularClasses(NamedTuple):
    """Circle-valued maps; see `circular_classes`."""

    angles: np.ndarray
    gram: np.ndarray
    combinations: np.ndarray
    threshold: float


def circular_classes(
    persistence: RipsPersistence,
    *,
    n_circles: int | np.integer = 2,
    position: float | int = 0.9,
) -> CircularClasses:
    """Angles of landmarks round each of the longest loops: 1 for a ring, 2 for a torus.

    The cocycle of a loop, modulo p, is lifted to whole numbers, and smoothed: the map f of points
    to numbers is sought whose differences along edges are nearest to it, and 2 pi f is an angle.
    What is left, the harmonic part, has as its energy how far the angle has to go.

    A representative modulo p is often a half or a third of a cocycle of whole numbers, and lifted
    as it is, no cocycle at all; angles from it are arbitrary. So combinations of representatives
    with small whole or fractional coefficients are lifted, and those kept that add up to 0 round
    *every* triangle. Of these the independent ones of least harmonic energy are taken.

    **Arguments:**

    - `persistence`: of `rips_persistence` with `cocycles=True` and a `coefficient` of 23 or more,
      such as 47.
    - `n_circles`: 1 or 2.
    - `position`: the scale at which points are joined, from the latest birth (0) of the loops to
      their earliest death (1).

    **Returns:** `CircularClasses`, NumPy:

    - `angles`: `(circle, landmark)`, radians, from 0 to 2 pi; the origin and the sense of each are
      arbitrary.
    - `gram`: `(circle, circle)`, inner products of the harmonic parts, energies on the diagonal,
      the least first. See `lattice_spectrum`.
    - `combinations`: `(circle, circle)`, coefficients of the representatives modulo p.
    - `threshold`: the scale, in the unit of the points.

    **Raises:** `ValueError` for persistence without cocycles or with too small a coefficient,
    fewer loops than circles, loops that do not exist at the same time, another number of circles,
    a position that is not between 0 and 1, or where no combination is a cocycle of whole numbers.

    **Reference:** de Silva, Morozov & Vejdemo-Johansson (2011), Persistent cohomology and circular
    coordinates, Discrete & Computational Geometry 45, 737-759. The check of the lift is ours.
    """
    wanted = whole_number(n_circles, "n_circles", least=1)
    if wanted > 2:
        raise ValueError(f"n_circles must be 1 or 2, got {wanted}.")
    p = persistence.coefficient
    if persistence.cocycles is None or len(persistence.cocycles) < 2 or p < 23:
        raise ValueError(
            "circular coordinates need rips_persistence(..., max_dim=1 or 2, cocycles=True, "
            f"coefficient=47), got coefficient={p} and cocycles "
            f"{'left out' if persistence.cocycles is None else 'kept'}."
        )
    if not 0 < float(position) < 1:
        raise ValueError(f"position must lie between 0 and 1, got {position!r}.")
    scale = _common_scale(persistence, wanted, float(position))
    complex_ = _Complex(persistence.distances, scale)
    forms = [complex_.on_edges(cocycle) for cocycle in persistence.cocycles[1][:wanted]]
    kept = list(_whole_number_cocycles(complex_, forms, p))
    if not kept:
        raise ValueError(
            f"no combination of the {wanted} longest loop(s) is a cocycle of whole numbers at the "
            f"scale {scale:.3g}: try another position or coefficient, or more landmarks."
        )
    potential, harmonic = complex_.smooth(np.array([form for _, form in kept]))
    chosen = _shortest_independent(harmonic, wanted)
    if len(chosen) < wanted:
        raise ValueError(
            f"the {wanted} longest loops give {len(chosen)} independent cocycle(s) of whole "
            f"numbers at the scale {scale:.3g}: try another position, coefficient or n_landmarks."
        )
    return CircularClasses(
        angles=2 * np.pi * (potential[chosen] % 1.0),
        gram=harmonic[chosen] @ harmonic[chosen].T,
        combinations=np.array([kept[i][0] for i in chosen]),
        threshold=scale,
    )


def _common_scale(persistence: RipsPersistence, wanted: int, position: float) -> float:
    bars = persistence.diagrams[1][:wanted]
    if len(bars) < wanted:
        raise ValueError(f"there are {len(bars)} loops, fewer than the {wanted} circles asked for.")
    birth, death = (
        float(bars[:, 0].max()),
        float(np.minimum(bars[:, 1], persistence.threshold).min()),
    )
    if not birth < death:
        raise ValueError(
            f"the {wanted} longest loops do not exist at one scale: one is born at {birth:.3g}, "
            f"one is gone by {death:.3g}."
        )
    return birth + position * (death - birth)


class _Complex:
    """Edges and triangles of points that are joined at a scale; forms are values on the edges."""

    def __init__(self, distance: np.ndarray, scale: float) -> None:
        self.n = len(distance)
        joined = np.triu(distance <= scale, 1)
        self.tail, self.head = np.nonzero(joined)
        self.index = np.full((self.n, self.n), -1)
        self.index[self.tail, self.head] = np.arange(len(self.tail))
        # A triangle is an edge and a later vertex joined to both ends.
        edge, third = np.nonzero(joined[self.tail] & joined[self.head])
        self.triangles = (
            edge,
            self.index[self.head[edge], third],
            self.index[self.tail[edge], third],
        )

    def on_edges(self, cocycle: np.ndarray) -> np.ndarray:
        form = np.zeros(len(self.tail), np.int64)
        for first, second, value in np.asarray(cocycle):
            at = self.index[min(first, second), max(first, second)]
            if at >= 0:
                form[at] += value if first < second else -value
        return form

    def closed(self, form: np.ndarray) -> bool:
        first, second, long = self.triangles
        return not np.any(form[first] + form[second] - form[long])

    def smooth(self, forms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The potential `(form, point)` nearest to each form `(form, edge)`, and what is left."""
        laplacian = np.zeros((self.n, self.n))
        np.add.at(laplacian, (self.tail, self.head), -1.0)
        laplacian += laplacian.T
        np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
        divergence = np.zeros((len(forms), self.n))
        np.add.at(divergence.T, self.head, forms.T)
        np.add.at(divergence.T, self.tail, -forms.T)
        potential = divergence @ np.linalg.pinv(laplacian, hermitian=True)
        harmonic = forms - (potential[:, self.head] - potential[:, self.tail])
        return potential, harmonic


def _whole_number_cocycles(
    complex_: _Complex, forms: list[np.ndarray], p: int
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Combinations of forms modulo p, and their lifts, that are closed in whole numbers."""
    inverses = [pow(q, -1, p) for q in _DENOMINATORS]
    multiples = sorted({m % p for m in (*_NUMERATORS, *inverses, *(-q for q in inverses))})
    seen = set()
    for first in multiples:
        for second in multiples if len(forms) == 2 else (0,):
            pair = (first, second)[: len(forms)]
            # A form and its negative are the same circle, run through the other way.
            if not any(pair) or tuple(-m % p for m in pair) in seen:
                continue
            seen.add(pair)
            form = sum(m * f for m, f in zip(pair, forms, strict=True)) % p
            lift = np.where(form > p // 2, form - p, form)
            if complex_.closed(lift):
                yield pair, lift


def _shortest_independent(harmonic: np.ndarray, wanted: int) -> list[int]:
    energy = np.sum(harmonic**2, axis=1)
    # The lift of a boundary has no harmonic part.
    floor = 1e-9 * max(float(energy.max()), 1.0)
    chosen: list[int] = []
    for i in np.argsort(energy, kind="stable"):
        if energy[i] <= floor:
            continue
        inner = harmonic[chosen] @ harmonic[i]
        if np.all(np.abs(inner) < _PARALLEL * np.sqrt(energy[chosen] * energy[i])):
            chosen.append(int(i))
        if len(chosen) == wanted:
            break
    return chosen
