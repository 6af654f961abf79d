"""How far two diagrams of persistent homology are apart."""

from typing import Any

import numpy as np

from .activity import as_floating
from .estimator import refuse_traced


def diagram_distance(
    first: Any, second: Any, *, kind: str = "bottleneck", infinite: str = "pair"
) -> float:
    """The cost of matching the bars of one diagram with those of another, or with nothing.

    A bar costs the distance of its (birth, death) from that of its partner, or from the nearest
    point where birth and death are equal. The bottleneck distance is the largest cost of the best
    matching, with the larger of the two differences as distance; the Wasserstein distance is the
    sum of costs, with Euclidean distance. For the bar (0, 1) against none: 0.5 and 0.7071.

    **Arguments:**

    - `first`, `second`: `(bar, 2)`, of one dimension: an entry of `rips_persistence`'s `diagrams`.
    - `kind`: `"bottleneck"` or `"wasserstein"`.
    - `infinite`: what becomes of bars that do not end. `"pair"` matches them with each other in
      order of birth, by the difference of births; where their numbers differ the distance is
      infinite. `"drop"` leaves them out.

    **Returns:** the distance, in the unit of the diagrams.

    **Raises:** `ValueError` for another shape, births that are not finite, deaths that are NaN or
    before birth, another kind, or if persim is not installed. `TypeError` under `jit`, `grad` or
    `vmap`.

    **Reference:** Cohen-Steiner, Edelsbrunner & Harer (2007), Stability of persistence diagrams,
    Discrete & Computational Geometry 37, 103-120; computed by persim.
    """
    if kind not in ("bottleneck", "wasserstein"):
        raise ValueError(f"kind must be 'bottleneck' or 'wasserstein', got {kind!r}.")
    if infinite not in ("pair", "drop"):
        raise ValueError(f"infinite must be 'pair' or 'drop', got {infinite!r}.")
    diagrams = [read_diagram(d, n) for d, n in ((first, "first"), (second, "second"))]
    measure = _import_persim(kind)
    ended = [diagram[np.isfinite(diagram[:, 1])] for diagram in diagrams]
    # Bars of no length cost nothing, and only make the matching larger.
    ended = [bars[bars[:, 1] > bars[:, 0]] for bars in ended]
    distance = float(measure(*ended)) if any(len(bars) for bars in ended) else 0.0
    if infinite == "drop":
        return distance
    births = [np.sort(diagram[np.isinf(diagram[:, 1]), 0]) for diagram in diagrams]
    if len(births[0]) != len(births[1]):
        return float(np.inf)
    apart = np.abs(births[0] - births[1])
    if kind == "bottleneck":
        return max(distance, float(np.max(apart, initial=0.0)))
    return distance + float(apart.sum())


def read_diagram(diagram: Any, name: str) -> np.ndarray:
    """Bars `(bar, 2)` in NumPy float64, finite births before deaths.

    **Raises:** `ValueError` for anything else.
    """
    refuse_traced(diagram, "a diagram")
    bars = np.asarray(as_floating(diagram, name), np.float64)
    if bars.size == 0:
        return np.empty((0, 2))
    if bars.ndim != 2 or bars.shape[1] != 2:
        raise ValueError(f"{name} must be (bar, 2), births and deaths, got shape {bars.shape}.")
    bad = ~np.isfinite(bars[:, 0]) | ~(bars[:, 1] >= bars[:, 0])
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(
            f"{name} must have finite births, before deaths; bar {at} is {bars[at].tolist()}."
        )
    return bars


def _import_persim(kind: str) -> Any:
    try:
        import persim  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ValueError(
            "diagram_distance needs the package persim, which is not installed: "
            "pip install 'neurosim-toolkit[topology]'."
        ) from error
    return getattr(persim, kind)
