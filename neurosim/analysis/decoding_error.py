"""How far decoded positions are from true ones, and which bins are taken for which."""

from typing import Any

import numpy as np

from .activity import as_floating
from .estimator import refuse_traced
from .position_decoding import DecodedPosition
from .spatial_bins import SpatialBins, read_edges, read_wrap
from .task_metrics import circular_distance


def decoding_error(decoded: Any, true: Any, *, period: Any = None) -> Any:
    """Distance between decoded and true positions, the short way round where they wrap.

    Between headings of 359 and 1 degrees it is 2.

    **Arguments:**

    - `decoded`, `true`: `(window,)` or `(window, d)`, of which `(window,)` and `(window, 1)` go
        together; or two numbers. NaN where either is unknown.
    - `period`: of positions that wrap; or one for each dimension, infinite or `None` for one that
        does not.

    **Returns:** `(window,)`, or a number; NaN where either is.

    **Raises:** `ValueError` for shapes that do not fit, no positions, infinite ones, or a period
    that is not positive.
    """
    refuse_traced((decoded, true), "decoding_error")
    a, b = (
        np.asarray(as_floating(x, n), np.float64) for x, n in ((decoded, "decoded"), (true, "true"))
    )
    scalar = a.ndim == 0 and b.ndim == 0
    rows = [x.reshape(-1, 1) if x.ndim < 2 else x for x in (a, b)]
    a, b = rows
    if a.shape != b.shape or a.ndim != 2 or a.size == 0:
        raise ValueError(
            f"decoded and true must both be (window,) or (window, d), not empty; got "
            f"{np.shape(decoded)} and {np.shape(true)}."
        )
    if np.isinf(a).any() or np.isinf(b).any():
        raise ValueError("decoded and true must be finite, or NaN where unknown.")
    periods = [period] * a.shape[1] if np.ndim(period) == 0 else list(period)
    if len(periods) != a.shape[1]:
        raise ValueError(f"period must be one, or one for each of {a.shape[1]} dimensions.")
    squares = np.zeros(len(a))
    for axis, turn in enumerate(periods):
        if turn is None or turn == np.inf:
            squares += (a[:, axis] - b[:, axis]) ** 2
        else:
            squares += np.asarray(circular_distance(a[:, axis], b[:, axis], period=turn)) ** 2
    error = np.sqrt(squares)
    return float(error[0]) if scalar else error


def decoding_confusion(
    decoded: Any, true: Any, *, edges: Any = None, wrap: Any = None
) -> np.ndarray:
    """Mean posterior of the windows in which the animal was in each bin: a confusion matrix.

    Row x is where the decoder puts an animal that is in bin x; a perfect one has ones on the
    diagonal.

    **Arguments:**

    - `decoded`: `DecodedPosition`, or a posterior `(window, *bins)`.
    - `true`: `(window,)` or `(window, d)`, positions; windows where they are NaN are left out.
    - `edges`: of the bins; those of `DecodedPosition` by default.
    - `wrap`: whether the ends of a dimension meet, for all dimensions or for each; as in
        `DecodedPosition` by default.

    **Returns:** `(bins, bins)` over the flattened map, true bin by row. Rows sum to 1; those of
    bins in which the animal never was are NaN.

    **Raises:** `ValueError` for shapes that do not fit, missing edges, a posterior that is negative
    or not finite, or positions outside of the bins.
    """
    if isinstance(decoded, DecodedPosition):
        edges = decoded.edges if edges is None else edges
        wrap = decoded.wrap if wrap is None else wrap
        decoded = decoded.posterior
    p = np.asarray(as_floating(decoded, "decoded"), np.float64)
    if p.ndim not in (2, 3) or len(p) == 0:
        raise ValueError(f"decoded must be (window, *bins), got shape {p.shape}.")
    if edges is None:
        raise ValueError("edges are needed with a posterior: (bins + 1,) for each dimension.")
    if not np.isfinite(p).all() or (p < 0).any():
        raise ValueError("decoded must be probabilities, finite and not negative.")
    d = p.ndim - 1
    bins = SpatialBins(read_edges(edges, d), read_wrap(wrap, d))
    x = np.asarray(as_floating(true, "true"), np.float64)
    x = x[:, None] if x.ndim == 1 else x
    if bins.shape != p.shape[1:] or x.shape != (len(p), d):
        raise ValueError(
            f"posterior {p.shape}, edges of {bins.shape} bins and true positions {x.shape} do not "
            "fit."
        )
    known = ~np.isnan(x).any(axis=1)
    for axis, edge in enumerate(bins.edges):
        out = known & bins.outside(x[:, axis], axis)
        if out.any():
            i = int(np.argmax(out))
            raise ValueError(
                f"true position {x[i].tolist()} of window {i} lies outside of the bins, which go "
                f"from {edge[0]:g} to {edge[-1]:g} on axis {axis}."
            )
    row = bins.indices(x[known])
    n_bins = int(np.prod(bins.shape))
    n = np.bincount(row, minlength=n_bins)
    total = np.zeros((n_bins, n_bins))
    np.add.at(total, row, p.reshape(len(p), -1)[known])
    return np.where(n[:, None] > 0, total / np.maximum(n, 1)[:, None], np.nan)
