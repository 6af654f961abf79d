"""How near a diagram is to that of a torus."""

from typing import Any

import numpy as np

from .diagram_distance import diagram_distance, read_diagram


def toroidality(diagram: Any, *, dimension: int | np.integer = 1) -> float:
    """One minus the bottleneck distance of a diagram from what it would be for an ideal torus.

    In the ideal, the bars that a torus has, two loops or one void, last as long as the longest, and
    the others as short as the shortest. Both diagrams are in units of their bottleneck distance
    from a diagram without bars, half the length of the longest. It is a degree, and
    no test: two loops of noise of about equal length score high too.

    **Arguments:**

    - `diagram`: `(bar, 2)`, finite: an entry of `rips_persistence`'s `diagrams`.
    - `dimension`: 1 for loops, 2 for voids.

    **Returns:** from 0 to 1; 0 where there are fewer bars than a torus has.

    **Raises:** `ValueError` for another dimension, bars that do not end, or as `diagram_distance`.

    **Reference:** di Sarra, Jha & Roudi (2025), The role of oscillations in grid cells' toroidal
    topology, PLOS Computational Biology.
    """
    if dimension not in (1, 2):
        raise ValueError(f"dimension must be 1 (loops) or 2 (voids), got {dimension!r}.")
    bars = read_diagram(diagram, "diagram")
    if np.isinf(bars).any():
        raise ValueError("diagram has bars that do not end: give them a death, or leave them out.")
    length = bars[:, 1] - bars[:, 0]
    bars, length = bars[length > 0], length[length > 0]
    kept = 2 if dimension == 1 else 1
    if len(bars) < kept:
        return 0.0
    order = np.argsort(-length, kind="stable")
    bars = bars[order]
    longest, shortest = float(length[order[0]]), float(length[order[-1]])
    ideal = np.where(np.arange(len(bars)) < kept, longest, shortest)
    ideal_bars = np.stack([bars[:, 0], bars[:, 0] + ideal], axis=1)
    # Both have the same longest bar, so the same unit.
    return 1.0 - diagram_distance(bars, ideal_bars) / (longest / 2)
