"""Bars of the Vietoris-Rips complex of a matrix of distances, computed by ripser."""

from typing import Any

import numpy as np


def import_ripser(what: str) -> Any:
    """The function of ripser; an error that names the extra where it is not installed."""
    try:
        from ripser import ripser  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ValueError(
            f"{what} needs the package ripser, which is not installed: "
            "pip install 'neurosim-toolkit[topology]'."
        ) from error
    return ripser


def rips_bars(
    ripser: Any,
    distance: np.ndarray,
    *,
    max_dim: int,
    threshold: float = np.inf,
    coefficient: int = 2,
    cocycles: bool = False,
) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """Bars `(bar, 2)` of each dimension, the longest first, and their cocycles.

    A bar begins and ends at a distance between two points. ripser rounds these to single
    precision; here they are what they were.

    **Arguments:**

    - `ripser`: see `import_ripser`.
    - `distance`: `(point, point)`, symmetric, in the range of single precision; infinite between
      points that are never joined.
    - `threshold`: the largest distance at which points are joined. Bars that go on have an
      infinite end.

    **Returns:** bars by dimension, and cocycles by dimension where asked for: rows of the vertices
    of a simplex and the value on it, between 0 and `coefficient` - 1.
    """
    pairs = distance[np.triu_indices(len(distance), 1)]
    lengths = np.unique(pairs[pairs <= threshold])
    lengths = lengths[np.isfinite(lengths)]
    single = lengths.astype(np.float32)
    # Infinite distances stay out only below a finite threshold; half a step of rounding above the
    # longest edge there is, so that it is not lost.
    most = np.nextafter(single[-1], np.float32(np.inf)) if len(single) else np.float32(0)
    result = ripser(
        distance,
        maxdim=max_dim,
        thresh=float(most),
        coeff=coefficient,
        distance_matrix=True,
        do_cocycles=cocycles,
    )
    diagrams, forms = [], []
    for dimension, raw in enumerate(result["dgms"]):
        bars = np.asarray(raw, np.float64).reshape(-1, 2)
        order = np.argsort(bars[:, 0] - bars[:, 1], kind="stable")
        diagrams.append(_unrounded(bars[order], lengths, single))
        if cocycles:
            known = result["cocycles"][dimension]
            forms.append([known[i] for i in order] if len(known) == len(order) else [])
    return diagrams, forms


def _unrounded(bars: np.ndarray, lengths: np.ndarray, single: np.ndarray) -> np.ndarray:
    if len(lengths) == 0:
        return bars
    # Points that coincide are joined at 0, which `lengths` holds where there are any.
    at = np.searchsorted(single, bars.astype(np.float32)).clip(0, len(lengths) - 1)
    ends = np.where((bars == 0) | np.isinf(bars), bars, lengths[at])
    ends[:, 1] = np.maximum(ends[:, 1], ends[:, 0])
    return ends
