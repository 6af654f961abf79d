"""How hexagonal a map is: its autocorrelogram against itself, turned by 60 degrees and by 30."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import whole_number
from .activity import as_floating
from .planar_maps import PlanarMaps, read_planar_maps, warn_of_reasons
from .rotated_correlogram import ring_correlations
from .spatial_autocorrelogram import autocorrelograms, overlap_reasons


class _Variant(NamedTuple):
    r_in: float
    r_out: np.ndarray
    min_max: bool


_VARIANTS = {
    "official": _Variant(0.1, np.linspace(0.2, 1.4, 20), False),
    "min_max": _Variant(0.1, np.linspace(0.2, 1.4, 20), True),
    "narrow": _Variant(0.2, np.linspace(0.4, 1.0, 10), False),
    "narrow_min_max": _Variant(0.2, np.linspace(0.4, 1.0, 10), True),
}
#: Maps at a time, so that autocorrelograms of thousands of them are never there at once.
_BLOCK = 128


class GridScores(NamedTuple):
    """Grid scores, and the rings that gave them; see `grid_score`. Floats for a single map.

    - `score_60`, `score_90`: `(cell,)`, of hexagonal and of square symmetry.
    - `ring_60`, `ring_90`: `(cell, 2)`, inner and outer radius of the ring of each score, as shares
      of the side of the map.
    - `reasons`: `(cell,)`, why scores are NaN; empty where they are not.
    """

    score_60: Any
    score_90: Any
    ring_60: np.ndarray
    ring_90: np.ndarray
    reasons: Any


def grid_score(
    maps: Any,
    *,
    variant: str = "official",
    r_in: Any = None,
    r_out: Any = None,
    min_overlap: int | np.integer = 2,
) -> GridScores:
    """Hexagonal symmetry of maps, from correlations of autocorrelograms with themselves, turned.

    With c_a the correlation of a ring of the autocorrelogram with the same ring turned by a degrees
    (see `ring_correlations`),

        score_60 = (c_60 + c_120) / 2 - (c_30 + c_90 + c_150) / 3
        score_90 = c_90 - (c_45 + c_135) / 2

    each the largest over rings that leave out the middle and go ever farther. A perfect grid has a
    score_60 of about 1.4, a square lattice one below 0. Networks' units are often called grid cells
    above 0.37; recordings want a threshold from shuffles of the same session.

    | variant | rings | score_60 |
    | --- | --- | --- |
    | `"official"` | from 0.1 of the side to 0.2, ..., 1.4 of it, 20 of them | as above |
    | `"min_max"` | as `"official"` | min(c_60, c_120) - max(c_30, c_90, c_150) |
    | `"narrow"` | from 0.2 of the side to 0.4, ..., 1, 10 of them | as above |
    | `"narrow_min_max"` | as `"narrow"` | as `"min_max"` |

    ```python
    scores = grid_score(maps)
    scores.score_60 > 0.37
    ```

    **Arguments:**

    - `maps`: `RateMaps`, `(cell, bins, bins)` or `(bins, bins)`; NaN where unvisited. Bins are
        taken for square; the side of a map is that of its longer axis.
    - `variant`: see above.
    - `r_in`, `r_out`: the inner radius, and the outer ones, `(ring,)`, in place of the variant's.
    - `min_overlap`: see `spatial_autocorrelogram`; 2 by default, as published. Shifts without a
        correlation count as 0, as published.

    **Returns:** `GridScores`; NaN, with its reason and a warning, for maps that are constant, NaN
    throughout, or too small for any ring.

    **Raises:** `ValueError` for another shape, infinite values, another variant, or radii that are
    negative, not finite, or leave no ring.

    **Reference:** Banino et al. (2018), Nature 557, 429-433; Sargolini et al. (2006), Science 312,
    758-762, for the least and largest.
    """
    stack = read_planar_maps(maps)
    least = whole_number(min_overlap, "min_overlap", least=2)
    rule = _read_variant(variant, r_in, r_out)
    reasons = overlap_reasons(stack, least)
    scores = [
        _scores(autocorrelograms(PlanarMaps(part, False, reasons), least), rule)
        for part in np.split(stack.values, range(_BLOCK, len(stack.values), _BLOCK))
    ]
    return _result(stack, scores, reasons)


def autocorrelogram_grid_score(
    autocorrelograms: Any, *, variant: str = "official", r_in: Any = None, r_out: Any = None
) -> GridScores:
    """`grid_score` of maps whose autocorrelograms are known.

    **Arguments:**

    - `autocorrelograms`: `(cell, 2 n - 1, 2 m - 1)` or one without the axis of cells, no shift in
        the middle, point-symmetric; shifts that are NaN count as 0.
    - `variant`, `r_in`, `r_out`: see `grid_score`.

    **Returns:** and **Raises:** as `grid_score`, and `ValueError` for what is not point-symmetric.
    """
    stack = read_autocorrelograms(autocorrelograms)
    rule = _read_variant(variant, r_in, r_out)
    return _result(stack, [_scores(stack.values, rule)], stack.reasons.copy())


def read_autocorrelograms(values: Any) -> PlanarMaps:
    """Check autocorrelograms: of odd size, and the same seen from both sides.

    **Raises:** `ValueError` for what is not.
    """
    stack = read_planar_maps(values, "autocorrelograms")
    sacs = stack.values
    if any(n % 2 == 0 for n in sacs.shape[1:]):
        raise ValueError(
            f"autocorrelograms must be of odd size, 2 n - 1 for n bins; got {sacs.shape[1:]}."
        )
    back = sacs[:, ::-1, ::-1]
    if not np.allclose(sacs, back, rtol=0, atol=1e-6, equal_nan=True):
        raise ValueError(
            "autocorrelograms must be point-symmetric about their middle; these are not. Are they "
            "crosscorrelograms, or maps, which grid_score takes?"
        )
    return stack


def _read_variant(variant: str, r_in: Any, r_out: Any) -> _Variant:
    if variant not in _VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(_VARIANTS)}; got {variant!r}.")
    rule = _VARIANTS[variant]
    inner = float(rule.r_in if r_in is None else r_in)
    outer = rule.r_out if r_out is None else np.atleast_1d(np.asarray(as_floating(r_out, "r_out")))
    if not 0 <= inner < np.inf or outer.ndim != 1 or not np.isfinite(outer).all():
        raise ValueError(
            f"r_in must be a number, not negative, and r_out (ring,), finite; got {inner} and "
            f"{outer}."
        )
    if len(outer) == 0 or not (np.diff(outer) > 0).all() or not outer[0] > inner:
        raise ValueError(f"r_out must increase, from above r_in ({inner:g}); got {outer}.")
    return _Variant(inner, outer, rule.min_max)


def _scores(sacs: np.ndarray, rule: _Variant) -> tuple[np.ndarray, ...]:
    """Best scores, and the rings that they are of."""
    shape = sacs.shape[1:]
    side = max(shape)
    filled = np.where(np.isfinite(sacs), sacs, 0)
    if shape[0] != shape[1]:
        pad = [((side - n) // 2,) * 2 for n in shape]
        filled = np.pad(filled, [(0, 0), *pad])
    n = (side + 1) // 2
    c = ring_correlations(filled, r_in=rule.r_in * n, r_out=rule.r_out * n)
    if rule.min_max:
        least = np.minimum(c[60], c[120])
        score_60 = least - np.maximum(np.maximum(c[30], c[90]), c[150])
    else:
        score_60 = (c[60] + c[120]) / 2 - (c[30] + c[90] + c[150]) / 3
    score_90 = c[90] - (c[45] + c[135]) / 2
    found = []
    for score in (score_60, score_90):
        ranked = np.where(np.isnan(score), -np.inf, score)
        best = ranked.argmax(axis=1)
        found += [np.take_along_axis(score, best[:, None], axis=1)[:, 0]]
        found += [np.stack([np.full(len(best), rule.r_in), rule.r_out[best]], axis=1)]
    return tuple(found)


def _result(stack: PlanarMaps, scores: list[Any], reasons: np.ndarray) -> GridScores:
    score_60, ring_60, score_90, ring_90 = (np.concatenate(parts) for parts in zip(*scores))
    reasons[(reasons == "") & np.isnan(score_60)] = "the map is too small for any ring"
    without = reasons != ""
    for values in (score_60, score_90, ring_60, ring_90):
        values[without] = np.nan
    warn_of_reasons("the grid score", reasons)
    parts = (score_60, score_90, ring_60, ring_90, reasons)
    return GridScores(*(stack.result(part) for part in parts))
