"""Loops and voids of the manifold of a population with a map of each cell."""

from typing import NamedTuple

import numpy as np

from ..analysis.betti_numbers import betti_numbers
from ..analysis.manifold_cloud import manifold_cloud
from ..analysis.rips_persistence import rips_persistence


class ManifoldTopology(NamedTuple):
    """Bars of a manifold, the longest first, and how many stand out.

    - `loops`, `voids`: `(bar, 2)`, births and deaths, in the unit of rates.
    - `betti`: components, loops and voids that stand out.
    """

    loops: np.ndarray
    voids: np.ndarray
    betti: tuple[int, ...]

    def lifetimes(self, dimension: int) -> np.ndarray:
        """Lengths of the three longest loops (1) or voids (2), 0 where there are fewer."""
        bars = (self.loops, self.voids)[dimension - 1]
        return np.pad(bars[:3, 1] - bars[:3, 0], (0, max(0, 3 - len(bars))))


def manifold_topology(maps: np.ndarray, *, n_landmarks: int) -> ManifoldTopology:
    """Loops and voids of population vectors at all positions, on six principal components.

    No mean over neighbours is taken, since nothing here is noisy.

    **Arguments:**

    - `maps`: `(cell, bin, bin)`.
    - `n_landmarks`: positions that represent all.
    """
    cloud = manifold_cloud(maps.reshape(len(maps), -1).T, n_components=6, n_neighbours=1)
    persistence = rips_persistence(cloud, n_landmarks=n_landmarks)
    loops, voids = persistence.diagrams[1:]
    return ManifoldTopology(loops, voids, betti_numbers(persistence))
